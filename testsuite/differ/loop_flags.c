/*
 * event_base_loop: each flag and their combinations, on an empty base, one with active
 * events and one with pending ones; what it returns and how many turns it took.
 */
#include "trace.h"

static struct event_base *base;

static const struct {
	int flags;
	const char *name;
} combinations[] = {
	{ 0, "0" },
	{ EVLOOP_ONCE, "once" },
	{ EVLOOP_NONBLOCK, "nonblock" },
	{ EVLOOP_ONCE | EVLOOP_NONBLOCK, "once, nonblock" },
	{ EVLOOP_NONBLOCK | EVLOOP_NO_EXIT_ON_EMPTY, "nonblock, no exit" },
	{ EVLOOP_ONCE | EVLOOP_NONBLOCK | EVLOOP_NO_EXIT_ON_EMPTY, "once, nonblock, no exit" },
};

#define COMBINATIONS_NUM (sizeof(combinations) / sizeof(combinations[0]))

static void loop(size_t i)
{
	int r = event_base_loop(base, combinations[i].flags);

	say("%s: %d, active %d", combinations[i].name, r,
	    event_base_get_num_events(base, EVENT_BASE_COUNT_ACTIVE));
}

static void empty(void)
{
	section("empty");
	for (size_t i = 0; i < COMBINATIONS_NUM; i++)
		loop(i);
	say("dispatch: %d", event_base_dispatch(base));
}

static void only_active(void)
{
	struct event *ev = ev_new(base, -1, 0, say_cb, "active");

	section("one active");
	for (size_t i = 0; i < COMBINATIONS_NUM; i++) {
		event_active(ev, EV_READ, 1);
		loop(i);
	}
	event_free(ev);
}

/* Always ready, gives up after some calls: how many does a loop make? */
static int calls_left;

static void ready_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	say("  ready: %s", what_str(what));
	if (--calls_left == 0)
		event_del(arg);
}

static void always_ready(void)
{
	struct event *ev;
	int fd[2];

	section("always ready");
	pipe_new(fd);
	ev = ev_new(base, fd[1], EV_WRITE | EV_PERSIST, ready_cb, event_self_cbarg());
	for (size_t i = 0; i < COMBINATIONS_NUM; i++) {
		calls_left = 3;
		event_add(ev, NULL);
		loop(i);
		event_del(ev);
	}
	event_free(ev);
	pair_close(fd);
}

static void pending_only(void)
{
	struct event *ev;
	int fd[2];

	section("pending, not ready");
	pipe_new(fd);
	ev = ev_new(base, fd[0], EV_READ | EV_PERSIST, say_cb, "pending");
	event_add(ev, NULL);
	for (size_t i = 0; i < COMBINATIONS_NUM; i++)
		if (combinations[i].flags & EVLOOP_NONBLOCK)
			loop(i);
	event_free(ev);
	ev = ev_new(base, -1, 0, say_cb, "timer");
	event_add(ev, &hour_tv);
	for (size_t i = 0; i < COMBINATIONS_NUM; i++)
		if (combinations[i].flags & EVLOOP_NONBLOCK)
			loop(i);
	event_free(ev);
	pair_close(fd);
}

/* EVLOOP_ONCE waits for the first that happens, even when a callback's work makes another. */
static void wakes_cb(evutil_socket_t fd, short what, void *arg)
{
	int *out = arg;

	(void)fd;
	say("  timer: %s", what_str(what));
	put(*out);
}

static void once_waits(void)
{
	struct timeval tv = { 0, 2000 };
	struct event *ev;
	int fd[2];

	section("once waits");
	pipe_new(fd);
	ev = ev_new(base, fd[0], EV_READ, read_cb, "read");
	event_add(ev, NULL);
	event_base_once(base, -1, EV_TIMEOUT, wakes_cb, &fd[1], &tv);
	say("once: %d", event_base_loop(base, EVLOOP_ONCE));
	say("once: %d", event_base_loop(base, EVLOOP_ONCE));
	say("once: %d", event_base_loop(base, EVLOOP_ONCE));
	event_free(ev);
	pair_close(fd);
}

/* With nothing left, only a stop ends it; the stop comes from the last callback. */
static void leave_cb(evutil_socket_t fd, short what, void *arg)
{
	int *left = arg;

	(void)fd;
	(void)what;
	say("  left %d", *left);
	if (--*left == 0)
		event_base_loopexit(base, NULL);
	else
		event_base_once(base, -1, EV_TIMEOUT, leave_cb, left, NULL);
}

static void no_exit_on_empty(void)
{
	struct timeval tv = { 0, 2000 };
	int left = 3;

	section("no exit on empty");
	event_base_once(base, -1, EV_TIMEOUT, leave_cb, &left, NULL);
	say("loop: %d", event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY));
	say("loopexit with a time: %d", event_base_loopexit(base, &tv));
	say("loop: %d", event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY));
	say("got exit %d, break %d", !!event_base_got_exit(base), !!event_base_got_break(base));
}

int main(void)
{
	base = base_new();
	empty();
	only_active();
	always_ready();
	pending_only();
	once_waits();
	no_exit_on_empty();
	event_base_free(base);
	return 0;
}
