// Small modules as a program had in many files: an abstract handler, a factory table, static constructors, init.h, ptr casts.

#include "async.h"
#include "init.h"
#include "ihash.h"
#include "rxx.h"
#include "opnew.h"

class handler;
typedef ptr<handler> (*factory_t) (str arg);

class handler : virtual public refcount {
protected:
  handler () { nlive++; }
  virtual ~handler () { nlive--; }
public:
  static int nlive;
  virtual void handle (str s, cbs cb) = 0;
  virtual const char *type () const { return "handler"; }
};

int handler::nlive;

struct module {
  str name;
  factory_t factory;
  ihash_entry<module> link;
  module (const char *n, factory_t f);
};

static ihash<str, module, &module::name, &module::link> &
table ()
{
  static ihash<str, module, &module::name, &module::link> *t;
  if (!t)
    t = New ihash<str, module, &module::name, &module::link>;
  return *t;
}

module::module (const char *n, factory_t f) : name (n), factory (f)
{
  table ().insert (this);
}

#define MODULE(cls)						\
  static ptr<handler> make_##cls (str arg)			\
  { return New refcounted<cls> (arg); }				\
  static module module_##cls (#cls, make_##cls)

class upper : public handler {
  const str arg;
protected:
  ~upper () {}
public:
  upper (str a) : arg (a) {}
  void handle (str s, cbs cb) {
    mstr m (s.len ());
    for (size_t i = 0; i < s.len (); i++)
      m.cstr ()[i] = toupper (s[i]);
    str r (m);
    (*cb) (arg ? str (strbuf () << arg << r) : r);
  }
  const char *type () const { return "upper"; }
};
MODULE (upper);

class delayed : public handler {
  int ms;
  void fire (str s, cbs cb) { (*cb) (s); }
public:
  delayed (str a) : ms (a ? atoi (a) : 0) {}
  void handle (str s, cbs cb)
    { delaycb (ms / 1000, ms % 1000 * 1000000, wrap (mkref (this), &delayed::fire, s, cb)); }
};
MODULE (delayed);

class chain : public handler {
  vec<ref<handler> > hs;
  void step (size_t i, cbs cb, str s) {
    if (i == hs.size ())
      (*cb) (s);
    else
      hs[i]->handle (s, wrap (mkref (this), &chain::step, i + 1, cb));
  }
public:
  chain (str spec);
  void handle (str s, cbs cb) { step (0, cb, s); }
};

static ptr<handler>
make (str spec)
{
  static rxx specrx ("(\\w+)(?:\\(([^)]*)\\))?");
  if (!specrx.match (spec))
    return NULL;
  module *m = table ()[specrx[1]];
  if (!m)
    return NULL;
  return (*m->factory) (specrx[2]);
}

chain::chain (str spec)
{
  vec<str> v;
  split (&v, rxx ("\\|"), spec);
  for (str *sp = v.base (); sp < v.lim (); sp++)
    if (ptr<handler> h = make (*sp))
      hs.push_back (h);
    else
      warnx << *sp << ": no such module\n";
}

static int pending = 0;

static void
result (const char *what, ptr<handler> h, str s)
{
  printf ("%s %s %s\n", what, h->type (), s.cstr ());
  h = NULL;
  if (!--pending) {
    delaycb (0, wrap (&exit, 0));
  }
}

static int inits;
struct my_init {
  my_init () { inits++; }
  ~my_init () { printf ("live %d\n", handler::nlive); }
} the_init;

INITFN (start_up);
static void
start_up ()
{
  inits += 10;
}

int
main (int argc, char **argv)
{
  setprogname (argv[0]);
  printf ("inits %d, %d modules\n", inits, (int) table ().size ());
  ptr<handler> u = make ("upper(u:)"), none = make ("frob");
  printf ("%s\n", none ? "?" : "none");
  pending = 3;
  u->handle ("text", wrap (result, "1", u));
  ref<handler> c = New refcounted<chain> ("delayed(5)|upper|delayed|upper(>)");
  c->handle ("chain", wrap (result, "2", c));
  const int n = 2;
  ref<handler> d = New refcounted<delayed> (str (NULL));
  d->handle (strbuf ("%d", n), wrap (result, "3", d));
  u = NULL;
  amain ();
}

/* prints
inits 11, 2 modules
none
1 upper u:TEXT
3 handler 2
2 handler >CHAIN
live 6
*/
