/*
 * Making events active by hand.
 */
#include "le.h"

static LE_COLD void active_watched(struct event *ev, int res, short ncalls)
{
	if (!le_has_base(ev, "event_active"))
		return;
	ec_debug_assert_is_setup(le_ec(ev));
	ec_log(EC_LOG_DEBUG, "event_active: %p (fd %d), res %d, callback %p", (void *)ev, le_ec(ev)->fd, res,
	       (void *)(uintptr_t)le_ec(ev)->task.fn.event);
	ec_event_active(le_ec(ev), res, ncalls);
}

void event_active(struct event *ev, int res, short ncalls)
{
	if (!le_is_plain(ev))
		active_watched(ev, res, ncalls);
	else
		ec_event_active(le_ec(ev), res, ncalls);
}

void event_base_active_by_fd(struct event_base *base, evutil_socket_t fd, short events)
{
	ec_base_active_by_fd(le_base(base), fd, events);
}

void event_base_active_by_signal(struct event_base *base, int sig)
{
	ec_base_active_by_signal(le_base(base), sig);
}
