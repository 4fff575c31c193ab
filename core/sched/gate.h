/*
 * The gate: while it is closed no worker starts a callback. It is closed by pauses, and,
 * once the base has colors, while no loop runs.
 *
 * A worker looks at the gate under its RUNQ lock before it takes a task (G1) and announces
 * there what it runs (G2). A closer closes (C1), then takes each RUNQ lock and looks at
 * what runs (C2). If G1 comes first, C2 sees G2 and waits; else G1 sees C1. So neither needs
 * more than the lock that the worker takes anyway. With C2 the closer sees what the callbacks wrote.
 *
 * Who opens it (O1, release) hands over what was written while it was closed: the look that finds it
 * open (G1, acquire) sees that.
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

/* The loop's thread, which closed it: until no other worker runs a callback, nor waits in ec_base_pause in one. */
void ec_gate_wait_callbacks(struct ec_base *base);

/* Is the end of the loop the only one who keeps the gate closed? Under a RUNQ lock, as G1. */
static inline bool ec_gate_is_last(struct ec_base *base)
{
	return ec_load_acquire(&base->gate) == 1;		/* meets C1 and O1 */
}

/* The loop's thread, which closed it: sleep until no pause keeps the gate closed as well. As ec_gate_wait_open. */
int ec_gate_wait_last(struct ec_base *base);

/*
 * A worker: sleep until the gate opens, or the threads of the base are to end. -EDEADLK: the caller itself has paused
 * the base.
 */
int ec_gate_wait_open(struct ec_base *base);

/* The pauses of the calling thread end, which would wait for itself. */
void ec_gate_resume_all(struct ec_base *base);

/* A worker whose callbacks came to rest while the gate was closed: closers look again. */
void ec_gate_notify(struct ec_base *base);

#endif
