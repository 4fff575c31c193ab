/*
 * What an event is: assigning one, asking it back.
 */
#include <errno.h>

#include <event2/event.h>
#include <event2/event_compat.h>

#include "le.h"

/* What `arg` is to be when the program wants the event itself; its address says so. */
static const char self_cbarg;

void *event_self_cbarg(void)
{
	return (void *)(uintptr_t)&self_cbarg;
}

int event_assign(struct event *ev, struct event_base *base, evutil_socket_t fd, short events, event_callback_fn fn, void *arg)
{
	struct ec_base *b = le_base_or_current(base);

	if (arg == &self_cbarg)
		arg = ev;
	if (ec_debug_on())
		ec_debug_assert_not_added(le_ec(ev));
	if ((events & EV_SIGNAL) == 0)
		ec_debug_assert_socket_nonblocking(fd);
	if (ec_event_init(le_ec(ev), b, fd, events, fn, arg) < 0) {
		ec_log(EC_LOG_WARN, "%s: EV_SIGNAL is not compatible with EV_READ, EV_WRITE or EV_CLOSED", __func__);
		return -1;
	}
	ec_debug_note_setup(le_ec(ev));
	return 0;
}

void event_set(struct event *ev, evutil_socket_t fd, short events, void (*fn)(evutil_socket_t, short, void *), void *arg)
{
	(void)event_assign(ev, NULL, fd, events, fn, arg);
}

int event_base_set(struct event_base *base, struct event *ev)
{
	if (ec_debug_on())
		ec_debug_assert_is_setup(le_ec(ev));
	return le_result(ec_event_set_base(le_ec(ev), le_base(base)));
}

struct event *event_new(struct event_base *base, evutil_socket_t fd, short events, event_callback_fn fn, void *arg)
{
	struct event *ev = ec_malloc(sizeof(*ev));

	if (ev == NULL)
		return NULL;
	if (event_assign(ev, base, fd, events, fn, arg) < 0) {
		ec_free(ev);
		return NULL;
	}
	return ev;
}

void event_free(struct event *ev)
{
	(void)event_del(ev);
	ec_debug_note_teardown(le_ec(ev));
	ec_free(ev);
}

void event_debug_unassign(struct event *ev)
{
	ec_debug_assert_not_added(le_ec(ev));
	ec_debug_note_teardown(le_ec(ev));
	le_ec(ev)->task.flags &= ~EC_IN_INIT;
}

int event_initialized(const struct event *ev)
{
	return (le_ec(ev)->task.flags & EC_IN_INIT) != 0;
}

int event_priority_set(struct event *ev, int pri)
{
	if (ec_debug_on())
		ec_debug_assert_is_setup(le_ec(ev));
	return le_result(ec_event_set_pri(le_ec(ev), pri));
}

int event_get_priority(const struct event *ev)
{
	if (ec_debug_on())
		ec_debug_assert_is_setup(le_ec(ev));
	return le_ec(ev)->task.pri;
}

evutil_socket_t event_get_fd(const struct event *ev)
{
	if (ec_debug_on())
		ec_debug_assert_is_setup(le_ec(ev));
	return le_ec(ev)->fd;
}

struct event_base *event_get_base(const struct event *ev)
{
	if (ec_debug_on())
		ec_debug_assert_is_setup(le_ec(ev));
	return le_event_base(le_ec(ev)->base);
}

short event_get_events(const struct event *ev)
{
	if (ec_debug_on())
		ec_debug_assert_is_setup(le_ec(ev));
	return le_ec(ev)->events;
}

event_callback_fn event_get_callback(const struct event *ev)
{
	if (ec_debug_on())
		ec_debug_assert_is_setup(le_ec(ev));
	return le_ec(ev)->task.fn.event;
}

void *event_get_callback_arg(const struct event *ev)
{
	if (ec_debug_on())
		ec_debug_assert_is_setup(le_ec(ev));
	return le_ec(ev)->task.arg;
}

void event_get_assignment(const struct event *ev, struct event_base **base, evutil_socket_t *fd, short *events,
			  event_callback_fn *fn, void **arg)
{
	if (ec_debug_on())
		ec_debug_assert_is_setup(le_ec(ev));
	if (base != NULL)
		*base = le_event_base(le_ec(ev)->base);
	if (fd != NULL)
		*fd = le_ec(ev)->fd;
	if (events != NULL)
		*events = le_ec(ev)->events;
	if (fn != NULL)
		*fn = le_ec(ev)->task.fn.event;
	if (arg != NULL)
		*arg = le_ec(ev)->task.arg;
}

size_t event_get_struct_event_size(void)
{
	return sizeof(struct event);
}

void event_enable_debug_mode(void)
{
	ec_debug_enable();
}
