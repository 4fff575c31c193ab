// Types of a program's own in messages, and every type that a strbuf takes.

#include "str.h"
#include "err.h"
#include "async.h"
struct ip
{
  u_int32_t a;
};
struct pt
{
  int x, y;
};
const strbuf &
strbuf_cat (const strbuf &sb, const ip &i)
{
  return sb.fmt ("%d.%d", i.a >> 8, i.a & 0xff);
}
inline const strbuf &
operator<< (const strbuf &sb, const pt &p)
{
  return sb << "(" << p.x << "," << p.y << ")";
}
enum e
{
  A = 3
};
struct bits
{
  u_int a : 3;
  bool b : 1;
};
int
main ()
{
  setvbuf (stdout, NULL, _IONBF, 0);
  errfd = 1;
  strbuf b;
  ip i = { 258 };
  pt p = { 1, -2 };
  bits bi = { 5, 1 };
  e ee = A;
  b << i << " " << p << " " << ee << " " << (u_int)bi.a << " " << (char)'x' << (unsigned char)7
    << " " << 1.25f << " " << (long double)2.5 << " " << (void *)NULL << " " << (u_int64_t)-1 << " "
    << (int64_t)INT64_MIN << " " << (u_int64_t)~0ULL << " " << (short)-1 << " " << (u_int16_t)65535
    << " " << true << false << " " << (const char *)NULL << " " << str (NULL) << "|\n";
  str s = b;
  printf ("%s", s.cstr ());
  fflush (stdout);
  warnx << i << " " << p << " " << ee << "\n";
  warnx << strbuf ("%5d|%-5s|%05.1f|%x|%c|%%|%lld", 42, "ab", 3.14159, 255, 'z', (long long)1 << 40)
        << "\n";
  errno = ENOENT;
  warnx ("%m %s\n", "end");
  errno = EACCES;
  warnx << "x: " << strerror (errno) << "\n";
  warnx << strbuf ("%m") << "\n";
  setprogname ((char *)"/usr/bin/lt-prog");
  warn << "hi\n";
  warn ("%s\n", progname.cstr ());
  str t = strbuf () << 1 << "," << 2;
  t = t << ";" << t;
  printf ("%s %d\n", t.cstr (), (int)t.len ());
  strbuf c;
  c << "a";
  strbuf d (c);
  d << "b";
  printf ("%s\n", str (c).cstr ());
  c.cat ("q", true).cat (str ("w")).buf ("xyz", 2);
  c << cat ("lit", false) << hexdump ("\xff\n", 2) << c.len ();
  printf ("%s %d\n", str (c).cstr (), (int)c.iovcnt () > 0);
  return 0;
}

/* prints
1.2 (1,-2) 3 5 x7 1.25 2.5 (nil) 18446744073709551615 -9223372036854775808 18446744073709551615 -1 65535 10 (null) |
1.2 (1,-2) 3
   42|ab   |003.1|ff|z|%|1099511627776
No such file or directory end
x: Permission denied
Permission denied
prog: hi
prog: prog
1,2;1,2 7
ab
abqwxylitff0a13 1
*/
