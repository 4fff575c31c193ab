// str, mstr, strbuf: conversions, assignments in conditions, operators, formats, NULL.

#include "str.h"
#include "vec.h"
#include "rxx.h"
#include "serial.h"
#include "err.h"
#include "async.h"

str
suffix (const str &s)
{
  const char *p = strrchr (s, '.');
  if (!p)
    return NULL;
  return p + 1;
}

str
lower (str s)
{
  if (!s)
    return s;
  mstr m (s.len ());
  for (u_int i = 0; i < s.len (); i++)
    m[i] = tolower (s[i]);
  return m;
}

static str
dirname (const char *path)
{
  const char *p = strrchr (path, '/');
  if (!p)
    return ".";
  if (p == path)
    return "/";
  return str (path, p - path);
}

static int
total (const char *a, const char *b)
{
  return strlen (a) + strlen (b);
}

static bool
isabs (str s)
{
  return s && s.len () > 0 && *s == '/';
}

struct path_t {
  str dir, file;
  path_t (str p) { dir = dirname (p); str s = strrchr (p, '/'); file = s ? substr (s, 1) : p; }
  operator str () const { return dir << "/" << file; }
};

str gstr;
bssstr bstr;
const str home ("/home");
static str prefix = "pre";

int
main ()
{
  str s;
  printf ("%d %d %d\n", !s, s == NULL, !gstr);
  if ((s = suffix ("file.C")))
    printf ("%s %d\n", s.cstr (), (int) s.len ());
  if (str t = suffix ("none"))
    printf ("wrong %s\n", t.cstr ());
  s = "";
  printf ("%d %d\n", !s, s.len () == 0);
  printf ("%s %s\n", lower ("MiXed").cstr (), lower (NULL) ? "set" : "null");
  printf ("%s %s %s\n", (const char *) dirname ("/a/b/c"), dirname ("/x").cstr (), dirname ("y").cstr ());
  printf ("%d\n", total (home, prefix));
  printf ("%d%d%d\n", isabs ("/x"), isabs ("x"), isabs (NULL));

  str f = strbuf ("%d-%s-%05.1f", 42, home.cstr (), 2.25);
  printf ("%s\n", f.cstr ());
  strbuf sb;
  sb << "i" << 1 << " u" << 2U << " l" << 3L << " ull" << (u_int64_t) 4 << " c";
  sb.fmt ("%c", 'x');
  sb << " " << f << ' ' << true;
  sb.cat ("!").cat (str ("?"));
  str all = sb;
  printf ("%s %d\n", all.cstr (), (int) sb.len ());

  str x = "abc", y ("abc"), z (x);
  printf ("%d %d %d %d %d\n", x == y, x == "abc", "abc" == x, x != "abd", x < "abd");
  printf ("%d %d %d\n", x.cmp ("abb") > 0, x.cmp (y), strcmp (x, y));
  x = x << "def";
  x = strbuf () << x << x.len ();
  printf ("%s %c%c\n", x.cstr (), x[0], x[6]);
  str nul ("a\0b", 3);
  printf ("%d %d %d\n", (int) nul.len (), nul == "a", strlen (nul));

  mstr m (10);
  memcpy (m, "0123456789", 10);
  m.setlen (4);
  str taken (m);
  printf ("%s %d\n", taken.cstr (), taken.len ());
  printf ("%s|%s|%s\n", substr (taken, 1, 2).cstr (), substr (taken, 3).cstr (), substr (taken, 9).cstr ());

  vec<str> parts;
  int n = split (&parts, "[,;]\\s*", "one, two;three,");
  printf ("%d %s\n", n, join ("+", parts).cstr ());
  static rxx colon (":");
  parts.clear ();
  printf ("%d\n", split (&parts, colon, "a:b:c:d", 2));
  printf ("%s %s\n", parts[0].cstr (), parts[1].cstr ());

  str bin ("\x01\x02\xfe\xff", 4);
  printf ("%s %s %s\n", armor32 (bin).cstr (), armor64 (bin).cstr (), str (strbuf () << hexdump (bin.cstr (), bin.len ())).cstr ());
  printf ("%d %d\n", dearmor64 (armor64 (bin)) == bin, dearmor32 ("0!") ? 1 : 0);
  iovec iov[2] = { { (iovbase_t) "io", 2 }, { (char *) "vec", 3 } };
  printf ("%s\n", str (iov, 2).cstr ());
  printf ("%s\n", str (path_t ("/usr/bin/cc")).cstr ());
  bstr = home;
  gstr = bstr;
  hash_t h = gstr;
  printf ("%d\n", h == hash_string ("/home"));
  const char *volatile p = gstr;
  printf ("%s %s\n", p, gstr ? "yes" : "no");
  int32_t i32;
  u_int64_t u64;
  printf ("%d", str ("-12").to_int32 (&i32) ? i32 : 0);
  printf (" %d\n", str ("12z").to_uint64 (&u64));
  return 0;
}

/* prints
1 1 1
C 1
0 1
mixed null
/a/b / .
8
100
42-/home-002.2
i1 u2 l3 ull4 cx 42-/home-002.2 1!? 35
1 1 1 1 1
1 0 0
abcdef6 a6
3 0 1
0123 4
12|3|
3 one+two+three
2
a b:c:d
aebr792 AQL+/w== 0102feff
1 0
iovec
/usr/bin/cc
1
/home yes
-12 0
*/
