/*
 * event_add, event_del, event_remove_timer: what they return, what event_pending says
 * after each, with and without descriptors and timeouts, once and persistent.
 */
#include "trace.h"

/* Each operation on its own and twice, on an event of the given kind. */
static void walk(struct event_base *base, const char *name, int fd, int events)
{
	struct event *ev;

	section(name);
	ev = ev_new(base, fd, events, say_cb, name);
	say_step("new", 0, ev);
	say_step("del before add", event_del(ev), ev);
	say_step("remove_timer before add", event_remove_timer(ev), ev);
	say_step("add", event_add(ev, NULL), ev);
	say_step("add again", event_add(ev, NULL), ev);
	say_step("remove_timer without one", event_remove_timer(ev), ev);
	say_step("add a timeout", event_add(ev, &hour_tv), ev);
	say_step("add without: keeps it", event_add(ev, NULL), ev);
	say_step("remove_timer", event_remove_timer(ev), ev);
	say_step("remove_timer again", event_remove_timer(ev), ev);
	say_step("add a timeout again", event_add(ev, &hour_tv), ev);
	say_step("del", event_del(ev), ev);
	say_step("del again", event_del(ev), ev);
	say_step("del_noblock", event_del_noblock(ev), ev);
	say_step("del_block", event_del_block(ev), ev);
	say_step("add with timeout first", event_add(ev, &hour_tv), ev);
	event_active(ev, EV_READ, 1);
	say_step("active too", 0, ev);
	say_step("remove_timer while active", event_remove_timer(ev), ev);
	say_step("add while active", event_add(ev, NULL), ev);
	say_step("del while active", event_del(ev), ev);
	say("loop: %d", turn(base));
	event_active(ev, EV_WRITE, 1);
	say_step("only active", 0, ev);
	say("loop: %d", turn(base));
	say_step("after the callback", 0, ev);
	event_free(ev);
}

/* What is left of an event once its callback has run, seen from inside and from after. */
static void inside_cb(evutil_socket_t fd, short what, void *arg)
{
	const struct event *ev = arg;
	char c;

	if (what & EV_READ)
		must(read(fd, &c, 1) == 1, "read");
	say("  callback: %s, pending inside %s", what_str(what), pending_str(ev));
}

static void ready(struct event_base *base, const char *name, int events, const struct timeval *tv)
{
	struct event *ev;
	int fd[2];

	section(name);
	pair_new(fd);
	ev = ev_new(base, fd[0], events, inside_cb, event_self_cbarg());
	say("add: %d", event_add(ev, tv));
	put(fd[1]);
	say_step("loop", turn(base), ev);
	put(fd[1]);
	say_step("loop", turn(base), ev);
	say("del: %d", event_del(ev));
	put(fd[1]);
	say_step("loop", turn(base), ev);
	event_free(ev);
	pair_close(fd);
}

/* event_pending looks only at what it is asked for. */
static void asked(struct event_base *base)
{
	static const int kinds[] = { EV_TIMEOUT, EV_READ, EV_WRITE, EV_SIGNAL, EV_CLOSED, EV_ET,
				     EV_PERSIST, EV_READ | EV_TIMEOUT, EV_WRITE | EV_SIGNAL, 0 };
	struct event *ev;
	int fd[2];

	section("what is asked for");
	pipe_new(fd);
	ev = ev_new(base, fd[0], EV_READ | EV_PERSIST, say_cb, "asked");
	event_add(ev, &hour_tv);
	event_active(ev, EV_WRITE, 1);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		say("%s: %s", what_str(kinds[i]),
		    what_str(event_pending(ev, (short)kinds[i], NULL)));
	event_free(ev);
	pair_close(fd);
}

int main(void)
{
	struct event_base *base = base_new();
	int fd[2];

	pair_new(fd);
	walk(base, "timer", -1, 0);
	walk(base, "timer, EV_TIMEOUT given", -1, EV_TIMEOUT);
	walk(base, "timer, persistent", -1, EV_PERSIST);
	walk(base, "read", fd[0], EV_READ);
	walk(base, "read, persistent", fd[0], EV_READ | EV_PERSIST);
	walk(base, "signal", SIGUSR1, EV_SIGNAL);
	walk(base, "signal, persistent", SIGUSR2, EV_SIGNAL | EV_PERSIST);
	walk(base, "a descriptor but nothing to wait for", fd[0], 0);
	walk(base, "read of no descriptor", -1, EV_READ);
	walk(base, "read of no descriptor, persistent", -1, EV_READ | EV_PERSIST);
	pair_close(fd);

	ready(base, "ready: read", EV_READ, NULL);
	ready(base, "ready: read, timeout", EV_READ, &hour_tv);
	ready(base, "ready: read, persistent", EV_READ | EV_PERSIST, NULL);
	ready(base, "ready: read, persistent, timeout", EV_READ | EV_PERSIST, &hour_tv);
	ready(base, "ready: read and write", EV_READ | EV_WRITE, NULL);
	ready(base, "ready: read and write, persistent", EV_READ | EV_WRITE | EV_PERSIST, NULL);
	asked(base);
	event_base_free(base);
	return 0;
}
