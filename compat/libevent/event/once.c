/*
 * One callback without an event to keep.
 */
#include "le.h"

int event_base_once(struct event_base *base, evutil_socket_t fd, short events, event_callback_fn fn, void *arg,
		    const struct timeval *tv)
{
	if (base == NULL)
		return -1;
	if (__builtin_expect(ec_watched() != 0, 0) && (events & (EV_READ | EV_WRITE | EV_CLOSED)) != 0)
		ec_debug_assert_socket_nonblocking(fd);
	return le_result(ec_base_once(le_base(base), fd, events, fn, arg, tv));
}
