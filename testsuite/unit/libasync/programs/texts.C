// Strings, expressions, buffers and messages, by every conversion that programs used.

#include "str.h"
#include "async.h"
#include "rxx.h"
#include "suio++.h"
#include "err.h"

namespace in_strings
{
static const char *const keys[] = { "a", "b" };
str
mk (int i)
{
  switch (i)
    {
    case 0:
      return "zero";
    case 1:
      return strbuf ("one %d", 1);
    case 2:
      {
        strbuf b;
        b << "two";
        return b;
      }
    case 3:
      {
        mstr m (3);
        strcpy (m, "th");
        m.setlen (2);
        return m;
      }
    case 4:
      return NULL;
    case 5:
      return strbuf () << "x" << mk (0);
    case 6:
      return str ("abc", 2);
    case 7:
      return keys[0];
    case 8:
      return substr ("abcdef", 2, 3);
    }
  return str ();
}
void
out (const str &s)
{
}
void
outp (const char *s)
{
}
void
outs (str s)
{
}
int
cmp (const void *a, const void *b)
{
  return ((str *)a)->cmp (*(str *)b);
}
struct st
{
  str s;
  char buf[10];
  operator str () { return s; }
  operator const char * () { return buf; }
};
int
run ()
{
  str s = "x", t;
  s = s << "y" << 3 << t;
  s = strbuf () << s << s;
  s = strbuf ("%s%d", s.cstr (), 3) << "tail";
  const char *p = s;
  p = s.cstr () + 1;
  char c = s[0];
  c = *s;
  size_t l = s.len ();
  l = strlen (s);
  if (s == "x" || "x" == s || s != t || !t || t == NULL || s < t || s > "b" || !s.len ())
    ;
  if (!strcmp (s, "x") || !strncmp (s, "ab", 2) || strchr (s, 'x') || strstr (s, "q"))
    ;
  out ("a");
  out (NULL);
  out (strbuf ("x"));
  out (mk (3));
  outp (s);
  outp (mk (1));
  outs (0);
  outs (p);
  int i = atoi (s);
  FILE *f = fopen (s, "r");
  printf ("%s", s.cstr ());
  printf ("%s %d", (const char *)s, (int)s.len ());
  char *cp = const_cast<char *> (s.cstr ());
  cp = (char *)(const char *)s;
  cp = xstrdup (s);
  xfree (cp);
  str *sp = New str ("q");
  delete sp;
  str arr[3];
  arr[0] = "x";
  qsort (arr, 3, sizeof (str), cmp);
  vec<str> v;
  v.push_back ("x");
  v.push_back (s);
  v[0] = v[1];
  s = join (" ", v);
  bool b = s;
  b = !s;
  b = (s && t);
  s = b ? s : t;
  s = b ? str ("a") : s;
  s = b ? "a" : "b";
  s = b ? s.cstr () : "x";
  hash_t h = s;
  strbuf sb;
  sb << s << "\n" << 'c' << 10 << 10U << 10L << (u_int64_t)10 << 1.5 << hexdump (s, s.len ());
  sb.fmt ("%s", "x").cat ("y").buf ("z", 1);
  sb << strbuf ("%d", 3);
  sb << sb.len ();
  str r (sb);
  sb.tosuio ()->clear ();
  suio_print (sb.tosuio (), s);
  strbuf sb2 (sb);
  iovec iv;
  iv.iov_base = (char *)s.cstr ();
  iv.iov_len = s.len ();
  str fromiov (&iv, 1);
  mstr m (100);
  m[0] = 'c';
  m[99] = 0;
  memcpy (m, s, 1);
  memcpy (m.cstr () + 1, s.cstr (), 1);
  read (0, m, m.len ());
  m.setlen (2);
  str ms (m), ms2 = m;
  sprintf (m, "x");
  s = mstr (3);
  const mstr &cm = m;
  cm.len ();
  cm.cstr ();
  s = substr (s, 1);
  s.setbuf ("abc", 2);
  s = s;
  s = s.cstr ();
  t = s;
  swap (s, t);
  s.swap (t);
  if (s.len () > 1 && s[s.len () - 1] == '\n')
    s = substr (s, 0, s.len () - 1);
  st x;
  s = x.s;
  str y = x.s ? x.s : str ("none");
  static const str cs ("q");
  const str &rs = cs;
  s = rs;
  s = strbuf () << rs << cs << 'x';
  for (const char *q = s; *q; q++)
    ;
  for (u_int k = 0; k < s.len (); k++)
    if (s[k] == 'x')
      ;
  while (s && *s)
    s = s + 1;
  s = s ? s + 1 : NULL;
  switch (s[0])
    {
    case 'x':
      break;
    }
  return !(s == "x") && 3 * !!s;
}
}

namespace in_rxx
{
static rxx urlrx ("^(http|https)://([^/:]+)(:(\\d+))?(/.*)?$", "i");
rxx wsrx = "\\s+";
static const rxx crx ("x");
extern rxx ext;
rxx ext ("q");
rxx *prx;
static rxx sep (str ("[,:]"));
rxx arr[2] = { "a", "b" };
struct rule
{
  rxx *r;
  rxx own;
  rrxx rr;
  str pat;
  rule (str p) : r (New rxx (p)), own (p), rr (p), pat (p) {}
};
static bool
tst (rxx r, str s)
{
  return r.match (s);
}
static bool
tst2 (rxx &r, const str &s)
{
  return r.search (s);
}
int
run ()
{
  str url = "http://a.b:80/x";
  if (!urlrx.match (url))
    return 1;
  str host = urlrx[2];
  int port = urlrx[4] ? atoi (urlrx[4]) : 80;
  str path = urlrx[5] ? urlrx[5] : str ("/");
  if (url / "^http")
    ;
  if (url / "^HTTP" / "i")
    ;
  str x = url / "//(.*)/";
  x = url / urlrx;
  if (rxx ("^x").search (url))
    ;
  if (tst (wsrx, url) || tst ("x", url) || tst2 (urlrx, url))
    ;
  vec<str> v;
  int n = split (&v, wsrx, "a b c");
  n = split (&v, ",", "a,b", 2, true);
  split (NULL, sep, url);
  n = split (&v, rxx ("x"), url, 3);
  x = join (",", v);
  rrxx rr;
  if (!rr.compile ("("))
    warn << rr.geterr () << "\n";
  rrxx r2 ("x+", "i");
  if (r2.geterr ())
    ;
  if (r2.search ("XX"))
    x = r2[0];
  prx = New rxx ("a(b)c");
  if (prx->search ("abc"))
    {
      x = (*prx)[1];
      n = prx->start (1) + prx->end (1) + prx->len (1);
    }
  rule ru ("y");
  ru.r->match ("y");
  ru.own = wsrx;
  ru.rr.search ("y");
  rxx copy (urlrx);
  copy = urlrx;
  const char *cp = url;
  while (wsrx.search (cp))
    {
      cp += wsrx.end (0);
    }
  if (urlrx.success () && urlrx.at (1))
    ;
  for (const char *p = "a=1;b=2"; *p;)
    {
      static rxx kv ("^(\\w+)=(\\w+);?");
      if (!kv.search (p))
        break;
      str k = kv[1], val = kv[2];
      p += kv.len (0);
    }
  if (arr[0].match ("a"))
    ;
  str s;
  if ((s = url / "q(.)") && s.len ())
    ;
  if ("abc" / rxx ("b"))
    ;
  str res = (url / urlrx) ? "y" : "n";
  rxx::matchresult mr = urlrx.match (url);
  if (mr)
    x = mr[1];
  return port - 80;
}
}

namespace in_suio
{
static void
done (int *n)
{
  ++*n;
}
int
run ()
{
  suio u;
  u.print ("abc\n", 4);
  u.copy ("x", 1);
  u.fill ('z', 3);
  char *p = u.getspace (10);
  strcpy (p, "q");
  u.print (p, 1);
  int n = 0;
  u.iovcb (wrap (done, &n));
  suio_callback (&u, wrap (done, &n));
  suio_print (&u, "x", 1);
  suio_print (&u, str ("y"));
  suio_uprintf (&u, "%d", 3);
  suio_printcheck (&u, "x", 1);
  suio_copy (&u, "x", 1);
  char b[100];
  u.copyout (b, 3);
  for (const iovec *v = u.iov (), *e = v + u.iovcnt (); v < e; v++)
    n += v->iov_len;
  iovsize (u.iov (), u.iovcnt ());
  char *f = suio_flatten (&u);
  xfree (f);
  f = suio_flatten (&u);
  free (f);
  str l = suio_getline (&u);
  suio u2;
  u2.take (&u);
  u2.copyu (&u2 == &u ? &u : &u);
  u2.breakiov ();
  u2.rembytes (1);
  u2.byteno ();
  int fd = open ("/dev/null", O_RDWR);
  int r = u2.input (fd);
  r = u2.output (fd);
  r = u2.input (fd, 10);
  while (u2.resid () && (r = u2.output (fd, 5)) > 0)
    ;
  ref<suio> ru = New refcounted<suio>;
  strbuf sb (ru);
  sb << "x";
  ptr<suio> pu = ru;
  pu->clear ();
  suio *raw = sb.tosuio ();
  raw->resid ();
  iovmgr im (u.iov (), u.iovcnt ());
  im.skip (1);
  im.copyout (b, 3);
  im.size ();
  u2.hold_onto (str ("x"));
  struct suio *su = New suio;
  delete su;
  str all (u2);
  strbuf x;
  x.tosuio ()->input (fd);
  x.hold_onto ("q");
  return 0;
}
}

namespace in_warn
{
static int trace = 3;
#define TRACE(l)                                                                                   \
  if (trace < l)                                                                                   \
    ;                                                                                              \
  else                                                                                             \
    warn
#define wtrace(n) traceobj (trace, "x: ") (n)
struct sa
{
  int a;
};
inline const strbuf &
strbuf_cat (const strbuf &sb, const sa &s)
{
  return sb << s.a;
}
static str
f ()
{
  return "s";
}
int
run (int argc = 1, char **argv = NULL)
{
  setprogname (argv[0]);
  warn << "a" << 1 << " " << 2u << 3l << 4ul << (long long)5 << (u_int64_t)6 << 'c' << 1.5 << true
       << f () << strbuf ("%d", 1) << (void *)0 << (char *)"x" << (const char *)"y" << (short)3
       << (u_char)3 << "\n";
  warn ("x %s %m\n", "y");
  warnx ("%d\n", 3);
  warn << progname << ": " << strerror (errno) << "\n";
  warn ("x\n") << "more\n";
  warnx << "usage: " << progname << " x\n";
  TRACE (2) << "hi\n";
  TRACE (9) ("hi %d\n", 3);
  wtrace (1) << "q\n";
  sa s;
  warn << s << "\n";
  warn.fmt ("%d\n", 3);
  warn << hexdump ("ab", 2) << "\n";
  warn << armor32 ("ab", 2) << "\n";
  warn.cat ("x").cat ("\n");
  if (argc > 5)
    fatal << "dead\n";
  if (argc > 6)
    panic << "dead\n";
  if (argc > 7)
    fatal ("%s\n", "x");
  if (argc > 8)
    panic ("%s\n", "x");
  argc > 9 ? fatal << "x\n" : warn << "y\n";
  warn << "in " << (argc > 1 ? "a" : f ()) << "\n";
  warn << sizeof (int) << " " << getpid () << time (NULL) << "\n";
  int n = 3;
  const int &r = n;
  warn << r << n++ << "\n";
  struct stat sb;
  warn << sb.st_size << sb.st_mtime << sb.st_ino << (u_int)sb.st_mode << "\n";
  enum
  {
    X
  } ex
      = X;
  warn << ex << X << "\n";
  warn << (int)true << "\n";
  timespec ts;
  warn << ts.tv_sec << "." << ts.tv_nsec << "\n";
  err_flush ();
  errfd = 2;
  return 0;
}
int
q (int a)
{
  if (a)
    return 3;
  fatal << "never\n";
}
int
q2 (int a)
{
  switch (a)
    {
    case 1:
      return 1;
    default:
      panic ("never %d\n", a);
    }
}
}

int
main (int argc, char **argv)
{
  if (argc > 1)
    {
      in_strings::run ();
      in_suio::run ();
      in_warn::run ();
    }
  printf ("in_rxx %d\n", in_rxx::run ());
  return 0;
}

/* prints
in_rxx 0
*/
