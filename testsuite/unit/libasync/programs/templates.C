// Templates over the library's types, as generic caches and tables did: dependent names, traits, partial specializations.

#include "async.h"
#include "ihash.h"
#include "qhash.h"
#include "itree.h"
#include "list.h"
#include "array.h"
#include "union.h"
#include "stllike.h"

template<class K, class V, u_int max = 4, class H = hashfn<K>, class E = equals<K> >
class lrucache {
  struct entry {
    const K key;
    V value;
    ihash_entry<entry> hlink;
    tailq_entry<entry> llink;
    entry (const K &k, const V &v) : key (k), value (v) {}
  };
  friend class ihash_core<entry, &entry::hlink>;

  u_int num;
  ihash<const K, entry, &entry::key, &entry::hlink, H, E> tab;
  tailq<entry, &entry::llink> lru;

  void del (entry *e) {
    lru.remove (e);
    tab.remove (e);
    num--;
    delete e;
  }

public:
  typedef typename callback<void, const K &, V *>::ref cb_t;

  lrucache () : num (0) {}
  ~lrucache () { tab.deleteall (); }
  bool insert (const K &k, const V &v) {
    if (tab[k])
      return false;
    entry *e = New entry (k, v);
    tab.insert (e);
    lru.insert_tail (e);
    if (++num > max)
      del (lru.first);
    return true;
  }
  V *operator[] (const K &k) {
    entry *e = tab[k];
    if (!e)
      return NULL;
    lru.remove (e);
    lru.insert_tail (e);
    return &e->value;
  }
  bool remove (const K &k) {
    if (entry *e = tab[k]) {
      del (e);
      return true;
    }
    return false;
  }
  void traverse (cb_t cb) {
    for (entry *e = lru.first; e; e = lru.next (e))
      (*cb) (e->key, &e->value);
  }
  size_t size () const { return tab.size (); }
};

template<class T>
class ringbuf {
  vec<T> v;
  size_t pos;
public:
  explicit ringbuf (size_t n) : pos (0) { v.setsize (n); }
  void put (const T &t) { v[pos++ % v.size ()] = t; }
  T sum () const {
    T s = T ();
    for (const typename vec<T>::elm_t *p = v.base (); p < v.lim (); p++)
      s += *p;
    return s;
  }
};

template<class T> struct pname { static const char *name () { return "?"; } };
template<> struct pname<int> { static const char *name () { return "int"; } };
template<class T> struct pname<vec<T> > { static str name () { return strbuf () << "vec<" << pname<T>::name () << ">"; } };
template<class T> struct pname<ref<T> > { static str name () { return strbuf () << "ref<" << pname<T>::name () << ">"; } };

template<class T, size_t n>
struct matrix {
  array<T, n> a[n];
  T trace () { T t = 0; for (size_t i = 0; i < n; i++) t += a[i][i]; return t; }
};

template<class T> ref<T>
clone (const T &t)
{
  return New refcounted<T> (t);
}

template<class T> inline void
delete_obj (T *&p)
{
  delete p;
  p = NULL;
}

template<class A, class B> struct pairfn {
  B (*const f) (A);
  pairfn (B (*ff) (A)) : f (ff) {}
  typename callback<B, A>::ref cb () const { return wrap (f); }
};

static int len (str s) { return s.len (); }
static void show (strbuf *sb, const str &k, int *v) { *sb << k << "=" << *v << " "; *v += 100; }

struct shape { virtual ~shape () {} virtual int area () const = 0; };
struct square : public shape { int s; square (int n) : s (n) {} int area () const { return s * s; } };
struct rect : public shape, public virtual refcount { int a, b; rect (int x, int y) : a (x), b (y) {} int area () const { return a * b; } };

int
main ()
{
  lrucache<str, int> c;
  for (int i = 0; i < 6; i++) {
    c.insert (strbuf ("k%d", i), i);
    c["k2"];
  }
  strbuf sb;
  c.traverse (wrap (show, &sb));
  printf ("%s%d %d\n", str (sb).cstr (), *c["k2"], c.remove ("k0"));
  lrucache<u_int32_t, ref<vec<int> >, 2> c2;
  ref<vec<int> > v = New refcounted<vec<int> >;
  v->push_back (7);
  c2.insert (1, v);
  c2.insert (2, clone (*v));
  (*c2[1])->push_back (8);
  printf ("%d %d\n", (int) v->size (), (int) (*c2[2])->size ());

  ringbuf<int> r (3);
  for (int i = 1; i < 6; i++)
    r.put (i);
  printf ("%d %s %s\n", r.sum (), str (pname<vec<vec<int> > >::name ()).cstr (), pname<ref<int> >::name ().cstr ());
  matrix<int, 3> m;
  for (int i = 0; i < 9; i++)
    m.a[i / 3][i % 3] = i;
  printf ("%d %d\n", m.trace (), (int) m.a[0].size ());
  pairfn<str, int> pf (len);
  printf ("%d\n", (*pf.cb ()) ("four"));

  vec<ptr<shape> > shapes;
  shapes.push_back (New refcounted<square> (3));
  shapes.push_back () = New refcounted<rect> (2, 5);
  ptr<rect> rp = New refcounted<rect> (1, 1);
  shapes.push_back (rp);
  int area = 0;
  for (u_int i = 0; i < shapes.size (); i++)
    area += shapes[i]->area ();
  printf ("%d\n", area);
  union_entry<str> u;
  u.init ();
  u.select ();
  *u = "union";
  printf ("%s\n", u->cstr ());
  u.destroy ();
  char *cp = New char[10];
  delete[] cp;
  int *ip = New int (5);
  delete_obj (ip);
  auto_ptr<square> sq (New square (4));
  auto_ptr<square> other = sq;
  printf ("%d %d %d\n", ip == NULL, sq.get () == NULL, other->area ());
  printf ("%d %d\n", min (3, 4), max<u_int> (3, 4));
  ref<int> ri = New refcounted<int> (5);
  *ri += 1;
  ptr<const int> cri = ri;
  printf ("%d\n", *cri);
  return 0;
}

/* prints
k3=3 k4=4 k5=5 k2=2 102 0
2 1
12 vec<vec<int>> ref<int>
12 3
4
20
union
1 1 16
3 4
6
*/
