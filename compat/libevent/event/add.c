/*
 * Adding, deleting, asking: thin, because these are what programs call most.
 */
#include "le.h"

static LE_COLD int add_watched(struct event *ev, const struct timeval *tv)
{
	short events;

	if (!le_has_base(ev, "event_add"))
		return -1;
	ec_debug_assert_is_setup(le_ec(ev));
	ec_debug_note_add(le_ec(ev));
	events = le_ec(ev)->events;
	ec_log(EC_LOG_DEBUG, "event_add: event: %p (fd %d), %s %s %s %s call %p", (void *)ev, le_ec(ev)->fd,
	       (events & EV_READ) != 0 ? "EV_READ" : "", (events & EV_WRITE) != 0 ? "EV_WRITE" : "",
	       (events & EV_CLOSED) != 0 ? "EV_CLOSED" : "", tv != NULL ? "EV_TIMEOUT" : "",
	       (void *)(uintptr_t)le_ec(ev)->task.fn.event);
	return le_result(ec_event_add(le_ec(ev), tv));
}

int event_add(struct event *ev, const struct timeval *tv)
{
	if (!le_is_plain(ev))
		return add_watched(ev, tv);
	return le_result(ec_event_add(le_ec(ev), tv));
}

/* The name that libevent's own message has. */
static LE_COLD int del_watched(struct event *ev, enum ec_del how)
{
	if (!le_has_base(ev, "event_del_"))
		return -1;
	le_note_del(ev);
	ec_log(EC_LOG_DEBUG, "event_del: %p (fd %d), callback %p", (void *)ev, le_ec(ev)->fd,
	       (void *)(uintptr_t)le_ec(ev)->task.fn.event);
	return le_result(ec_event_del(le_ec(ev), how));
}

static inline int del(struct event *ev, enum ec_del how)
{
	if (!le_is_plain(ev))
		return del_watched(ev, how);
	return le_result(ec_event_del(le_ec(ev), how));
}

int event_del(struct event *ev)
{
	return del(ev, EC_DEL_AUTOBLOCK);
}

int event_del_block(struct event *ev)
{
	return del(ev, EC_DEL_BLOCK);
}

int event_del_noblock(struct event *ev)
{
	return del(ev, EC_DEL_NOBLOCK);
}

int event_remove_timer(struct event *ev)
{
	if (!le_is_plain(ev) && !le_has_base(ev, __func__))
		return -1;
	return le_result(ec_event_remove_timer(le_checked(ev)));
}

int event_pending(const struct event *ev, short events, struct timeval *tv)
{
	if (!le_is_plain(ev) && !le_has_base(ev, __func__))
		return 0;
	return ec_event_pending(le_checked(ev), events, tv);
}
