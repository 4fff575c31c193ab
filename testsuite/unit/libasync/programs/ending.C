// exit in a callback, while another worker runs one: static objects are destroyed after that, and no other one begins.

#include "async.h"

static bool volatile is_working, has_worked, is_ending, has_begun;

struct table_t {
  ~table_t ()
  {
    printf (is_working ? "destroyed too early\n" : "destroyed\n");
    has_begun = false;		// perhaps it has, while at_exit ran the loop
    usleep (50000);
    printf (has_begun ? "began too late\n" : "quiet\n");
  }
};

static table_t table;

static void
begin ()
{
  has_begun = true;
}

static void
work ()
{
  is_working = true;
  for (int i = 0; i < 300 && !is_ending; i++)
    usleep (1000);
  usleep (100000);
  if (is_ending)
    cpucb (cwrap (begin, color (8)));
  is_working = false;
  has_worked = true;
}

static void
end ()
{
  if (!is_working && !has_worked) {
    delaycb (0, 1000000, wrap (end));
    return;
  }
  is_ending = true;
  printf ("exit\n");
  exit (0);
}

// The work is for another worker, if there is one.
static void
start ()
{
  cpucb (cwrap (work, color (7)));
  for (int i = 0; i < 300 && !is_working; i++)
    usleep (1000);
  end ();
}

// Called last of all, it may still run the loop.
static void
turned ()
{
  printf ("turned\n");
}

static void
at_exit ()
{
  delaycb (0, wrap (turned));
  acheck ();
}

int
main ()
{
  atexit (at_exit);
  delaycb (0, wrap (start));
  amain ();
}

/* prints
exit
turned
destroyed
quiet
*/
