// What a program did under RPC: a record stream over aios-like buffers, putint and getint, sendfd, hash of strings.

#include "async.h"
#include "serial.h"
#include "rwfd.h"
#include "cbuf.h"
#include "bitvec.h"
#include "msb.h"
#include "arena.h"
#include "bbuddy.h"

class stream {
  const int fd;
  suio out;
  suio in;
  typedef callback<void, const char *, ssize_t>::ptr rcb_t;
  rcb_t rcb;
  bool wrunning;

  void input ();
  void output ();

public:
  stream (int f) : fd (f), wrunning (false) { make_async (fd); }
  ~stream () { fdcb (fd, selread, NULL); fdcb (fd, selwrite, NULL); close (fd); }
  void setrcb (callback<void, const char *, ssize_t>::ptr cb);
  void send (const void *p, size_t n, cbv::ptr sent = NULL);
};

void
stream::setrcb (callback<void, const char *, ssize_t>::ptr cb)
{
  rcb = cb;
  if (cb)
    fdcb (fd, selread, wrap (this, &stream::input));
  else
    fdcb (fd, selread, NULL);
}

void
stream::send (const void *p, size_t n, cbv::ptr sent)
{
  char hdr[4];
  putint (hdr, 0x80000000 | n);
  out.copy (hdr, sizeof (hdr));
  out.copy (p, n);
  while (out.resid () & 3)
    out.fill ('\0', 1);
  if (sent)
    out.iovcb (sent);
  if (!wrunning) {
    wrunning = true;
    fdcb (fd, selwrite, wrap (this, &stream::output));
  }
}

void
stream::output ()
{
  if (out.output (fd) < 0)
    fatal ("output: %m\n");
  if (!out.resid ()) {
    wrunning = false;
    fdcb (fd, selwrite, NULL);
  }
}

void
stream::input ()
{
  ssize_t n = in.input (fd);
  if (n < 0 && errno == EAGAIN)
    return;
  if (n <= 0) {
    rcb_t cb = rcb;
    setrcb (NULL);
    (*cb) (NULL, n < 0 ? -1 : 0);
    return;
  }
  while (in.resid () >= 4) {
    char hdr[4];
    in.copyout (hdr, 4);
    u_int32_t len = getint (hdr) & 0x7fffffff;
    size_t padded = (len + 3) & ~3;
    if (in.resid () < 4 + padded)
      return;
    in.rembytes (4);
    mstr m (len);
    in.copyout (m, len);
    in.rembytes (padded);
    (*rcb) (m, len);
  }
}

template<class T> void delete_obj (T *p) { delete p; }

static int nsent;
static void sent () { nsent++; }

static void
received (stream *s, const char *p, ssize_t n)
{
  if (!p) {
    printf ("eof %d, %d sent\n", (int) n, nsent);
    delete s;
    exit (0);
  }
  printf ("%d %.*s\n", (int) n, (int) n, p);
}

static void
passfd ()
{
  int s[2], p[2];
  socketpair (AF_UNIX, SOCK_STREAM, 0, s);
  pipe (p);
  if (writefd (s[0], "f", 1, p[0]) != 1)
    fatal ("writefd: %m\n");
  char c;
  int got = -1;
  if (readfd (s[1], &c, 1, &got) != 1 || got < 0)
    fatal ("readfd: %m\n");
  write (p[1], "via", 3);
  char buf[4] = "";
  read (got, buf, 3);
  printf ("%c %s %d\n", c, buf, isunixsocket (s[0]) && !isunixsocket (got));
}

int
main (int argc, char **argv)
{
  setprogname (argv[0]);
  passfd ();
  cbuf cb (16);
  iovec const *iov = cb.iniov ();
  memcpy (iov[0].iov_base, "ring\nbuf", 8);
  cb.addbytes (8);
  printf ("%d %d %c\n", (int) cb.bytes (), cb.find ('\n'), cb[5]);
  bitvec bv (100);
  bv.setrange (10, 20, true);
  bv[15] ^= true;
  bv[99] = 1;
  int n = 0;
  for (size_t i = 0; i < bv.size (); i++)
    n += bv[i];
  printf ("%d\n", n);
  printf ("%d %d %d %d\n", fls32 (0), fls32 (1), fls32 (0x8000), log2c32 (1025));
  arena a;
  char *ap = (char *) a.alloc (10);
  double *dp = New (a) double (1.5);
  strcpy (ap, "arena");
  printf ("%s %.1f\n", ap, *dp);
  bbuddy bb (1024, 16, 512);
  off_t o1 = bb.alloc (100), o2 = bb.alloc (500), o3 = bb.alloc (512);
  printf ("%d %d\n", o1 >= 0 && o2 >= 0 && o1 != o2, o3 < 0);
  bb.dealloc (o1, 100);
  char hyper[8];
  puthyper (hyper, INT64 (0x0102030405060708));
  printf ("%d%d %d\n", hyper[0], hyper[7], gethyper (hyper) == INT64 (0x0102030405060708));

  int fds[2];
  if (socketpair (AF_UNIX, SOCK_STREAM, 0, fds) < 0)
    fatal ("socketpair: %m\n");
  stream *x = New stream (fds[0]), *y = New stream (fds[1]);
  y->setrcb (wrap (received, y));
  x->send ("hello", 5, wrap (sent));
  str big = strbuf ("%0300d", 7);
  x->send (big, 7);
  x->send ("", 0, wrap (sent));
  delaycb (0, 30000000, wrap (delete_obj<stream>, x));
  amain ();
}

/* prints
f via 1
8 4 b
10
0 1 16 11
arena 1.5
1 1
18 1
5 hello
7 0000000
0 
eof 0, 2 sent
*/
