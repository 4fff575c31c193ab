// Sockets, timers, files, names, configuration: what servers call. It compiles, but most of it does not run.

#include "async.h"
#include "amisc.h"
#include "parseopt.h"
#include "rxx.h"
#include "serial.h"
#include "aios.h"
#include "aiod.h"
#include "dns.h"
#include "rwfd.h"
#include <pwd.h>
#include <grp.h>
#include <syslog.h>
#include <sys/mman.h>

namespace in_member_named
{
struct opts
{
  bool verbose;
  int fatal_errors;
  str warn_file;
};
class logger
{
public:
  void
  log (const char *m)
  {
    printf ("%s", m);
  }
  void
  error (str s)
  {
  }
  int color;
  int callback;
  int ref_;
};
enum color_t
{
  red,
  green
};
static int backlog = 5;
static int split_n;
static int join_n;
int
index_ (int index)
{
  int time = 3, link = 4, y1 = 5, read_ = 3;
  return index + time + link + y1;
}
struct timer
{
  timecb_t *tcb;
  timer () : tcb (NULL) {}
  void
  fire ()
  {
    tcb = NULL;
  }
  void
  arm (int s)
  {
    if (tcb)
      timecb_remove (tcb);
    tcb = delaycb (s, 0, wrap (this, &timer::fire));
  }
  ~timer () { timecb_remove (tcb); }
};
int
run ()
{
  opts o;
  o.verbose = true;
  logger l;
  l.log ("x");
  l.error ("x");
  l.color = 3;
  timer t;
  t.arm (3);
  color_t c = red;
  return c;
}
}

namespace in_fdcb
{
class conn : public virtual refcount
{
  int fd;
  strbuf out;
  suio *uio;
  bool dead;
  str peer;
  cbv::ptr donecb;
  timecb_t *tmo;
  in_addr a;

public:
  conn (int f, cbv::ptr d = NULL) : fd (f), dead (false), donecb (d), tmo (NULL)
  {
    uio = out.tosuio ();
    make_async (fd);
    close_on_exec (fd);
    fdcb (fd, selread, wrap (this, &conn::rd));
  }
  ~conn ()
  {
    fdcb (fd, selread, NULL);
    fdcb (fd, selwrite, 0);
    close (fd);
    if (tmo)
      timecb_remove (tmo);
  }
  void
  rd ()
  {
    char buf[8192];
    ssize_t n = read (fd, buf, sizeof (buf));
    if (n < 0)
      {
        if (errno != EAGAIN)
          fail ();
        return;
      }
    if (!n)
      {
        fail ();
        return;
      }
    uio->copy (buf, n);
    fdcb (fd, selwrite, wrap (mkref (this), &conn::wr));
  }
  void
  wr ()
  {
    int r = uio->output (fd);
    if (r < 0)
      fail ();
    else if (!uio->resid ())
      fdcb (fd, selwrite, NULL);
  }
  void
  fail ()
  {
    dead = true;
    fdcb (fd, selread, NULL);
    fdcb (fd, selwrite, NULL);
    if (donecb)
      {
        cbv::ptr c = donecb;
        donecb = NULL;
        (*c) ();
      }
  }
};
static vec<ref<conn> > conns;
static int lfd;
static void
acc (int lfd)
{
  sockaddr_in sin;
  socklen_t len = sizeof (sin);
  bzero (&sin, sizeof (sin));
  int fd = accept (lfd, reinterpret_cast<sockaddr *> (&sin), &len);
  if (fd >= 0)
    {
      tcp_nodelay (fd);
      conns.push_back (New refcounted<conn> (fd));
      warn ("accepted from %s:%d\n", inet_ntoa (sin.sin_addr), ntohs (sin.sin_port));
    }
  else if (errno != EAGAIN)
    warn ("accept: %m\n");
}
static void
acc2 (int lfd)
{
  sockaddr_in sin;
  int len = sizeof (sin);
  accept (lfd, (struct sockaddr *)&sin, (socklen_t *)&len);
}
static void
cnt (str h, int fd)
{
  if (fd < 0)
    {
      warn << h << ": " << strerror (errno) << "\n";
      return;
    }
  vNew refcounted<conn> (fd);
}
static void
sig (int s)
{
  warn ("signal %d\n", s);
  exit (1);
}
static void
chld (pid_t p, int st)
{
  if (WIFEXITED (st))
    warn << "pid " << p << " exit " << WEXITSTATUS (st) << "\n";
}
int
run (int argc = 1, char **argv = NULL)
{
  if (argc < 100)
    return 0;
  setprogname (argv[0]);
async_init_dummy:
  lfd = inetsocket (SOCK_STREAM, 1234);
  if (lfd < 0)
    fatal ("socket: %m\n");
  lfd = inetsocket (SOCK_STREAM, 0, INADDR_LOOPBACK);
  make_async (lfd);
  close_on_exec (lfd);
  listen (lfd, 5);
  fdcb (lfd, selread, wrap (acc, lfd));
  fdcb (lfd, selread, wrap (&acc, lfd));
  tcpconnect ("localhost", 80, wrap (cnt, "localhost"));
  in_addr a;
  a.s_addr = htonl (INADDR_LOOPBACK);
  tcpconnect_t *t = tcpconnect (a, 80, wrap (cnt, str ("x")));
  tcpconnect_cancel (t);
  sigcb (SIGINT, wrap (sig, SIGINT));
  sigcb (SIGCHLD, NULL);
  sigcb (SIGTERM, wrap (exit, 0));
  cbv::ptr old = sigcb (SIGHUP, wrap (&exit, 1));
  pid_t pid = fork ();
  if (pid > 0)
    chldcb (pid, wrap (chld, pid));
  chldcb (pid, NULL);
  timecb_t *tc = delaycb (1, wrap (sig, 3));
  delaycb (0, 500000000, wrap (sig, 2));
  timecb_remove (tc);
  tc = timecb (time (NULL) + 5, wrap (sig, 1));
  timespec ts;
  clock_gettime (CLOCK_REALTIME, &ts);
  ts.tv_sec += 3;
  timecb (ts, wrap (sig, 0));
  time_t now = timenow;
  ts = tsnow;
  ts = sfs_get_tsnow ();
  now = sfs_get_timenow ();
  while (!lfd)
    acheck ();
  amain ();
}
}

namespace in_parse
{
static str logfile;
static int port;
static u_int nproc;
static bool dbg;
static u_int16_t p16;
static u_int32_t u32;
static int64_t i64;
static double dbl;
static size_t sz;
static vec<str> servers;
static u_int64_t u64v;
static char ch;
static long lng;
static void
got_server (vec<str> s, str loc, bool *errp)
{
  if (s.size () != 2)
    {
      warn << loc << ": usage\n";
      *errp = true;
      return;
    }
  servers.push_back (s[1]);
}
static void
got_word (str s)
{
}
class cfg
{
public:
  void
  line (vec<str> s, str loc, bool *e)
  {
  }
  void
  word (str w)
  {
  }
  bool
  parse (const str &f)
  {
    conftab ct;
    ct.add ("Server", wrap (this, &cfg::line))
        .add ("Word", wrap (this, &cfg::word))
        .add ("Log", &logfile)
        .add ("Port", &port, 1, 65535)
        .add ("N", &nproc, 1U, 100U, 5U)
        .add ("n2", &nproc, 1, 100)
        .add ("Debug", &dbg)
        .add ("P16", &p16, 0, 0xffff, 80)
        .add ("U", &u32, 0, 0x7fffffff)
        .add ("L", &i64, INT64 (0), INT64 (1) << 40)
        .add ("S", &sz, 0, INT_MAX)
        .add ("D", &dbl, 0., 1.)
        .add ("Old", &logfile, "x")
        .add ("b", &dbg, true)
        .add ("uu", &u64v, 0, 1000)
        .add ("lng", &lng, -1, 5)
        .ignore ("Gone");
    return ct.run (f, CONFTAB_VERBOSE);
  }
};
int
run ()
{
  if (time (0) > 0)
    return 0;
  parseargs pa ("file");
  vec<str> av;
  int line;
  bool errors = false;
  while (pa.getline (&av, &line))
    {
      if (!strcasecmp (av[0], "Port"))
        {
          if (av.size () != 2 || !convertint (av[1], &port))
            {
              errors = true;
              warn << pa.filename << ":" << line << ": usage\n";
            }
        }
      else if (!strcasecmp (av[0], "x"))
        pa.error ("bad");
      else
        errors = true;
    }
  conftab ct;
  ct.add ("a", wrap (got_server)).add ("w", wrap (got_word));
  bool e;
  ct.match (av, "f", 3, &e);
  if (!ct.run ("x"))
    fatal << "x\n";
  cfg c;
  c.parse ("f");
  u_int64_t u;
  convertint ("5", &u);
  convertint (str ("5"), &p16);
  convertint (av[0], &i64, 16);
  long l;
  convertint ("x", &l);
  unsigned char uc;
  convertint ("3", &uc);
  str s = file2str ("x");
  if (!s)
    warn ("%m\n");
  str2file ("x", s);
  str2file ("x", "y", 0600);
  struct stat sb;
  str2file ("x", s, 0644, true, &sb);
  s = armor64 (s);
  s = armor64 (s.cstr (), s.len ());
  s = armor32 ("x", 1);
  s = dearmor32 (s);
  s = dearmor64 (s, 3);
  s = armor64A (s);
  s = mytolower (s);
  s = hex2bytes ("0a");
  char b[8];
  putint (b, 3);
  getint (b);
  puthyper (b, 3);
  gethyper (b);
  strtoi64 ("3");
  return 0;
}
}

namespace in_aios
{
class sess
{
  aios_t io;
  int n;
  ptr<aios> p;
  sess (int fd) : io (aios::alloc (fd)), n (0)
  {
    io->setdebug ("x");
    io->settimeout (30);
    next ();
  }
  void
  next ()
  {
    io->readline (wrap (this, &sess::line));
  }
  void
  line (str s, int err)
  {
    if (!s)
      {
        if (err)
          warn << "x: " << strerror (err) << "\n";
        delete this;
        return;
      }
    io << "ok " << s << " " << n++ << "\r\n";
    aios_t a = io;
    a << strbuf ("%d\n", 3);
    io->setwcb (wrap (this, &sess::wrote));
    next ();
  }
  void
  wrote (int e)
  {
  }

public:
  static void
  start (int fd)
  {
    vNew sess (fd);
  }
};
static void
rl (str s, int e)
{
  if (s)
    aout << "got " << s << "\n";
  ain->readline (wrap (rl));
}
static void
op (ptr<aiofh> fh, int err)
{
  if (!fh)
    fatal ("%s\n", strerror (err));
}
static void
st (struct stat *sb, int e)
{
  if (sb)
    warn << sb->st_size << "\n";
}
static void
rd (ptr<aiofh> fh, ptr<aiobuf> b, ssize_t n, int err)
{
  str s (b->base (), n);
}
static void
host (ptr<hostent> h, int e)
{
  if (!h)
    {
      warn << dns_strerror (e) << "\n";
      return;
    }
  struct in_addr a = *(in_addr *)h->h_addr;
  warn << h->h_name << inet_ntoa (a) << "\n";
  for (char **ap = h->h_aliases; *ap; ap++)
    warn << *ap;
}
static void
mx (ptr<mxlist> m, int e)
{
  if (m)
    for (int i = 0; i < m->m_nmx; i++)
      warn << m->m_mxes[i].name << m->m_mxes[i].pref;
}
static void
srv (ptr<srvlist> s, int e)
{
  if (s)
    for (int i = 0; i < s->s_nsrv; i++)
      warn << s->s_srvs[i].name << s->s_srvs[i].port;
}
static void
txt (ptr<txtlist> t, int e)
{
  if (t)
    warn << t->t_name;
}
int
run ()
{
  if (time (0) > 0)
    return 0;
  sess::start (3);
  rl (NULL, 0);
  aiod *d = New aiod (2);
  d->open ("x", O_RDONLY, 0, wrap (op));
  d->stat ("x", wrap (st));
  ptr<aiobuf> b = d->bufalloc (8192);
  ptr<aiofh> fh;
  fh->read (0, b, wrap (rd, fh));
  fh->close (wrap (exit));
  d->unlink ("x", wrap (exit));
  d->bufwait (cbv_null);
  ref<aiod> rd0 = New refcounted<aiod> (1, 0x100000, 0x10000);
  dnsreq_t *q = dns_hostbyname ("x", wrap (host));
  dnsreq_cancel (q);
  dns_hostbyname ("x", wrap (host), true, false);
  in_addr a;
  dns_hostbyaddr (a, wrap (host));
  dns_mxbyname ("x", wrap (mx));
  dns_srvbyname ("x", "tcp", "http", wrap (srv));
  dns_srvbyname ("_x._tcp.q", wrap (srv));
  dns_txtbyname ("x", wrap (txt));
  amain ();
}
}

namespace in_proc
{
static void
child ()
{
  setsid ();
  close (5);
}
static void
got (str s)
{
  if (s)
    warn << s;
}
static void
exited (int st)
{
  if (WIFSIGNALED (st))
    warn ("sig %d\n", WTERMSIG (st));
}
int
run (int argc = 1, char **argv = NULL)
{
  if (argc < 100)
    return 0;
  const char *av[] = { "ls", "-l", NULL };
  char *cav[] = { "ls", NULL };
  vec<char *> v;
  v.push_back ("ls");
  v.push_back (NULL);
  vec<const char *> cv;
  cv.push_back (NULL);
  int p[2];
  pipe (p);
  pid_t pid = spawn ("/bin/ls", av, 0, p[1]);
  pid = spawn ("ls", cav);
  pid = spawn (av[0], (char *const *)av, 0, 1, 2, wrap (child));
  pid = spawn (v[0], v.base (), p[0], p[1], 2, wrap (child), environ);
  pid = aspawn ("ls", cv.base (), 0, 1);
  pid = aspawn (find_program ("ls"), v.base ());
  if (pid < 0)
    fatal << av[0] << ": " << strerror (errno) << "\n";
  chldcb (pid, wrap (exited));
  pipe2str (p[0], wrap (got));
  pid = afork ();
  if (!pid)
    {
      err_init ();
      _exit (0);
    }
  daemonize ();
  daemonize ("x");
  start_logger ();
  setprogpid (1);
  ptr<lockfile> lf = lockfile::alloc ("/tmp/x");
  if (!lf || !lf->locked ())
    ;
  lockfile l ("x");
  l.acquire (true);
  l.release ();
  str h = myname ();
  vec<in_addr> as;
  myipaddrs (&as);
  find_program_plus_libsfs ("x");
  fix_exec_path ("x");
  ifchgcb_t *ic = ifchgcb (cbv_null);
  ifchgcb_remove (ic);
  int fd = unixsocket ("/tmp/s");
  fd = unixsocket_connect ("x");
  isunixsocket (fd);
  tcp_nodelay (fd);
  tcp_abort (fd);
  make_sync (fd);
  close_on_exec (fd, false);
  fdwait (fd, selread);
  fdwait (fd, true, false, NULL);
  xputenv ("a=b");
  str s = safegetenv ("X");
  const char *e = safegetenv ("Y");
sendfd_dummy:
  writefd (fd, "x", 1, 3);
  int rfd;
  readfd (fd, p, 1, &rfd);
  v_write (1, "x", 1);
  rc_ignore (write (1, "x", 1));
  sockaddr_in sa, sb;
  if (sa == sb)
    ;
  in_addr ia;
  if (ia != ia)
    ;
  timespec t1 = { 1, 2 }, t2;
  t2 = t1 - t1;
  if (t1 < t2)
    ;
  return 0;
}
}

int
main (int argc, char **argv)
{
  if (argc > 1)
    {
      in_fdcb::run ();
      in_parse::run ();
      in_aios::run ();
      in_proc::run ();
    }
  printf ("in_member_named %d\n", in_member_named::run ());
  return 0;
}

/* prints
xin_member_named 0
*/
