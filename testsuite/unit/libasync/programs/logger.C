// err.h: warn, warnx, traces by level, fatal, %m, a logger in a child, errfd, fatalhook.

#include <sys/wait.h>
#include "err.h"
#include "async.h"

static int trace_level (getenv ("NO_SUCH_TRACE") ? atoi (getenv ("NO_SUCH_TRACE")) : 2);
#define trace traceobj (trace_level, "trace: ")
#define quiet traceobj (0)

#define WARN(x) warn << __func__ << ": " << x << "\n"

struct pt { int x, y; };

const strbuf &
strbuf_cat (const strbuf &sb, const pt &p)
{
  return sb << "(" << p.x << "," << p.y << ")";
}

static void
hook ()
{
  warnx << "hook\n";
}

static void
body (int n)
{
  pt p = { 1, 2 };
  WARN ("in body " << n);
  warn ("%s %d\n", "fmt", n);
  warnx ("no prefix %d%%\n", 5);
  warnx << "point " << p << " str " << str ("s") << " hex " << hexdump ("AB", 2) << "\n";
  errno = ENOENT;
  warn ("%m\n");
  warn << strerror (errno) << "\n";
  trace (1) << "shown " << n << "\n";
  trace (3) << "hidden\n";
  trace (2, "formatted %d\n", n);
  quiet (1) << "hidden\n";
  if (n)
    warn << "n" << "\n";
  else
    warn << "zero\n";
  warn << "no newline";
  warnx << "\n";
  fatalhook = hook;
  fatal << "end " << n << "\n";
}

int
main (int argc, char **argv)
{
  char name[] = "/usr/local/lib/lt-prog";
  setprogname (name);
  int fds[2];
  if (pipe (fds) < 0)
    panic ("pipe: %m\n");
  pid_t pid = fork ();
  if (pid < 0)
    fatal ("fork: %m\n");
  if (!pid) {
    close (fds[0]);
    errfd = fds[1];
    body (7);
    _exit (99);
  }
  close (fds[1]);
  strbuf sb;
  while (sb.tosuio ()->input (fds[0]) > 0)
    ;
  int status;
  waitpid (pid, &status, 0);
  str all = sb;
  printf ("%sstatus %d\n", all.cstr (), WEXITSTATUS (status));
  pid = fork ();
  if (!pid) {
    close (2);
    assert (argc > 100);
    _exit (0);
  }
  waitpid (pid, &status, 0);
  printf ("signal %d\n", WIFSIGNALED (status) ? WTERMSIG (status) : 0);
  return 0;
}

/* prints
prog: body: in body 7
prog: fmt 7
no prefix 5%
point (1,2) str s hex 4142
prog: No such file or directory
prog: No such file or directory
prog: trace: shown 7
prog: trace: formatted 7
prog: n
prog: no newline
prog: fatal: end 7
hook
status 1
signal 6
*/
