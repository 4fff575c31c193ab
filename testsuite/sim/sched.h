/*
 * The simulator: threads that run one at a time, in one thread of the system, in an order
 * that a seed decides. Engine files compiled with EC_SIM call sim_point() before each
 * access that two threads may meet on, and there another thread may run. A seed replays
 * its schedule exactly, so a failure found once can be looked at as often as needed.
 *
 * What it finds: wrong answers (sim_check), deadlocks, livelocks, memory errors if compiled
 * with the address sanitizer. With --weak, an atomic load may also get an older value (weak.h);
 * without, each access is seen by all at once.
 *
 * Time is virtual. It stands still while any thread can run, and then jumps to the
 * earliest deadline; only a spinning thread makes it creep, so that bounded spins end.
 */
#ifndef SIM_SCHED_H
#define SIM_SCHED_H

#include <stdbool.h>
#include <stdint.h>

#define SIM_FOREVER INT64_MAX

enum { SIM_THREADS_MAX = 16 };

/* ---- for tests and simulated parts of the system; only from a simulated thread */

/* Start fn(arg); its number, for sim_join(). Running out of threads fails the test. */
int sim_start(const char *name, void (*fn)(void *arg), void *arg);
void sim_join(int id);

/*
 * Sleep until woken on `key`, or until the virtual clock shows `deadline_ns`. 0 or
 * -ETIMEDOUT. No other thread runs between the call and the sleep: what the caller has just
 * looked at still holds. `why` is for the report of a deadlock.
 */
int sim_block(const void *key, int64_t deadline_ns, const char *why);
/* Wake at most `num` sleepers, whichever the seed says. */
void sim_wake(const void *key, int num);

/* In the kernel, the running thread meets others: it sees all that they wrote. */
void sim_meet(void);

int64_t sim_clock_ns(void);
void sim_sleep(int64_t ns);

/* The number of the running thread; -1: no schedule is running. */
int sim_thread(void);

/* 0 … below - 1, from the seed: lets a test vary what it does with the schedule. */
uint32_t sim_random(uint32_t below);

_Noreturn void sim_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
#define sim_check(cond)                                                                            \
	((cond) ? (void)0 : sim_fail("%s:%d: not so: %s", __FILE__, __LINE__, #cond))

/* A line in the trace of a replay. */
void sim_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* ---- for the driver */

struct sim_report {
	uint64_t seed;
	uint64_t steps;			/* of all schedules so far */
	char strategy[64];
	char reason[512];		/* empty: nothing went wrong */
};

/* Kept up to date, so that whoever survives a crash can say which seed it was. */
void sim_init(struct sim_report *report, bool trace);

/* From the next schedule on: is the memory weakly ordered? */
void sim_set_weak(bool is_weak);

/* Run one schedule: body(arg) in a first thread, until all threads have ended. A failure ends the process. */
void sim_run_seed(uint64_t seed, unsigned steps_max, void (*body)(const void *arg), const void *arg);

#endif
