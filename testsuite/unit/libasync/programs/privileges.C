// The small things around a daemon: lockfile, daemonize's relatives, environment, exec paths, signals, wait macros, myname.

#include "async.h"
#include <sys/wait.h>
#include <pwd.h>
#include <grp.h>

static str tmpdir;
static vec<int> caught;

static void
gotsig (int sig)
{
  caught.push_back (sig);
}

static str
lockname (const char *name)
{
  strbuf f;
  f << tmpdir;
  f << "/" << name << ".lock";
  return f;
}

static void
child ()
{
  v_write (1, "child\n", 6);
}

static void
finish (cbv::ptr old)
{
  if (caught.empty ()) {  // a slow machine
    delaycb (0, 20000000, wrap (finish, old));
    return;
  }
  printf ("%d", (int) caught.size ());
  while (!caught.empty ())
    printf (" %d", caught.pop_front () == SIGUSR1);
  printf ("\n");
  cbv::ptr prev = sigcb (SIGUSR1, NULL);
  printf ("%d %d\n", prev ? 1 : 0, old ? 1 : 0);
  xputenv ("LOCKS=none");
  printf ("%s %s\n", getenv ("LOCKS"), safegetenv ("LOCKS"));
  unlink (lockname ("a"));
  if (rmdir (tmpdir) < 0)
    warn << tmpdir << ": " << strerror (errno) << "\n";
  exit (0);
}

static void
exited (int *np, int status)
{
  if (WIFEXITED (status))
    *np += WEXITSTATUS (status);
  kill (getpid (), SIGUSR1);
  cbv::ptr old = sigcb (SIGUSR1, wrap (gotsig, SIGUSR1));
  delaycb (0, 20000000, wrap (finish, old));
}

int
main (int argc, char **argv)
{
  setprogname (argv[0]);
  const char *t = safegetenv ("TMPDIR");
  if (!t || !*t)
    t = "/tmp";
  mstr m (strlen (t) + 20);
  sprintf (m, "%s/priv.XXXXXX", t);
  if (!mkdtemp (m))
    fatal << m.cstr () << ": " << strerror (errno) << "\n";
  m.setlen (strlen (m));
  tmpdir = m;

  ptr<lockfile> lf = lockfile::alloc (lockname ("a"));
  if (!lf)
    fatal ("cannot lock\n");
  printf ("%d %d\n", lf->locked (), lf->ok ());
  pid_t pid = afork ();
  if (pid == -1)
    fatal ("fork: %m\n");
  if (!pid) {
    lockfile other (lockname ("a"));
    _exit (other.acquire (false) ? 1 : 0);
  }
  int status = 0;
  while (waitpid (pid, &status, 0) < 0)
    if (errno != EINTR)
      fatal ("waitpid: %m\n");
  printf ("other %s\n", WEXITSTATUS (status) ? "locked too" : "refused");
  lf = NULL;
  {
    lockfile again (lockname ("a"));
    printf ("%d\n", again.acquire ());
    again.release ();
  }

  str host = myname ();
  if (host && !*host.cstr ())
    fatal << "empty name\n";
  vec<in_addr> addrs;
  if (myipaddrs (&addrs) && !addrs.size ())
    warn << "no addresses\n";
  str sh = find_program ("sh");
  printf ("%s %s\n", strrchr (sh, '/'), find_program ("no-such-program") ? "found" : "none");
  str fixed = fix_exec_path ("tool", "/opt/bin");
  printf ("%s %s\n", fixed.cstr (), fix_exec_path ("/bin/tool").cstr ());

  struct stat sb1, sb2;
  stat ("/", &sb1);
  stat ("/", &sb2);
  printf ("%d\n", stat_unchanged (&sb1, &sb2));
  char *sav[4] = { const_cast<char *> ("sh"), const_cast<char *> ("-c"), const_cast<char *> ("exit 5"), NULL };
  fflush (stdout);
  static int sum;
  sigcb (SIGUSR1, wrap (gotsig, SIGUSR1));
  pid = aspawn (sh, sav, 0, 1, 2, wrap (child));
  if (pid < 0)
    fatal ("aspawn: %m\n");
  chldcb (pid, wrap (exited, &sum));
  amain ();
}

/* prints
1 1
other refused
1
/sh none
/opt/bin/tool /bin/tool
1
child
1 1
1 1
none none
*/
