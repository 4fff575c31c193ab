#include "ready.h"

#include "colors.h"
#include "event.h"
#include "holds.h"
#include "observed.h"
#include "observe/late.h"
#include "park.h"
#include "queue.h"
#include "slabs.h"

static void batch_unlock(struct ec_batch *b)
{
	if (b->locked != NULL)
		ec_run_unlock(b->locked);
	b->locked = NULL;
}

static void batch_wake(struct ec_batch *b)
{
	struct ec_worker *wake = b->wake;
	struct ec_worker *surplus = b->surplus;

	b->wake = NULL;
	b->surplus = NULL;
	if (wake != NULL)
		ec_park_wake(wake);
	if (surplus != NULL)
		ec_park_wake_thief(surplus);
}

/* Releases `src`, too, unless it is NULL. */
static void batch_let_go(struct ec_batch *b, struct ec_worker *src)
{
	const bool wakes = b->wake != NULL || b->surplus != NULL;
	const bool is_held = wakes && ec_base_is_foreign(b->base);

	if (is_held)
		ec_base_hold(b->base);
	batch_unlock(b);
	if (src != NULL)
		ec_src_unlock(src);
	if (wakes)
		batch_wake(b);
	if (is_held)
		ec_base_release(b->base);
}

void ec_batch_end(struct ec_batch *b)
{
	struct ec_worker *src = b->src;

	b->src = NULL;
	batch_let_go(b, src);
}

struct ec_color *ec_batch_color(struct ec_batch *b, uint32_t number, _Atomic(uint32_t) *hint)
{
	struct ec_color *c;
	uint32_t index;

	if ((number == 0 || b->base->is_single) && b->locked == &b->base->zero)
		return &b->base->color0;
	index = ec_load_relaxed(hint);
	if (b->locked != NULL && number != 0 && index != 0) {
		c = ec_color_hinted(b->base, index);
		if (c != NULL && ec_color_is(c, b->locked, number))
			return c;
	}
	batch_let_go(b, NULL);
	c = ec_color_lock_near(b->base, number, hint, b->near, b->birth);
	if (c != NULL)
		b->locked = ec_load_relaxed(&c->worker);
	return c;
}

/* It is less urgent than any priority, or the base is observed. */
static __attribute__((noinline)) void ready_unusual(struct ec_base *base, struct ec_event *ev)
{
	if (ev->task.pri >= base->lanes_num)
		ev->task.pri = (uint8_t)(base->lanes_num - 1);
	if (ec_is_observed(base))
		ec_observed_ready(base, ev);
}

/*
 * Stores the results and the number of calls. The base may have fewer priorities than when the event was assigned. As
 * in libevent, the number of calls has 16 bits.
 */
static inline void ready_note(struct ec_base *base, struct ec_event *ev, int res, int ncalls)
{
	ev->res = (int16_t)res;
	if (__builtin_expect(ev->task.pri >= ec_load_relaxed(&base->events_pri_end), 0))
		ready_unusual(base, ev);
	if ((ev->events & EC_SIGNAL) != 0)
		ev->of.sig.due = ncalls < 0 ? (uint16_t)ncalls : (uint32_t)ncalls;
}

void ec_event_ready(struct ec_batch *b, struct ec_event *ev, int res, int ncalls)
{
	struct ec_color *c;

	c = ec_batch_color(b, ev->task.color, ec_event_hint(ev));
	if (c == NULL) {
		ec_late_log(EC_LOG_WARN, "%s: no memory for color %u", __func__, ev->task.color);
		return;
	}
	/* Read the flags only now: the worker of the color writes them under RUNQ. */
	if ((ev->task.flags & EC_IN_FINALIZING) != 0)
		return;
	if ((ev->task.flags & EC_IN_ACTIVE) != 0) {
		ev->res = (int16_t)(ev->res | res);
		if (ev->task.pri < b->caught_pri_end && (ev->events & EC_SIGNAL) != 0)
			ev->of.sig.due += (uint32_t)ncalls;
		return;
	}
	ready_note(b->base, ev, res, ncalls);
	ec_task_push(b, c, &ev->task);
}

/* False: the event need not be queued. */
static inline bool ready_begin(struct ec_base *base, struct ec_event *ev, int res, int ncalls)
{
	if ((ev->task.flags & EC_IN_FINALIZING) != 0)
		return false;
	if ((ev->task.flags & EC_IN_ACTIVE) != 0) {
		ev->res = (int16_t)(ev->res | res);
		return false;
	}
	ready_note(base, ev, res, ncalls);
	ev->task.flags |= EC_IN_ACTIVE;
	return true;
}

void ec_base_raise_maxima(struct ec_base *base, int active, int added)
{
	ec_base_raise_max(base, &base->max_active, active);
	ec_base_raise_max(base, &base->max_added, added);
}

void ec_event_ready_special(struct ec_base *base, struct ec_event *ev, int res, int ncalls)
{
	if (ec_event_ready_observed(base, ev, res))
		return;
	if (!ready_begin(base, ev, res, ncalls))
		return;
	ec_serial_add(&base->zero.active_num, 1);
	ec_store_relaxed(&base->has_grown, true);
	ec_lane_push(base, &ev->task);
}

void ec_event_ready_single(struct ec_base *base, struct ec_event *ev, int res, int ncalls)
{
	if (__builtin_expect((ec_task_word(&ev->task) & base->special) == 0, 1)) {
		ec_event_ready_plain(base, &base->lanes[0].others, ev, res);
		return;
	}
	if (ec_event_ready_observed(base, ev, res))
		return;
	if (ready_begin(base, ev, res, ncalls))
		ec_task_activate(base, &ev->task);
}
