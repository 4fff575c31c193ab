// A table of hosts by address: hashfn and equals of in_addr and sockaddr_in, and a key type of the program's own.

#include "amisc.h"
#include "ihash.h"
#include "qhash.h"
#include "str.h"
#include "err.h"

struct hostid {
  in_addr addr;
  u_int16_t port;
  hostid () { addr.s_addr = INADDR_NONE; port = 0; }
  hostid (u_int32_t a, u_int16_t p) : port (p) { addr.s_addr = htonl (a); }
};

inline bool
operator== (const hostid &a, const hostid &b)
{
  return a.addr.s_addr == b.addr.s_addr && a.port == b.port;
}

template<> struct hashfn<hostid> {
  hashfn () {}
  bool operator() (const hostid &a) const
    { return a.addr.s_addr ^ a.port; }
};

template<> struct equals<hostid> {
  equals () {}
  bool operator() (const hostid &a, const hostid &b) const
    { return a.addr.s_addr == b.addr.s_addr && a.port == b.port; }
};

inline const strbuf &
strbuf_cat (const strbuf &sb, const hostid &h)
{
  return sb.fmt ("%s:%d", inet_ntoa (h.addr), h.port);
}

struct host {
  const hostid id;
  int hits;
  ihash_entry<host> link;
  host (const hostid &i) : id (i), hits (0) {}
};

static ihash<const hostid, host, &host::id, &host::link> hosts;
static qhash<in_addr, int> byaddr;
static bhash<sockaddr_in> seen;

static void
hit (u_int32_t a, u_int16_t p)
{
  hostid id (a, p);
  host *h = hosts[id];
  if (!h) {
    h = New host (id);
    hosts.insert (h);
  }
  h->hits++;

  in_addr ina = id.addr;
  int *n = byaddr[ina];
  if (n)
    ++*n;
  else
    byaddr.insert (ina, 1);

  sockaddr_in sin;
  bzero (&sin, sizeof (sin));
  sin.sin_family = AF_INET;
  sin.sin_addr = ina;
  sin.sin_port = htons (p);
  seen.insert (sin);
}

static void
print (vec<str> *out, host *h)
{
  strbuf sb;
  sb << h->id << " " << h->hits;
  out->push_back (sb);
}

int
main (int argc, char **argv)
{
  setprogname (argv[0]);
  hit (0x7f000001, 80);
  hit (0x7f000001, 80);
  hit (0x7f000001, 443);
  hit (0x0a000001, 80);
  vec<str> lines;
  hosts.traverse (wrap (print, &lines));
  for (size_t i = 0; i < lines.size (); i++)
    for (size_t j = i + 1; j < lines.size (); j++)
      if (lines[j] < lines[i]) {
	str t = lines[i];
	lines[i] = lines[j];
	lines[j] = t;
      }
  for (size_t i = 0; i < lines.size (); i++)
    printf ("%s\n", lines[i].cstr ());
  in_addr lo;
  inet_aton ("127.0.0.1", &lo);
  printf ("loopback %d, hosts %d, %d names\n", *byaddr[lo], (int) hosts.size (), (int) seen.size ());
  hosts.deleteall ();
  printf ("left %d\n", (int) hosts.size ());
  return 0;
}

/* prints
10.0.0.1:80 1
127.0.0.1:443 1
127.0.0.1:80 2
loopback 3, hosts 3, 3 names
left 0
*/
