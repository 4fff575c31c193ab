// A relay in the style of a tcp proxy: suio buffers, fdcb on both sides, back pressure, close_on_exec, tcp_abort.

#include "async.h"

#define BUFMAX 4096

struct relay {
  struct side {
    int fd;
    suio out;
    bool eof, wclosed;
    side () : fd (-1), eof (false), wclosed (false) {}
  } a, b;
  u_int64_t bytes;

  relay (int fa, int fb) : bytes (0) { a.fd = fa; b.fd = fb; watch (); }
  ~relay ();
  void watch ();
  void input (side *from, side *to);
  void output (side *s);
};

static int live;
static u_int64_t total;
static cbv::ptr alldone;

static void
ended ()
{
  if (--live)
    return;
  printf ("relayed %llu\n", (unsigned long long) total);
  (*alldone) ();
}

relay::~relay ()
{
  for (side *s = &a; ; s = &b) {
    fdcb (s->fd, selread, NULL);
    fdcb (s->fd, selwrite, NULL);
    close (s->fd);
    if (s == &b)
      break;
  }
  total = bytes;
  ended ();
}

void
relay::watch ()
{
  fdcb (a.fd, selread, !a.eof && b.out.resid () < BUFMAX ? cbv::ptr (wrap (this, &relay::input, &a, &b)) : cbv::ptr (NULL));
  fdcb (b.fd, selread, !b.eof && a.out.resid () < BUFMAX ? cbv::ptr (wrap (this, &relay::input, &b, &a)) : cbv::ptr ());
  if (a.out.resid ())
    fdcb (a.fd, selwrite, wrap (this, &relay::output, &a));
  if (b.out.resid ())
    fdcb (b.fd, selwrite, wrap (this, &relay::output, &b));
}

void
relay::input (side *from, side *to)
{
  ssize_t n = to->out.input (from->fd, BUFMAX);
  if (n < 0 && errno == EAGAIN)
    return;
  if (n <= 0) {
    from->eof = true;
    if (!to->out.resid ()) {
      shutdown (to->fd, SHUT_WR);
      to->wclosed = true;
    }
    if (a.eof && b.eof && !a.out.resid () && !b.out.resid ()) {
      delete this;
      return;
    }
  }
  else
    bytes += n;
  watch ();
}

void
relay::output (side *s)
{
  side *peer = s == &a ? &b : &a;
  int n = s->out.output (s->fd);
  if (n < 0) {
    delete this;
    return;
  }
  if (!s->out.resid ()) {
    fdcb (s->fd, selwrite, NULL);
    if (peer->eof && !s->wclosed) {
      shutdown (s->fd, SHUT_WR);
      s->wclosed = true;
    }
    if (a.wclosed && b.wclosed) {
      delete this;
      return;
    }
  }
  watch ();
}

struct feeder {
  int fd;
  size_t left;
  u_int32_t sum;
  suio uio;
  str first;
  bool eof;
  void start ();
  void output ();
  void input (suio *u);
  void finish ();
};

static char pattern[1000];

void
feeder::start ()
{
  make_async (fd);
  fdcb (fd, selwrite, wrap (this, &feeder::output));
  suio *u = New suio;
  fdcb (fd, selread, wrap (this, &feeder::input, u));
}

void
feeder::output ()
{
  if (!uio.resid () && left) {
    size_t n = min<size_t> (left, sizeof (pattern));
    uio.print (pattern, n);
    left -= n;
  }
  if (uio.output (fd) < 0)
    fatal ("feeder: %m\n");
  if (!uio.resid () && !left) {
    fdcb (fd, selwrite, NULL);
    shutdown (fd, SHUT_WR);
    finish ();
  }
}

void
feeder::finish ()
{
  if (eof && !left && !uio.resid ())
    tcp_abort (fd), ended ();
}

void
feeder::input (suio *u)
{
  int n = u->input (fd);
  if (n < 0 && errno == EAGAIN)
    return;
  if (n <= 0) {
    sum = u->byteno ();
    mstr m (min<size_t> (u->resid (), 5));
    u->copyout (m, m.len ());
    u->rembytes (u->resid ());
    delete u;
    first = m;
    fdcb (fd, selread, NULL);
    eof = true;
    finish ();
  }
}

static void
report (feeder *f, feeder *g)
{
  printf ("%u %s %u %s\n", f->sum, f->first.cstr (), g->sum, g->first.cstr ());
}

int
main (int argc, char **argv)
{
  setprogname (argv[0]);
  int p[2], q[2];
  socketpair (AF_UNIX, SOCK_STREAM, 0, p);
  socketpair (AF_UNIX, SOCK_STREAM, 0, q);
  for (int i = 0; i < 2; i++) {
    close_on_exec (p[i]);
    close_on_exec (q[i]);
    make_async (p[i]);
    make_async (q[i]);
  }
  memset (pattern, 'p', sizeof (pattern));
  live = 3;
  vNew relay (p[1], q[0]);
  feeder f, g;
  f.fd = p[0], g.fd = q[1];
  f.left = 100000, g.left = 23456;
  f.eof = g.eof = false;
  alldone = wrap (report, &f, &g);
  f.start ();
  g.start ();
  while (live)
    acheck ();
}

/* prints
relayed 123456
23456 ppppp 100000 ppppp
*/
