// Names and connections: dns_hostbyname of literals, tcpconnect, inetsocket, retries by delaycb, cancel.

#include "async.h"
#include "dns.h"

static int lfd = -1;
static u_int16_t port;
static int left;

static void
finish (const char *what)
{
  printf ("%s\n", what);
  if (!--left)
    exit (0);
}

static void
doaccept ()
{
  sockaddr_in sin;
  bzero (&sin, sizeof (sin));
  socklen_t len = sizeof (sin);
  int fd = accept (lfd, (sockaddr *) &sin, &len);
  if (fd < 0) {
    if (errno != EAGAIN)
      warn ("accept: %m\n");
    return;
  }
  tcp_nodelay (fd);
  make_async (fd);
  v_write (fd, "x", 1);
  close (fd);
}

class getter {
  int fd;
  void connected (int f);
  void readcb ();
public:
  getter () : fd (-1) {}
  ~getter () { if (fd >= 0) { fdcb (fd, selread, NULL); close (fd); } }
  void start (in_addr a) { tcpconnect (a, port, wrap (this, &getter::connected)); }
  void start (str h) { tcpconnect (h, port, wrap (this, &getter::connected), false); }
};

void
getter::connected (int f)
{
  if (f < 0) {
    finish (errno == ECONNREFUSED ? "refused" : strerror (errno));
    delete this;
    return;
  }
  fd = f;
  fdcb (fd, selread, wrap (this, &getter::readcb));
}

void
getter::readcb ()
{
  char buf[10];
  ssize_t n = read (fd, buf, sizeof (buf));
  if (n < 0 && errno == EAGAIN)
    return;
  delete this;
  finish (n == 1 && buf[0] == 'x' ? "connected" : "bad data");
}

static void refused (timecb_t **tp, int n, int fd);

static void
again (timecb_t **tp, int n)
{
  in_addr lo;
  lo.s_addr = htonl (INADDR_LOOPBACK);
  tcpconnect (lo, 1, wrap (refused, tp, n));
}

static void
refused (timecb_t **tp, int n, int fd)
{
  if (fd >= 0)
    fatal << "connected to nothing\n";
  if (errno != ECONNREFUSED)
    fatal ("%m\n");
  if (n < 3) {
    *tp = delaycb (0, 30000000, wrap (again, tp, n + 1));
    return;
  }
  finish ("gave up");
}

static void
gothost (bool *sync, ptr<hostent> h, int err)
{
  if (!h)
    fatal << dns_strerror (err) << "\n";
  printf ("%s %d %s\n", h->h_name, h->h_length, inet_ntoa (*(in_addr *) h->h_addr));
  *sync = true;
}

int
main (int argc, char **argv)
{
  setprogname (argv[0]);
  bool sync = false;
  dns_hostbyname ("10.1.2.3", wrap (gothost, &sync));
  printf ("%s\n", sync ? "at once" : "later");

  lfd = inetsocket (SOCK_STREAM, 0, INADDR_LOOPBACK);
  if (lfd < 0)
    fatal ("inetsocket: %m\n");
  close_on_exec (lfd);
  make_async (lfd);
  listen (lfd, 5);
  sockaddr_in sin;
  socklen_t sinlen = sizeof (sin);
  if (getsockname (lfd, (sockaddr *) &sin, &sinlen) < 0)
    fatal ("getsockname: %m\n");
  port = ntohs (sin.sin_port);
  fdcb (lfd, selread, wrap (doaccept));

  left = 3;
  timecb_t *tmo = NULL;
  in_addr lo;
  lo.s_addr = htonl (INADDR_LOOPBACK);
  tcpconnect_t *c = tcpconnect (lo, 1, wrap (refused, &tmo, 100));
  tcpconnect_cancel (c);
  again (&tmo, 0);
  getter *g = New getter;
  g->start (lo);
  (New getter)->start ("127.0.0.1");
  amain ();
}

/* prints
10.1.2.3 4 10.1.2.3
at once
connected
connected
gave up
*/
