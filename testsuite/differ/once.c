/*
 * event_base_once: each kind of event, its order, its errors, what is counted, and those
 * that never happen.
 */
#include "trace.h"

static struct event_base *base;

static void chain_cb(evutil_socket_t fd, short what, void *arg)
{
	int *left = arg;

	(void)fd;
	say("  chain %d: %s", *left, what_str(what));
	if (--*left > 0)
		say("  once: %d", event_base_once(base, -1, EV_TIMEOUT, chain_cb, left, NULL));
}

static void once(int fd, int events, const struct timeval *tv, const char *name)
{
	say("%s: %d", name, event_base_once(base, fd, (short)events, read_cb, (void *)(uintptr_t)name, tv));
}

int main(void)
{
	int fd[2], left = 4;

	base = base_new();
	pair_new(fd);

	section("timeouts");
	once(-1, EV_TIMEOUT, NULL, "timeout, NULL");
	once(-1, EV_TIMEOUT, &zero_tv, "timeout, zero");
	say("added %d", event_base_get_num_events(base, EVENT_BASE_COUNT_ADDED));
	say("turn: %d", turn(base));
	say("turn: %d", turn(base));
	once(-1, EV_TIMEOUT, NULL, "first");
	once(-1, EV_TIMEOUT, NULL, "second");
	once(-1, EV_TIMEOUT, NULL, "third");
	say("turn: %d", turn(base));
	once(5, EV_TIMEOUT, NULL, "timeout with a descriptor");
	say("turn: %d", turn(base));

	section("descriptors");
	once(fd[0], EV_READ, NULL, "read");
	once(fd[0], EV_WRITE, NULL, "write");
	say("turn: %d", turn(base));
	put(fd[1]);
	say("turn: %d", turn(base));
	say("turn: %d", turn(base));
	once(fd[0], EV_READ | EV_WRITE, NULL, "read or write");
	say("turn: %d", turn(base));
	once(fd[0], EV_READ | EV_TIMEOUT, &zero_tv, "read or timeout");
	say("turn: %d", turn(base));
	once(fd[0], EV_READ, &zero_tv, "read, with a timeout");
	say("turn: %d", turn(base));
	once(fd[0], EV_READ, &hour_tv, "read, long timeout");
	put(fd[1]);
	say("dispatch: %d", event_base_dispatch(base));

	section("chain");
	event_base_once(base, -1, EV_TIMEOUT, chain_cb, &left, NULL);
	say("dispatch: %d", event_base_dispatch(base));

	section("errors");
	once(SIGUSR1, EV_SIGNAL, NULL, "signal");
	once(SIGUSR1, EV_SIGNAL, &zero_tv, "signal, timeout");
	once(fd[0], EV_READ | EV_PERSIST, NULL, "persistent read");
	once(-1, EV_TIMEOUT | EV_PERSIST, NULL, "persistent timeout");
	once(fd[0], 0, NULL, "nothing");
	once(-1, 0, &zero_tv, "nothing, with a timeout");
	once(fd[0], EV_READ | EV_SIGNAL, NULL, "read and signal");
	once(fd[0], EV_PERSIST, NULL, "persist alone");
	once(-1, EV_READ, NULL, "read of no descriptor");
	say("no base: %d", event_base_once(NULL, -1, EV_TIMEOUT, say_cb, NULL, NULL));
	say("turn: %d", turn(base));

	section("never");
	once(fd[0], EV_READ, &hour_tv, "never read");
	once(-1, EV_TIMEOUT, &hour_tv, "never timed out");
	once(-1, EV_TIMEOUT, NULL, "never run");
	event_base_free(base);
	pair_close(fd);
	return 0;
}
