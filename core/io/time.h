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

/* A base reads the exact clock only if its timers are to be precise. */
static inline int64_t ec_base_clock(const struct ec_base *base)
{
	return (base->flags & EC_BASE_PRECISE_TIMER) != 0 ? ec_monotonic_ns() : ec_monotonic_near_ns();
}

/* The cached time of the turn of a base that is not locked, else the clock. */
static inline int64_t ec_base_now_serial(struct ec_base *base)
{
	if (base->zero.now_ns != 0)
		return base->zero.now_ns;
	return base->zero.read_ns = ec_base_clock(base);
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

/* Read the clock for the rest of the turn of `w`, a worker of `base`, if times are cached. */
static inline void ec_worker_cache_now(const struct ec_base *base, struct ec_worker *w)
{
	w->now_ns = (base->flags & EC_BASE_NO_CACHE_TIME) != 0 ? 0 : ec_monotonic_ns();
}

void ec_base_wall_time(struct ec_base *base, int64_t monotonic_ns, struct timeval *ret);

/* The same for the thread that the base belongs to: its only one, or the owner under the locks. */
void ec_base_wall_time_own(struct ec_base *base, int64_t monotonic_ns, struct timeval *ret);

static inline struct timeval ec_ns_timeval(int64_t ns)
{
	uint64_t sec = (uint64_t)ns / 1000000000;
	struct timeval tv = {
		.tv_sec = (time_t)sec,
		.tv_usec = (suseconds_t)((uint32_t)((uint64_t)ns - sec * 1000000000) / 1000),
	};

	return tv;
}

enum { EC_WALL_SYNC_NS = 1000000000 };	/* how often the clocks are compared */

/* Were the clocks compared a short time before `now_ns`? */
static inline bool ec_wall_is_known(const struct ec_worker *w, int64_t now_ns)
{
	return now_ns - w->wall_synced_ns <= EC_WALL_SYNC_NS;
}

/* The same if the clocks need not be compared first; else false. */
static inline bool ec_base_wall_time_serial(struct ec_base *base, int64_t monotonic_ns, struct timeval *ret)
{
	const struct ec_worker *w = &base->zero;
	int64_t now_ns = w->now_ns != 0 ? w->now_ns : w->read_ns;

	if (now_ns == 0 || !ec_wall_is_known(w, now_ns))
		return false;
	*ret = ec_ns_timeval(monotonic_ns + w->wall_offset_ns);
	return true;
}

static inline void ec_base_update_now(struct ec_base *base)
{
	base->zero.now_ns = ec_monotonic_ns();
}

#endif
