// sigcb and chldcb replace each other and are set from callbacks.

#include "async.h"
static int nsig, nchld;
static cbv::ptr old;
static void kick ();
static pid_t second;
static void
onsig (str n)
{
  printf ("%s %d\n", n.cstr (), ++nsig);
  if (nsig == 1)
    {
      old = sigcb (SIGUSR1, wrap (onsig, "second"));
      kill (getpid (), SIGUSR1);
    }
  else if (nsig == 3)
    kick ();
  else if (nsig == 2)
    {
      cbv::ptr was = sigcb (SIGUSR1, old);
      printf ("%d\n", was != old);
      kill (getpid (), SIGUSR1);
    }
}
static void
kill_it (pid_t p)
{
  kill (p, SIGKILL);
}
static void
onchld (pid_t p, int st)
{
  printf ("%d %d\n", WIFEXITED (st) ? WEXITSTATUS (st) : -WTERMSIG (st), p > 0);
  if (++nchld == 1)
    delaycb (0, wrap (kill_it, second));
  else
    {
      printf ("%d\n", nsig);
      exit (0);
    }
}
static void
kick ()
{
  pid_t p;
  switch (p = fork ())
    {
    case 0:
      _exit (3);
    case -1:
      fatal ("fork: %m\n");
    default:
      chldcb (p, wrap (onchld, p));
    }
  if (!(second = fork ()))
    {
      pause ();
      _exit (0);
    }
  chldcb (second, wrap (onchld, second));
}
int
main ()
{
  sigcb (SIGUSR1, wrap (onsig, "first"));
  kill (getpid (), SIGUSR1);
  amain ();
}

/* prints
first 1
second 2
1
first 3
3 1
-9 1
3
*/
