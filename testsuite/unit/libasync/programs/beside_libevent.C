// Stock libevent in the same process, before libasync: another library of the program may need it, too.
// Each keeps to its own event_base. No answer is waited for: there may be no network.

#include <async.h>
#include <dns.h>
#include <dlfcn.h>
#include <event2/event.h>

static event_base *other;
static int left = 2;

static void
finish ()
{
  if (!--left) {
    event_base_free (other);
    exit (0);
  }
}

static void
answered (ptr<hostent>, int)
{
}

static void
fire (evutil_socket_t, short, void *)
{
  printf ("libevent's own event\n");
}

static void
look ()
{
  dnsreq_t *req = dns_hostbyname ("name.invalid.", wrap (answered));
  if (req)
    dnsreq_cancel (req);
  printf ("asked and cancelled\n");
  finish ();
}

static void
turn ()
{
  event_base_once (other, -1, EV_TIMEOUT, fire, NULL, NULL);
  event_base_loop (other, EVLOOP_NONBLOCK);
  finish ();
}

int
main ()
{
  printf ("%s\n", dlsym (RTLD_DEFAULT, "event_base_post") ? "not stock" : "stock");
  other = event_base_new ();
  delaycb (0, 0, wrap (look));
  delaycb (0, 0, wrap (turn));
  amain ();
}

/* prints
stock
asked and cancelled
libevent's own event
*/
