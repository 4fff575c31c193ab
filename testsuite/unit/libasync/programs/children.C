// Children: spawn, pipes read by fdcb, pipe2str, chldcb, sigcb; a job table with timeouts.

#include "async.h"
#include "ihash.h"

#include "../../emulated.h"

struct job {
  const pid_t pid;
  const str name;
  int fd;
  strbuf out;
  bool eof;
  int status;
  ihash_entry<job> link;

  job (pid_t p, str n, int f);
  ~job ();
  void input ();
  void reap (int s);
  void check ();
};

static ihash<const pid_t, job, &job::pid, &job::link> jobs;
static vec<str> report;

job::job (pid_t p, str n, int f)
  : pid (p), name (n), fd (f), eof (false), status (-1)
{
  jobs.insert (this);
  make_async (fd);
  close_on_exec (fd);
  fdcb (fd, selread, wrap (this, &job::input));
  chldcb (pid, wrap (this, &job::reap));
}

job::~job ()
{
  jobs.remove (this);
  if (fd >= 0) {
    fdcb (fd, selread, NULL);
    close (fd);
  }
}

void
job::input ()
{
  int n = out.tosuio ()->input (fd);
  if (n < 0 && errno == EAGAIN)
    return;
  if (n <= 0) {
    fdcb (fd, selread, NULL);
    close (fd);
    fd = -1;
    eof = true;
    check ();
  }
}

void
job::reap (int s)
{
  status = s;
  check ();
}

void
job::check ()
{
  if (!eof || status < 0)
    return;
  str o = out;
  strbuf sb;
  sb << name << ": ";
  if (WIFEXITED (status))
    sb << "exit " << WEXITSTATUS (status);
  else if (WIFSIGNALED (status))
    sb << "signal " << WTERMSIG (status);
  sb << " [" << o << "]";
  report.push_back (sb);
  delete this;
  if (!jobs.size ()) {
    for (u_int i = 0; i < 3; i++)
      for (u_int j = 0; j < report.size (); j++)
	if (report[j][0] == (char) ('a' + i))
	  printf ("%s\n", report[j].cstr ());
    exit (0);
  }
}

static void
launch (const char *name, const char *cmd)
{
  int fds[2];
  if (pipe (fds) < 0)
    fatal ("pipe: %m\n");
  make_sync (fds[1]);
  close_on_exec (fds[0]);
  const char *av[] = { "sh", "-c", cmd, NULL };
  str path = find_program ("sh");
  if (!path)
    fatal << "no sh\n";
  pid_t pid = spawn (path, av, 0, fds[1], 2);
  if (pid < 0)
    fatal ("%s: %m\n", path.cstr ());
  close (fds[1]);
  vNew job (pid, name, fds[0]);
}

static void
timeout ()
{
  fatal << "timeout\n";
}

static void
start (str s)
{
  if (s != "hello\n")
    fatal << "pipe2str: " << s << "\n";
  launch ("a", "echo one; echo two");
  launch ("b", "exit 3");
  launch ("c", "kill -9 $$");
}

int
main (int argc, char **argv)
{
  setprogname (argv[0]);
  delaycb (50, wrap (timeout));
  const char *none = "/nonexistent/program";
  const char *nav[] = { none, NULL };
  if (has_spawn_errors () && (spawn (none, nav) != -1 || errno != ENOENT))
    fatal ("spawn of nothing: %m\n");
  int fds[2];
  pipe (fds);
  write (fds[1], "hello\n", 6);
  close (fds[1]);
  pipe2str (fds[0], wrap (start));
  sigcb (SIGTERM, wrap (exit, 1));
  sigcb (SIGINT, wrap (exit, 1));
  amain ();
}

/* prints
a: exit 0 [one
two
]
b: exit 3 []
c: signal 9 []
*/
