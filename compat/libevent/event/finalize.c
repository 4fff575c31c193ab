/*
 * The end of an event that another thread may be running: after event_finalize it will not
 * be called again, and what is told then may free what it used.
 */
#include "le.h"

static int finalize(struct event *ev, event_finalize_callback_fn fn, bool free_it)
{
	/* The name that libevent's own message has. */
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
