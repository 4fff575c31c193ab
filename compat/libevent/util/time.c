/*
 * The monotonic timer of <event2/util.h>.
 */
#include <event2/util.h>

#include <time.h>

#include "core/ec.h"

struct evutil_monotonic_timer {
	clockid_t clock;
	struct timeval last; /* the last time that was reported: time never goes back */
	struct timeval behind; /* sum of the steps by which the clock was set back */
};

struct evutil_monotonic_timer *evutil_monotonic_timer_new(void)
{
	struct evutil_monotonic_timer *t = ec_malloc(sizeof(*t));

	if (t != NULL)
		*t = (struct evutil_monotonic_timer){ .clock = CLOCK_MONOTONIC };
	return t;
}

void evutil_monotonic_timer_free(struct evutil_monotonic_timer *t)
{
	ec_free(t);
}

int evutil_configure_monotonic_time(struct evutil_monotonic_timer *t, int flags)
{
	struct timespec ts;

	if ((flags & EV_MONOT_FALLBACK) != 0)
		t->clock = CLOCK_REALTIME; /* as if the system had no monotonic clock */
	else if ((flags & EV_MONOT_PRECISE) == 0 && clock_gettime(CLOCK_MONOTONIC_COARSE, &ts) == 0)
		t->clock = CLOCK_MONOTONIC_COARSE;
	else
		t->clock = CLOCK_MONOTONIC;
	evutil_timerclear(&t->last);
	evutil_timerclear(&t->behind);
	return 0;
}

int evutil_gettime_monotonic(struct evutil_monotonic_timer *t, struct timeval *tv)
{
	struct timeval now, step;
	struct timespec ts;

	if (clock_gettime(t->clock, &ts) < 0)
		return -1;
	now.tv_sec = ts.tv_sec;
	now.tv_usec = (suseconds_t)((unsigned)ts.tv_nsec / 1000);	/* 32 bits: one multiplication */
	evutil_timeradd(&now, &t->behind, &now);
	if (evutil_timercmp(&now, &t->last, <)) {
		/* The clock was set back: continue from the last time, at the clock's pace. */
		evutil_timersub(&t->last, &now, &step);
		evutil_timeradd(&t->behind, &step, &t->behind);
		now = t->last;
	}
	t->last = now;
	*tv = now;
	return 0;
}
