/*
 * Events become active: a batch takes each lock once, and wakes workers after it has released the locks.
 */
#ifndef EC_READY_H
#define EC_READY_H

#include <stdbool.h>
#include <stdint.h>

#include "observed.h"
#include "queue.h"

void ec_batch_end(struct ec_batch *b);

/*
 * Takes the color's RUNQ lock, until ec_batch_end or the call for another color. NULL: no memory; never for a color
 * with references.
 */
struct ec_color *ec_batch_color(struct ec_batch *b, uint32_t number, _Atomic(uint32_t) *hint);

/* Queues the task of `ev`, or adds to the results of a queued one. Under its SOURCE; takes RUNQ. */
void ec_event_ready(struct ec_batch *b, struct ec_event *ev, int res, int ncalls);

/* The bits of a task's word that are 0 in a plain task: color 0, priority 0, in no queue. */
static inline uint64_t ec_task_special(void)
{
	const struct ec_task all = {
		.flags = EC_IN_ACTIVE | EC_IN_FINALIZING,
		.pri = UINT8_MAX,
		.kind = (uint8_t)~(EC_KIND_PERSIST | EC_KIND_TIMED),
		.color = UINT32_MAX,
	};

	return ec_task_word(&all);
}

/* The same without the color. */
static inline uint64_t ec_task_special_but_color(void)
{
	const struct ec_task color = { .color = UINT32_MAX };

	return ec_task_special() & ~ec_task_word(&color);
}

static inline void ec_event_push_plain(struct ec_base *base, struct ec_list *list, struct ec_event *ev, int res)
{
	ev->res = (int16_t)res;
	ev->task.flags |= EC_IN_ACTIVE;
	ec_store_relaxed(&base->has_grown, true);
	ec_list_push_back(list, &ev->task.link);
}

/* `list`: of lane 0. Under RUNQ of worker 0. */
static inline void ec_event_ready_plain(struct ec_base *base, struct ec_list *list, struct ec_event *ev, int res)
{
	ec_counter_add(&base->zero.active_num, 1);
	ec_lane_begin(base, 0);
	ec_event_push_plain(base, list, ev, res);
}

/* The same for a base that is not locked, and runs no less urgent lane. */
static inline void ec_event_ready_plain_serial(struct ec_base *base, struct ec_list *list, struct ec_event *ev, int res)
{
	ec_serial_add(&base->zero.active_num, 1);
	ec_event_push_plain(base, list, ev, res);
}

/* The same of an observed base, if that is all that is special about `ev`; else false. */
static inline bool ec_event_ready_observed(struct ec_base *base, struct ec_event *ev, int res)
{
	if ((ec_task_word(&ev->task) & base->special_observed) != 0)
		return false;
	ec_event_ready_plain(base, &base->lanes[0].others, ev, res);
	ec_observed_ready(base, ev);
	return true;
}

/* The part of ec_event_ready_serial for an event that is not plain. */
void ec_event_ready_special(struct ec_base *base, struct ec_event *ev, int res, int ncalls);

/* As ec_event_ready, for a base that is not locked. */
static inline void ec_event_ready_serial(struct ec_base *base, struct ec_event *ev, int res, int ncalls)
{
	if (__builtin_expect((ec_task_word(&ev->task) & base->special) != 0, 0))
		ec_event_ready_special(base, ev, res, ncalls);
	else
		ec_event_ready_plain(base, &base->lanes[0].others, ev, res);
}

/* The same for a locked base with a single worker, under its RUNQ. */
void ec_event_ready_single(struct ec_base *base, struct ec_event *ev, int res, int ncalls);

/* `b` NULL: the base has one worker, and the caller holds it, or it is not locked. */
static inline void ec_event_ready_by(struct ec_base *base, struct ec_batch *b, struct ec_event *ev, int res, int ncalls)
{
	if (b == NULL)
		ec_event_ready_single(base, ev, res, ncalls);
	else
		ec_event_ready(b, ev, res, ncalls);
}

/* Queues a task of color 0 at worker 0, and counts it. Under its RUNQ, or the base is not locked. */
static inline void ec_task_activate(struct ec_base *base, struct ec_task *t)
{
	ec_counter_add(&base->zero.active_num, 1);	/* others read it */
	ec_store_relaxed(&base->has_grown, true);
	ec_lane_push(base, t);
}

#endif
