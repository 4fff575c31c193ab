/*
 * The time that a base keeps: still inside a callback, moving outside, renewed on request,
 * and not kept at all where the flag says so. Only relations of times are printed.
 */
#include "trace.h"

static const char *relation(const struct timeval *a, const struct timeval *b)
{
	return evutil_timercmp(a, b, <) ? "earlier" : evutil_timercmp(a, b, >) ? "later" : "the same";
}

static void cached_cb(evutil_socket_t fd, short what, void *arg)
{
	struct event_base *base = arg;
	struct timeval first, second, third, mono1, mono2;

	(void)fd;
	(void)what;
	event_base_gettimeofday_cached(base, &first);
	event_gettime_monotonic(base, &mono1);
	let_time_pass(20);
	say("  get: %d", event_base_gettimeofday_cached(base, &second));
	say("  later in the callback: %s", relation(&second, &first));
	say("  monotonic: %d", event_gettime_monotonic(base, &mono2));
	say("  monotonic later in the callback: %s", relation(&mono2, &mono1));
	say("  update: %d", event_base_update_cache_time(base));
	event_base_gettimeofday_cached(base, &third);
	say("  after update: %s", relation(&third, &first));
}

static struct timeval before;

static void next_cb(evutil_socket_t fd, short what, void *arg)
{
	struct event_base *base = arg;
	struct timeval now;

	(void)fd;
	(void)what;
	event_base_gettimeofday_cached(base, &now);
	if (before.tv_sec != 0)
		say("  the next callback of this turn: %s", relation(&now, &before));
	before = now;
	let_time_pass(20);
}

static void of_flags(const char *name, int flags)
{
	struct event_config *cfg = event_config_new();
	struct event_base *base;
	struct event *a, *b;
	struct timeval first, second;

	section(name);
	must(cfg != NULL && event_config_set_flag(cfg, flags) == 0, "make a config");
	base = event_base_new_with_config(cfg);
	must(base != NULL, "make a base");
	event_config_free(cfg);

	event_base_gettimeofday_cached(base, &first);
	let_time_pass(20);
	event_base_gettimeofday_cached(base, &second);
	say("outside: %s", relation(&second, &first));
	say("update outside: %d", event_base_update_cache_time(base));
	event_base_once(base, -1, EV_TIMEOUT, cached_cb, base, NULL);
	say("loop: %d", event_base_dispatch(base));
	before = zero_tv;
	a = ev_new(base, -1, 0, next_cb, base);
	b = ev_new(base, -1, 0, next_cb, base);
	event_active(a, EV_READ, 1);
	event_active(b, EV_READ, 1);
	say("loop: %d", event_base_dispatch(base));
	event_base_gettimeofday_cached(base, &first);
	let_time_pass(20);
	event_base_gettimeofday_cached(base, &second);
	say("outside again: %s", relation(&second, &first));
	event_free(a);
	event_free(b);
	event_base_free(base);
}

/* The cached time is the wall clock's, give or take what passed in between. */
static void is_the_wall_clock(void)
{
	struct event_base *base = base_new();
	struct timeval start, cached;

	section("is the wall clock");
	evutil_gettimeofday(&start, NULL);
	let_time_pass(20);
	say("get: %d", event_base_gettimeofday_cached(base, &cached));
	say("later than before: %d", evutil_timercmp(&cached, &start, >));
	say("no base: %d", event_base_gettimeofday_cached(NULL, &cached) != 0);
	event_base_free(base);
}

int main(void)
{
	of_flags("kept", 0);
	of_flags("precise", EVENT_BASE_FLAG_PRECISE_TIMER);
	of_flags("not kept", EVENT_BASE_FLAG_NO_CACHE_TIME);
	is_the_wall_clock();
	return 0;
}
