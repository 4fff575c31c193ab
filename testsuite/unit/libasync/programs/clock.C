// The time as programs of SFS 0.8 read it: extern variables, set by the program or by the loop.

#include <stdio.h>
#include "async.h"

extern time_t timenow;
extern timespec tsnow;
extern struct timespec tsnow;

static const time_t *const when = &timenow;
static int ticks;

static void
setnow ()
{
  timenow = time (NULL);
  clock_gettime (CLOCK_REALTIME, &tsnow);
}

static str
stamp (time_t t)
{
  struct tm *tmp = localtime (&t);
  char buf[32];
  if (!tmp || !strftime (buf, sizeof (buf), "%Y", tmp))
    return NULL;
  return buf;
}

struct timer {
  const time_t start;
  time_t expire;
  timespec begin;
  timer () : start (timenow), expire (timenow + 60) { begin = tsnow; }
  bool expired () const { return expire < timenow; }
  u_int64_t elapsed () const
    { return (tsnow.tv_sec - begin.tv_sec) * INT64 (1000000000) + tsnow.tv_nsec - begin.tv_nsec; }
};

static void
tick (timer *t)
{
  timespec d = tsnow - t->begin;
  if (++ticks < 3) {
    timenow = 0;
    delaycb (0, 2000000, wrap (tick, t));
    return;
  }
  printf ("%s\n", timenow >= t->start && *when == timenow ? "true" : "wrong");
  printf ("%d %d\n", t->elapsed () >= 4000000, d.tv_sec < 60);
  printf ("%d\n", !t->expired ());
  char buf[40];
  sprintf (buf, "%d", timenow);
  // time(2) may be a tick behind clock_gettime(2): a second may have begun for either of the two alone.
  printf ("%d\n", abs (atoi (buf) - (int) time (NULL)) <= 1);
  u_int32_t seed = timenow ^ tsnow.tv_nsec ^ getpid ();
  printf ("%d\n", seed != 0);
  warn ("%d: done\n", timenow);
  warn << timenow << "." << tsnow.tv_nsec / 1000 << "\n";
  exit (0);
}

int
main (int argc, char **argv)
{
  setprogname (argv[0]);
  if (timenow < 1000000000)
    fatal ("timenow %ld\n", timenow);
  setnow ();
  printf ("%d\n", atoi (stamp (timenow)) > 2000);
  printf ("%d\n", sfs_get_timenow () - timenow <= 1);
  timecb (timenow, wrap (tick, New timer));
  amain ();
}

/* prints
1
1
true
1 1
1
1
1
*/
