/*
 * Making events active by hand.
 */
#include "le.h"

/* The engine does what there is to do for an event without a base, and in debug mode. */
void event_active(struct event *ev, int res, short ncalls)
{
	ec_event_active_checked(le_ec(ev), res, ncalls);
}

void event_base_active_by_fd(struct event_base *base, evutil_socket_t fd, short events)
{
	ec_base_active_by_fd(le_base(base), fd, events);
}

void event_base_active_by_signal(struct event_base *base, int sig)
{
	ec_base_active_by_signal(le_base(base), sig);
}
