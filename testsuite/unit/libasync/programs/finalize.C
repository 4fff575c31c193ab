// Objects that decide themselves when they die: finalize, mkref, a cache of objects without references.

#include "async.h"
#include "list.h"
#include "ihash.h"

class cache;

struct inode : public virtual refcount {
  friend class cache;
  const u_int32_t ino;
  cache *const c;
  int opens;
  bool cached;
  ihash_entry<inode> hlink;
  tailq_entry<inode> lrulink;

protected:
  inode (cache *c, u_int32_t i);
  ~inode ();
  void finalize ();
};

class cache {
  friend class inode;
  size_t max, nlru;
  ihash<const u_int32_t, inode, &inode::ino, &inode::hlink> tab;
  tailq<inode, &inode::lrulink> lru;
  int freed;

public:
  cache (size_t m) : max (m), nlru (0), freed (0) {}
  ref<inode> get (u_int32_t i);
  int size () { return tab.size (); }
  int nfreed () const { return freed; }
  void flush ();
};

inode::inode (cache *cc, u_int32_t i) : ino (i), c (cc), opens (0), cached (false)
{
  c->tab.insert (this);
}

inode::~inode ()
{
  c->tab.remove (this);
  c->freed++;
}

void
inode::finalize ()
{
  cached = true;
  c->lru.insert_tail (this);
  if (++c->nlru > c->max) {
    inode *i = c->lru.first;
    c->lru.remove (i);
    c->nlru--;
    delete i;
  }
}

ref<inode>
cache::get (u_int32_t n)
{
  inode *i = tab[n];
  if (!i)
    return New refcounted<inode> (this, n);
  if (i->cached) {
    lru.remove (i);
    nlru--;
    i->cached = false;
  }
  return mkref (i);
}

void
cache::flush ()
{
  while (inode *i = lru.first) {
    lru.remove (i);
    nlru--;
    delete i;
  }
}

static void
use (cache *c, u_int32_t n)
{
  ref<inode> i = c->get (n);
  ptr<inode> j = c->get (n);
  if (i != j)
    panic ("two of %u\n", n);
  j = NULL;
  i->opens++;
}

int
main (int argc, char **argv)
{
  setprogname (argv[0]);
  cache c (3);
  for (int i = 0; i < 5; i++)
    use (&c, i);
  printf ("%d in the cache, %d freed\n", c.size (), c.nfreed ());
  use (&c, 4);
  {
    ptr<inode> held = c.get (4);
    printf ("opened %d times\n", held->opens);
    for (int i = 10; i < 15; i++)
      use (&c, i);
    printf ("%d with one in use\n", c.size ());
    vec<ref<inode> > v;
    v.push_back (held);
    held = NULL;
    v.push_back (c.get (20));
    printf ("%d\n", v[0]->opens + v[1]->opens);
  }
  c.flush ();
  printf ("%d left, %d freed\n", c.size (), c.nfreed ());
  return 0;
}

/* prints
3 in the cache, 2 freed
opened 2 times
4 with one in use
2
0 left, 11 freed
*/
