// Containers of all kinds and elements in many of them; what a program does with each.

#include "itree.h"
#include "str.h"
#include "ihash.h"
#include "qhash.h"
#include "async.h"
#include "vec.h"
#include "clist.h"
#include "list.h"
#include "array.h"
#include "cbuf.h"
#include "msb.h"
#include "bitvec.h"
#include "bbuddy.h"
#include "arena.h"
#include "union.h"
#include "keyfunc.h"
#include "sfs_bundle.h"
#include "dynenum.h"
#include "wide_str.h"
#include "alog2.h"
#include "backoff.h"
#include "rctree.h"
#include "rclist.h"
#include "rctailq.h"
#include "qtailq.h"

namespace in_itree
{
struct job
{
  const u_int64_t due;
  str name;
  itree_entry<job> link;
  job (u_int64_t d, const str &n) : due (d), name (n) {}
  ~job () {}
};
typedef itree<const u_int64_t, job, &job::due, &job::link> jobs_t;
jobs_t jobs;
struct jobcmp
{
  jobcmp () {}
  int
  operator() (const job &a, const job &b) const
  {
    return a.due < b.due ? -1 : a.due != b.due;
  }
};
itree_core<job, &job::link, jobcmp> jobs2;
static int
finder (const u_int64_t *d, const job *j)
{
  return *d < j->due ? -1 : *d != j->due;
}
static void
pr (job *j)
{
}
static int
finder3 (const int *a, const u_int64_t *d, const job *j)
{
  return 0;
}
int
run ()
{
  jobs.insert (New job (3, "c"));
  vNew job (4, "d");
  u_int64_t k = 3;
  job *j = jobs.search (wrap (finder, &k));
  jobs.traverse (wrap (pr));
  int a = 0;
  j = jobs.search (finder3, &a, &k);
  for (job *n, *p = jobs.first (); p; p = n)
    {
      n = jobs.next (p);
    }
  if (jobs[3])
    jobs.remove (jobs[3]);
  jobs.deleteall ();
  for (j = jobs.root (); j; j = j->due < 3 ? jobs.left (j) : jobs.right (j))
    ;
  return 0;
}
}

namespace in_ihash
{
struct key
{
  int a;
  str b;
  key (int a, str b) : a (a), b (b) {}
  bool
  operator== (const key &k) const
  {
    return a == k.a && b == k.b;
  }
  operator hash_t () const { return a ^ (u_int)hash_t (b); }
};
struct val
{
  const key k;
  str s;
  ihash_entry<val> hl;
  val (int a, str b) : k (a, b), s (b) {}
  void
  bump ()
  {
  }
};
ihash<const key, val, &val::k, &val::hl> t;
ihash<str, val, &val::s, &val::hl> ts;
struct fkey
{
  hash_t
  operator() (const str &s) const
  {
    return hash_string (s.cstr ());
  }
};
struct feq
{
  bool
  operator() (const str &a, const str &b) const
  {
    return a == b;
  }
};
ihash<str, val, &val::s, &val::hl, fkey, feq> tf;
static void
each (int *n, val *v)
{
  ++*n;
}
static void
eachc (int *n, const val &v)
{
  ++*n;
}
int
run ()
{
  t.insert (New val (1, "x"));
  val *v = t[key (1, "x")];
  int n = 0;
  t.traverse (wrap (each, &n));
  t.traverse (wrap (eachc, &n));
  t.traverse (&val::bump);
  for (val *p = t.first (); p; p = t.next (p))
    n++;
  if (v)
    t.nextkeq (v);
  while (val *p = t.first ())
    {
      t.remove (p);
      delete p;
    }
  v = ts["abc"];
  const char *cp = "x";
  v = ts[cp];
  t.deleteall ();
  return t.size () + n;
}
}

namespace in_qhash
{
class host;
typedef qhash<str, ref<vec<ref<host> > > > hosts_t;
class host
{
public:
  str n;
  host (str s) : n (s) {}
};
qhash<str, u_int64_t> q1;
qhash<int, str> q2;
qhash<str, ptr<host> > q3;
qhash<const char *, int> q4;
qhash<u_int64_t, host *> q5;
qhash<str, vec<str> > q6;
qhash<str, bool> q7;
qhash<str, str> q8;
qhash<str, cbv> q9;
qhash<str, qhash<str, int> *> q10;
qhash<pid_t, cbi::ptr> q11;
qhash<in_addr, int> q12;
bhash<str> b1;
bhash<u_int32_t> b2;
bhash<void *> b3;
hosts_t hosts;
static void
ev (str a, const str &k, str *v)
{
}
static void
ev2 (const str &k, ptr<vec<ref<host> > > v)
{
}
static void
ev3 (const str &k, u_int64_t *v)
{
}
static void
eb (const str &k)
{
}
int
run ()
{
  q1.insert ("a", 1);
  if (u_int64_t *p = q1["a"])
    (*p)++;
  q1.remove ("a");
  q2.insert (3, "x");
  str s;
  if (q2[3])
    s = *q2[3];
  str *sp = q2[4];
  q3.insert ("h", New refcounted<host> ("h"));
  ptr<host> h;
  if (ptr<host> *hp = q3["h"])
    h = *hp;
  q4.insert ("k", 1);
  q5.insert (1, NULL);
  host **hh = q5[1];
  if (!hh || !*hh)
    ;
  vec<str> vs;
  q6.insert ("v", vs);
  q6["v"]->push_back ("q");
  q7.insert ("t");
  q7.insert ("u", true);
  bool *bp = q7["t"];
  q8.insert ("a", "b");
  q8.traverse (wrap (ev, str ("z")));
  q9.insert ("c", wrap (amain));
  hosts.insert ("a", New refcounted<vec<ref<host> > >);
  ptr<vec<ref<host> > > hv = hosts["a"];
  hv->push_back (New refcounted<host> ("x"));
  hosts.traverse (wrap (ev2));
  q1.traverse (wrap (ev3));
  b1.insert ("x");
  if (b1["x"])
    b1.remove ("x");
  b1.traverse (wrap (eb));
  b3.insert (&b1);
  qhash_iterator_t<str, u_int64_t> it (q1);
  u_int64_t val;
  while (const str *k = it.next (&val))
    ;
  qhash_const_iterator_t<str, u_int64_t> cit (q1);
  const str *kk;
  while ((kk = cit.next ()))
    ;
  bhash_const_iterator_t<str> bit (b1);
  while ((kk = bit.next ()))
    ;
  qhash<str, u_int64_t>::slot *sl = q1.getslot ("a");
  q11.insert (4, NULL);
  q11.insert (5, wrap (exit));
  cbi::ptr *c = q11[5];
  if (c && *c)
    (**c) (0);
  q1.clear ();
  return q1.size ();
}
}

namespace in_itree_ref
{
class object
{
public:
  const u_int64_t id;
  str name;
  itree_entry<object> tlink;
  ihash_entry<object> hlink;
  list_entry<object> llink;
  tailq_entry<object> qlink;
  clist_entry<object> clink;
  object (u_int64_t i, str n);
  ~object ();
  static list<object, &object::llink> all;
  static tailq<object, &object::qlink> q;

private:
  object (const object &);
  object &operator= (const object &);
};
static itree<const u_int64_t, object, &object::id, &object::tlink> byid;
static ihash<str, object, &object::name, &object::hlink> byname;
static clist<object, &object::clink> ring;
list<object, &object::llink> object::all;
tailq<object, &object::qlink> object::q;
object::object (u_int64_t i, str n) : id (i), name (n)
{
  byid.insert (this);
  byname.insert (this);
  all.insert_head (this);
  q.insert_tail (this);
  ring.insert_tail (this);
}
object::~object ()
{
  byid.remove (this);
  byname.remove (this);
  all.remove (this);
  q.remove (this);
  ring.remove (this);
}
static void
pr (vec<str> *v, object *o)
{
  v->push_back (o->name);
}
int
run ()
{
  vNew object (3, "c");
  vNew object (1, "a");
  vNew object (2, "b");
  vec<str> v;
  byid.traverse (wrap (pr, &v));
  object::all.traverse (wrap (pr, &v));
  object::q.traverse (wrap (pr, &v));
  byname.traverse (wrap (pr, &v));
  bool found = false;
  for (object *o = byid.first (); o && !found; o = byid.next (o))
    found = o->name == "b";
  for (object *o = object::all.first; o; o = object::all.next (o))
    ;
  for (object *o = object::q.first; o; o = object::q.next (o))
    ;
  for (object *o = ring.first; o; o = ring.next (o))
    ;
  object *n;
  for (object *o = object::all.first; o; o = n)
    {
      n = object::all.next (o);
      delete o;
    }
  if (object **p = object::q.plast)
    ;
  return byid.root () || !found || v.size () != 12;
}
}

namespace in_vec
{
typedef array<char, 20> id_t20;
struct pod
{
  int a, b;
};
class noncopy
{
  noncopy (const noncopy &);

public:
  noncopy () {}
};
static int
icmp (const void *a, const void *b)
{
  return *(int *)a - *(int *)b;
}
template <class T>
T
sum (const vec<T> &v)
{
  T t = T ();
  for (u_int i = 0; i < v.size (); i++)
    t += v[i];
  return t;
}
template <class T, size_t n>
void
many (const vec<T, n> &v)
{
}
typedef vec<vec<int> > mat;
class mine : public vec<str>
{
public:
  str
  first ()
  {
    return empty () ? str (NULL) : front ();
  }
  void
  add (str s)
  {
    push_back (s);
  }
};
int
run (int argc = 1, char **argv = NULL)
{
  vec<int> v;
  v.push_back (3);
  v.push_back () = 4;
  int &r = v.push_back (5);
  r = 6;
  v.setsize (10);
  v.reserve (3);
  qsort (v.base (), v.size (), sizeof (v[0]), icmp);
  int x = v.pop_back () + v.pop_front ();
  v.popn_front (2);
  v.popn_back (1);
  while (!v.empty ())
    v.pop_front ();
  while (v.size ())
    v.pop_back ();
  v.clear ();
  for (int *p = v.base (); p < v.lim (); p++)
    ;
  for (vec<int>::elm_t *p = v.base (); p < v.lim (); p++)
    ;
  vec<str> w, u = w;
  w = u;
  u += w;
  swap (u, w);
  w.swap (u);
  mat m;
  m.push_back ().push_back (3);
  m[0][0] = 4;
  m.back ().setsize (3);
  sum (v);
  vec<int, 4> f;
  many (f);
  f.push_back (3);
  v = f;
  vec<char *> av;
  av.push_back (const_cast<char *> ("x"));
  av.push_back (NULL);
  char **cpp = av.base ();
  vec<const char *> cav;
  cav.push_back ("x");
  cav.push_back (NULL);
spawn_dummy:
  vec<pod> vp;
  pod pd = { 1, 2 };
  vp.push_back (pd);
  vp[0].a++;
  vec<void *> vv;
  vv.push_back (&v);
  vec<u_char> uc;
  uc.setsize (100);
  memcpy (uc.base (), "x", 1);
  uc[0] = 'c';
  id_t20 id;
  id[0] = 'c';
  memcpy (id.base (), "x", 1);
  id.size ();
  vec<id_t20> ids;
  ids.push_back (id);
  vec<array<int, 3> > va;
  va.push_back ();
  va[0][2] = 3;
  vec<cbv> cbs1;
  cbs1.push_back (cbv_null);
  vec<cbv::ptr> cps;
  cps.push_back (NULL);
  mine mi;
  mi.add ("x");
  mi.first ();
  vec<bool> vb;
  vb.push_back (true);
  if (vb[0])
    ;
  vec<int> *nv = New vec<int>;
  nv->push_back (1);
  (*nv)[0] = 2;
  delete nv;
  const vec<int> &cv = v;
  cv.base ();
  cv.size ();
  cv.empty ();
  for (int i = 0; i < (int)cv.size (); i++)
    cv[i];
  vec<ref<vec<int> > > vr;
  vr.push_back (New refcounted<vec<int> >);
  vr[0]->push_back (3);
  vec<ptr<vec<str> > > vps;
  vps.setsize (3);
  vps[1] = New refcounted<vec<str> >;
  vec<double> vd;
  vd.push_back (1);
  vec<int>::base_t *b = NULL;
  bzero (vp.base (), vp.size () * sizeof (pod));
  array<int, 4> ar;
  for (int i = 0; i < 4; i++)
    ar[i] = i;
  array<int, 4> ar2 = ar;
  ar = ar2;
  int total = 0;
  for (size_t i = 0; i < ar.size (); i++)
    total += ar[i];
  return x + total;
}
}

namespace in_cbuf_bits
{
class req
{
public:
  tmoq_entry<req> tlink;
  u_int32_t xid;
  void
  xmit (int n)
  {
  }
  void
  timeout ()
  {
    delete this;
  }
};
static tmoq<req, &req::tlink> q;
static tmoq<req, &req::tlink, 1, 3> q2;
static dynamic_enum_t::pair_t pairs[] = { { "a", 1 }, { "b", 2 }, { NULL, 0 } };
class mode : public dynamic_enum_t
{
public:
  mode () : dynamic_enum_t (0, true, "mode") { init (pairs); }
};
struct rn
{
  rctailq_entry_t<rn> ql;
  rclist_entry_t<rn> ll;
  rctree_entry_t<int, rn> tl;
  int k;
};
union_entry<str> us;
struct un
{
  union
  {
    union_entry_base _b;
    union_entry<int> a;
    union_entry<str> b;
  };
};
int
run ()
{
  bitvec bv (100);
  bv[3] = 1;
  bv[3] = bv[4];
  if (bv[3] && !bv.at (4))
    ;
  bv.setrange (0, 5, true);
  bv[1] ^= 1;
  bv.setsize (200);
  bitvec b2 = bv;
  swap (bv, b2);
  warn << bv << "\n";
  int n = 0;
  arena ar;
  char *p = (char *)ar.alloc (10);
  int *ip = new (ar) int;
  bbuddy bb (1 << 20, 1 << 10, 1 << 16);
  off_t o = bb.alloc (1000);
  bb.dealloc (o, 1000);
  cbuf c (10);
  c.size ();
  c.space ();
  mode m;
  m["a"];
  int v;
  m.lookup ("b", &v);
  hashfn<int> hf;
  hf (3);
  hash_t hh = hash_bytes ("x", 1);
  hh = hash_string ("x");
  q.start (New req);
  union_entry_base *ub = &us;
  us.init ();
  us.select ();
  *us = "x";
  str s = *us;
  us.destroy ();
  return 0;
}
}

int
main (int argc, char **argv)
{
  if (argc > 1)
    {
      in_itree::run ();
      in_qhash::run ();
      in_cbuf_bits::run ();
    }
  printf ("in_ihash %d\n", in_ihash::run ());
  printf ("in_itree_ref %d\n", in_itree_ref::run ());
  printf ("in_vec %d\n", in_vec::run ());
  return 0;
}

/* prints
in_ihash 3
in_itree_ref 0
in_vec 12
*/
