/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/* Timers. The clock goes on only by its reads and by sweep_advance_us(). */
#include "sweep.h"

#include <event2/event_struct.h>

enum { TIMERS_MAX = 1000 };

static const struct timeval now, late = { 1000, 0 }, second = { 1, 0 };
static struct event *evs[TIMERS_MAX];

static void timers_make(struct sweep *s, short events, event_callback_fn fn, void *arg)
{
	unsigned i;

	for (i = 0; i < s->num; i++) {
		evs[i] = event_new(s->base, -1, events, fn, arg);
		sweep_color(s, evs[i]);
	}
}

static void timers_drop(struct sweep *s)
{
	unsigned i;

	for (i = 0; i < s->num; i++)
		event_free(evs[i]);
	event_base_free(s->base);
}

/* One more timer comes and goes while `num` wait. */
static void add_del(struct sweep *s)
{
	struct event *ev;
	unsigned i;

	sweep_base(s);
	timers_make(s, 0, sweep_nop, NULL);
	for (i = 0; i < s->num; i++)
		event_add(evs[i], &late);
	ev = evtimer_new(s->base, sweep_nop, NULL);
	sweep_color(s, ev);
	while (sweep_next(s)) {
		event_add(ev, &second);
		event_del(ev);
	}
	event_free(ev);
	timers_drop(s);
}

/* All are added, then all deleted, in the order of their deadlines or against it. */
static void add_del_all(struct sweep *s)
{
	unsigned i;

	sweep_base(s);
	timers_make(s, 0, sweep_nop, NULL);
	while (sweep_next(s)) {
		for (i = 0; i < s->num; i++) {
			struct timeval tv = { (time_t)(1 + i * 7919 % 1000), 0 };

			event_add(evs[i], &tv);
		}
		for (i = 0; i < s->num; i++)
			event_del(evs[i]);
	}
	timers_drop(s);
}

/* A pending timer gets a later deadline, as a connection's does with each request. */
static void rearm(struct sweep *s)
{
	unsigned i, at = 0;

	sweep_base(s);
	timers_make(s, 0, sweep_nop, NULL);
	for (i = 0; i < s->num; i++)
		event_add(evs[i], &second);
	while (sweep_next(s)) {
		event_add(evs[at], &second);
		at = at + 1 < s->num ? at + 1 : 0;
	}
	timers_drop(s);
}

/* Timers that are due at once. */
static void fire_now(struct sweep *s)
{
	unsigned i;

	sweep_base(s);
	timers_make(s, 0, sweep_count, s);
	while (sweep_next(s)) {
		for (i = 0; i < s->num; i++)
			event_add(evs[i], &now);
		sweep_advance_us(1000000);
		sweep_poll(s->base);
	}
	sweep_check(s->calls >= (int)s->num);
	timers_drop(s);
}

/* All with the same second to wait. */
static void fire_same(struct sweep *s)
{
	unsigned i;

	sweep_base(s);
	timers_make(s, 0, sweep_count, s);
	while (sweep_next(s)) {
		for (i = 0; i < s->num; i++)
			event_add(evs[i], &second);
		sweep_advance_us(2000000);
		sweep_poll(s->base);
	}
	sweep_check(s->calls >= (int)s->num);
	timers_drop(s);
}

static void fire_persistent(struct sweep *s)
{
	unsigned i;

	sweep_base(s);
	timers_make(s, EV_PERSIST, sweep_count, s);
	for (i = 0; i < s->num; i++)
		event_add(evs[i], &second);
	while (sweep_next(s)) {
		sweep_advance_us(1000000);
		sweep_poll(s->base);
	}
	sweep_check(s->calls >= (int)s->num);
	timers_drop(s);
}

static void on_again(evutil_socket_t fd, short what, void *arg)
{
	struct sweep *s = arg;

	(void)fd;
	(void)what;
	s->calls++;
	event_add(evs[0], &second);
}

static void rearm_in_callback(struct sweep *s)
{
	sweep_base(s);
	timers_make(s, 0, on_again, s);
	event_add(evs[0], &second);
	while (sweep_next(s)) {
		sweep_advance_us(2000000);
		sweep_poll(s->base);
	}
	sweep_check(s->calls > 0);
	timers_drop(s);
}

static const struct timeval *common_of(struct sweep *s)
{
	const struct timeval *common = event_base_init_common_timeout(s->base, &second);

	sweep_check(common != NULL);
	return common;
}

static void common_add_del(struct sweep *s)
{
	const struct timeval *common;
	unsigned i;

	sweep_base(s);
	common = common_of(s);
	timers_make(s, 0, sweep_nop, NULL);
	for (i = 1; i < s->num; i++)
		event_add(evs[i], common);
	while (sweep_next(s)) {
		event_add(evs[0], common);
		event_del(evs[0]);
	}
	timers_drop(s);
}

static void common_rearm(struct sweep *s)
{
	const struct timeval *common;
	unsigned i, at = 0;

	sweep_base(s);
	common = common_of(s);
	timers_make(s, 0, sweep_nop, NULL);
	for (i = 0; i < s->num; i++)
		event_add(evs[i], common);
	while (sweep_next(s)) {
		event_add(evs[at], common);
		at = at + 1 < s->num ? at + 1 : 0;
	}
	timers_drop(s);
}

static void common_fire(struct sweep *s)
{
	const struct timeval *common;
	unsigned i;

	sweep_base(s);
	common = common_of(s);
	timers_make(s, 0, sweep_count, s);
	while (sweep_next(s)) {
		for (i = 0; i < s->num; i++)
			event_add(evs[i], common);
		sweep_advance_us(2000000);
		sweep_poll(s->base);
	}
	sweep_check(s->calls >= (int)s->num);
	timers_drop(s);
}

static void common_init(struct sweep *s)
{
	sweep_base(s);
	while (sweep_next(s))
		event_base_init_common_timeout(s->base, &second);
	event_base_free(s->base);
}

static void pending(struct sweep *s)
{
	struct timeval tv;

	sweep_base(s);
	timers_make(s, 0, sweep_nop, NULL);
	event_add(evs[0], &late);
	while (sweep_next(s))
		sweep_check(event_pending(evs[0], EV_TIMEOUT, &tv) != 0);
	timers_drop(s);
}

static void remove_timer(struct sweep *s)
{
	sweep_base(s);
	timers_make(s, 0, sweep_nop, NULL);
	while (sweep_next(s)) {
		event_add(evs[0], &late);
		event_remove_timer(evs[0]);
	}
	timers_drop(s);
}

static void remove_timer_of_read(struct sweep *s)
{
	struct event *ev;

	sweep_base(s);
	sweep_pipe(s->fd);
	ev = event_new(s->base, s->fd[0], EV_READ | EV_PERSIST, sweep_nop, NULL);
	event_add(ev, NULL);
	while (sweep_next(s)) {
		event_add(ev, &late);
		event_remove_timer(ev);
	}
	event_free(ev);
	sweep_end(s);
}

/* Waiting timers, and a loop that finds none due. */
static void waiting(struct sweep *s)
{
	unsigned i;

	sweep_base(s);
	timers_make(s, 0, sweep_nop, NULL);
	for (i = 0; i < s->num; i++)
		event_add(evs[i], &late);
	while (sweep_next(s))
		sweep_poll(s->base);
	timers_drop(s);
}

static void time_cached(struct sweep *s)
{
	struct timeval tv;

	sweep_base(s);
	while (sweep_next(s))
		event_base_gettimeofday_cached(s->base, &tv);
	event_base_free(s->base);
}

static void on_time(evutil_socket_t fd, short what, void *arg)
{
	struct sweep *s = arg;
	struct timeval tv;

	(void)fd;
	(void)what;
	while (sweep_next(s))
		event_base_gettimeofday_cached(s->base, &tv);
}

static void on_update(evutil_socket_t fd, short what, void *arg)
{
	struct sweep *s = arg;

	(void)fd;
	(void)what;
	while (sweep_next(s))
		event_base_update_cache_time(s->base);
}

static void in_callback(struct sweep *s, event_callback_fn fn)
{
	s->num = 1;
	sweep_base(s);
	timers_make(s, 0, fn, s);
	event_active(evs[0], EV_TIMEOUT, 0);
	sweep_poll(s->base);
	timers_drop(s);
}

static void time_in_callback(struct sweep *s)
{
	in_callback(s, on_time);
}

static void time_update(struct sweep *s)
{
	in_callback(s, on_update);
}

/* A timer of its own for each operation. */
static void new_add_fire_free(struct sweep *s)
{
	sweep_base(s);
	while (sweep_next(s)) {
		struct event *ev = evtimer_new(s->base, sweep_count, s);

		sweep_color(s, ev);
		event_add(ev, &now);
		sweep_advance_us(2000000);
		sweep_poll(s->base);
		event_free(ev);
	}
	sweep_check(s->calls > 0);
	event_base_free(s->base);
}

const struct sweep_pattern sweep_timer[] = {
	{ "timer/add-del", add_del, .ops = 500, .flags = SWEEP_COLORS, .num = 0 },
	{ "timer/add-del-1000-wait", add_del, .ops = 500, .flags = SWEEP_COLORS, .num = 1000 },
	{ "timer/add-del-all-1000", add_del_all, .ops = 4, .flags = SWEEP_COLORS, .num = 1000 },
	{ "timer/rearm-1", rearm, .ops = 500, .flags = SWEEP_COLORS, .num = 1 },
	{ "timer/rearm-1000", rearm, .ops = 1000, .flags = SWEEP_COLORS, .num = 1000 },
	{ "timer/fire-now", fire_now, .ops = 300, .flags = SWEEP_COLORS, .num = 1 },
	{ "timer/fire-now-100", fire_now, .ops = 20, .flags = SWEEP_COLORS, .num = 100 },
	{ "timer/fire-same-1", fire_same, .ops = 300, .flags = SWEEP_COLORS, .num = 1 },
	{ "timer/fire-same-1000", fire_same, .ops = 4, .flags = SWEEP_COLORS, .num = 1000 },
	{ "timer/persistent-1", fire_persistent, .ops = 300, .flags = SWEEP_COLORS, .num = 1 },
	{ "timer/persistent-100", fire_persistent, .ops = 20, .flags = SWEEP_COLORS, .num = 100 },
	{ "timer/rearm-in-callback", rearm_in_callback, .ops = 300, .flags = SWEEP_COLORS, .num = 1 },
	{ "timer/new-fire-free", new_add_fire_free, .ops = 200, .flags = SWEEP_COLORS },
	{ "timer/common-add-del", common_add_del, .ops = 500, .flags = SWEEP_COLORS, .num = 1 },
	{ "timer/common-add-del-1000", common_add_del, .ops = 500, .flags = SWEEP_COLORS, .num = 1000 },
	{ "timer/common-rearm-1000", common_rearm, .ops = 1000, .flags = SWEEP_COLORS, .num = 1000 },
	{ "timer/common-fire-1", common_fire, .ops = 200, .flags = SWEEP_COLORS, .num = 1 },
	{ "timer/common-fire-1000", common_fire, .ops = 4, .flags = SWEEP_COLORS, .num = 1000 },
	{ "timer/common-init", common_init, .ops = 300 },
	{ "timer/pending-time", pending, .ops = 500, .flags = SWEEP_COLORS, .num = 1 },
	{ "timer/remove-timer", remove_timer, .ops = 500, .flags = SWEEP_COLORS, .num = 1 },
	{ "timer/remove-timer-of-read", remove_timer_of_read, .ops = 500 },
	{ "timer/waiting-1", waiting, .ops = 300, .flags = SWEEP_COLORS, .num = 1 },
	{ "timer/waiting-1000", waiting, .ops = 300, .flags = SWEEP_COLORS, .num = 1000 },
	{ "timer/time-cached-outside", time_cached, .ops = 500 },
	{ "timer/time-cached-in-callback", time_in_callback, .ops = 500 },
	{ "timer/update-cache-time", time_update, .ops = 500 },
	{ NULL, NULL, 0, 0, 0, NULL },
};
