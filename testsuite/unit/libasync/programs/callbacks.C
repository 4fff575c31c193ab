// wrap: functions, methods of all kinds of objects, const, overloads, values converted when bound, chains of callbacks.

#include "async.h"

typedef callback<void, str, int>::ref cbsi_t;
typedef callback<bool, int>::ptr test_t;
typedef callback<int>::ref geti_t;
typedef callback<void, ptr<vec<str> >, const char *>::ref listcb_t;

static void
show (str s, int n)
{
  printf ("%s %d\n", s ? s.cstr () : "(null)", n);
}

static void
twice (cbsi_t cb, int n)
{
  (*cb) ("once", n);
  cb ("twice", n * 2);
}

static int add (int a, int b) { return a + b; }
static int add (int a, int b, int c, int d, int e, int f) { return a + b + c + d + e + f; }
static bool even (int n) { return !(n % 2); }
static bool between (int lo, int hi, int n) { return lo <= n && n <= hi; }

static int
count (test_t t, int max)
{
  int n = 0;
  for (int i = 0; i < max; i++)
    if (!t || (*t) (i))
      n++;
  return n;
}

class base {
public:
  virtual ~base () {}
  virtual void hello (str s) { printf ("base %s\n", s.cstr ()); }
};

class obj : public base, public virtual refcount {
  const int id;
  mutable int calls;
public:
  obj (int i) : id (i), calls (0) {}
  ~obj () { printf ("obj %d dies\n", id); }
  void hello (str s) { calls++; printf ("obj %d %s\n", id, s.cstr ()); }
  int getid () const { calls++; return id; }
  void set (int *p) { *p = id; }
  void later (cbv cb) { (*cb) (); }
  cbv self () { return wrap (mkref (this), &obj::done, 7); }
  static void stat (obj *o, int a) { printf ("static %d %d\n", o->id, a); }
  static cbi make (obj *o) { return wrap (&obj::stat, o); }
private:
  void done (int n) { printf ("done %d %d\n", id, n); }
};

static void
list (listcb_t cb)
{
  ptr<vec<str> > v = New refcounted<vec<str> >;
  v->push_back ("a");
  v->push_back () = "b";
  (*cb) (v, "listed");
  (*cb) (NULL, NULL);
}

static void
listed (int *np, ptr<vec<str> > v, const char *what)
{
  if (v)
    *np += v->size ();
  printf ("%s\n", what ? what : "nothing");
}

static void assign (int *p, int v) { *p = v; }
static void five (int a, short b, char c, const char *d, str e) { printf ("%d%d%c%s%s\n", a, b, c, d, e.cstr ()); }
static void byref (const str &s, const vec<int> &v, int &r) { r = s.len () + v.size (); }

template<class T> static void
print (const char *fmt, T t)
{
  printf (fmt, t);
}

int
main ()
{
  twice (wrap (show), 21);
  cbsi_t cb = wrap (show);
  cb = wrap (&show);
  callback<void, int>::ref one = wrap (show, "bound");
  (*one) (1);
  cbv none = wrap (show, str (NULL), 0);
  none ();
  (*wrap (show, "direct")) (2);
  geti_t g = wrap (add, 1, 2);
  printf ("%d", g ());
  g = wrap (add, 1, 1, 1, 1, 1, 1);
  printf (" %d\n", (*g) ());
  printf ("%d %d %d\n", count (wrap (even), 10), count (wrap (between, 3, 5), 10), count (NULL, 10));

  obj *raw = New obj (1);
  base *b = raw;
  cbs h = wrap (b, &base::hello);
  h ("virtual");
  callback<int>::ptr idcb;
  {
    ref<obj> r = New refcounted<obj> (2);
    idcb = wrap (r, &obj::getid);
    h = wrap (r, &obj::hello);
    const obj *co = r;
    printf ("%d\n", (*wrap (co, &obj::getid)) ());
    cbv d = r->self ();
    r->later (d);
    (*obj::make (r)) (5);
  }
  (*h) ("held");
  printf ("%d\n", (*idcb) ());
  h = cbs_null;
  idcb = NULL;
  printf ("-\n");
  delete raw;

  int n = 0, v = 0;
  list (wrap (listed, &n));
  cbi seti = wrap (assign, &v);
  seti (9);
  printf ("%d %d\n", n, v);
  (*wrap (five, 1, 2, 'c', "d", "e")) ();
  callback<void, char, const char *, str>::ref rest = wrap (five, 3, 4);
  rest ('x', "y", "z");
  vec<int> vi;
  vi.push_back (1);
  callback<void, int &>::ref rc = wrap (byref, "four", vi);
  rc (v);
  printf ("%d\n", v);
  vec<cbv> todo;
  for (int i = 0; i < 3; i++)
    todo.push_back (wrap (print<int>, "%d ", i));
  while (todo.size ())
    (*todo.pop_back ()) ();
  printf ("\n");
  cbi::ptr p;
  if (!p)
    p = wrap (show, "ptr");
  if (p)
    (*p) (3);
  cbv::ptr e = wrap (exit, 0);
  (*e) ();
}

/* prints
once 21
twice 42
bound 1
(null) 0
direct 2
3 6
5 3 10
obj 1 virtual
2
done 2 7
static 2 5
obj 2 held
2
obj 2 dies
-
obj 1 dies
listed
nothing
2 9
12cde
34xyz
5
2 1 0 
ptr 3
*/
