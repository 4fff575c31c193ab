// Headers one by one, as programs include them in an order of their own, with names that others also use.

#define list list_of_mine
#undef list
#include "vec.h"
#include "ihash.h"
#include "str.h"
#include "callback.h"
#include "async.h"
#include <iostream>
#include <map>
#include <string>
#include <vector>
#include <list>
#include <math.h>

using namespace std;

// names of std beside the library's
struct point { double x, y; };
static map<string, int> counts;
static ::vec<point> points;
static std::vector<str> strs;
static std::list<int> digits;

namespace sfs {
  template<class T> struct wrapper { T t; wrapper (const T &x) : t (x) {} };
}
using namespace sfs;

class buffer {
  enum { size = 100, first, last };
  char data[size];
  size_t len;
public:
  buffer () : len (0) {}
  bool empty () const { return !len; }
  bool append (str s) {
    if (s.len () + len > size)
      return false;
    memcpy (data + len, s.cstr (), s.len ());
    len += s.len ();
    return true;
  }
  str get () const { return str (data, len); }
};

static void
onstring (string s, str t)
{
  counts[s] += t.len ();
}

static double
norm (const point &p)
{
  return sqrt (p.x * p.x + p.y * p.y);
}

static void
add (double *d, point p)
{
  *d += norm (p);
}

std::ostream &
operator<< (std::ostream &o, const str &s)
{
  return o << s.cstr ();
}

int
main ()
{
  callback<void, str>::ref cb = wrap (onstring, string ("k"));
  cb ("four");
  (*cb) (string ("five5").c_str ());
  cout << counts["k"] << "\n";
  point p = { 3, 4 };
  points.push_back (p);
  points.push_back (points[0]);
  double d = 0;
  callback<void, point>::ref acc = wrap (add, &d);
  for (size_t i = 0; i < points.size (); i++)
    acc (points[i]);
  cout << d << endl;
  strs.push_back ("b");
  strs.push_back (str ("a"));
  sort (strs.begin (), strs.end ());
  cout << strs[0] << strs[1] << "\n";
  digits.push_back (max (3, 4));
  digits.push_front (min (3, 4));
  std::swap (p.x, p.y);
  cout << digits.front () << digits.back () << p.x << "\n";
  buffer b;
  b.append ("one");
  b.append (str ("two"));
  cout << b.get () << (b.append (strbuf ("%0200d", 1)) ? "fits" : "full") << "\n";
  wrapper<str> w ("w");
  str x = w.t;
  x = string ("std").c_str ();
  string y = x.cstr ();
  y += w.t;
  cout << y << " " << x.len () << "\n";
  cout << flush;
  return 0;
}

/* prints
9
10
ab
344
onetwofull
stdw 3
*/
