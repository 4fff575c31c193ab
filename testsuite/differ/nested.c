/*
 * A loop inside a callback: of another base, which is allowed, and of the same one, which
 * is refused with a warning.
 */
#include "trace.h"

static struct event_base *outer, *inner;

static void inner_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	say("    %s: %s, running %d", (const char *)arg, what_str(what),
	    event_base_get_running_event(inner) != NULL);
	if (strcmp(arg, "stops both") == 0) {
		event_base_loopbreak(outer);
		event_base_loopbreak(inner);
	}
}

static void outer_cb(evutil_socket_t fd, short what, void *arg)
{
	struct event *self = event_base_get_running_event(outer);

	(void)fd;
	say("  outer: %s", what_str(what));
	event_base_once(inner, -1, EV_TIMEOUT, inner_cb, (void *)(uintptr_t)"first", NULL);
	event_base_once(inner, -1, EV_TIMEOUT, inner_cb, arg, NULL);
	event_base_once(inner, -1, EV_TIMEOUT, inner_cb, (void *)(uintptr_t)"last", NULL);
	say("  inner loop: %d", event_base_dispatch(inner));
	say("  inner break %d, outer break %d", !!event_base_got_break(inner), !!event_base_got_break(outer));
	say("  still the running event: %d", event_base_get_running_event(outer) == self);
}

static void reentrant_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	say("  same base: %d", event_base_loop(outer, 0));
	say("  same base, nonblock: %d", event_base_loop(outer, EVLOOP_NONBLOCK));
	say("  running event kept: %d", event_base_get_running_event(outer) != NULL);
}

static void nested(const char *second)
{
	struct event *ev = ev_new(outer, -1, 0, outer_cb, second);
	struct event *after = ev_new(outer, -1, 0, say_cb, "after");

	section(second);
	event_active(ev, EV_READ, 1);
	event_active(after, EV_READ, 1);
	say("outer loop: %d", event_base_dispatch(outer));
	say("outer again: %d", event_base_dispatch(outer));
	say("inner again: %d", event_base_dispatch(inner));
	event_free(ev);
	event_free(after);
}

static void same(void)
{
	struct event *ev = ev_new(outer, -1, 0, reentrant_cb, NULL);
	struct event *after = ev_new(outer, -1, 0, say_cb, "after");

	section("the same base");
	event_active(ev, EV_READ, 1);
	event_active(after, EV_READ, 1);
	say("loop: %d", event_base_dispatch(outer));
	event_free(ev);
	event_free(after);
}

/* Made, used and freed inside a callback. */
static void short_lived_cb(evutil_socket_t fd, short what, void *arg)
{
	struct event_base *base = base_new();
	struct event *ev = ev_new(base, -1, 0, say_cb, "short-lived");

	(void)fd;
	(void)what;
	(void)arg;
	event_add(ev, &zero_tv);
	say("  loop: %d", event_base_dispatch(base));
	event_free(ev);
	event_base_free(base);
}

int main(void)
{
	outer = base_new();
	inner = base_new();
	event_set_log_callback(say_log);
	nested("goes on");
	nested("stops both");
	same();
	section("made in a callback");
	event_base_once(outer, -1, EV_TIMEOUT, short_lived_cb, NULL, NULL);
	say("loop: %d", event_base_dispatch(outer));
	event_base_free(inner);
	event_base_free(outer);
	return 0;
}
