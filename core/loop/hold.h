/*
 * Holding an event: the locks that guard it, SOURCE of the worker where its registrations are, and RUNQ of its color.
 */
#ifndef EC_HOLD_H
#define EC_HOLD_H

#include <stdbool.h>

#include "sched/base.h"
#include "sched/queue.h"

/* Both locks are in `b` then; ec_batch_end releases them. NULL: no memory for the color; only SOURCE is held then. */
struct ec_color *ec_event_hold_color(struct ec_batch *b, struct ec_event *ev, enum ec_birth birth);

/* The same; an event without registrations goes to the home of its color first. */
struct ec_color *ec_event_hold_home(struct ec_batch *b, struct ec_event *ev);

/*
 * The same, but makes no color. NULL: nothing refers to the color of `ev`, so the event is neither pending nor active;
 * only SOURCE is held then.
 */
struct ec_color *ec_event_hold(struct ec_batch *b, struct ec_event *ev);

/*
 * Both locks of worker 0, if that is where `ev` and its color are: as color 0 without a move, and as all events of a
 * base with one worker. False: they are elsewhere, and no lock is held.
 */
bool ec_event_lock_zero(struct ec_base *base, struct ec_event *ev) EC_NO_ANALYSIS;

static inline void ec_event_unlock_zero(struct ec_base *base) EC_NO_ANALYSIS
{
	ec_run_unlock(&base->zero);
	ec_src_unlock(&base->zero);
}

/* Both biased locks the short way, by the owner: see bias.h. EC_FOREIGN: no lock is held. */
static inline enum ec_role ec_event_enter(struct ec_base *base) EC_NO_ANALYSIS
{
	enum ec_role role = ec_bias_role(&base->bias);

	if (role == EC_FOREIGN || !ec_bias_enter_both(&base->bias, &base->zero.src, &base->zero.run, role))
		return EC_FOREIGN;
	return role;
}

static inline void ec_event_leave(struct ec_base *base, enum ec_role role) EC_NO_ANALYSIS
{
	ec_bias_leave_both(&base->bias, &base->zero.src, &base->zero.run, role);
}

#endif
