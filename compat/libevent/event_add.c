/*
 * Adding, deleting, asking: thin, because these are what programs call most.
 */
#include <errno.h>

#include "le.h"

/* NULL, with a warning, where the program forgot event_base_set(). */
static struct ec_base *base_of(const struct event *ev, const char *caller)
{
	struct ec_base *base = le_ec(ev)->base;

	if (__builtin_expect(base == NULL, 0))
		ec_log(EC_LOG_WARN, "%s: event has no event_base set.", caller);
	return base;
}

int event_add(struct event *ev, const struct timeval *tv)
{
	int r;

	if (base_of(ev, __func__) == NULL)
		return -1;
	if (ec_debug_on())
		ec_debug_assert_is_setup(le_ec(ev));
	r = ec_event_add(le_ec(ev), tv);
	if (__builtin_expect(r < 0, 0)) {
		errno = -r;
		return -1;
	}
	if (ec_debug_on())
		ec_debug_note_add(le_ec(ev));
	return 0;
}

/* It leaves the table of debug mode before its finalizer runs, which may still delete or free it. */
static bool is_finalizing(const struct event *ev)
{
	return (le_ec(ev)->task.flags & EC_IN_FINALIZING) != 0;
}

static int del(struct event *ev, enum ec_del how)
{
	if (base_of(ev, "event_del_") == NULL)
		return -1;
	if (ec_debug_on() && !is_finalizing(ev)) {
		ec_debug_assert_is_setup(le_ec(ev));
		ec_debug_note_del(le_ec(ev));
	}
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
	if (base_of(ev, __func__) == NULL)
		return -1;
	if (ec_debug_on())
		ec_debug_assert_is_setup(le_ec(ev));
	return le_result(ec_event_remove_timer(le_ec(ev)));
}

int event_pending(const struct event *ev, short events, struct timeval *tv)
{
	if (base_of(ev, __func__) == NULL)
		return 0;
	if (ec_debug_on())
		ec_debug_assert_is_setup(le_ec(ev));
	return ec_event_pending(le_ec(ev), events, tv);
}

void event_active(struct event *ev, int res, short ncalls)
{
	if (base_of(ev, __func__) == NULL)
		return;
	if (ec_debug_on())
		ec_debug_assert_is_setup(le_ec(ev));
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

/* ---------------------------------------------------------------- finalizing, once */

static int finalize(struct event *ev, event_finalize_callback_fn fn, bool free_it)
{
	int r;

	if (base_of(ev, "event_finalize") == NULL)
		return -1;
	if (ec_debug_on() && !is_finalizing(ev))
		ec_debug_assert_is_setup(le_ec(ev));
	r = ec_event_finalize(le_ec(ev), (void (*)(struct ec_event *, void *))fn, free_it);
	return le_result(r);
}

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

int event_base_once(struct event_base *base, evutil_socket_t fd, short events, event_callback_fn fn, void *arg,
		    const struct timeval *tv)
{
	if (base == NULL)
		return -1;
	return le_result(ec_base_once(le_base(base), fd, events, fn, arg, tv));
}
