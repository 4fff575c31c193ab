// Macros of one letter and of common words, before the headers.

#define LOG 1
#define DEBUG 1
#define FAIL 2
#define NONE 0
#define debug(x) x
#define TRUE 1
#define FALSE 0
#define BUFSIZE 100
#define MAXLEN 3
#define verbose 3
#define trace 4
#define I 3
#define L 5
#define D 3
#define M 3
#define X 3
#define S 3
#define Q 3
#define W 3
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#include "async.h"
#include "qhash.h"
#include "itree.h"
#include "rxx.h"
#include "parseopt.h"
#include "aios.h"
#include "aiod.h"
#include "dns.h"
#include "bitvec.h"
#include "backoff.h"

int
main ()
{
  int n = -1;
  conftab ct;
  ct.add ("x", &n, 0, I + L, M);
  vec<str> v;
  v.push_back ("x");
  v.push_back (strbuf () << max (I, L));
  bool bad = false;
  ct.match (v, "f", 1, &bad);
  printf ("%d %d %d\n", n, (int)min (v.size (), (size_t)1), bad);
  ct.report (&v);
  return FALSE;
}

/* prints
5 1 0
*/
