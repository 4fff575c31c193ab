// Datagrams and requests that are sent again: inetsocket SOCK_DGRAM, callbacks that capture addresses, backoff by tmoq.

#include "async.h"
#include "backoff.h"
#include "ihash.h"

class peer;

struct call {
  const u_int32_t xid;
  peer *p;
  cbi cb;
  int sent;
  ihash_entry<call> hlink;
  tmoq_entry<call> tlink;
  call (u_int32_t x, peer *pp, cbi c) : xid (x), p (pp), cb (c), sent (0) {}
  void xmit (int retry);
  void timeout ();
};

typedef tmoq<call, &call::tlink, 5, 3> callq_t;

class peer {
  int fd;
  sockaddr_in to;
  u_int32_t nextxid;
  ihash<const u_int32_t, call, &call::xid, &call::hlink> calls;
  callq_t q;
  void input ();
public:
  peer (const sockaddr_in &sin);
  ~peer () { fdcb (fd, selread, NULL); close (fd); }
  void send (cbi cb);
  void xmit (call *c);
  void done (call *c, int err);
};

peer::peer (const sockaddr_in &sin) : to (sin), nextxid (1)
{
  fd = inetsocket (SOCK_DGRAM, 0, INADDR_LOOPBACK);
  if (fd < 0)
    fatal ("inetsocket: %m\n");
  make_async (fd);
  close_on_exec (fd);
  fdcb (fd, selread, wrap (this, &peer::input));
}

void
peer::send (cbi cb)
{
  call *c = New call (nextxid++, this, cb);
  calls.insert (c);
  q.start (c);
}

void
peer::xmit (call *c)
{
  u_int32_t buf[2] = { htonl (c->xid), htonl (c->sent++) };
  if (sendto (fd, (char *) buf, sizeof (buf), 0, (sockaddr *) &to, sizeof (to)) < 0)
    warn ("sendto: %m\n");
}

void
peer::input ()
{
  u_int32_t buf[16];
  ssize_t n = recvfrom (fd, (char *) buf, sizeof (buf), 0, NULL, NULL);
  if (n < 8)
    return;
  call *c = calls[ntohl (buf[0])];
  if (c)
    done (c, 0);
}

void
peer::done (call *c, int err)
{
  calls.remove (c);
  if (!err)
    q.remove (c);
  cbi cb = c->cb;
  delete c;
  if (call *o = calls.first ())
    o->xmit (o->sent);
  (*cb) (err);
}

void call::xmit (int) { p->xmit (this); }
void call::timeout () { p->done (this, ETIMEDOUT); }

static int sfd, lost, served, seen;

static void
serve ()
{
  u_int32_t buf[2];
  sockaddr_in sin;
  bzero (&sin, sizeof (sin));
  socklen_t len = sizeof (sin);
  ssize_t n = recvfrom (sfd, buf, sizeof (buf), 0, (sockaddr *) &sin, &len);
  if (n != sizeof (buf) || sin.sin_addr != (in_addr) { htonl (INADDR_LOOPBACK) })
    return;
  if (ntohl (buf[0]) == 2 && !ntohl (buf[1])) {
    lost++;
    return;
  }
  if (!(1 & seen >> ntohl (buf[0])))
    served++;
  seen |= 1 << ntohl (buf[0]);
  sendto (sfd, buf, n, 0, (const sockaddr *) &sin, len);
}

static int answered, left = 3;

static void
reply (int err)
{
  if (!err)
    answered++;
  if (!--left) {
    printf ("%d lost, %d served, %d answered\n", lost, served, answered);
    exit (0);
  }
}

int
main (int argc, char **argv)
{
  setprogname (argv[0]);
  sfd = inetsocket (SOCK_DGRAM, 0, INADDR_LOOPBACK);
  make_async (sfd);
  fdcb (sfd, selread, wrap (serve));
  sockaddr_in sin;
  socklen_t len = sizeof (sin);
  getsockname (sfd, (sockaddr *) &sin, &len);
  sin.sin_addr.s_addr = htonl (INADDR_LOOPBACK);
  peer *p = New peer (sin);
  for (int i = 0; i < 3; i++)
    p->send (wrap (reply));
  amain ();
}

/* prints
1 lost, 3 served, 3 answered
*/
