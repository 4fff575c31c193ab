/*
 * One callback without an event to keep.
 */
#include "le.h"

int event_base_once(struct event_base *base, evutil_socket_t fd, short events, event_callback_fn fn, void *arg,
		    const struct timeval *tv)
{
	if (base == NULL)
		return -1;
	return le_result(ec_base_once(le_base(base), fd, events, fn, arg, tv));
}
