// The later dialect: ptr::alloc, cstr, moves, emplace_back, initializer lists, yieldcb, ranges over hashes.

#include "async.h"
#include "qhash.h"
#include "rclist.h"
#include "rctailq.h"
#include "rctree.h"
#include "sfs_bundle.h"
#include "wide_str.h"
#include "litetime.h"
#include "dynenum.h"

#if !defined(SFSLITE_AT_VERSION) || !SFSLITE_AT_VERSION(1,2,8,0)
# error "too old"
#endif

// Numbers of 100 and above are releases. A program compares its own version by the same macro.
#if !SFSLITE_AT_VERSION(1,2,9,113) || SFSLITE_AT_VERSION(1,2,10,0) || SFSLITE_AT_VERSION(1,3,0,0)
# error "no release of 1.2.9"
#endif
#define APP_AT_VERSION(Maj,Min,Pat,Pre) (VERSION_FLATTEN (Maj,Min,Pat,Pre) <= VERSION_FLATTEN (3,1,20,100))
#if !APP_AT_VERSION(3,1,2,0) || APP_AT_VERSION(3,1,20,101) || APP_AT_VERSION(3,2,0,0)
# error "bad numbers"
#endif
#ifdef SFSLITE_PATCHLEVEL
# include "tame_lock.h"
#endif

namespace okws {
  class user_t : public virtual refcount {
  public:
    user_t (const str &n, int i) : name (n), id (i) {}
    str to_str () const { return strbuf ("%s/%d", name.cstr (), id); }
    str name;
    const int id;
    rclist_entry_t<user_t> m_lnk;
    rctailq_entry_t<user_t> m_qlnk;
    rctree_entry_t<str, user_t> m_tlnk;
    static ptr<user_t> alloc (const str &n, int i) { return New refcounted<user_t> (n, i); }
  };

  class set_t {
  public:
    set_t () {}
    void add (ptr<user_t> u) {
      m_list.insert_head (u);
      m_queue.insert_tail (u);
      m_tree.insert (u);
    }
    ptr<user_t> find (const str &n) { return m_tree[n]; }
    str queue () {
      strbuf b;
      for (ptr<user_t> u = m_queue.first (); u; u = m_queue.next (u))
	b << u->to_str () << " ";
      return b;
    }
    str list () {
      strbuf b;
      ptr<user_t> u, nxt;
      for (u = m_list.first (); u; u = nxt) {
	nxt = m_list.next (u);
	b << u->name;
	m_list.remove (u);
      }
      return b;
    }
  private:
    rclist_t<user_t, &user_t::m_lnk> m_list;
    rctailq_t<user_t, &user_t::m_qlnk> m_queue;
    rctree_t<str, user_t, &user_t::name, &user_t::m_tlnk> m_tree;
  };
};

enum { RED = 1, GREEN = 2 };

class color_enum_t : public dynamic_enum_t {
public:
  color_enum_t () : dynamic_enum_t (RED, true, "color") {
    static pair_t pairs[] = { { "red", RED }, { "green", GREEN }, { NULL, 0 } };
    init (pairs, true);
  }
};

static int steps;

static void
step (str s)
{
  printf ("%s ", s.cstr ());
  if (++steps == 4) {
    printf ("\n");
    exit (0);
  }
  if (steps == 2)
    yieldcb (wrap (step, "yield"));
  if (steps == 3)
    delaycb (0, 1000000, wrap (step, "end"));
}

int
main (int argc, char *argv[])
{
  setprogname (argv[0]);
  printf ("sfslite %d %d\n", strlen (" w/ sfslite, Version " SFSLITE_PATCHLEVEL_STR "\n") > 22,
	  APP_AT_VERSION (3, 1, argc + 18, 100) && !APP_AT_VERSION (3, 1, argc + 20, 0));
  okws::set_t s;
  s.add (okws::user_t::alloc ("max", 1));
  s.add (New refcounted<okws::user_t> ("ann", 2));
  ptr<okws::user_t> u;
  u.alloc ("bob", 3);
  s.add (std::move (u));
  printf ("%d %s\n", u ? 1 : 0, s.queue ().cstr ());
  printf ("%s %s\n", s.find ("ann")->to_str ().cstr (), s.find ("zoe") ? "zoe" : "none");
  printf ("%s\n", s.list ().cstr ());

  vec<str> v { "x", "y" };
  v.emplace_back ("zzz", 2);
  for (const str &e : v)
    printf ("%s ", e.cstr ());
  printf ("%d\n", (int) v.size ());
  qhash<str, int> h { { "one", 1 }, { "two", 2 } };
  int sum = 0;
  for (auto &k : h)
    sum += *h[k];
  const qhash<str, int> &ch = h;
  qhash_const_iterator_t<str, int> it (ch);
  int val;
  while (const str *k = it.next (&val))
    sum += 10 * val;
  bhash<str> b { "p", "q", "p" };
  printf ("%d %d %d\n", sum, (int) b.size (), b["q"]);

  color_enum_t ce;
  printf ("%d %d %d\n", ce["green"], ce["blue"], ce.lookup ("red"));
  sfs::bundle_t<int, str> bun (5, "five");
  printf ("%d %s\n", bun.obj1 (), bun.obj2 ().cstr ());
  printf ("%s\n", utf8_substr ("h\xc3\xa9llo", 1, 3) ? "cut" : "no locale");
  time_t t = sfs_get_timenow (true);
  timespec ts = sfs_get_tsnow ();
  printf ("%d\n", ts.tv_sec - t <= 1);
  cbv c = wrap (step, "lambda?");
  c->trigger ();
  delaycb (0, 0, wrap (step, "timer"));
  lazycb_t *lz = lazycb (0, wrap (step, "lazy"));
  lazycb_remove (lz);
  amain ();
}

/* prints
sfslite 1 1
0 max/1 ann/2 bob/3 
ann/2 none
bobannmax
x y zz 3
33 2 1
2 1 1
5 five
cut
1
lambda? timer yield end 
*/
