/*
 * <event2/event_compat.h>: the calls that name no base and use the current one, events
 * that event_set() makes, and event_base_set().
 */
#include "trace.h"

#include <event2/event_compat.h>

static void once_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	say("  once %s: %s", (const char *)arg, what_str(what));
}

static void break_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	say("  loopbreak: %d", event_loopbreak());
}

static void exit_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	say("  loopexit: %d", event_loopexit(NULL));
}

static void current(void)
{
	struct event_base *first, *second;
	struct event ev;

	section("the current base");
	first = event_init();
	must(first != NULL, "init");
	say("method is the base's: %d", strcmp(event_get_method(), event_base_get_method(first)) == 0);
	event_set(&ev, -1, 0, say_cb, (void *)(uintptr_t)"set");
	say("of the first: %d, initialized %d", event_get_base(&ev) == first, event_initialized(&ev));
	say("add: %d", event_add(&ev, &zero_tv));
	say("dispatch: %d", event_dispatch());
	say("once: %d", event_once(-1, EV_TIMEOUT, once_cb, (void *)(uintptr_t)"a", NULL));
	say("loop once: %d", event_loop(EVLOOP_ONCE));
	say("loop nonblock: %d", event_loop(EVLOOP_NONBLOCK));
	say("priority_init: %d", event_priority_init(3));
	say("priorities %d", event_base_get_npriorities(first));

	second = event_init();
	must(second != NULL, "init again");
	say("another: %d", first != second);
	event_set(&ev, -1, 0, say_cb, (void *)(uintptr_t)"set");
	say("of the second: %d, priority %d", event_get_base(&ev) == second, event_get_priority(&ev));
	event_once(-1, EV_TIMEOUT, break_cb, NULL, NULL);
	event_once(-1, EV_TIMEOUT, once_cb, (void *)(uintptr_t)"after break", NULL);
	say("dispatch: %d", event_dispatch());
	say("got break %d of the second, %d of the first", !!event_base_got_break(second),
	    !!event_base_got_break(first));
	event_once(-1, EV_TIMEOUT, exit_cb, NULL, NULL);
	event_once(-1, EV_TIMEOUT, once_cb, (void *)(uintptr_t)"after exit", NULL);
	say("dispatch: %d", event_dispatch());
	say("dispatch: %d", event_dispatch());

	/* An event of event_new() without a base is of the current one. */
	event_assign(&ev, NULL, -1, 0, say_cb, NULL);
	say("assigned without: of the second %d", event_get_base(&ev) == second);

	event_base_free(first);
	say("the first is gone, method %d", event_get_method() != NULL);
	/* NULL: the current one. */
	event_base_free(NULL);
	event_set(&ev, -1, 0, say_cb, NULL);
	say("no base now: %d", event_get_base(&ev) == NULL);
}

static void base_set(void)
{
	struct event_base *one = base_new(), *two = base_new();
	struct event ev;
	int fd[2];

	section("event_base_set");
	event_base_priority_init(two, 8);
	pipe_new(fd);
	memset(&ev, 0, sizeof(ev));
	event_set(&ev, fd[0], EV_READ | EV_PERSIST, read_cb, (void *)(uintptr_t)"moved");
	say("set: %d", event_base_set(one, &ev));
	say("of one %d, priority %d", event_get_base(&ev) == one, event_get_priority(&ev));
	say("set: %d", event_base_set(two, &ev));
	say("of two %d, priority %d", event_get_base(&ev) == two, event_get_priority(&ev));
	event_add(&ev, NULL);
	say("while pending: %d", event_base_set(one, &ev));
	put(fd[1]);
	say("turn of two: %d", turn(two));
	event_active(&ev, EV_READ, 1);
	say("while active: %d", event_base_set(one, &ev));
	event_del(&ev);
	say("deleted: %d", event_base_set(one, &ev));
	say("of one %d", event_get_base(&ev) == one);
	event_add(&ev, NULL);
	put(fd[1]);
	say("turn of two: %d", turn(two));
	say("turn of one: %d", turn(one));
	event_del(&ev);
	event_base_free(one);
	event_base_free(two);
	pair_close(fd);
}

static void macros(void)
{
	struct event_base *base = event_init();
	struct event ev, sig;

	section("macros");
	memset(&ev, 0, sizeof(ev));
	say("zeroed: initialized %d", !!evtimer_initialized(&ev));
	evtimer_set(&ev, say_cb, (void *)(uintptr_t)"timer");
	say("set: initialized %d", !!evtimer_initialized(&ev));
	say("add: %d", evtimer_add(&ev, &zero_tv));
	say("pending: %d", !!evtimer_pending(&ev, NULL));
	say("turn: %d", event_loop(EVLOOP_ONCE));
	timeout_set(&ev, say_cb, (void *)(uintptr_t)"timeout");
	timeout_add(&ev, &hour_tv);
	say("pending: %d", !!timeout_pending(&ev, NULL));
	say("del: %d", timeout_del(&ev));
	evsignal_set(&sig, SIGUSR1, say_cb, (void *)(uintptr_t)"signal");
	say("add: %d", evsignal_add(&sig, NULL));
	raise(SIGUSR1);
	say("turn: %d", event_loop(EVLOOP_ONCE));
	say("pending: %d, number is SIGUSR1: %d", !!signal_pending(&sig, NULL), EVENT_SIGNAL(&sig) == SIGUSR1);
	say("del: %d", signal_del(&sig));
	event_base_free(base);
}

int main(void)
{
	event_set_log_callback(say_log);
	current();
	base_set();
	macros();
	return 0;
}
