#include "time.h"

#include <time.h>

#include "ec.h"
#include "os/virtual_clock.h"

static int64_t wall_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static int64_t wall_compared_ns(void)
{
	return ec_virtual_clock_is_on() ? ec_virtual_clock_wall_ns() : wall_now_ns();
}

/*
 * The wall clock minus the monotonic clock, which is at `now_ns` or later. Compared once a second, so both clocks
 * agree within a turn.
 */
static int64_t wall_offset(struct ec_worker *w, int64_t now_ns)
{
	if (!ec_wall_is_known(w, now_ns)) {
		w->wall_offset_ns = wall_compared_ns() - ec_monotonic_ns();
		w->wall_synced_ns = now_ns;
	}
	return w->wall_offset_ns;
}

/* The worker of the calling thread, if its turn has a cached time. */
static struct ec_worker *cached_worker(struct ec_base *base)
{
	struct ec_worker *w = ec_is_locked(base) ? ec_worker_in(base) : &base->zero;

	return w != NULL && w->now_ns != 0 ? w : NULL;
}

/* Between two loops the time is known that an event was last added at. */
void ec_base_wall_time_own(struct ec_base *base, int64_t monotonic_ns, struct timeval *ret)
{
	struct ec_worker *w = &base->zero;
	int64_t now_ns = w->now_ns != 0 ? w->now_ns : w->read_ns;
	int64_t offset = now_ns != 0 ? wall_offset(w, now_ns) : wall_now_ns() - ec_monotonic_ns();

	*ret = ec_ns_timeval(monotonic_ns + offset);
}

void ec_base_wall_time(struct ec_base *base, int64_t monotonic_ns, struct timeval *ret)
{
	struct ec_worker *w = cached_worker(base);
	int64_t offset;

	if (w == &base->zero || !ec_is_locked(base)) {
		ec_base_wall_time_own(base, monotonic_ns, ret);
		return;
	}
	offset = w != NULL ? wall_offset(w, w->now_ns) : wall_now_ns() - ec_monotonic_ns();
	*ret = ec_ns_timeval(monotonic_ns + offset);
}

void ec_base_wall_of(struct ec_base *base, const struct ec_event *ev, struct timeval *ret)
{
	ec_base_wall_time(base, ev->deadline_ns, ret);
}

static __attribute__((noinline)) int wall_read(struct timeval *ret)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	ret->tv_sec = ts.tv_sec;
	ret->tv_usec = (suseconds_t)((uint32_t)ts.tv_nsec / 1000);	/* 32 bits: one multiplication */
	return 0;
}

/* The first of the calls in a turn. */
static __attribute__((noinline)) int wall_cache(struct ec_worker *w, struct timeval *ret)
{
	w->wall = ec_ns_timeval(w->now_ns + wall_offset(w, w->now_ns));
	w->wall_of_ns = w->now_ns;
	*ret = w->wall;
	return 0;
}

/* `w` NULL: the caller is no worker. Each way ends in a jump, so that the last one saves no registers. */
static inline int wall_cached(struct ec_worker *w, struct timeval *ret)
{
	if (w == NULL || w->now_ns == 0)
		return wall_read(ret);
	if (w->wall_of_ns != w->now_ns)
		return wall_cache(w, ret);
	*ret = w->wall;
	return 0;
}

static __attribute__((noinline)) int wall_cached_current(struct timeval *ret)
{
	struct ec_base *base = ec_current_base();

	return base == NULL ? wall_read(ret) : ec_base_gettimeofday_cached(base, ret);
}

static __attribute__((noinline)) int wall_cached_locked(struct ec_base *base, struct timeval *ret)
{
	return wall_cached(ec_worker_in(base), ret);
}

int ec_base_gettimeofday_cached(struct ec_base *base, struct timeval *ret)
{
	if (base == NULL)
		return wall_cached_current(ret);
	return ec_is_locked(base) ? wall_cached_locked(base, ret) : wall_cached(&base->zero, ret);
}

int ec_base_update_cache_time(struct ec_base *base)
{
	struct ec_worker *w;

	if (base == NULL)
		base = ec_current_base();
	if (base == NULL)
		return -EINVAL;
	w = ec_is_locked(base) ? ec_worker_in(base) : &base->zero;
	if (w != NULL && ec_load_relaxed(&base->is_running))
		ec_worker_cache_now(base, w);
	return 0;
}
