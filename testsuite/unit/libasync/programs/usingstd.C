// A later program: all names of the standard library are in scope, before and after our headers.

#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>
using namespace std;
#include "async.h"
#include "qhash.h"
#include "itree.h"
#include "rxx.h"
#include "aios.h"
#include "parseopt.h"
#include <set>

class item;
typedef map<string, ptr<item> > items_t;

class item : public virtual refcount {
public:
  string name;
  int n;
  item (const string &s, int i) : name (s), n (i) {}
  ~item () { cout << "-" << name << endl; }
  ::ref<item> self () { return mkref (this); }
  void add (int k, ptr<item> o) { n += k + (o ? o->n : 0); }
};

static items_t items;
static map<str, int> counts;
static set<str> seen;
static vector<cbv> todo;
static qhash<str, string> names;

static void
say (string s, const string &t)
{
  cout << s << t << endl;
}

static bool
less_n (const ptr<item> &a, const ptr<item> &b)
{
  return a->n < b->n;
}

static void
finish ()
{
  for (size_t i = 0; i < todo.size (); i++)
    (*todo[i]) ();
  todo.clear ();
  items.clear ();
  exit (0);
}

int
main ()
{
  items["b"] = New refcounted<item> ("b", 2);
  items["a"] = New refcounted<item> ("a", 7);
  ptr<item> p = items["a"], q = p->self ();
  callback<void, ptr<item> >::ref add = wrap (q, &item::add, 3);
  (*add) (items["b"]);
  (*add) (NULL);
  vec<ptr<item> > v;
  for (items_t::iterator i = items.begin (); i != items.end (); i++)
    v.push_back (i->second);
  sort (v.base (), v.lim (), less_n);
  for (u_int i = 0; i < v.size (); i++)
    cout << v[i]->name << v[i]->n << " ";
  cout << min (v.size (), (size_t) 5) << max (1, 2) << endl;
  str words = "the cat the dog";
  vec<str> w;
  split (&w, "\\s+", words);
  for (u_int i = 0; i < w.size (); i++) {
    counts[w[i]]++;
    seen.insert (w[i]);
    names.insert (w[i], string (w[i].cstr ()) + "!");
  }
  cout << counts["the"] << seen.size () << *names["dog"] << " " << seen.begin ()->cstr () << endl;
  todo.push_back (wrap (say, string ("x"), "y"));
  todo.push_back (wrap (say, "p", string ("q")));
  v.clear ();
  swap (p, q);
  p = q = NULL;
  delaycb (0, wrap (finish));
  amain ();
}

/* prints
b2 a15 22
23dog! cat
xy
pq
-b
*/
