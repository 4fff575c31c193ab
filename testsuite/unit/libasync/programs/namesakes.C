// The standard library has the names of some of our containers. It must not bring them itself, with other headers.

#include <string>
using namespace std;
#include "aios.h"
#include "aiod.h"
#include "async.h"
#include "dns.h"
#include "itree.h"
#include "list.h"
#include "parseopt.h"
#include "qhash.h"
#include "rxx.h"

struct foo {
  string name;
  list_entry<foo> link;
  tailq_entry<foo> qlink;
  foo (const string &n) : name (n) {}
};

static list<foo, &foo::link> all;
static tailq<foo, &foo::qlink> waiting;

int
main ()
{
  all.insert_head (New foo ("a"));
  all.insert_head (New foo ("b"));
  for (foo *f = all.first; f; f = all.next (f)) {
    printf ("%s\n", f->name.c_str ());
    waiting.insert_tail (f);
  }
  printf ("%s\n", waiting.first->name.c_str ());
  return 0;
}

/* prints
b
a
b
*/
