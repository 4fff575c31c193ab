// Types of callbacks, references and constructors that New has to reach.

#include "async.h"
#include "refcnt.h"
#include "vec.h"
#include "str.h"
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <unistd.h>
#include "sysconf.h"
#include "err.h"

namespace in_callback_types
{
typedef callback<void, const str &, ptr<vec<str> > >::ref cb1;
typedef callback<bool, int, const char *>::ptr cb2;
typedef callback<void, int, int, int>::ref cb3;
typedef callback<int>::ref cb4;
typedef callback<str, str>::ref cb5;
typedef callback<void, void *>::ref cb6;
typedef ref<callback<void, int> > cb7;
typedef callback<void, struct stat *>::ptr cb8;
typedef callback<const str &, int>::ref cb9;
class k
{
public:
  void
  m (int)
  {
  }
  void
  mc (int) const
  {
  }
  virtual void vm () = 0;
  static void
  sm (k *, int)
  {
  }
  int
  ov ()
  {
    return 0;
  }
  int
  ov (int)
  {
    return 1;
  }
};
class d : public k
{
public:
  void
  vm ()
  {
  }
  void
  go ()
  {
    cbv c = wrap (this, &d::vm);
    cbv c2 = wrap (this, &k::m, 3);
    cbi c3 = wrap ((k *)this, &k::m);
    cbi c4 = wrap (&k::sm, (k *)this);
    cbi c5 = wrap ((const d *)this, &k::mc);
  }
};
void
f1 (const str &, ptr<vec<str> >)
{
}
bool
f2 (int, const char *)
{
  return true;
}
void
f3 (int, int, int)
{
}
int
f4 ()
{
  return 4;
}
str
f5 (str s)
{
  return s;
}
void
f6 (void *)
{
}
void
g (int *p, char *s, const char *t, str u, cbv c, bool b, double d, short sh)
{
}
const str &
f9 (int)
{
  static str s;
  return s;
}
void
h0 (cbv::ptr c)
{
}
void
h1 (cbi cb, int n)
{
  (*cb) (n);
}
template <class T>
void
tf (T t, int i)
{
}
template <class T> class tc
{
public:
  T t;
  void
  m (T)
  {
  }
  void
  reg ()
  {
    typename callback<void, T>::ref c = wrap (this, &tc<T>::m);
    cbv d = wrap (this, &tc::m, t);
  }
};
int
run ()
{
  cb1 a = wrap (f1);
  cb2 b = wrap (f2);
  cb3 c = wrap (f3);
  cb4 d0 = wrap (f4);
  cb5 e = wrap (f5);
  cb6 f = wrap (f6);
  cb9 n = wrap (f9);
  cb4 d1 = wrap (&f4);
  cbv x = wrap (g, (int *)NULL, "a", "b", "c", cbv_null, true, 1, 2);
  x = wrap (g, (int *)0, (char *)0, (const char *)0, str (), cbv_null, false, 1.5f, 'c');
  cbv y = wrap (f3, 1, 2, 3);
  cbi z = wrap (f3, 1, 2);
  callback<void, int, int>::ref zz = wrap (f3, 1);
  d dd;
  dd.go ();
  cbv w = wrap (h0, cbv::ptr ());
  w = wrap (h0, wrap (amain));
  cbv q = wrap (h1, wrap (exit), 4);
  cbi t = wrap (tf<str>, "x");
  tc<str> ts;
  ts.reg ();
  (*d0) ();
  e ("x");
  b (1, "y");
  (*x) ();
  y ();
  if (b && !b)
    return 1;
  cbv::ptr nul;
  if (nul == NULL || !nul)
    nul = y;
  nul = NULL;
  cb2 bb = NULL;
  bb = b;
  void (*fp) (int, int, int) = f3;
  cbv last = wrap (fp, 1, 2, 3);
  x = y;
  cbv::ptr xp = x;
  x = xp;
  assert (x == xp);
  return 0;
}
}

namespace in_refs
{
class base : public virtual refcount
{
protected:
  base () {}
  virtual ~base () {}

public:
  virtual int
  id ()
  {
    return 1;
  }
  ref<base>
  self ()
  {
    return mkref (this);
  }
};
class derived : public base
{
  friend class refcounted<derived>;
  int n;

protected:
  derived (int n) : n (n) {}
  virtual ~derived () {}

public:
  static ref<derived>
  alloc (int n)
  {
    return New refcounted<derived> (n);
  }
  int
  id ()
  {
    return n;
  }
};
class fin : public virtual refcount
{
  int k;
  void
  finalize ()
  {
    if (k++)
      delete this;
  }

public:
  fin () : k (0) {}
  PRIVDEST ~fin () {}
};
class intf
{
public:
  virtual void go () = 0;
  virtual ~intf () {}
};
class both : public intf, public virtual refcount
{
public:
  void
  go ()
  {
  }
};
struct plain
{
  int a;
};
union un
{
  int a;
  float b;
};
enum en
{
  A,
  B
};
static void
takes (ptr<base> p)
{
}
static void
takesr (ref<base> p)
{
}
static int
raw (base *b)
{
  return b->id ();
}
static ptr<base>
none ()
{
  return NULL;
}
static ptr<base>
mk (bool b)
{
  if (b)
    return derived::alloc (1);
  return NULL;
}
struct vs
{
  int len;
  char d[1];
};
int
run ()
{
  ref<derived> d = derived::alloc (4);
  ref<base> b = d;
  ptr<base> p = d;
  p = b;
  takes (d);
  takes (NULL);
  takes (0);
  takesr (d);
  takes (p);
  raw (b);
  raw (p);
  base *bp = d;
  derived *dp = d;
  if (p == d || bp == b || b == bp || dp == d.get ())
    ;
  if (p && p->id () == 4)
    ;
  if (p != NULL)
    ;
  if (NULL != p)
    ;
  if (p == 0)
    ;
  if (!p)
    ;
  ptr<int> ip = New refcounted<int>;
  *ip = 5;
  ref<int> ir = New refcounted<int> (7);
  ptr<bool> bo = New refcounted<bool> (false);
  ptr<plain> pl = New refcounted<plain>;
  pl->a = 1;
  ref<vec<str> > v = New refcounted<vec<str> >;
  v->push_back ("x");
  (*v)[0];
  ptr<char *> cpp = New refcounted<char *> ((char *)"x");
  ptr<double> dbl = New refcounted<double> (1.5);
  ptr<u_int64_t> u64 = New refcounted<u_int64_t>;
  ptr<str> ps = New refcounted<str> ("s");
  ptr<en> pe = New refcounted<en> (B);
  ptr<intf> pi = New refcounted<both>;
  pi->go ();
  ref<both> rb = New refcounted<both>;
  pi = rb;
  ptr<const base> pcb = b;
  ptr<void> pv = b;
  pv = NULL;
  ref<const str> cs = New refcounted<str> ("q");
  refcounted<vs, vsize> *vp = refcounted<vs, vsize>::alloc (100);
  ptr<vs> pvs = vp;
  pvs->len = 3;
  vec<ref<base> > vb;
  vb.push_back (d);
  vec<ptr<base> > vpb;
  vpb.push_back ();
  vpb.push_back (NULL);
  vpb[0] = d;
  p = mk (true) ? mk (false) : none ();
  ptr<derived> pd = (true) ? ptr<derived> (d) : NULL;
  ptr<fin> f = New refcounted<fin>;
  f = NULL;
  p = p ? p : ptr<base> (b);
  static ptr<base> sp;
  static bssptr<base> bsp;
  bsp = d;
  bsp = NULL;
  b = mk (true);
  ref<base> c (mk (true));
  ptr<vec<ptr<base> > > deep = New refcounted<vec<ptr<base> > >;
  const ref<base> cr = b;
  cr->id ();
  (*cr).id ();
  if (cr->self () == b)
    ;
  ref<base> &rr = b;
  return 0;
}
}

namespace in_friendship
{
class a : public virtual refcount
{
  friend class refcounted<a>;
  a (int x) : n (x) {}
  ~a () {}
  int n;

public:
  static ptr<a>
  mk (int n)
  {
    return New refcounted<a> (n);
  }
  int
  get ()
  {
    return n;
  }
};
class b
{
protected:
  b () {}
  virtual ~b () {}

public:
  static ref<b>
  alloc ()
  {
    return New refcounted<b>;
  }
  virtual void
  f ()
  {
  }
};
class c : public b
{
protected:
  int x;
  c (int x, str s = NULL) : x (x) {}

public:
  static ptr<c>
  alloc (int x)
  {
    ptr<c> p = New refcounted<c> (x);
    return p;
  }
  static ptr<c>
  alloc2 ()
  {
    return New refcounted<c> (1, "x");
  }
};
class d
{
public:
  d (int &r, const str &s, str *out, char *buf, const char *lit, d *next, ptr<a> p, ref<b> q,
     cbv cb, bool f, u_int64_t n)
  {
    r++;
    *out = s;
  }
};
class e : virtual public refcount
{
public:
  PRIVDEST virtual ~e () {}
};
class f : public e
{
public:
  int v;
  f () : v (1) {}
};
struct h : public virtual refcount
{
  str s;
  h () {}
  h (const str &s) : s (s) {}
};
struct i : h
{
  i (str s = "x") : h (s) {}
};
class j
{
public:
  virtual ~j () {}
  virtual ptr<j>
  clone ()
  {
    return New refcounted<j> (*this);
  }
};
class k : public j, public virtual refcount
{
  ptr<j>
  clone ()
  {
    return mkref (this);
  }
};
class abst
{
public:
  virtual int f () = 0;
};
class impl : public abst
{
public:
  int
  f ()
  {
    return 1;
  }
};
static ref<abst>
mkimpl ()
{
  return New refcounted<impl>;
}
int
run ()
{
  a::mk (3)->get ();
  b::alloc ()->f ();
  c::alloc (3);
  int r = 0;
  str o;
  char buf[3];
  ptr<d> p = New refcounted<d> (r, "s", &o, buf, "lit", (d *)NULL, a::mk (1), b::alloc (), cbv_null,
                                true, 5);
  p = New refcounted<d> (r, str ("s"), &o, buf, "lit", implicit_cast<d *> (NULL), ptr<a> (NULL),
                         b::alloc (), cbv_null, true, 5);
  ptr<h> hh = New refcounted<h>;
  hh = New refcounted<h> ("x");
  hh = New refcounted<i>;
  ptr<j> jj = New refcounted<k>;
  jj = jj->clone ();
  ref<abst> ra = mkimpl ();
  return ra->f () - 1;
}
}

namespace in_extern_c
{
extern "C"
{
}
extern "C" void c_handler (int);
extern "C" int c_cb (void *, int);
static cbi *stored;
extern "C" void
tramp (int n)
{
  (**stored) (n);
}
extern int errno_dummy;
extern "C"
{
  char *strsep (char **, const char *);
  void *malloc (size_t) throw ();
}
extern char **environ;
int yylex ();
void
yyerror (const char *s)
{
  warn ("%s\n", s);
}
int
run ()
{
  cbv c = wrap (abort);
  c = wrap (exit, 1);
  c = wrap (free, (void *)NULL);
  callback<int, int>::ref k = wrap (close);
  k = wrap (&close);
  callback<void, int>::ref e = wrap (::exit);
  callback<char *, const char *>::ref s = wrap (strdup);
  c = wrap (perror, "x");
  callback<int>::ref u = wrap (unlink, "x");
  cbi sl = wrap (_exit);
  callback<unsigned, unsigned>::ref slp = wrap (sleep);
  typedef void (*h_t) (int);
  h_t h = SIG_IGN;
  signal (SIGUSR1, tramp);
  ::close (-1);
  ::warn ("x\n");
  ::fdcb (0, selread, NULL);
  ::delaycb (1, 0, wrap (abort));
  if (::strchr ("x", 'x'))
    ;
  return ::getpid () ? 0 : 1;
}
}

int
main (int argc, char **argv)
{
  if (argc > 1)
    {
      in_refs::run ();
    }
  printf ("in_callback_types %d\n", in_callback_types::run ());
  printf ("in_friendship %d\n", in_friendship::run ());
  printf ("in_extern_c %d\n", in_extern_c::run ());
  return 0;
}

/* prints
in_callback_types 0
in_friendship 0
in_extern_c 0
*/
