/*
 * The gate: while it is closed, no worker starts a callback. Pauses close it; in a base with colors, so
 * does the absence of a loop.
 *
 * A worker checks the gate under its RUNQ lock before it takes a task (G1), and announces its run
 * there (G2). A closer closes (C1), then takes each RUNQ lock and checks what runs (C2). If G1 comes
 * first, C2 sees G2 and waits; else G1 sees C1. The worker takes that lock anyway. At C2 the closer
 * sees the writes of the callbacks.
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

/* In a forked child: pauses of threads that are gone end. `has_loop`: the loop's thread is not gone. */
void ec_gate_reinit(struct ec_base *base, bool has_loop);

void ec_gate_close(struct ec_base *base);
void ec_gate_open(struct ec_base *base);

/* The loop's thread, which closed it: wait until no other worker is in a callback, even in its ec_base_pause. */
void ec_gate_wait_callbacks(struct ec_base *base);

/* Is the end of the loop the only closer? Under a RUNQ lock, as G1. */
static inline bool ec_gate_is_last(struct ec_base *base)
{
	return ec_load_acquire(&base->gate) == 1;		/* meets C1 and O1 */
}

/* The loop's thread, which closed it: sleep until there is no pause. As ec_gate_wait_open. */
int ec_gate_wait_last(struct ec_base *base);

/*
 * A worker: sleep until the gate opens, or the threads of the base are to end. -EDEADLK: the caller itself has paused
 * the base.
 */
int ec_gate_wait_open(struct ec_base *base);

/* End the pauses of the calling thread, which would wait for itself. */
void ec_gate_resume_all(struct ec_base *base);

/* A callback has ended while the gate is closed: wake the closers, which check again. */
void ec_gate_notify(struct ec_base *base);

#endif
