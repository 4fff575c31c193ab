/*
 * The end of an event that another thread may be running: after event_finalize it will not
 * be called again, and what is told then may free what it used.
 */
#include "le.h"

/*
 * In debug mode the event is forgotten before the engine has it: its finalizer may run on
 * another thread at once, and the address be another event's.
 */
static int finalize(struct event *ev, event_finalize_callback_fn fn, bool free_it)
{
	int r;

	/* The name that libevent's own message has. */
	if (!le_has_base(ev, "event_finalize_impl_"))
		return -1;
	ec_debug_note_del(le_ec(ev));
	ec_debug_note_teardown(le_ec(ev));
	r = ec_event_finalize(le_ec(ev), (void (*)(struct ec_event *, void *))fn, free_it);
	if (r < 0)
		ec_debug_note_setup(le_ec(ev));
	return le_result(r);
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
