/*
 * The engine's data in an event, and the place of its registrations.
 *
 * An event has registrations (descriptor or signal, deadline) at one worker, whose SOURCE lock guards them. The worker
 * in the event changes only while it has no registrations, or under both SOURCE locks. The event may also be in the
 * queue of its color, under the RUNQ lock of the color's worker.
 *
 * An event that is neither pending nor active may get another base, also after its old base was freed. So the values
 * that it keeps are only hints then: the worker's number, the color's index (color.h), the worker that ran it last,
 * the common timeout. Each use checks them against the present base.
 */
#ifndef EC_EVENT_H
#define EC_EVENT_H

#include "base.h"
#include "ec.h"
#include "worker.h"

/* ec_event.state: under the SOURCE lock of the worker that it names */
enum {
	EC_EV_WORKER = 0x03ff,		/* the worker whose SOURCE lock guards the event */
	EC_EV_SHARED = 0x0400,		/* runs as a reader of its color */
	EC_EV_COMMON = 0x0800,		/* it is in the queue of a common timeout, or with EC_EV_FAR in a bucket */
	EC_EV_FAR = 0x2000,		/* it is in a bucket of far.h */
	EC_EV_KNOWN = 0x1000,		/* the poller accepted its descriptor since it was assigned */
};

/*
 * ec_event.runner: under the RUNQ lock of its color. So it cannot share a word with the state, which has another
 * lock.
 */
enum {
	EC_RUNNER_WORKER = 0x07ff,	/* the worker that ran it last, + 1 */
	EC_RUNNER_LATE = 0x0800,	/* it ran on another worker: the next report may be older than that run */
	EC_RUNNER_MANY = 0x1000,	/* it may run on several workers: its callback changed its color */
};

enum { EC_DESCRIPTOR = EC_READ | EC_WRITE | EC_CLOSED };	/* the kinds of readiness of a descriptor */

/* The public struct has no atomics, but other threads read these fields without the event's locks. */
static inline _Atomic(uint16_t) *ec_event_state(struct ec_event *ev)
{
	return (_Atomic(uint16_t) *)ec_event_state_field(ev);
}

static inline _Atomic(uint16_t) *ec_event_runner(struct ec_event *ev)
{
	return (_Atomic(uint16_t) *)ec_event_runner_field(ev);
}

static inline _Atomic(uint32_t) *ec_event_hint(struct ec_event *ev)
{
	return (_Atomic(uint32_t) *)ec_event_bound(ev);
}

/* Under the locks that guard those bits. */
static inline void ec_event_set_state(struct ec_event *ev, unsigned mask, unsigned bits)
{
	ec_store_relaxed(ec_event_state(ev), (uint16_t)((ec_load_relaxed(ec_event_state(ev)) & ~mask) | bits));
}

static inline unsigned ec_event_worker(struct ec_event *ev)
{
	return ec_load_relaxed(ec_event_state(ev)) & EC_EV_WORKER;
}

/* The worker whose SOURCE guards `ev`. If the base has no such worker, the number is from another base: worker 0. */
static inline struct ec_worker *ec_event_at(struct ec_base *base, struct ec_event *ev)
{
	unsigned i = ec_event_worker(ev);

	if (__builtin_expect(i == 0, 1))
		return &base->zero;
	return i < ec_workers_num(base) ? base->workers[i] : &base->zero;
}

/* Without its locks: the color may change meanwhile, so the caller checks it again under the locks. */
static inline uint32_t ec_event_color_now(const struct ec_event *ev)
{
	return __atomic_load_n(&ev->task.color, __ATOMIC_RELAXED);
}

/*
 * The worker that ran it last, or NULL. Runs of a base without colors are not recorded. One of them may still be in
 * progress when the base gets its first color. Under RUNQ of its color.
 */
static inline struct ec_worker *ec_event_ran_at(struct ec_base *base, struct ec_event *ev)
{
	unsigned i = ec_load_relaxed(ec_event_runner(ev)) & EC_RUNNER_WORKER;

	if (i == 0 || base->is_single)
		return &base->zero;
	return i <= ec_workers_num(base) ? base->workers[i - 1] : NULL;
}

static inline bool ec_event_is_running_at(const struct ec_worker *w, const struct ec_event *ev)
{
	return ec_load_acquire(&w->running_event) == ev;
}

static inline bool ec_event_is_pending(const struct ec_event *ev)
{
	return (ev->task.flags & (EC_IN_INSERTED | EC_IN_TIMEOUT)) != 0;
}

/* Under SOURCE of `w`: counts `by` more registrations there. */
static inline void ec_event_note_added(struct ec_base *base, struct ec_worker *w, int by)
{
	if (w == &base->zero && by < 0)
		ec_base_note_max(base);
	else if (w == &base->zero)
		ec_store_relaxed(&base->has_grown, true);
	ec_counter_add(&w->pending_num, (uint32_t)by);
}

static inline struct ec_event *ec_task_event(struct ec_task *t)
{
	return ec_container_of(t, struct ec_event, task);
}

/* The call of a ready event, as it is now. */
static inline struct ec_call ec_event_call(const struct ec_event *ev)
{
	return (struct ec_call){
		.fn = ev->task.fn.event,
		.arg = ev->task.arg,
		.fd = ev->fd,
		.res = ev->res,
		.kind = ev->task.kind,
	};
}

static inline bool ec_task_is_event(const struct ec_task *t)
{
	return t->kind <= EC_KIND_SIGNAL || t->kind == EC_KIND_EVENT_FINALIZE ||
	       t->kind == EC_KIND_EVENT_FINALIZE_FREE;
}

static inline bool ec_task_is_post(const struct ec_task *t)
{
	return t->kind == EC_KIND_POST;
}

#endif
