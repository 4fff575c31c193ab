/*
 * An event's deadline: a timer of its worker, a place in a bucket (far.h), or a place in the queue of a common timeout.
 * A bucket has one timer for all its events, and so has a common timeout.
 */
#ifndef EC_DEADLINE_H
#define EC_DEADLINE_H

#include <stdint.h>
#include <sys/time.h>

#include "common.h"
#include "sched/base.h"
#include "sched/event.h"
#include "sched/worker.h"
#include "timer.h"

/* The common timeout that `tv` is the handle of, or NULL. */
struct ec_common *ec_common_of(struct ec_base *base, const struct timeval *tv);

/* An event stores its common timeout as a number; 0: none. The reverse: NULL if it belongs to another base. */
static inline uint64_t ec_common_number(const struct ec_common *common)
{
	return __builtin_expect(common == NULL, 1) ? 0 : ec_common_index(&common->tv) + 1;
}

struct ec_common *ec_common_numbered(struct ec_base *base, uint64_t number, int64_t duration_ns);

/* The parts of ec_deadline_set for an event that is or shall be in a queue, and for a worker that sleeps. */
int ec_deadline_set_common(struct ec_worker *w, struct ec_event *ev, struct ec_common *common, int64_t at_ns);
void ec_deadline_wake(struct ec_worker *w, int64_t at_ns);

/*
 * Arms or rearms for `at_ns`; -ENOMEM changes nothing. Wakes the worker if it would sleep longer. Under SOURCE of
 * `w`, the worker of `ev`.
 */
static inline int ec_deadline_set(struct ec_worker *w, struct ec_event *ev, struct ec_common *common, int64_t at_ns)
{
	int r;

	/* Timers have no sign. A negative time is in the past, and so is 0. */
	if (at_ns < 0)
		at_ns = 0;
	if (common != NULL || (ec_load_relaxed(ec_event_state(ev)) & EC_EV_COMMON) != 0)
		r = ec_deadline_set_common(w, ev, common, at_ns);
	else
		r = ec_timers_arm(&w->timers, &ev->timer.slot, (uint64_t)at_ns, ev);
	if (r < 0)
		return r;
	ev->deadline_ns = at_ns;
	if (w->is_waiting)
		ec_deadline_wake(w, at_ns);
	return 0;
}

/* The events for which the timer of `owner` stands; NULL: `owner` is an event. */
struct ec_list *ec_deadline_queue(void *owner);

/* Under SOURCE of `w`: calls `fn` for each event that has a deadline there. It adds and removes none. */
void ec_deadlines_visit(struct ec_worker *w, void (*fn)(struct ec_event *ev, void *arg), void *arg);

/* Under SOURCE of the worker where `ev` is. */
void ec_deadline_clear(struct ec_base *base, struct ec_event *ev);

/* Under SOURCE of `w`: activate the events whose deadline has come. */
void ec_events_expire(struct ec_worker *w, int64_t now_ns, struct ec_batch *b);

/* The same of a base that is not locked, or that is held (zero.h). */
void ec_events_expire_held(struct ec_worker *w, int64_t now_ns);

/* Under SOURCE and the lock that `b` holds: the deadline of `ev` has come. */
void ec_event_expired(struct ec_base *base, struct ec_event *ev, struct ec_batch *b);

#endif
