/*
 * When the run of a lane ends: the limits of the configuration, and time. lanes.c has the functions that are not here.
 *
 * Reading the clock costs as much as a short callback, so a run reads it after each burst: EC_BURST_MAX callbacks, or
 * fewer if the ones before took long. So the run ends in time, however long its callbacks take. If that changes
 * suddenly, one burst is late.
 */
#ifndef EC_BURST_H
#define EC_BURST_H

#include <stdbool.h>
#include <stdint.h>

#include "os/clock.h"
#include "sched/base.h"
#include "sched/worker.h"

enum {
	EC_BURST_MAX = 64,
	EC_BURST_SHARE = 2,		/* a burst should take at most this part of the run: one half */
};

struct ec_bursts {
	/* own: the thread that runs the lane */
	uint64_t began_at, looked_at;	/* ticks */
	uint64_t run_ticks;		/* how long the run may last */
};

static inline void ec_bursts_begin(struct ec_bursts *b, struct ec_worker *w, uint64_t run_ns)
{
	b->began_at = b->looked_at = ec_clock_ticks();
	b->run_ticks = ec_clock_ns_to_ticks(run_ns);
	if (w->burst == 0)
		w->burst = w->posts_credit = 1;
}

/* `num` callbacks took `ticks`, too long. */
void ec_bursts_shrink(const struct ec_bursts *b, struct ec_worker *w, int num, uint64_t ticks);

/* After a burst of `num` callbacks: has the run lasted as long as it may? */
static inline bool ec_bursts_is_over(struct ec_bursts *b, struct ec_worker *w, int num)
{
	uint64_t now = ec_clock_ticks(), ticks = now - b->looked_at;

	b->looked_at = now;
	if (__builtin_expect(ticks > b->run_ticks / EC_BURST_SHARE, 0))
		ec_bursts_shrink(b, w, num, ticks);
	else if (__builtin_expect(w->burst < EC_BURST_MAX, 0))
		w->burst = w->burst * 2 < EC_BURST_MAX ? w->burst * 2 : EC_BURST_MAX;
	return now - b->began_at >= b->run_ticks;
}

/* `num` callbacks after the run began: has it reached a limit of the configuration? */
bool ec_lane_is_over_limit(struct ec_base *base, int num, int64_t deadline_ns);

#endif
