// What a program defines itself beside the headers, unless they say that they have it.

#include "async.h"
#include "list.h"
#include "rxx.h"
#include "dns.h"

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
  return 0;
}

/* prints
3
*/
