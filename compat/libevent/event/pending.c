/*
 * Making an event pending or active, and undoing it; callbacks without an event. The functions are
 * short, because programs call them most.
 */
#include "le.h"

static LE_COLD void log_add(struct event *ev, const struct timeval *tv)
{
	short events = le_ec(ev)->events;

	ec_log(EC_LOG_DEBUG, "event_add: event: %p (fd %d), %s %s %s %s call %p", (void *)ev, le_ec(ev)->fd,
	       (events & EV_READ) != 0 ? "EV_READ" : "", (events & EV_WRITE) != 0 ? "EV_WRITE" : "",
	       (events & EV_CLOSED) != 0 ? "EV_CLOSED" : "", tv != NULL ? "EV_TIMEOUT" : "",
	       (void *)(uintptr_t)le_ec(ev)->task.fn.event);
}

static LE_COLD int add_watched(struct event *ev, const struct timeval *tv)
{
	bool is_new;
	int r;

	if (!le_has_base(ev, "event_add"))
		return -1;
	ec_debug_assert_is_setup(le_ec(ev));
	if (ec_debug_on() && !ec_misuse_check_add(le_ec(ev)))
		return le_result(-EINVAL);
	is_new = ec_debug_note_add(le_ec(ev), tv != NULL);
	if (ec_log_debug_on())
		log_add(ev, tv);
	if ((ec_watched() & EC_WATCH_TOUCH) != 0)
		ec_trace_touch(le_ec(ev));
	r = ec_event_add(le_ec(ev), tv);
	if (r < 0 && is_new)
		ec_debug_note_pending(le_ec(ev), false);
	return le_result(r);
}

int event_add(struct event *ev, const struct timeval *tv)
{
	if (!le_is_plain(ev))
		return add_watched(ev, tv);
	return le_result(ec_event_add(le_ec(ev), tv));
}

/* The caller's name is the one in libevent's message. */
static LE_COLD int del_watched(struct event *ev, enum ec_del how)
{
	if (!le_has_base(ev, "event_del_"))
		return -1;
	le_note_del(ev);
	if ((ec_watched() & EC_WATCH_TOUCH) != 0)
		ec_trace_touch(le_ec(ev));
	if (ec_log_debug_on())
		ec_log(EC_LOG_DEBUG, "event_del: %p (fd %d), callback %p", (void *)ev, le_ec(ev)->fd,
		       (void *)(uintptr_t)le_ec(ev)->task.fn.event);
	return ec_event_del(le_ec(ev), how);
}

static inline int del(struct event *ev, enum ec_del how)
{
	if (!le_is_plain(ev))
		return del_watched(ev, how);
	return ec_event_del(le_ec(ev), how);
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

static LE_COLD int remove_timer_watched(struct event *ev)
{
	return le_has_base(ev, "event_remove_timer") ? ec_event_remove_timer(le_checked(ev)) : -1;
}

int event_remove_timer(struct event *ev)
{
	if (!le_is_plain(ev))
		return remove_timer_watched(ev);
	return ec_event_remove_timer(le_ec(ev));
}

static LE_COLD int pending_watched(const struct event *ev, short events, struct timeval *tv)
{
	return le_has_base(ev, "event_pending") ? ec_event_pending(le_checked(ev), events, tv) : 0;
}

int event_pending(const struct event *ev, short events, struct timeval *tv)
{
	if (!le_is_plain(ev))
		return pending_watched(ev, events, tv);
	return ec_event_pending(le_ec(ev), events, tv);
}

/* ---------------------------------------------------------------- active by hand */

/* The engine handles an event without a base, and debug mode. */
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

/* ---------------------------------------------------------------- one callback */

/* In debug mode. False: the base was freed. */
static LE_COLD bool check_once(const struct event_base *base, evutil_socket_t fd, short events)
{
	if (ec_debug_on() && !ec_misuse_check_base(le_base(base), "event_base_once"))
		return false;
	if ((events & (EV_READ | EV_WRITE | EV_CLOSED)) != 0)
		ec_debug_assert_socket_nonblocking(fd);
	return true;
}

int event_base_once(struct event_base *base, evutil_socket_t fd, short events, event_callback_fn fn, void *arg,
		    const struct timeval *tv)
{
	if (base == NULL)
		return -1;
	if (__builtin_expect(ec_watched() != 0, 0) && !check_once(base, fd, events))
		return le_result(-EINVAL);
	return le_result(ec_base_once(le_base(base), fd, events, fn, arg, tv));
}

/* ---------------------------------------------------------------- the end of an event */

/*
 * Another thread may be running the callback. After this, the callback is not called again, so the
 * finalizer may free what it used.
 */
static int finalize(struct event *ev, event_finalize_callback_fn fn, bool free_it)
{
	/* The name in libevent's message. */
	if (!le_has_base(ev, "event_finalize_impl_"))
		return -1;
	le_note_del(ev);
	return le_result(ec_event_finalize(le_ec(ev), (void (*)(struct ec_event *, void *))fn, free_it));
}

/* No flags are defined. */
int event_finalize(unsigned flags, struct event *ev, event_finalize_callback_fn fn)
{
	(void)flags;
	return finalize(ev, fn, false);
}

int event_free_finalize(unsigned flags, struct event *ev, event_finalize_callback_fn fn)
{
	(void)flags;
	return finalize(ev, fn, true);
}
