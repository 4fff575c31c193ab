/*
 * The monotonic timer of <event2/util.h>.
 */
#include <event2/util.h>

#include <time.h>

#include "core/ec.h"

struct evutil_monotonic_timer {
	clockid_t clock;
	struct timeval last;		/* what it said before: it never goes back */
};

struct evutil_monotonic_timer *evutil_monotonic_timer_new(void)
{
	struct evutil_monotonic_timer *t = ec_calloc(1, sizeof(*t));

	if (t != NULL)
		t->clock = CLOCK_MONOTONIC;
	return t;
}

void evutil_monotonic_timer_free(struct evutil_monotonic_timer *t)
{
	ec_free(t);
}

int evutil_configure_monotonic_time(struct evutil_monotonic_timer *t, int flags)
{
	struct timespec ts;

	t->clock = (flags & (EV_MONOT_PRECISE | EV_MONOT_FALLBACK)) != 0 ? CLOCK_MONOTONIC : CLOCK_MONOTONIC_COARSE;
	if (clock_gettime(t->clock, &ts) < 0)
		t->clock = CLOCK_MONOTONIC;
	t->last = (struct timeval){ 0, 0 };
	return 0;
}

int evutil_gettime_monotonic(struct evutil_monotonic_timer *t, struct timeval *tv)
{
	struct timespec ts;

	if (clock_gettime(t->clock, &ts) < 0)
		return -1;
	tv->tv_sec = ts.tv_sec;
	tv->tv_usec = ts.tv_nsec / 1000;
	if (evutil_timercmp(tv, &t->last, <))
		*tv = t->last;
	t->last = *tv;
	return 0;
}
