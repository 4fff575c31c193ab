// Files by aiod: open, stat, read, write, readdir, a copy in pieces; buffers that wait.

#include "async.h"
#include "aiod.h"
#include "serial.h"

static aiod *aio;
static str dir;
static int pending;

class copier {
  str from, to;
  ptr<aiofh> in, out;
  ptr<aiobuf> buf;
  off_t pos;
  cbi cb;

  copier (str f, str t, cbi c) : from (f), to (t), pos (0), cb (c) { getbuf (); }
  void getbuf ();
  void fail (int err) { (*cb) (err); delete this; }
  void gotin (ptr<aiofh> fh, int err);
  void gotout (ptr<aiofh> fh, int err);
  void doread ();
  void gotread (ptr<aiobuf> b, ssize_t n, int err);
  void wrote (ssize_t want, ptr<aiobuf> b, ssize_t n, int err);
  void synced (int err);
  void closed (int err);
public:
  static void copy (str f, str t, cbi c) { vNew copier (f, t, c); }
};

void
copier::getbuf ()
{
  buf = aio->bufalloc (1000);
  if (!buf) {
    aio->bufwait (wrap (this, &copier::getbuf));
    return;
  }
  aio->open (from, O_RDONLY, 0, wrap (this, &copier::gotin));
}

void
copier::gotin (ptr<aiofh> fh, int err)
{
  if (!fh) {
    fail (err);
    return;
  }
  in = fh;
  aio->open (to, O_CREAT|O_TRUNC|O_RDWR, 0644, wrap (this, &copier::gotout));
}

void
copier::gotout (ptr<aiofh> fh, int err)
{
  if (err) {
    fail (err);
    return;
  }
  out = fh;
  doread ();
}

void
copier::doread ()
{
  in->read (pos, buf, wrap (this, &copier::gotread));
}

void
copier::gotread (ptr<aiobuf> b, ssize_t n, int err)
{
  if (err || n < 0)
    fail (err);
  else if (!n)
    out->fsync (wrap (this, &copier::synced));
  else
    out->swrite (pos, b, 0, n, wrap (this, &copier::wrote, n));
}

void
copier::wrote (ssize_t want, ptr<aiobuf> b, ssize_t n, int err)
{
  if (err || n != want) {
    fail (err ? err : EIO);
    return;
  }
  pos += n;
  doread ();
}

void
copier::synced (int err)
{
  out->close (wrap (this, &copier::closed));
}

void
copier::closed (int err)
{
  (*cb) (err);
  delete this;
}

static void
gone (str what, int err)
{
  if (err)
    warn << what << ": " << strerror (err) << "\n";
  if (!--pending)
    exit (rmdir (dir) ? 1 : 0);
}

static void
cleanup ()
{
  pending = 2;
  aio->unlink (dir << "/a", wrap (gone, "a"));
  aio->unlink (dir << "/c", wrap (gone, "c"));
  str b = dir << "/b";
  unlink (b);
}

static void cleanup ();

static void
statted (str name, struct stat *sb, int err)
{
  if (err)
    printf ("%s: %s\n", name.cstr (), strerror (err));
  else
    printf ("%s: %d bytes\n", name.cstr (), (int) sb->st_size);
  if (name == "c")
    aio->lstat (dir << "/none", wrap (statted, "none"));
  else
    cleanup ();
}

static void
linked (int err)
{
  str b = file2str (dir << "/b");
  printf ("%s\n", err ? strerror (err) : b == file2str (dir << "/a") ? "same" : "different");
  aio->stat (dir << "/c", wrap (statted, "c"));
}

static void
renamed (int err)
{
  if (err)
    fatal << "rename: " << strerror (err) << "\n";
  aio->link (dir << "/a", dir << "/b", wrap (linked));
}

static void
copied (int err)
{
  printf ("copied %d\n", err);
  aio->rename (dir << "/b", dir << "/c", wrap (renamed));
}

static void
nofile (int err)
{
  printf ("%s\n", strerror (err));
  copier::copy (dir << "/a", dir << "/b", wrap (copied));
}

int
main (int argc, char **argv)
{
  setprogname (argv[0]);
  char tmp[] = "/tmp/files.XXXXXX";
  if (!mkdtemp (tmp))
    fatal ("mkdtemp: %m\n");
  dir = tmp;
  strbuf sb;
  for (int i = 0; i < 1000; i++)
    sb << i << "\n";
  if (!str2file (dir << "/a", sb))
    fatal << dir << ": " << strerror (errno) << "\n";
  aio = New aiod (2);
  copier::copy (dir << "/nothing", dir << "/b", wrap (nofile));
  amain ();
}

/* prints
No such file or directory
copied 0
same
c: 3890 bytes
none: No such file or directory
*/
