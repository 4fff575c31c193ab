// Bit-fields as bound values and as arguments of refcounted, as old programs pass them.

#include "async.h"

typedef enum { READ = 1, WRITE = 2 } mode_t_;

struct flags_t {
  bool enabled : 1;
  unsigned level : 3;
  int delta : 5;
  mode_t_ mode : 3;
};

struct packed_t {
  char tag;
  int value;
} __attribute__ ((packed));

static void
two (int a, int b)
{
  printf ("%d %d\n", a, b);
}

static void
one (bool a)
{
  printf ("%d\n", a);
}

static void
more (ptr<bool> r, bool t, str n, int e)
{
  printf ("%d %d %s %d\n", *r, t, n.cstr (), e);
}

static void
moded (mode_t_ m, color c)
{
  printf ("%d %u\n", m, c.value ());
}

// By the number of arguments.
static void
over (int a)
{
  printf ("over %d\n", a);
}

static void
over (int a, unsigned b, int c, int d, int e)
{
  printf ("over %d %u %d %d %d\n", a, b, c, d, e);
}

class chan_t : public virtual refcount {
public:
  chan_t (int i) : id (i), limit (7) { f.enabled = true; f.level = 5; f.delta = -3; f.mode = WRITE; }
  void set (bool b, int n) { printf ("%d: %d %d\n", id, b, n); }
  void show (int n) const { printf ("%d: %d\n", id, n); }
  cbi setter () { return wrap (this, &chan_t::set, f.enabled); }
  cbv shower () const { return wrap (mkref (this), &chan_t::show, f.delta); }
  flags_t f;
  const int id;
  static const int sc = 5;
  int limit : 4;
};

const int chan_t::sc;

struct counter_t {
  counter_t (int &n) : value (++n) {}
  counter_t (const char *, int n) : value (n) {}
  int value;
};

int
main ()
{
  ref<chan_t> c = New refcounted<chan_t> (4);
  chan_t *p = c;
  packed_t k = { 'x', 6 };
  int n = 1;
  ptr<bool> b = New refcounted<bool> (c->f.enabled);
  ptr<int> d = New refcounted<int> (c->f.delta);
  ref<chan_t> l = New refcounted<chan_t> (p->f.level);
  printf ("%d %d %d\n", *b, *d, l->id);

  cbv v = wrap (two, c->f.level, 3u);
  (*v) ();
  v = wrap (two, n, c->f.delta);
  c->f.delta = 9;
  (*v) ();
  v = wrap (two, k.value, p->sc);
  (*v) ();
  v = wrap (one, p->f.enabled);
  (*v) ();
  cbi i = wrap (more, b, p->f.enabled, "abc");
  (*i) (8);
  i = wrap (over, n, c->f.level, c->f.delta, c->id);
  (*i) (2);
  (*c->setter ()) (c->limit);
  (*c->shower ()) ();
  v = wrap (c, &chan_t::set, c->f.enabled, c->f.level);
  (*v) ();
  v = cwrap (two, c->f.delta, c->f.mode, (color) n);
  (*v) ();
  v = cwrap (p, &chan_t::show, p->f.delta, (color) 3);
  (*v) ();
  v = wrap (moded, c->f.mode, (color) 3);
  (*v) ();
  v = wrap ([] (int x, bool y) { printf ("%d %d\n", x, y); }, c->limit, c->f.enabled);
  (*v) ();

  // What takes a variable still does.
  ptr<counter_t> t = New refcounted<counter_t> (n);
  printf ("%d %d\n", n, t->value);
  t = New refcounted<counter_t> ("x", c->f.level);
  printf ("%d\n", t->value);
  return 0;
}

/* prints
1 -3 5
5 3
1 -3
6 5
1
1 1 abc 8
over 1 5 9 4 2
4: 1 7
4: 9
4: 1 5
9 2
4: 9
2 3
7 1
2 2
5
*/
