/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/* Bases: their life, configurations, ends of the loop, and what they tell. */
#include "sweep.h"

#include <unistd.h>

#include <event2/event_struct.h>
#include <event2/thread.h>

static const struct timeval now, second = { 1, 0 };

static void new_free(struct sweep *s)
{
	while (sweep_next(s)) {
		struct event_base *base = event_base_new();

		sweep_check(base != NULL);
		event_base_free(base);
	}
}

static void new_loop_free(struct sweep *s)
{
	while (sweep_next(s)) {
		struct event_base *base = sweep_base(s);
		struct event *ev = evtimer_new(base, sweep_count, s);

		event_active(ev, EV_TIMEOUT, 0);
		event_base_dispatch(base);
		event_free(ev);
		event_base_free(base);
	}
	sweep_check(s->calls > 0);
}

/* Freed with events that are pending. They are the program's memory, which it does not use again. */
static void free_pending(struct sweep *s)
{
	struct event evs[10];
	unsigned i;

	sweep_pipe(s->fd);
	while (sweep_next(s)) {
		struct event_base *base = sweep_base(s);

		for (i = 0; i < 10; i++) {
			event_assign(&evs[i], base, i == 0 ? s->fd[0] : -1, i == 0 ? EV_READ : 0, sweep_nop, NULL);
			event_add(&evs[i], &second);
		}
		event_base_free(base);
	}
	sweep_close(s->fd);
}

static void free_nofinalize(struct sweep *s)
{
	while (sweep_next(s)) {
		struct event_base *base = sweep_base(s);

		event_base_free_nofinalize(base);
	}
}

static void config(struct sweep *s)
{
	static const struct timeval interval = { 0, 1000 };

	while (sweep_next(s)) {
		struct event_config *c = event_config_new();
		struct event_base *base;

		event_config_avoid_method(c, "select");
		event_config_require_features(c, EV_FEATURE_ET | EV_FEATURE_O1);
		event_config_set_flag(c, EVENT_BASE_FLAG_PRECISE_TIMER);
		event_config_set_num_cpus_hint(c, 2);
		event_config_set_max_dispatch_interval(c, &interval, 10, 1);
		base = event_base_new_with_config(c);
		sweep_check(base != NULL);
		event_base_free(base);
		event_config_free(c);
	}
}

static void reinit(struct sweep *s)
{
	struct event_base *base = sweep_base(s);
	struct event *ev;

	sweep_pipe(s->fd);
	ev = event_new(base, s->fd[0], EV_READ | EV_PERSIST, sweep_nop, NULL);
	event_add(ev, NULL);
	while (sweep_next(s))
		sweep_check(event_reinit(base) == 0);
	event_free(ev);
	sweep_end(s);
}

static void notifiable(struct sweep *s)
{
	struct event_base *base = sweep_base(s);

	while (sweep_next(s))
		evthread_make_base_notifiable(base);
	event_base_free(base);
}

static void facts(struct sweep *s)
{
	struct event_base *base = sweep_base(s);

	while (sweep_next(s)) {
		s->calls += event_base_get_method(base) != NULL;
		s->calls += event_base_get_features(base) + event_base_get_npriorities(base);
		s->calls += event_base_get_num_events(base, EVENT_BASE_COUNT_ADDED | EVENT_BASE_COUNT_ACTIVE);
		s->calls += event_base_get_max_events(base, EVENT_BASE_COUNT_ADDED, 0);
		s->calls += event_base_got_break(base) + event_base_got_exit(base);
	}
	event_base_free(base);
}

static void library_facts(struct sweep *s)
{
	while (sweep_next(s)) {
		s->calls += event_get_supported_methods() != NULL;
		s->calls += event_get_version() != NULL;
		s->calls += (int)event_get_version_number() + (int)event_get_struct_event_size();
	}
}

static void priority_init(struct sweep *s)
{
	struct event_base *base = sweep_base(s);

	while (sweep_next(s))
		event_base_priority_init(base, 3 + s->calls++ % 2);
	event_base_free(base);
}

static void on_break(evutil_socket_t fd, short what, void *arg)
{
	struct sweep *s = arg;

	(void)fd;
	(void)what;
	event_base_loopbreak(s->base);
}

static void on_continue(evutil_socket_t fd, short what, void *arg)
{
	struct sweep *s = arg;

	(void)fd;
	(void)what;
	event_base_loopcontinue(s->base);
}

static void on_exit_now(evutil_socket_t fd, short what, void *arg)
{
	struct sweep *s = arg;

	(void)fd;
	(void)what;
	event_base_loopexit(s->base, NULL);
}

static void ended_by(struct sweep *s, event_callback_fn fn, int flags)
{
	struct event_base *base = sweep_base(s);
	struct event *ev = event_new(base, -1, 0, fn, s), *keeps = evtimer_new(base, sweep_nop, s);

	event_add(keeps, &second);
	while (sweep_next(s)) {
		event_active(ev, EV_TIMEOUT, 0);
		event_base_loop(base, flags);
	}
	event_free(keeps);
	event_free(ev);
	event_base_free(base);
}

static void loop_break(struct sweep *s)
{
	ended_by(s, on_break, 0);
}

static void loop_exit(struct sweep *s)
{
	ended_by(s, on_exit_now, 0);
}

static void loop_continue(struct sweep *s)
{
	ended_by(s, on_continue, EVLOOP_NONBLOCK);
}

static void loop_once(struct sweep *s)
{
	ended_by(s, sweep_nop, EVLOOP_ONCE);
}

static void exit_at_once(struct sweep *s)
{
	struct event_base *base = sweep_base(s);

	while (sweep_next(s)) {
		event_base_loopexit(base, &now);
		sweep_advance_us(2000000);
		event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY);
	}
	event_base_free(base);
}

static void dispatch_empty(struct sweep *s)
{
	struct event_base *base = sweep_base(s);

	while (sweep_next(s))
		event_base_dispatch(base);
	event_base_free(base);
}

#define EACH_METHOD(label, fn, count) \
	{ label, fn, .ops = count }, \
		{ label "-poll", fn, .ops = count, .method = "poll" }, \
	{ \
		label "-select", fn, .ops = count, .method = "select" \
	}

const struct sweep_pattern sweep_base_table[] = {
	{ "base/new-free", new_free, .ops = 30 },
	EACH_METHOD("base/new-loop-free", new_loop_free, 30),
	{ "base/free-pending", free_pending, .ops = 30 },
	{ "base/free-nofinalize", free_nofinalize, .ops = 30 },
	{ "base/config", config, .ops = 30 },
	EACH_METHOD("base/reinit", reinit, 30),
	{ "base/notifiable", notifiable, .ops = 200, .flags = SWEEP_LOCKS },
	{ "base/facts", facts, .ops = 500 },
	{ "base/library-facts", library_facts, .ops = 500 },
	{ "base/priority-init", priority_init, .ops = 200 },
	{ "base/loop-break", loop_break, .ops = 200 },
	{ "base/loop-exit", loop_exit, .ops = 200 },
	{ "base/loop-exit-no-event", exit_at_once, .ops = 200 },
	{ "base/loop-continue", loop_continue, .ops = 200 },
	{ "base/loop-once", loop_once, .ops = 200 },
	{ "base/dispatch-empty", dispatch_empty, .ops = 300 },
	{ NULL, NULL, 0, 0, 0, NULL },
};
