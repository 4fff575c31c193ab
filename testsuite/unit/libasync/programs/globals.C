// All objects are static: in which order they begin, exit in a callback, and what is destroyed.

#include "async.h"
#include "rxx.h"
#include "qhash.h"
#include "itree.h"

struct reporter
{
  const char *n;
  reporter (const char *s) : n (s)
  {
    printf ("+%s\n", n);
    fflush (stdout);
  }
  ~reporter ()
  {
    printf ("-%s\n", n);
    fflush (stdout);
  }
};
static qhash<str, ref<reporter> > tab;
static vec<ref<reporter> > all;
static rxx rx ("^(\\w)(\\d+)$");
static ptr<reporter> one = New refcounted<reporter> ("one");
static bssptr<reporter> never;
static str version = strbuf ("v%d.%d", 1, 2);
static cbv::ptr atend;

static void
add (const char *s)
{
  tab.insert (s, New refcounted<reporter> (s));
  all.push_back (tab[s]);
}
static void early ();
INITFN (early);
static void
early ()
{
  printf ("early %d\n", (int)tab.size ());
  add ("two");
}

class initer
{
  static int n;

public:
  initer ()
  {
    if (!n++)
      never = New refcounted<reporter> ("never");
  }
  ~initer ()
  {
    if (!--n)
      printf ("fini\n");
  }
};
int initer::n;
static initer i1, i2;

struct timer
{
  timecb_t *t;
  int n;
  timer () : t (NULL), n (0) {}
  void
  start ()
  {
    t = delaycb (0, 1000, wrap (this, &timer::fire));
  }
  void
  fire ()
  {
    if (++n < 3)
      start ();
    else
      (*atend) ();
  }
} tm1;

static void
quit (int code)
{
  printf ("quit %s %d\n", version.cstr (), (int)tab.size ());
  exit (code);
}
int
main ()
{
  printf ("main\n");
  atend = wrap (quit, 0);
  tm1.start ();
  if (rx.match ("a12"))
    printf ("%s%s\n", rx[2].cstr (), rx[1].cstr ());
  amain ();
}

/* prints
+one
early 0
+two
+never
main
12a
quit v1.2 1
fini
-one
-two
*/
