// itree with keys of several kinds, search callbacks, traversal while it is torn down.

#include "itree.h"
#include "str.h"
#include "vec.h"
#include "err.h"

struct block {
  u_int64_t off;
  size_t len;
  itree_entry<block> link;
  block (u_int64_t o, size_t l) : off (o), len (l) {}
};

typedef itree<u_int64_t, block, &block::off, &block::link> blocktree;

static int
within (const u_int64_t *pos, const int *slack, const block *b)
{
  if (*pos < b->off)
    return -1;
  return *pos >= b->off + b->len + *slack;
}

struct word {
  const str w;
  int count;
  itree_entry<word> link;
  word (const str &s) : w (s), count (1) {}
  void print () { printf ("%s=%d ", w.cstr (), count); }
};

struct reversed {
  reversed () {}
  int operator() (const str &a, const str &b) const { return b.cmp (a); }
};

static void
sum (int *total, word *w)
{
  *total += w->count;
}

template<class T> static void
fill (T &t, const char *text)
{
  while (*text) {
    const char *e = strchr (text, ' ');
    size_t n = e ? e - text : strlen (text);
    str s (text, n);
    if (word *w = t[s])
      w->count++;
    else
      t.insert (New word (s));
    text += n + (e ? 1 : 0);
  }
}

static int
cmpblock (u_int64_t pos, const block *b)
{
  return pos < b->off ? -1 : pos > b->off ? 1 : 0;
}

int
main ()
{
  blocktree t;
  for (int i = 20; i-- > 0;)
    t.insert (New block (i * 100, 10 + i));
  u_int64_t pos = 1015;
  int slack = 0;
  block *b = t.search (within, &pos, &slack);
  printf ("%d\n", b ? (int) b->off : -1);
  pos = 1090;
  printf ("%s\n", t.search (within, &pos, &slack) ? "found" : "none");
  b = t.search (wrap (cmpblock, 700));
  printf ("%d %d\n", (int) b->off, (int) t[700]->len);
  int n = 0;
  for (b = t.first (); b; b = t.next (b))
    n += b->len;
  printf ("%d\n", n);
  while ((b = t.root ())) {
    t.remove (b);
    delete b;
  }
  printf ("%s\n", t.first () ? "left" : "empty");

  itree<const str, word, &word::w, &word::link> words;
  fill (words, "the quick brown fox jumps over the lazy dog the end");
  words.traverse (&word::print);
  int total = 0;
  words.traverse (wrap (sum, &total));
  printf ("%d\n", total);
  words.deleteall ();

  itree<const str, word, &word::w, &word::link, reversed> back;
  fill (back, "a c b");
  word *last = NULL;
  for (word *w = back.first (); w; w = back.next (w)) {
    w->print ();
    last = w;
  }
  printf ("%s\n", back.prev (last)->w.cstr ());
  back.deleteall_correct ();
  return 0;
}

/* prints
1000
none
700 17
390
empty
brown=1 dog=1 end=1 fox=1 jumps=1 lazy=1 over=1 quick=1 the=3 11
c=1 b=1 a=1 b
*/
