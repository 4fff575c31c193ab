// A line protocol over a socket pair: aios_t, aout-like output, readline, timeouts; the classic read loop.

#include "async.h"
#include "aios.h"
#include "rxx.h"
#include "parseopt.h"

static rxx cmdrx ("^(\\w+)(\\s+(.*?))?\\s*$");
static rxx addrx ("([+-]?\\d+)\\s+([+-]?\\d+)");

class server : public virtual refcount {
  aios_t x;
  int ncmd;

  void getcmd (str line, int err);

public:
  server (int fd) : x (aios::alloc (fd)), ncmd (0) {}
  ~server () { printf ("server gone\n"); }
  void next () { x->readline (wrap (mkref (this), &server::getcmd)); }
};

void
server::getcmd (str line, int err)
{
  if (!line) {
    if (err)
      warn ("server: %s\n", strerror (err));
    x << "bye\n";
    return;
  }
  ncmd++;
  if (!cmdrx.match (line)) {
    x << "500 " << line << "\n";
    next ();
    return;
  }
  str cmd = cmdrx[1], arg = cmdrx[3];
  if (cmd == "add" && arg && addrx.match (arg)) {
    int a, b;
    convertint (addrx[1], &a);
    convertint (addrx[2], &b);
    x << "200 " << a + b << "\n";
  }
  else if (cmd == "echo")
    x << "200 " << (arg ? arg : str ("")) << "\r\n";
  else if (cmd == "count")
    x << strbuf ("200 %d commands\n", ncmd);
  else if (cmd == "quit") {
    x << "200 goodbye\n";
    return;
  }
  else
    x << "500 " << cmd << "?\n";
  next ();
}

struct client {
  aios_t x;
  vec<str> cmds;
  client (int fd) : x (aios::alloc (fd)) {}
  void run ();
  void reply (str s, int err);
};

void
client::run ()
{
  if (cmds.empty ())
    return;
  x << cmds.pop_front () << "\n";
  x->readline (wrap (this, &client::reply));
}

void
client::reply (str s, int err)
{
  if (!s) {
    printf ("eof %d\n", err);
    delete this;
    exit (0);
  }
  printf ("%s\n", s.cstr ());
  if (cmds.size ())
    run ();
  else
    x->readline (wrap (this, &client::reply));
}

int
main (int argc, char **argv)
{
  setprogname (argv[0]);
  int fds[2];
  if (socketpair (AF_UNIX, SOCK_STREAM, 0, fds) < 0)
    fatal ("socketpair: %m\n");
  ref<server> s = New refcounted<server> (fds[0]);
  s->next ();
  client *c = New client (fds[1]);
  c->x->settimeout (30);
  const char *const all[] = {
    "add 2 40", "echo  hello world ", "echo", "add 1", "frob", "???", "count", "quit", NULL
  };
  for (const char *const *p = all; *p; p++)
    c->cmds.push_back (*p);
  c->run ();
  ptr<server> t = s;
  s = New refcounted<server> (open ("/dev/null", O_RDWR));
  t = NULL;
  amain ();
}

/* prints
200 42
200 hello world
200 
500 add?
500 frob?
500 ???
200 7 commands
server gone
200 goodbye
eof 0
*/
