/*
 * The libevent face. struct event is struct ec_event (abi/layout.c asserts it), and struct
 * event_base is struct ec_base. The engine's errors become -1 and errno here. API.md has the
 * conventions.
 */
#ifndef LE_H
#define LE_H

#include <errno.h>

#include <event2/event.h>
#include <event2/event_struct.h>

#include "abi/private.h"
#include "core/ec.h"

#define LE_COLD __attribute__((noinline, cold))

static inline struct ec_event *le_ec(const struct event *ev)
{
	return (struct ec_event *)(void *)(uintptr_t)ev;
}

static inline struct event *le_event(struct ec_event *ev)
{
	return (struct event *)(void *)ev;
}

static inline struct ec_base *le_base(const struct event_base *base)
{
	return (struct ec_base *)(void *)(uintptr_t)base;
}

static inline struct event_base *le_event_base(struct ec_base *base)
{
	return (struct event_base *)(void *)base;
}

/* `base`, or the base that event_init made last if it is NULL. */
static inline struct ec_base *le_base_or_current(const struct event_base *base)
{
	return base != NULL ? le_base(base) : ec_current_base();
}

static inline int le_result(int r)
{
	if (__builtin_expect(r < 0, 0)) {
		errno = -r;
		return -1;
	}
	return r;
}

/* event_assign, for the library's own events: they inherit no color. */
int le_event_assign(struct event *ev, struct event_base *base, evutil_socket_t fd, short events, event_callback_fn fn,
		    void *arg);

/*
 * True: the call needs no checks and no messages, because `ev` has a base, and debug mode and debug
 * messages are off. Frequent functions check this first. If it is false, they call a cold function.
 */
static inline bool le_is_plain(const struct event *ev)
{
	return __builtin_expect(le_ec(ev)->base != NULL && (ec_watched() & ~(unsigned)EC_WATCH_CALLS) == 0, 1);
}

/* Neither pending nor active. This does not access the event's base, which may be freed. */
static inline bool le_is_idle(const struct event *ev)
{
	return le_ec(ev)->task.flags == EC_IN_INIT;
}

/* False, with a warning: the program forgot event_base_set(). */
static inline bool le_has_base(const struct event *ev, const char *caller)
{
	if (le_ec(ev)->base != NULL)
		return true;
	ec_log(EC_LOG_WARN, "%s: event has no event_base set.", caller);
	return false;
}

/* In debug mode, an event that was not assigned ends the program here. */
static inline struct ec_event *le_checked(const struct event *ev)
{
	if (__builtin_expect(ec_watched() != 0, 0))
		ec_debug_assert_is_setup(le_ec(ev));
	return le_ec(ev);
}

/*
 * In debug mode, note the deletion. Debug mode has forgotten an event by the time its finalizer
 * runs, so the finalizer may still delete or free it.
 */
static inline void le_note_del(const struct event *ev)
{
	if (ec_debug_on() && (le_ec(ev)->task.flags & EC_IN_FINALIZING) == 0)
		ec_debug_note_del(le_ec(ev));
}

#endif
