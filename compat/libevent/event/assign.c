/*
 * Assigning an event, and reading its fields.
 */
#include <event2/event.h>
#include <event2/event_compat.h>

#include "le.h"

void *event_self_cbarg(void)
{
	return (void *)(uintptr_t)&ec_self_arg;
}

/*
 * In debug mode: an added event must not be assigned, and a descriptor must be nonblocking. False: the base was freed.
 */
static LE_COLD bool check_assigning(const struct event *ev, const struct event_base *base, evutil_socket_t fd,
				    short events)
{
	if (ec_debug_on() && !ec_misuse_check_base(le_base(base), "event_assign"))
		return false;
	ec_debug_assert_not_added(le_ec(ev));
	if ((events & EV_SIGNAL) == 0)
		ec_debug_assert_socket_nonblocking(fd);
	return true;
}

static LE_COLD void note_assigned(const struct event *ev, bool is_ours)
{
	ec_debug_note_setup(le_ec(ev));
	if (is_ours && ec_debug_on())
		ec_debug_note_ours(le_ec(ev));
}

typedef int (*init_fn)(struct ec_event *ev, struct ec_base *base, int fd, short events, ec_event_fn fn, void *arg);

static inline __attribute__((always_inline)) int assign(struct event *ev, struct event_base *base, evutil_socket_t fd,
							short events, event_callback_fn fn, void *arg, init_fn init)
{
	bool is_watched = __builtin_expect(ec_watched() != 0, 0);

	if (is_watched && !check_assigning(ev, base, fd, events))
		return le_result(-EINVAL);
	if (arg == &ec_self_arg)
		arg = ev;
	if (init(le_ec(ev), le_base_or_current(base), fd, events, fn, arg) < 0) {
		ec_log(EC_LOG_WARN, "event_assign: EV_SIGNAL is not compatible with EV_READ, EV_WRITE or EV_CLOSED");
		return -1;
	}
	if (is_watched)
		note_assigned(ev, init == ec_event_init);
	return 0;
}

int event_assign(struct event *ev, struct event_base *base, evutil_socket_t fd, short events, event_callback_fn fn,
		 void *arg)
{
	return assign(ev, base, fd, events, fn, arg, ec_event_make);
}

int le_event_assign(struct event *ev, struct event_base *base, evutil_socket_t fd, short events, event_callback_fn fn,
		    void *arg)
{
	return assign(ev, base, fd, events, fn, arg, ec_event_init);
}

/* event_set cannot report an error; the program has got a warning. */
void event_set(struct event *ev, evutil_socket_t fd, short events, void (*fn)(evutil_socket_t, short, void *),
	       void *arg)
{
	(void)event_assign(ev, NULL, fd, events, fn, arg);
}

int event_base_set(struct event_base *base, struct event *ev)
{
	return ec_event_set_base_checked(le_base(base), le_ec(ev));
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

void event_enable_debug_mode(void)
{
	ec_debug_enable();
}

/*
 * No header declares this function, but stock exports it. A program that enables debug mode again
 * must do so before it makes events and bases.
 */
void event_disable_debug_mode(void);

void event_disable_debug_mode(void)
{
	ec_debug_shutdown();
}

/* ---------------------------------------------------------------- asking */

int event_initialized(const struct event *ev)
{
	return (le_ec(ev)->task.flags & EC_IN_INIT) != 0;
}

int event_priority_set(struct event *ev, int pri)
{
	return ec_event_set_pri_checked(le_ec(ev), pri);
}

int event_get_priority(const struct event *ev)
{
	return le_checked(ev)->task.pri;
}

evutil_socket_t event_get_fd(const struct event *ev)
{
	return le_checked(ev)->fd;
}

struct event_base *event_get_base(const struct event *ev)
{
	return le_event_base(le_checked(ev)->base);
}

short event_get_events(const struct event *ev)
{
	return le_checked(ev)->events;
}

event_callback_fn event_get_callback(const struct event *ev)
{
	return le_checked(ev)->task.fn.event;
}

void *event_get_callback_arg(const struct event *ev)
{
	return le_checked(ev)->task.arg;
}

void event_get_assignment(const struct event *ev, struct event_base **base, evutil_socket_t *fd, short *events,
			  event_callback_fn *fn, void **arg)
{
	const struct ec_event *e = le_checked(ev);

	if (base != NULL)
		*base = le_event_base(e->base);
	if (fd != NULL)
		*fd = e->fd;
	if (events != NULL)
		*events = e->events;
	if (fn != NULL)
		*fn = e->task.fn.event;
	if (arg != NULL)
		*arg = e->task.arg;
}

size_t event_get_struct_event_size(void)
{
	return sizeof(struct event);
}
