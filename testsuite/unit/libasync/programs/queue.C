// A work queue with a window: tailq, list, callbacks that finish out of order, timecb_remove, delaycb (0).

#include "async.h"
#include "list.h"
#include "qtailq.h"

struct req {
  const u_int xid;
  int tries;
  timecb_t *tmo;
  cbi cb;
  tailq_entry<req> qlink;
  list_entry<req> llink;
  req (u_int x, cbi c) : xid (x), tries (0), tmo (NULL), cb (c) {}
};

class window {
  const u_int max;
  u_int nout;
  tailq<req, &req::qlink> waiting;
  list<req, &req::llink> out;
  cbv::ptr drained;

  void kick ();
  void timeout (req *r);

public:
  window (u_int m) : max (m), nout (0) {}
  void call (u_int xid, cbi cb);
  void reply (u_int xid);
  void done (req *r, int err);
  void ondrain (cbv cb) { drained = cb; }
  bool idle () const { return !nout && !waiting.first; }
};

void
window::call (u_int xid, cbi cb)
{
  waiting.insert_tail (New req (xid, cb));
  kick ();
}

void
window::kick ()
{
  while (nout < max && waiting.first) {
    req *r = waiting.first;
    waiting.remove (r);
    out.insert_head (r);
    nout++;
    timeout (r);
  }
}

void
window::timeout (req *r)
{
  r->tmo = NULL;
  if (r->tries++ == 3) {
    done (r, ETIMEDOUT);
    return;
  }
  r->tmo = delaycb (r->xid == 1000 ? 0 : 100, r->tries * 1000000, wrap (this, &window::timeout, r));
}

void
window::reply (u_int xid)
{
  for (req *r = out.first; r; r = out.next (r))
    if (r->xid == xid) {
      done (r, 0);
      return;
    }
}

void
window::done (req *r, int err)
{
  cbi cb = r->cb;
  timecb_remove (r->tmo);
  out.remove (r);
  nout--;
  delete r;
  (*cb) (err);
  kick ();
  if (idle () && drained) {
    cbv c = drained;
    drained = NULL;
    delaycb (0, 0, c);
  }
}

static int ok, failed;
static vec<u_int> order;

static void
completed (u_int xid, int err)
{
  if (err)
    failed++;
  else {
    ok++;
    order.push_back (xid);
  }
}

static void
replies (window *w, u_int i)
{
  w->reply (i ^ 1);
  if (i < 20)
    delaycb (0, wrap (replies, w, i + 1));
}

static void
order_is (qtailq_t<str> *q)
{
  str s;
  while (q->pop_front (&s))
    printf ("%s ", s.cstr ());
  printf ("\n");
}

static void
finish ()
{
  printf ("%d ok, %d failed:", ok, failed);
  for (u_int i = 0; i < order.size (); i++)
    printf (" %u", order[i]);
  printf ("\n");
  exit (0);
}

static void say (qtailq_t<str> *q, str s) { q->push_back (s); }

int
main ()
{
  qtailq_t<str> q;
  for (int i = 0; i < 3; i++) {
    delaycb (0, wrap (say, &q, strbuf ("first%d", i)));
    delaycb (0, 0, wrap (say, &q, strbuf () << "second" << i));
  }
  timecb_t *never = delaycb (1000, wrap (exit, 1));
  timecb_remove (never);
  timecb_remove (NULL);
  delaycb (0, wrap (order_is, &q));

  window w (4);
  for (u_int i = 0; i < 8; i++)
    w.call (i, wrap (completed, i));
  w.call (1000, wrap (completed, 1000));
  w.ondrain (wrap (finish));
  replies (&w, 0);
  amain ();
}

/* prints
first0 second0 first1 second1 first2 second2 
8 ok, 1 failed: 1 0 3 2 5 4 7 6
*/
