// A statistics daemon: clist-like lists, timers in a table, ranges of time, printing by traverse, lazycb, sigcb replaced.

#include "async.h"
#include "itree.h"
#include "qhash.h"
#include "stllike.h"

#define HIST 16

struct counter_t {
  str name;
  u_int64_t n;
  double sum, sumsq;
  u_int hist[HIST];
  timespec last;
  counter_t () : n (0), sum (0), sumsq (0) { bzero (hist, sizeof (hist)); bzero (&last, sizeof (last)); }
  counter_t (const str &s) : name (s), n (0), sum (0), sumsq (0) { memset (hist, 0, sizeof (hist)); last = tsnow; }
  void add (double v);
  double mean () const { return n ? sum / n : 0.0; }
};

struct interval {
  u_int64_t start;
  int len;
  itree_entry<interval> link;
  interval (u_int64_t s, int l) : start (s), len (l) {}
};

void
counter_t::add (double v)
{
  n++;
  sum += v;
  sumsq += v * v;
  int b = 0;
  for (u_int64_t i = (u_int64_t) v; i && b < HIST - 1; i >>= 1)
    b++;
  hist[b]++;
  last = tsnow;
}

static qhash<str, counter_t> counters;
static itree<u_int64_t, interval, &interval::start, &interval::link> spans;
static const int nrounds = 5;
static int usr1 = 0, hup = 0, usr1_later = 0;

static void
record (str name, double v)
{
  counter_t *c = counters[name];
  if (!c) {
    counters.insert (name, counter_t (name));
    c = counters[name];
    assert (c);
  }
  c->add (v);
}

static void
dump (vec<str> *out, const str &name, counter_t *c)
{
  strbuf sb ("%-6s %3d %6.2f", name.cstr (), (int) c->n, c->mean ());
  for (int i = 0; i < HIST; i++)
    if (c->hist[i])
      sb.fmt (" %d:%u", i, c->hist[i]);
  out->push_back (sb);
}

static bool
merge (interval *a, interval *b)
{
  if (!a || !b || a->start + a->len < b->start)
    return false;
  a->len = implicit_cast<int> (max<u_int64_t> (a->start + a->len, b->start + b->len) - a->start);
  spans.remove (b);
  delete b;
  return true;
}

static void
span (u_int64_t s, int len)
{
  interval *i = New interval (s, len), *nxt, *prv;
  spans.insert (i);
  if ((prv = spans.prev (i)) && merge (prv, i))
    i = prv;
  while ((nxt = spans.next (i)))
    if (!merge (i, nxt))
      break;
}

static void
show (interval *i)
{
  printf ("[%llu,%llu) ", (unsigned long long) i->start, (unsigned long long) i->start + i->len);
}

static void
sig (int *np)
{
  ++*np;
}

static void
done ()
{
  vec<str> lines;
  counters.traverse (wrap (dump, &lines));
  if (lines.size () == 2 && lines[1] < lines[0])
    swap (lines[0], lines[1]);
  while (!lines.empty ())
    printf ("%s\n", lines.pop_front ().cstr ());
  spans.traverse (wrap (show));
  printf ("\n%d %d %d\n", usr1 > 0 && usr1 <= 2, hup, usr1_later);
  exit (0);
}

static void
round_ (int n)
{
  for (int i = 0; i <= n; i++) {
    record ("reads", 1 << i);
    if (i & 1)
      record ("writes", 0.5 * i);
  }
  span (n * 10, n == 2 ? 5 : 10);
  if (n == 1) {
    kill (getpid (), SIGUSR1);
    kill (getpid (), SIGUSR1);
  }
  if (n == 3) {
    cbv::ptr old = sigcb (SIGUSR1, wrap (sig, &usr1_later));
    if (old)
      (*old) ();
    kill (getpid (), SIGHUP);
  }
  if (n < nrounds - 1)
    delaycb (0, 3000000, wrap (round_, n + 1));
  else
    delaycb (0, 3000000, wrap (done));
}

int
main ()
{
  sigcb (SIGUSR1, wrap (sig, &usr1));
  sigcb (SIGHUP, wrap (sig, &hup));
  delaycb (0, 0, wrap (round_, 0));
  amain ();
}

/* prints
reads   15   3.80 1:5 2:4 3:3 4:2 5:1
writes   6   0.83 0:4 1:2
[0,25) [30,50) 
1 1 0
*/
