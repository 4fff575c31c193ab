/*
 * The base's view of time: the clock, and the time of a turn.
 */
#ifndef EC_TIME_H
#define EC_TIME_H

#include <stdint.h>
#include <sys/time.h>

#include "os/clock.h"
#include "sched/base.h"
#include "sched/worker.h"

/* Only with precise timers does a base pay for the exact clock. */
static inline int64_t ec_base_clock(const struct ec_base *base)
{
	return (base->flags & EC_BASE_PRECISE_TIMER) != 0 ? ec_monotonic_ns() : ec_monotonic_near_ns();
}

/* The cached time of the turn of a base that is not locked, else the clock. */
static inline int64_t ec_base_now_serial(struct ec_base *base)
{
	return base->zero.now_ns != 0 ? base->zero.now_ns : ec_base_clock(base);
}

/* The same for any base: the time of the calling worker's turn. */
static inline int64_t ec_base_now(struct ec_base *base)
{
	struct ec_worker *w;

	if (!ec_is_locked(base))
		return ec_base_now_serial(base);
	w = ec_worker_self(base);
	return w != NULL && w->now_ns != 0 ? w->now_ns : ec_base_clock(base);
}

/* Read the clock for the rest of the turn, if times are cached. */
static inline void ec_worker_cache_now(struct ec_worker *w)
{
	w->now_ns = (w->base->flags & EC_BASE_NO_CACHE_TIME) != 0 ? 0 : ec_monotonic_ns();
}

void ec_base_wall_time(struct ec_base *base, int64_t monotonic_ns, struct timeval *ret);
struct timeval ec_ns_timeval(int64_t ns);

static inline void ec_base_update_now(struct ec_base *base)
{
	base->zero.now_ns = ec_monotonic_ns();
}

#endif
