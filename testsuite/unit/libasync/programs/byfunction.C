// Hash tables by a function of the element: the function is a specialization of keyfn, or named after the link.

#include "async.h"
#include "ihash.h"

struct path_t {
  path_t (const str &d, const str &n) : dir (d), name (n), full (strbuf () << d << "/" << n) {}
  str dir, name, full;
};

struct ent {
  ent (const str &d, const str &n, u_int i) : path (d, n), ino (i) {}
  const str &get_full () const { return path.full; }
  path_t path;
  u_int ino;
  ihash_entry<ent> nlnk, ilnk, dlnk;
};

template<> struct keyfn<ent, str> {
  keyfn () {}
  const str &operator() (ent *i) const { return i->get_full (); }
};

// By a template's argument, for all types that have this member.
template<class T> struct keyfn<T, u_int> {
  keyfn () {}
  const u_int &operator() (T *e) const { return e->ino; }
};

struct bydir {
  bydir () {}
  const str &operator() (ent *e) const { return e->path.dir; }
};

class cache_t {
public:
  void add (ent *e) { by_name.insert (e); by_ino.insert (e); by_dir.insert (e); }
  void del (ent *e) { by_name.remove (e); by_ino.remove (e); by_dir.remove (e); delete e; }
  ent *find (const str &n) const { return by_name[n]; }
  ent *find (u_int i) const { return by_ino[i]; }
  int files (const str &d)
  {
    int n = 0;
    for (ent *e = by_dir[d]; e; e = by_dir.nextkeq (e))
      n++;
    return n;
  }
  ~cache_t ()
  {
    by_ino.clear ();
    by_dir.clear ();
    by_name.deleteall ();
  }
private:
  fhash<str, ent, &ent::nlnk> by_name;
  fhash<u_int, ent, &ent::ilnk> by_ino;
  fhash<str, ent, &ent::dlnk, bydir> by_dir;
};

int
main ()
{
  cache_t c;
  ent *log = New ent ("/var", "log", 7);
  c.add (log);
  c.add (New ent ("/var", "run", 8));
  c.add (New ent ("/etc", "motd", 9));
  printf ("%s %d\n", c.find ("/etc/motd")->path.name.cstr (), c.find ("/var/motd") == NULL);
  printf ("%s %d\n", c.find (8)->path.name.cstr (), c.find (3) == NULL);
  printf ("%d %d %d\n", c.files ("/var"), c.files ("/etc"), c.files ("/"));
  c.del (log);
  printf ("%d %d\n", c.files ("/var"), c.find ("/var/log") == NULL);
  return 0;
}

/* prints
motd 1
run 1
2 1 0
1 1
*/
