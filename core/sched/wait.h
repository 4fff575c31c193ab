/*
 * Waiting for other threads without deadlock: one graph for the process records all waits.
 *
 * A thread may wait for the end of a callback on another worker (event_del, ec_base_pause, the end of a loop), for
 * the end of a pause, or for the end of a base's threads. These waits could form a cycle, also across several bases:
 * a callback may run, pause and free other bases than its own.
 *
 * A thread may be in a chain of callbacks: a callback of base A runs the loop of base B, whose callback runs another
 * loop, and so on (ec_worker.outer). It leaves an outer callback only after the inner loops have ended. So each wait
 * is recorded with the thread's chain. A nested loop is one more record of its thread while it lasts: the outer
 * callbacks wait for all callbacks of that loop's base, and for the thread that pauses it.
 *
 * Record r depends on record q if r's wait cannot end before q's thread continues. ec_wait_begin searches for a path
 * from the new record back to itself, and adds the record only if there is none. Both are one step under the WAIT
 * lock. So the last record of a cycle is the one that is refused, and its caller does not wait. Only new records make
 * new paths: a callback that begins, or a pause, does not wait yet, and a nested loop is recorded before it runs
 * callbacks.
 *
 * The end of a loop, a loop at a closed gate, and the end of a base must wait. ec_wait_begin_for_sure ends another
 * wait of the cycle instead.
 *
 * A thread that holds a pause of B and runs the loop of C may resume B in a callback of C, or after the loop. The
 * library cannot know that. So a wait for that resume is no cycle, until the loop of C must end.
 */
#ifndef EC_WAIT_H
#define EC_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base.h"
#include "waiting.h"
#include "worker.h"

/* Adds a record to the graph. False: that would close a cycle; the caller logs it, and does not wait. */
bool ec_wait_begin(struct ec_waiting *wait);

/* The same for a thread that must wait: ends another wait of the cycle. False: the cycle has no other wait. */
bool ec_wait_begin_for_sure(struct ec_waiting *wait);

/* Removes the caller's record after its wait. */
void ec_wait_end(struct ec_waiting *wait);

static inline bool ec_wait_is_broken(struct ec_waiting *wait)
{
	return ec_load_acquire(&wait->is_broken);		/* meets break_one */
}

/* The calling thread runs the loop of `base` in a callback of another, whose record is `wait`. */
void ec_wait_nest(struct ec_waiting *wait, struct ec_base *base);
void ec_wait_unnest(struct ec_waiting *wait);

/*
 * Before and after fork, as ec_spin_freeze. In a child, also of clone: ends the waits of threads that do not exist.
 */
void ec_waits_freeze(void);
void ec_waits_thaw(void);
void ec_waits_reset(void);

/* ---------------------------------------------------------------- for the callback of an event */

struct ec_wait {
	struct ec_worker *runner;
	struct ec_event *ev;		/* only compared: it may be freed memory */
	uint32_t seq;
};

/* Under RUNQ of `runner`, at which `ev` runs: the end of each run passes through that lock. */
void ec_wait_prepare(struct ec_wait *wait, struct ec_worker *runner, struct ec_event *ev);

/* No lock held. Returns when that callback has ended, or at once if the wait would close a cycle. */
void ec_wait_for(struct ec_wait *wait);

/* `w` ended a callback and del_waiters is not 0. */
void ec_wait_notify(struct ec_worker *w);

#endif
