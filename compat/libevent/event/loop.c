/*
 * The loop: running it, ending it, its time.
 */
#include <event2/event.h>
#include <event2/event_compat.h>

#include "le.h"

int event_base_loop(struct event_base *base, int flags)
{
	return le_result(ec_base_loop(le_base(base), flags));
}

int event_base_dispatch(struct event_base *base)
{
	return event_base_loop(base, 0);
}

int event_base_loopexit(struct event_base *base, const struct timeval *tv)
{
	return base == NULL ? -1 : le_result(ec_base_loopexit(le_base(base), tv));
}

int event_base_loopbreak(struct event_base *base)
{
	return base == NULL ? -1 : le_result(ec_base_loopbreak(le_base(base)));
}

int event_base_loopcontinue(struct event_base *base)
{
	return base == NULL ? -1 : le_result(ec_base_loopcontinue(le_base(base)));
}

int event_base_got_exit(struct event_base *base)
{
	return ec_base_got_exit(le_base(base));
}

int event_base_got_break(struct event_base *base)
{
	return ec_base_got_break(le_base(base));
}

int event_base_gettimeofday_cached(struct event_base *base, struct timeval *tv)
{
	return ec_base_gettimeofday_cached(le_base(base), tv);	/* it cannot fail */
}

int event_base_update_cache_time(struct event_base *base)
{
	return le_result(ec_base_update_cache_time(le_base(base)));
}

int event_gettime_monotonic(struct event_base *base, struct timeval *tv)
{
	int64_t ns;

	if (base == NULL || tv == NULL)
		return -1;
	ns = ec_monotonic_ns();
	tv->tv_sec = (time_t)(ns / 1000000000);
	tv->tv_usec = (suseconds_t)(ns % 1000000000 / 1000);
	return 0;
}

const struct timeval *event_base_init_common_timeout(struct event_base *base, const struct timeval *duration)
{
	return ec_base_common_timeout(le_base(base), duration);
}
