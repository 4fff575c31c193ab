/*
 * The gate: while it is closed, no worker starts a callback. Pauses close it; in a base with colors, so
 * does the absence of a loop.
 *
 *   Worker, under its RUNQ lock:  G1 check the gate; G2 announce the run, and take a task.
 *   Closer:                       C1 close the gate; C2 take each RUNQ lock and check for a run.
 *
 * G1 and C2 take one lock. G1 first: C2 sees G2, and the closer waits. C2 first: G1 sees C1. The worker takes that
 * lock anyway, so the check is free. A worker that releases RUNQ between G1 and G2, to take SOURCE, checks the gate
 * again (ec_task_lock_source). At C2 the closer sees the writes of the callbacks that have ended.
 *
 * A G1 that finds the gate open (acquire) sees all writes before the opening (O1, release).
 */
#ifndef EC_GATE_H
#define EC_GATE_H

#include "base.h"
#include "worker.h"

static inline bool ec_gate_is_closed(struct ec_base *base)
{
	return __builtin_expect(ec_load_acquire(&base->gate) != 0, 0);	/* G1, meets C1 and O1 */
}

/* In a forked child: ends the pauses of threads that do not exist there. `has_loop`: the loop's thread exists. */
void ec_gate_reinit(struct ec_base *base, bool has_loop);

void ec_gate_close(struct ec_base *base);
void ec_gate_open(struct ec_base *base);

/* The loop's thread, which closed the gate: waits until no other worker is in a callback, even in ec_base_pause. */
void ec_gate_wait_callbacks(struct ec_base *base);

/* Is the end of the loop the only closer? Under a RUNQ lock, as G1. */
static inline bool ec_gate_is_last(struct ec_base *base)
{
	return ec_load_acquire(&base->gate) == 1;		/* meets C1 and O1 */
}

/* The loop's thread, which closed the gate: sleeps until there is no pause. Returns as ec_gate_wait_open. */
int ec_gate_wait_last(struct ec_base *base);

/*
 * A worker sleeps until the gate opens, or until the threads of the base must end. -EDEADLK: the caller itself has
 * paused the base, or the end of the pause depends on it.
 */
int ec_gate_wait_open(struct ec_base *base);

/* Ends the pauses of the calling thread. Otherwise it would wait for itself. */
void ec_gate_resume_all(struct ec_base *base);

/* A callback has ended while the gate is closed: wake the closers, which check again. */
void ec_gate_notify(struct ec_base *base);

#endif
