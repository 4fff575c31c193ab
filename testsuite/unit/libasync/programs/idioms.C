// Constructs that compilers of the time let pass, and uses of the headers that are legal but rare.

#include <async.h>
#include <qhash.h>
#include <ihash.h>
#include <list.h>
#include <rxx.h>
#include <parseopt.h>
#include <serial.h>
#include <aios.h>

// a macro in the way of names
#define DEBUG 1
#define LOG(level) if (level > DEBUG) ; else warnx
#define CONCAT(x) x##_cb

class node;
typedef ref<node> node_ref;
typedef ptr<node> node_ptr;
typedef vec<node_ptr> nodes_t;
typedef callback<void, node_ptr>::ref cbnode;
typedef callback<void, ref<vec<str> >, bool>::ptr cblist_t;

// incomplete when its pointers are declared
struct registry {
  ptr<node> root;
  vec<ref<node> > all;
  qhash<str, ref<node> > byname;
  qhash<u_int32_t, node *> byid;
  registry () : root (NULL) {}
  node_ptr lookup (const str &n);
} reg;

class node : public virtual refcount {
public:
  str name;
  u_int32_t id;
  node *parent;
  vec<node *> kids;

  node (str n, node *p = NULL) : name (n), parent (p) { static u_int32_t next; id = ++next; if (p) p->kids.push_back (this); }
  virtual ~node () {}
  bool operator== (const node &o) const { return id == o.id; }
  str path () { if (!parent) return ""; return strbuf () << parent->path () << "/" << name; }
  node_ref self () { return mkref (this); }
  void visit (cbnode cb) { (*cb) (self ()); for (unsigned i = 0; i < kids.size (); i++) kids[i]->visit (cb); }
  void on_cb (str s, node_ptr n) { printf ("%s%s ", s.cstr (), n->name.cstr ()); }
};

node_ptr
registry::lookup (const str &n)
{
  return byname[n];
}

static node_ptr
mk (const char *n, node *p)
{
  node_ref r = New refcounted<node> (n, p);
  reg.all.push_back (r);
  reg.byname.insert (n, r);
  reg.byid.insert (r->id, r);
  return r;
}

struct opts {
  bool verbose : 1;
  u_int level : 4;
  str name;
} o = { true, 3, "opts" };

static str yn (bool b) { return b ? "yes" : "no"; }
static str pick (bool b, str a) { if (b) return a; return NULL; }
static const char *cs (const str &s) { if (!s) return "null"; return s; }
static ptr<vec<str> > words (str s) { ptr<vec<str> > v = New refcounted<vec<str> >; while (s && s.len ()) { v->push_back (substr (s, 0, 2)); s = s.len () > 2 ? substr (s, 2) : str (NULL); } return v; }

static void
got (cblist_t cb, ref<vec<str> > v, bool last)
{
  if (cb) (*cb) (v, last);
  else printf ("[%s]%s\n", join (",", *v).cstr (), last ? "." : "");
}

static void
each (strbuf b, const str &k, node **np)
{
  b << k << ":" << (*np)->id << " ";
}

static void each_id (strbuf *b, const u_int32_t &id, node **np) { *b << (*np)->name << id << " "; }
static void each_ref (int *sum, const str &k, ptr<node> n) { *sum += n->id; }

inline int bitcount (u_int64_t n) { int c = 0; for (; n; n &= n - 1) c++; return c; }

int
main (int argc, char **argv)
{
  setprogname (argv[0]);
  node_ptr root = mk ("root", NULL), a = mk ("a", root), b = mk ("b", a);
  reg.root = root;
  printf ("%s %s\n", b->path ().cstr (), reg.lookup ("a") == a ? "same" : "other");
  printf ("%d %d\n", reg.lookup ("zz") == NULL, reg.lookup ("a")->id);
  root->visit (wrap (b, &node::on_cb, "v:"));
  printf ("\n");
  strbuf sb;
  reg.byid.traverse (wrap (each_id, &sb));
  printf ("%d\n", (int) sb.tosuio ()->resid ());
  int sum = 0;
  reg.byname.traverse (wrap (each_ref, &sum));
  printf ("%d %s\n", sum, (*reg.byid[2])->name.cstr ());

  str s, t;
  if (s = pick (true, "set"))
    printf ("%s\n", s.cstr ());
  if (!(s = pick (false, "set")) && (t = yn (true)) && t != s)
    printf ("%s %s\n", cs (s), cs (t));
  while (s = pick (!s, "once"))
    printf ("%s\n", cs (s)), s = "x";
  const char *cp = t;
  t = cp + 1;
  t = t << "x" << 1;
  printf ("%s %c %d\n", t.cstr (), *t, t[1] == 's');
  switch (t[0]) { case 'e': printf ("e\n"); break; default: printf ("?\n"); }
  got (NULL, words ("abcde"), true);
  cblist_t cb = wrap (got, cblist_t (NULL));
  got (cb, New refcounted<vec<str> >, false);

  vec<int> v, w;
  for (int i = 0; i < 5; i++)
    v.push_back (i * i);
  w += v;
  w.popn_front (1); w.popn_back (1);
  v = w;
  swap (v, w);
  for (int *ip = v.base (); ip != v.lim (); ip++)
    printf ("%d ", *ip);
  v.setsize (1), v.clear ();
  vec<int, 2> small;
  small.push_back (v.size ());
  printf ("%d %d\n", small[0], w.pop_front ());
  vec<vec<str> > vv;
  vv.push_back ().push_back ("deep");
  vv[0].push_back (vv[0][0]);
  printf ("%s%d\n", vv[0][1].cstr (), vv.back ().size ());

  u_int64_t big = INT64 (0x1234567890);
  char buf[100];
  sprintf (buf, "%" U64F "x %qd", big, (int64_t) -5);
  printf ("%s %d\n", buf, bitcount (big));
  LOG (2) << "hidden\n";
  timespec ts = { 1, 500 }, ts2 = { 0, 600 };
  ts = ts + ts2;
  printf ("%d %d %d\n", (int) ts.tv_sec, (int) ts.tv_nsec, ts2 < ts);
  static rxx r ("(a+)(b)?");
  if (r.search ("xxaa"))
    printf ("%s %s %d %d\n", r[1].cstr (), r[2] ? "b" : "none", r.start (1), r.len (1));
  str m = "key=val" / rxx ("=(.*)") ? "matched" : "not";
  printf ("%s\n", m.cstr ());
  if (("x: y" / r)[0])
    printf ("wrong\n");
  printf ("%s %d.%d\n", o.name.cstr (), o.verbose, o.level);
  cbv::ptr c = (argc > 5) ? cbv::ptr (wrap (exit, 5)) : NULL;
  if (!c) {
    c = cbv_null;
    (*c) ();
  }
  root = a = b = NULL;
  callback<void, int>::ptr ex = wrap (exit);
  (*ex) (0);
}

/* prints
/a/b same
1 2
v:root v:a v:b 
12
6 a
set
null yes
once
esx1 e 1
e
[ab,cd,e].
[]
1 4 9 0 1
deep2
1234567890 -5 15
1 1100 1
aa none 2 2
matched
opts 1.3
*/
