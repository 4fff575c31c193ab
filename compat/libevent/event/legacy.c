/*
 * The calls of libevent 1.4, which name no base: they use the one that event_init made last.
 */
#include <event2/event.h>
#include <event2/event_compat.h>

#include "le.h"

static struct event_base *current(void)
{
	return le_event_base(ec_current_base());
}

struct event_base *event_init(void)
{
	struct event_base *base = event_base_new();

	if (base == NULL)
		ec_die(1, "%s: Unable to construct event_base", __func__);
	ec_set_current_base(le_base(base));
	return base;
}

int event_dispatch(void)
{
	return event_base_loop(current(), 0);
}

int event_loop(int flags)
{
	return event_base_loop(current(), flags);
}

int event_loopexit(const struct timeval *tv)
{
	return event_base_loopexit(current(), tv);
}

int event_loopbreak(void)
{
	return event_base_loopbreak(current());
}

int event_once(evutil_socket_t fd, short events, void (*fn)(evutil_socket_t, short, void *), void *arg,
	       const struct timeval *tv)
{
	return event_base_once(current(), fd, events, fn, arg, tv);
}

int event_priority_init(int num)
{
	return event_base_priority_init(current(), num);
}

const char *event_get_method(void)
{
	return event_base_get_method(current());
}
