// A daemon's configuration: conftab, parseargs by hand, convertint, file2str, str2file.

#include "async.h"
#include "parseopt.h"
#include "rxx.h"
#include "serial.h"
#include "ihash.h"

struct export_t {
  str path;
  int flags;
  export_t (const str &p, int f) : path (p), flags (f) {}
};

class server_conf {
  vec<export_t> exports;
  str user;
  str logfile;
  int port;
  u_int32_t maxconn;
  int64_t cache;
  size_t bufsz;
  bool verbose, fork;
  double ratio;

  void got_export (vec<str> s, str loc, bool *errp);
  void got_user (str s) { user = s; }

public:
  server_conf () : port (0), maxconn (0), cache (0), bufsz (0), verbose (false), fork (true), ratio (0) {}
  bool parse (const str &file);
  void dump () const;
};

static rxx pathrx ("^/[^\\s]*$");

void
server_conf::got_export (vec<str> s, str loc, bool *errp)
{
  if (s.size () < 2 || !pathrx.search (s[1])) {
    warn << loc << ": usage: Export path [flags]\n";
    *errp = true;
    return;
  }
  int f = 0;
  if (s.size () == 3 && !convertint (s[2], &f)) {
    warn << loc << ": bad flags\n";
    *errp = true;
    return;
  }
  exports.push_back (export_t (s[1], f));
}

bool
server_conf::parse (const str &file)
{
  conftab ct;
  ct.add ("Port", &port, 1, 65535, 80)
    .add ("MaxConn", &maxconn, 1, 100000)
    .add ("Cache", &cache, 0, INT64 (0x7fffffffffff))
    .add ("BufSize", &bufsz, 1, 0x100000, 4096)
    .add ("Verbose", &verbose)
    .add ("Fork", &fork, true)
    .add ("LogFile", &logfile)
    .add ("Ratio", &ratio, 0.0, 1.0)
    .add ("User", wrap (this, &server_conf::got_user))
    .add ("Export", wrap (this, &server_conf::got_export))
    .ignore ("Obsolete");
  return ct.run (file);
}

void
server_conf::dump () const
{
  printf ("port %d maxconn %u cache %lld buf %d %s %s\n", port, maxconn, (long long) cache, (int) bufsz,
	  verbose ? "verbose" : "quiet", fork ? "fork" : "stay");
  printf ("user %s log %s ratio %.2f\n", user ? user.cstr () : "(none)",
	  logfile ? implicit_cast<const char *> (logfile) : "(none)", ratio);
  for (const export_t *e = exports.base (); e < exports.lim (); e++)
    printf ("export %s %#x\n", e->path.cstr (), e->flags);
}

int
main (int argc, char **argv)
{
  setprogname (argv[0]);
  char dir[] = "/tmp/config.XXXXXX";
  if (!mkdtemp (dir))
    fatal ("%s: %m\n", dir);
  str file = strbuf ("%s/conf", dir);
  strbuf sb;
  sb << "# comment\n"
     << "port 8080\n"
     << "MaxConn 50\t# more\n"
     << "Cache 0x10000\n"
     << "\n"
     << "verbose 1\nfork no\nobsolete x y z\n"
     << "LogFile \"/var/log/a b\"\n"
     << "user nobody\nRatio 0.5\n"
     << "Export /home 0x3\n"
     << "Export \\\n  /usr\n";
  if (!str2file (file, sb, 0600))
    fatal << file << ": " << strerror (errno) << "\n";

  server_conf c;
  if (!c.parse (file))
    fatal << "cannot parse " << file << "\n";
  c.dump ();

  str2file (file, "Port 70000\n", 0600);
  server_conf bad;
  printf ("%s\n", bad.parse (file) ? "accepted" : "refused");

  str2file (file, "a 'b c' d\\ e\n\n# none\n\"x\" y", 0600);
  parseargs pa (file);
  vec<str> av;
  int line;
  while (pa.getline (&av, &line)) {
    printf ("%d:", line);
    while (av.size ())
      printf (" <%s>", av.pop_front ().cstr ());
    printf ("\n");
  }
  str all = file2str (file);
  printf ("%d bytes\n", (int) all.len ());
  int n;
  u_int16_t u;
  printf ("%d %d %d\n", convertint ("12x", &n), convertint (str ("65536"), &u), convertint ("017", &n) ? n : -1);
  unlink (file);
  rmdir (dir);
  return 0;
}

/* prints
port 8080 maxconn 50 cache 65536 buf 4096 verbose stay
user nobody log /var/log/a b ratio 0.50
export /home 0x3
export /usr 0
refused
1: <a> <b c> <d e>
4: <x> <y>
27 bytes
0 0 15
*/
