// Reference counts in odd places: int and arrays, vsize, const, base pointers, cycles cut by hand, statics, NULL refs.

#include "refcnt.h"
#include "vec.h"
#include "str.h"
#include "callback.h"
#include "err.h"
#include "async.h"

static int live;

struct counted {
  counted () { live++; }
  counted (const counted &) { live++; }
  ~counted () { live--; }
};

struct header : counted {
  u_int len;
  char data[1];
};

class A : public virtual refcount, counted {
public:
  int a;
  A (int x = 1) : a (x) {}
  virtual int get () const { return a; }
};

class B : public A {
public:
  B (int x) : A (x) {}
  int get () const { return 10 * a; }
};

class C : public virtual refcount { public: int c; C () : c (3) {} };
class D : public B, public C { public: D () : B (4) {} };

struct plain { str s; plain (const char *p, int n) : s (strbuf ("%s%d", p, n)) {} };

struct tnode : counted {
  ptr<tnode> left, right;
  ptr<tnode> parent;
  int key;
  tnode (int k) : key (k) {}
  void cut () { if (left) left->cut (); if (right) right->cut (); left = right = parent = NULL; }
};

static ptr<tnode>
build (int lo, int hi, ptr<tnode> up)
{
  if (lo >= hi)
    return NULL;
  int mid = (lo + hi) / 2;
  ptr<tnode> t = New refcounted<tnode> (mid);
  t->parent = up;
  t->left = build (lo, mid, t);
  t->right = build (mid + 1, hi, t);
  return t;
}

static int
sum (ptr<tnode> t)
{
  return !t ? 0 : t->key + sum (t->left) + sum (t->right);
}

static ref<A> global = New refcounted<A> (99);
bssptr<A> shared;

static void take (ref<const A> a) { printf ("%d ", a->get ()); }
static ref<A> give (int x) { if (x) return New refcounted<B> (x); return global; }
static void hold (ptr<A> a, ref<int> n, int m) { *n += m + (a ? a->get () : 0); }

static bool
operator< (ref<A> a, ref<A> b)
{
  return a->get () < b->get ();
}

template<class T> struct holder {
  ptr<T> p;
  holder (ptr<T> q) : p (q) {}
  template<class U> holder (const holder<U> &h) : p (h.p) {}
};

class observer : public virtual refcount {
  static vec<observer *> all;
protected:
  ~observer () { printf ("~observer "); }
  void finalize () { printf ("finalize "); delete this; }
  observer () { all.push_back (this); }
public:
  static ptr<observer> alloc () { return New refcounted<observer>; }
  static ref<observer> find () { return mkref (all.front ()); }
};
vec<observer *> observer::all;

int
main ()
{
  {
    ref<int> i = New refcounted<int>;
    *i = 3;
    ref<char *> s = New refcounted<char *> ((char *) "text");
    printf ("%d %s\n", *i, *s);
    ptr<header> h = refcounted<header, vsize>::alloc (sizeof (header) + 100);
    memset (h->data, 'x', 100);
    h->len = 100;
    ref<plain> p = New refcounted<plain> ("p", 5);
    printf ("%u %c %s\n", h->len, h->data[99], p->s.cstr ());

    take (give (0)); take (give (2));
    ref<D> d = New refcounted<D>;
    ptr<C> c = d;
    ptr<A> a = d;
    ref<const A> ca = d;
    take (d); take (ca);
    printf ("%d %d\n", c->c, a == c);
    shared = a;
    a = NULL;
    c = NULL;
    printf ("%d %d\n", shared->get (), give (1) < shared);
    callback<void, int>::ref cb = wrap (hold, shared, i);
    cb (2);
    (*cb) (1);
    printf ("%d\n", *i);
    holder<B> hb (d);
    holder<A> ha (hb);
    printf ("%d\n", ha.p->get ());
    shared = NULL;
  }
  printf ("live %d\n", live);
  ptr<tnode> t = build (0, 100, NULL);
  printf ("%d %d\n", sum (t), live);
  t->cut ();
  t = NULL;
  printf ("live %d\n", live);
  {
    vec<ptr<A> > v;
    for (int i = 0; i < 10; i++)
      v.push_back (i & 1 ? ptr<A> (New refcounted<B> (i)) : ptr<A> (New refcounted<A> (i)));
    v[3] = v[4];
    v[5] = v[5];
    v.popn_front (2);
    ptr<A> a = v.pop_back ();
    printf ("%d %d\n", a->get (), live - 1);
    const ptr<A> &r = v[0];
    v.push_back (r);
    A *raw = v.back ();
    printf ("%d\n", raw->get ());
  }
  {
    ptr<observer> o = observer::alloc ();
    ref<observer> r = observer::find ();
    o = NULL;
    printf ("held ");
  }
  printf ("\nlive %d\n", live);
  return 0;
}

/* prints
3 text
100 x p5
99 20 40 40 3 1
40 1
86
40
live 1
4950 101
live 1
90 7
2
held finalize ~observer 
live 1
*/
