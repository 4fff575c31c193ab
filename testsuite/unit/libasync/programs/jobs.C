// acheck inside helpers: a program that pumps the loop by hand, fdwait, and a callback that waits for another.

#include "async.h"

static bool done;
static int nticks;
static str answer;
static vec<str> trail;

static void finish (bool *p) { *p = true; }
static void tick () { nticks++; if (!done) delaycb (0, 1000000, wrap (tick)); }
static void got (str *out, bool *flag, str s) { *out = s; *flag = true; }

static str
blocking_read (int fd)
{
  str res;
  bool flag = false;
  pipe2str (fd, wrap (got, &res, &flag));
  while (!flag)
    acheck ();
  return res;
}

static int
run (const char *cmd, str *outp)
{
  int fds[2];
  if (pipe (fds) < 0)
    fatal ("pipe: %m\n");
  close_on_exec (fds[0]);
  const char *av[] = { "/bin/sh", "-c", cmd, NULL };
  pid_t pid = spawn (av[0], av, 0, fds[1]);
  close (fds[1]);
  if (pid < 0)
    return -1;
  *outp = blocking_read (fds[0]);
  return 0;
}

static void inner (int n) { trail.push_back (strbuf ("inner%d", n)); done = true; }

static void
outer ()
{
  trail.push_back ("outer");
  done = false;
  delaycb (0, 1000000, wrap (inner, 1));
  while (!done)
    acheck ();
  trail.push_back ("back");
  done = false;
  delaycb (0, wrap (inner, 2));
  while (!done)
    acheck ();
  str out;
  if (run ("echo nested", &out) == 0)
    trail.push_back (out);
}

int
main (int argc, char **argv)
{
  setprogname (argv[0]);
  int p[2];
  pipe (p);
  timeval tv = { 0, 0 };
  printf ("%d", fdwait (p[0], selread, &tv));
  write (p[1], "x", 1);
  printf (" %d\n", fdwait (p[0], selread));

  delaycb (0, 5000000, wrap (finish, &done));
  tick ();
  while (!done)
    acheck ();
  printf ("%s\n", nticks > 1 ? "ticked" : "stuck");
  if (run ("echo out; exit 1", &answer) < 0)
    fatal ("run: %m\n");
  printf ("%s", answer.cstr ());

  bool over = false;
  delaycb (0, wrap (outer));
  delaycb (0, 200000000, wrap (finish, &over));
  while (!over)
    acheck ();
  for (size_t i = 0; i < trail.size (); i++)
    printf ("%s ", trail[i].cstr ());
  printf ("\n");
  return 0;
}

/* prints
0 1
ticked
out
outer inner1 back inner2 nested
 
*/
