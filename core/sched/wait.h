/*
 * Waiting for other threads without deadlock: who waits for whom, as one graph for the process.
 *
 * A thread waits for the end of a callback that runs elsewhere (event_del, ec_base_pause, the end of a
 * loop), for the end of a pause, or for the end of a base's threads. These waits may form a circle,
 * also through several bases: a callback may run, pause and free other bases than its own.
 *
 * A thread is in a chain of callbacks: one of base A runs the loop of base B, of which one runs here, and so
 * on (ec_worker.outer). It leaves an outer callback only after the loops within have ended.
 * So what a thread waits for is recorded with the chain it is in, and a nested loop is one more record of
 * its thread, for as long as it lasts: its outer callbacks wait for all callbacks of that
 * loop's base, and for who pauses it.
 *
 * Record r depends on record q if what r waits for cannot come before q's thread goes on. ec_wait_begin looks
 * for a path from the new record back to it, and joins only if there is none; both are one step under the WAIT
 * lock. So the record that would close a circle is always the last one to come, and its caller
 * goes on without waiting. No new path begins otherwise: a callback that begins, or a pause, waits for
 * nobody yet, and a nested loop is recorded before it has callbacks.
 *
 * The end of a loop, a loop at a closed gate, and the end of a base cannot go on without waiting.
 * ec_wait_begin_for_sure ends another wait of the circle instead.
 *
 * A thread that holds a pause of B and runs the loop of C may resume B in a callback of C, or after the loop.
 * The library cannot know: a wait for its resume is no circle then, before the loop has to end.
 */
#ifndef EC_WAIT_H
#define EC_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base.h"
#include "waiting.h"
#include "worker.h"

/* Join the graph. False: that would close a circle; the caller logs it, and does not wait. */
bool ec_wait_begin(struct ec_waiting *wait);

/* The same, by a thread that must wait: another wait of the circle ends. False: there is none but this. */
bool ec_wait_begin_for_sure(struct ec_waiting *wait);

/* The caller has joined, and does not wait any more. */
void ec_wait_end(struct ec_waiting *wait);

static inline bool ec_wait_is_broken(struct ec_waiting *wait)
{
	return ec_load_acquire(&wait->is_broken);		/* meets break_one */
}

/* The calling thread runs the loop of `base` in a callback of another, whose record is `wait`. */
void ec_wait_nest(struct ec_waiting *wait, struct ec_base *base);
void ec_wait_unnest(struct ec_waiting *wait);

/* Around fork, as ec_spin_freeze; in the child, also in one that was cloned, the waits of threads that are gone end. */
void ec_waits_freeze(void);
void ec_waits_thaw(void);
void ec_waits_reset(void);

/* ---------------------------------------------------------------- for the callback of an event */

struct ec_wait {
	struct ec_worker *runner;
	struct ec_event *ev;		/* compared, never looked into */
	uint32_t seq;
};

/* Under RUNQ of `runner`, at which `ev` runs: the end of each run passes through that lock. */
void ec_wait_prepare(struct ec_wait *wait, struct ec_worker *runner, struct ec_event *ev);

/* No lock held. Returns when that callback has ended, or at once from inside a circle. */
void ec_wait_for(struct ec_wait *wait);

/* `w` ended a callback and del_waiters is not 0. */
void ec_wait_notify(struct ec_worker *w);

#endif
