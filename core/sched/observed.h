/*
 * The scheduler's side of observation (core/observe): the paths of a base that is observed.
 *
 * A base that is not observed pays nothing for a callback. What is observed takes paths that are there for other
 * reasons, and are taken by values that are compared anyway:
 *
 *	worker.run_popped	is observing.c's, instead of ec_task_run_popped()
 *	base.lane_limits	a lane has a limit, so it attends to each callback: lanes.c, single.c
 *	base.special, fast_path, worker.plain_input
 *				no event is plain: each goes by ready_note(), which notes the time
 *	base.events_pri_end	the same, for all other events
 *	base.posts_pri_end	a post is checked, and no ring is open: post.c
 *
 * io/observing.h switches them.
 */
#ifndef EC_OBSERVED_H
#define EC_OBSERVED_H

#include "base.h"
#include "ec.h"
#include "observe/probe.h"
#include "worker.h"

/* Under RUNQ: `ev` becomes active. */
void ec_observed_ready(struct ec_base *base, struct ec_event *ev);

/* `t` is about to be queued by `w`, or by another thread (NULL). */
void ec_observed_post(struct ec_base *base, struct ec_worker *w, struct ec_task *t);

/* Does any worker have a probe? Then posts and events note their times. any thread */
static inline bool ec_is_observed(struct ec_base *base)
{
	return ec_load_acquire(&base->is_observed);		/* meets base_switch: `observer` is set */
}

/* The calling thread is that of `w`. */
static inline void ec_observed_note(struct ec_worker *w, enum ec_probe_what what, uint32_t color, uint64_t value)
{
	if (__builtin_expect(w->probe != NULL, 0))
		ec_probe_note(w->probe, what, color, value);
}

#endif
