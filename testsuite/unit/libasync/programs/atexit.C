// Functions that a file names to be called before main and at its end, in both orders of the two lines.

#include "async.h"
#include "init.h"

static str held ("held");

INITFN (start);
EXITFN (stop);

static void
start ()
{
  printf ("start\n");
}

static void
stop ()
{
  printf ("stop %s\n", held.cstr ());
}

namespace log_files {
  EXITFN (flush);
  INITFN (flush_first);
  static int open_files;

  static void
  flush ()
  {
    printf ("flush %d\n", open_files);
  }
  static void
  flush_first ()
  {
    open_files = 2;
  }
}

// The same function at both ends.
INITFN (both);
EXITFN (both);

static void
both ()
{
  printf ("both\n");
}

static void
end ()
{
  printf ("exit\n");
  exit (0);
}

// Called after libasync's own static objects are destroyed: another thread may run callbacks until then.
static void
in_its_place ()
{
  printf ("freed\n");
}

static void
last_of_all (int, void *)
{
  cbv others[] = { wrap (in_its_place), wrap (in_its_place), wrap (in_its_place), wrap (in_its_place) };
  cbv nothing = cbv_null;
  (*nothing) ();
  printf ("last\n");
}

static void
first_of_all ()
{
  on_exit (last_of_all, NULL);
}

static void (*const before_libraries) () __attribute__ ((section (".preinit_array"), used)) = first_of_all;

int
main ()
{
  printf ("main\n");
  delaycb (0, wrap (end));
  amain ();
}

/* prints
start
both
main
exit
both
flush 2
stop held
last
*/
