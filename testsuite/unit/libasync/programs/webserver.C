// A small web server and its client: header parsing by suio_getline, rxx, qhash of headers, a directory of static files.

#include "async.h"
#include "rxx.h"
#include "qhash.h"
#include "parseopt.h"
#include "serial.h"

static rxx reqrx ("^(GET|HEAD|POST)\\s+(\\S+)(?:\\s+HTTP/(\\d)\\.(\\d))?\\s*$", "i");
static rxx hdrrx ("^([\\w-]+):\\s*(.*?)\\s*$");
static rxx escrx ("%([0-9a-fA-F]{2})");

typedef qhash<str, str> hdrs_t;

static str
unescape (str in)
{
  strbuf out;
  while (in && escrx.search (in)) {
    int c = strtol (escrx[1], NULL, 16);
    out << substr (in, 0, escrx.start (0));
    char b = c;
    out.buf (&b, 1);
    in = substr (in, escrx.end (0));
  }
  if (in)
    out << in;
  return out;
}

class httpd {
  const int fd;
  suio in, out;
  hdrs_t hdrs;
  str method, path;
  bool keep;

  void readcb ();
  void writecb ();
  bool parse ();
  void reply (int code, str msg, str body);
  PRIVDEST ~httpd ();

public:
  httpd (int f) : fd (f), keep (false) { fdcb (fd, selread, wrap (this, &httpd::readcb)); }
};

static qhash<str, str> files;
static int nserved;

httpd::~httpd ()
{
  fdcb (fd, selread, NULL);
  fdcb (fd, selwrite, NULL);
  close (fd);
}

void
httpd::readcb ()
{
  switch (in.input (fd)) {
  case -1:
    if (errno == EAGAIN)
      return;
  case 0:
    delete this;
    return;
  }
  while (parse ())
    ;
}

bool
httpd::parse ()
{
  str line;
  while ((line = suio_getline (&in))) {
    if (line.len () && line[line.len () - 1] == '\r')
      line = substr (line, 0, line.len () - 1);
    if (!method) {
      if (!reqrx.match (line)) {
	reply (400, "Bad Request", line);
	return false;
      }
      method = reqrx[1];
      path = unescape (reqrx[2]);
      keep = reqrx[4] && reqrx[4] == "1";
    }
    else if (hdrrx.match (line))
      hdrs.insert (mytolower (hdrrx[1]), hdrrx[2]);
    else if (!line.len ()) {
      nserved++;
      if (str *s = hdrs["connection"])
	keep = mytolower (*s) != "close";
      if (str *body = files[path])
	reply (200, "OK", *body);
      else
	reply (404, "Not Found", path);
      method = path = NULL;
      hdrs.clear ();
      return true;
    }
  }
  return false;
}

void
httpd::reply (int code, str msg, str body)
{
  strbuf sb;
  sb.fmt ("HTTP/1.1 %d ", code) << msg << "\r\n"
    << "Content-Length: " << body.len () << "\r\n\r\n";
  if (method != "HEAD")
    sb << body;
  out.take (sb.tosuio ());
  if (out.resid ())
    fdcb (fd, selwrite, wrap (this, &httpd::writecb));
}

void
httpd::writecb ()
{
  if (out.output (fd) < 0 || (!out.resid () && !keep)) {
    delete this;
    return;
  }
  if (!out.resid ())
    fdcb (fd, selwrite, NULL);
}

static void
newcon (int lfd)
{
  sockaddr_in sin;
  socklen_t len = sizeof (sin);
  bzero (&sin, sizeof (sin));
  int fd = accept (lfd, reinterpret_cast<sockaddr *> (&sin), &len);
  if (fd >= 0) {
    make_async (fd);
    close_on_exec (fd);
    vNew httpd (fd);
  }
}

static void
response (int fd, ref<suio> uio)
{
  int n = uio->input (fd);
  if (n < 0 && errno == EAGAIN)
    return;
  if (n > 0)
    return;
  fdcb (fd, selread, NULL);
  close (fd);
  while (str s = suio_getline (uio))
    printf ("%.*s\n", (int) strcspn (s, "\r"), s.cstr ());
  str rest (*uio);
  printf ("[%s] %d\n", rest.cstr (), nserved);
  exit (0);
}

static void
connected (int fd)
{
  if (fd < 0)
    fatal << "connect: " << strerror (errno) << "\n";
  str req = "GET /index.html HTTP/1.1\r\nHost: x\r\n\r\n"
    "HEAD /a%20b HTTP/1.1\r\nConnection: Keep-Alive\r\n\r\n"
    "get /none HTTP/1.0\nConnection: close\n\n";
  if (write (fd, req, req.len ()) != (ssize_t) req.len ())
    fatal ("write: %m\n");
  fdcb (fd, selread, wrap (response, fd, New refcounted<suio>));
}

int
main (int argc, char *argv[])
{
  setprogname (argv[0]);
  files.insert ("/index.html", "<html>\n</html>\n");
  files.insert ("/a b", str ("text"));
  int lfd = inetsocket (SOCK_STREAM, 0, INADDR_LOOPBACK);
  if (lfd < 0 || listen (lfd, 10) < 0)
    fatal ("socket: %m\n");
  fdcb (lfd, selread, wrap (&newcon, lfd));
  sockaddr_in sin;
  socklen_t len = sizeof (sin);
  getsockname (lfd, (sockaddr *) &sin, &len);
  tcpconnect ("localhost", ntohs (sin.sin_port), wrap (connected));
  amain ();
}

/* prints
HTTP/1.1 200 OK
Content-Length: 15

<html>
</html>
HTTP/1.1 200 OK
Content-Length: 4

HTTP/1.1 404 Not Found
Content-Length: 5

[/none] 3
*/
