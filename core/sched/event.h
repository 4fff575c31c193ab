/*
 * What the engine keeps in an event, and where its registrations are.
 *
 * An event has registrations (descriptor or signal, deadline) at one worker, whose SOURCE lock
 * guards them; and it is or is not in the queue of its color, under the RUNQ lock of the worker
 * that the color is at. Which worker the registrations are at changes only while there are
 * none, or under the locks of both.
 */
#ifndef EC_EVENT_H
#define EC_EVENT_H

#include "base.h"
#include "ec.h"
#include "task.h"
#include "worker.h"

enum { EC_DESCRIPTOR = EC_READ | EC_WRITE | EC_CLOSED };	/* what an event may wait for at one */

/* The public struct knows no atomics; other threads read these without its locks. */
static inline _Atomic(uint16_t) *ec_event_state(struct ec_event *ev)
{
	return (_Atomic(uint16_t) *)&ev->state;
}

static inline _Atomic(uint16_t) *ec_event_runner(struct ec_event *ev)
{
	return (_Atomic(uint16_t) *)&ev->runner;
}

static inline _Atomic(uint32_t) *ec_event_hint(struct ec_event *ev)
{
	return (_Atomic(uint32_t) *)&ev->bound;
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

static inline bool ec_event_is_pending(const struct ec_event *ev)
{
	return (ev->task.flags & (EC_IN_INSERTED | EC_IN_TIMEOUT)) != 0;
}

/* Under SOURCE of `w`: `by` more registrations are at it. */
static inline void ec_event_note_added(struct ec_base *base, struct ec_worker *w, int by)
{
	if (w == &base->zero && by < 0)
		ec_base_note_max(base);
	else if (w == &base->zero)
		ec_store_relaxed(&base->has_grown, true);
	ec_counter_add(&w->pending_num, (uint32_t)by);
}

#endif
