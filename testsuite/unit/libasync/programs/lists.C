// An element is in six containers at once, which agree on it.

#include "clist.h"
#include "list.h"
#include "itree.h"
#include "ihash.h"
#include "str.h"
#include "async.h"
struct el
{
  str k;
  int n;
  list_entry<el> l;
  tailq_entry<el> t;
  clist_entry<el> c;
  itree_entry<el> i;
  ihash_entry<el> h;
  dllist_entry<el> d;
  el (str k, int n) : k (k), n (n) {}
  ~el () { printf ("~%s ", k.cstr ()); }
};
static void
pr (el *e)
{
  printf ("%s%d ", e->k.cstr (), e->n);
}
static int
find (int w, const el *e)
{
  return w - e->n;
}
static void
rm (list<el, &el::l> *l, el *e)
{
  l->remove (e);
}
int
main ()
{
  list<el, &el::l> l;
  tailq<el, &el::t> t;
  clist<el, &el::c> c;
  itree<int, el, &el::n, &el::i> tr;
  ihash<str, el, &el::k, &el::h> h;
  dllist<el, &el::d> d;
  const char *ks[] = { "d", "b", "a", "c", "b" };
  for (u_int i = 0; i < 5; i++)
    {
      el *e = New el (ks[i], (i * 7) % 5);
      l.insert_head (e);
      t.insert_tail (e);
      c.insert_head (e);
      tr.insert (e);
      h.insert (e);
      d.insert_tail (e);
    }
  l.traverse (wrap (pr));
  printf ("\n");
  t.traverse (wrap (pr));
  printf ("\n");
  c.traverse (wrap (pr));
  printf ("\n");
  tr.traverse (wrap (pr));
  printf ("\n");
  el *e = tr.search (wrap (find, 3));
  pr (e);
  e = h["b"];
  pr (e);
  e = h.nextkeq (e);
  pr (e);
  printf ("%d\n", h.nextkeq (e) == NULL);
  l.traverse (wrap (rm, &l));
  printf ("%d ", l.first == NULL);
  while ((e = t.first))
    {
      t.remove (e);
      if (t.first == NULL)
        break;
    }
  for (e = d.head (); e; e = d.next (e))
    printf ("%d", e->n);
  for (e = d.tail (); e; e = d.prev (e))
    printf ("%d", e->n);
  printf ("\n");
  for (e = tr.root (); tr.right (e); e = tr.right (e))
    ;
  pr (e);
  pr (tr.prev (e));
  e = tr[2];
  pr (e);
  printf ("%d\n", tr[9] == NULL);
  h.clear ();
  tr.deleteall ();
  printf ("%d\n", tr.first () == NULL);
  return 0;
}

/* prints
b3 c1 a4 b2 d0 
d0 b2 a4 c1 b3 
b3 c1 a4 b2 d0 
d0 c1 b2 b3 a4 
b3 b3 b2 1
1 0241331420
a4 b3 b2 1
~d ~c ~b ~b ~a 1
*/
