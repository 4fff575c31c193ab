/*
 * The threads of a base's workers.
 */
#ifndef EC_THREADS_H
#define EC_THREADS_H

#include "sched/base.h"
#include "sched/worker.h"

/*
 * Whether a loop runs and whether the base has colors change one at a time: the gate is open, and
 * the threads are started, when both are so, whoever made the second one so. A loop of a base that
 * is not locked does not take it: its first color comes from its own thread.
 */
void ec_start_wait(struct ec_base *base);

static inline void ec_start_lock(struct ec_base *base)
{
	uint32_t expected = 0;

	if (!ec_cas_acq_rel(&base->starting, &expected, 1))
		ec_start_wait(base);
}

static inline void ec_start_unlock(struct ec_base *base)
{
	ec_store_release(&base->starting, 0);
}

/* start.c: give back the workers that ec_base_prepare_colors made, if no color has come since. */
void ec_base_unprepare(struct ec_base *base);

/* Start the threads that do not run yet. What cannot start is served by the others. Start lock. */
void ec_base_start_threads(struct ec_base *base);

/* loop.c: ends the loop at once. `why`: EC_BREAK_…; 0: only the turn ends. Any thread. */
void ec_base_break(struct ec_base *base, uint8_t why);

/* End the threads. No loop runs. */
void ec_base_stop_threads(struct ec_base *base);

#endif
