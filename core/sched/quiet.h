/*
 * A base is quiet if no task is queued or runs. Worker 0 checks that before it ends the loop. A worker that becomes
 * idle wakes worker 0, so that it checks again.
 */
#ifndef EC_QUIET_H
#define EC_QUIET_H

#include <stdbool.h>
#include <stdint.h>

#include "base.h"
#include "worker.h"

/* Idle: no event is pending (a hint). Quiet: no task is queued or runs. */
bool ec_base_is_idle(struct ec_base *base);
bool ec_base_is_quiet(struct ec_base *base);

/* `w` has announced that it sleeps. False: the loop may have to end, so `w` must not sleep. */
bool ec_loop_idle(struct ec_worker *w);

/* A callback has returned while worker 0 waits for a quiet base: ends the loop if it has waited long enough. */
void ec_loop_ran(struct ec_base *base);

static inline void ec_quiet_note_run(struct ec_base *base)
{
	if (__builtin_expect(ec_load_acquire(&base->wants_quiet), 0))	/* meets colored_idle: with the flags */
		ec_loop_ran(base);
}

/* How a turn of the loop ended. */
enum ec_outcome { EC_GO_ON, EC_STOPPED, EC_ENOUGH, EC_NOTHING_LEFT, EC_FAILED };

static inline bool ec_quiet_may_end(struct ec_base *base)
{
	return (ec_load_relaxed(&base->loop_flags) & EC_LOOP_NO_EXIT_ON_EMPTY) == 0;
}

/* Does worker 0 wait for nothing? */
static inline bool ec_quiet_is_empty(struct ec_base *base)
{
	return ec_load_relaxed(&base->zero.pending_num) == 0 && ec_load_relaxed(&base->virtuals) == 0;
}

static inline bool ec_quiet_is_serial_end(struct ec_base *base)
{
	return ec_quiet_may_end(base) && ec_quiet_is_empty(base);
}

/* The number of callbacks that all workers have run. */
uint64_t ec_quiet_callbacks(struct ec_base *base);

/*
 * EVLOOP_ONCE and EVLOOP_NONBLOCK end when the base is quiet. Under load, they end after 256 callbacks and those that
 * are ready by then. (A loop of one thread ends after a turn.)
 */
bool ec_quiet_is_enough(struct ec_base *base);

/* The outcome of a turn when the base is quiet; EC_GO_ON: the loop waits. */
enum ec_outcome ec_quiet_outcome(struct ec_base *base);

#endif
