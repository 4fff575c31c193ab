// What a program defines itself beside the headers, unless they say that they have it.

#include "async.h"
#include "list.h"
#include "rxx.h"
#include "dns.h"

#ifndef HAVE_SFS_CLOCK_T
typedef enum { SFS_CLOCK_GETTIME = 0, SFS_CLOCK_MMAP = 1, SFS_CLOCK_TIMER = 2 } sfs_clock_t;
#endif

static sfs_clock_t
set_clock (sfs_clock_t c)
{
#ifdef HAVE_SFS_SET_CLOCK
  sfs_set_clock (c, "/var/run/clock");
  return c;
#else
  return SFS_CLOCK_GETTIME;
#endif
}

static const char *
dns_says (int rcode)
{
  switch (rcode) {
  case NOERROR: return "found";
  case NXDOMAIN: return "no such name";
  case SERVFAIL: return "server failed";
  case REFUSED: return "refused";
  default: return "error";
  }
}

// A header of the program that also works without callbacks.
#ifdef _CALLBACK_H_INCLUDED_
typedef callback<void, int>::ref visitor_t;
#else
typedef void (*visitor_t) (int);
#endif

static int visited;
static void
visit (int *sum, int n)
{
  *sum += n;
}

// list.h has no ring, so this one is the only one.
template<class T>
struct clist_entry {
  T *next;
  T *prev;
};

template<class T, clist_entry<T> T::*field>
class clist {
public:
  clist () : first (NULL), nelem (0) {}
  void insert (T *e)
  {
    (e->*field).next = first;
    first = e;
    nelem++;
  }
  T *first;
  u_int nelem;
};

struct member {
  clist_entry<member> all;
  list_entry<member> busy;
};

TYPE2STRUCT(, long long);
TYPE2STRUCT(, unsigned short);
TYPE2STRUCT(, unsigned long long);

namespace app {
  TYPE2STRUCT(, short);
}

int
main ()
{
  ptr<long long> n = New refcounted<long long> (3);
  printf ("%lld\n", *n);

  printf ("%s, %s, %d %d\n", dns_says (NOERROR), dns_says (NXDOMAIN), T_MX, C_IN);

  printf ("%d\n", int (set_clock (SFS_CLOCK_MMAP)));

  visitor_t v = wrap (visit, &visited);
  (*v) (5);
  printf ("%d\n", visited);

  member m;
  clist<member, &member::all> c;
  list<member, &member::busy> l;
  c.insert (&m);
  l.insert_head (&m);
  printf ("%u %d\n", c.nelem, l.first == c.first);
  list<member, &member::busy>::remove (&m);
  printf ("%d %d\n", l.first == NULL, list<member, &member::busy>::next (&m) == NULL);
  return 0;
}

/* prints
3
found, no such name, 15 1
1
5
1 1
1 1
*/
