#include "runs.h"

#include "base.h"
#include "event.h"
#include "queue.h"
#include "ready.h"
#include "wait.h"
#include "worker.h"

/* Checks all workers. True: `ev` runs; *other: a worker that runs it and is not the caller's, or NULL. */
static __attribute__((noinline)) bool find(struct ec_base *base, const struct ec_event *ev, struct ec_worker **other)
{
	bool is_found = false;
	unsigned i;

	*other = NULL;
	for (i = 0; i < ec_workers_num(base); i++) {
		if (!ec_event_is_running_at(base->workers[i], ev))
			continue;
		is_found = true;
		if (!ec_worker_is_mine(base->workers[i]))
			*other = base->workers[i];
	}
	return is_found;
}

/* Usually a check of one worker is enough. */
static bool is_running_elsewhere(struct ec_base *base, struct ec_event *ev)
{
	unsigned runner = ec_load_relaxed(ec_event_runner(ev));
	struct ec_worker *w;

	if ((runner & EC_RUNNER_MANY) != 0) {
		if (!find(base, ev, &w))
			ec_store_relaxed(ec_event_runner(ev), (uint16_t)(runner & ~(unsigned)EC_RUNNER_MANY));
		return w != NULL;
	}
	w = ec_event_ran_at(base, ev);
	return w != NULL && ec_event_is_running_at(w, ev) && !ec_worker_is_mine(w);
}

/* May another thread have suspended a run? */
static bool may_be_suspended(struct ec_base *base)
{
	return ec_load_acquire(&base->zero.has_suspended) && !ec_worker_is_mine(&base->zero);
}

bool ec_runs_elsewhere(struct ec_base *base, struct ec_event *ev)
{
	return is_running_elsewhere(base, ev) || ((ev->events & EC_SIGNAL) != 0 && may_be_suspended(base));
}

/* Under RUNQ of `w`, or on its thread: ends the calls of the suspended runs of `ev`. */
static void suspended_end(struct ec_worker *w, const struct ec_event *ev)
{
	struct ec_suspended *s;

	for (s = ec_load_relaxed(&w->suspended); s != NULL; s = s->outer) {
		if (s->ev == ev)
			ec_store_relaxed(&s->is_calls_end, true);
	}
}

/* Ends the run of `w`, if it is still a run of `ev`, and the calls of those that are suspended. */
static void end_one(struct ec_worker *w, struct ec_event *ev, bool waits)
{
	struct ec_wait wait;
	bool is_running;

	ec_run_lock(w);
	is_running = ec_event_is_running_at(w, ev);
	if (is_running)
		ec_store_relaxed(&w->is_calls_end, true);
	suspended_end(w, ev);
	if (is_running && waits)
		ec_wait_prepare(&wait, w, ev);
	ec_run_unlock(w);
	if (is_running && waits)
		ec_wait_for(&wait);
}

void ec_runs_end(struct ec_base *base, struct ec_event *ev, bool waits)
{
	unsigned i;

	for (i = 0; i < ec_workers_num(base); i++) {
		if (!ec_worker_is_mine(base->workers[i]) &&
		    (ec_event_is_running_at(base->workers[i], ev) || (i == 0 && may_be_suspended(base))))
			end_one(base->workers[i], ev, waits);
	}
}

/* Without locks: finds the color of a run of `ev` on another worker than `w`. False: there is none. */
static bool color_of_other(struct ec_base *base, const struct ec_worker *w, struct ec_event *ev, uint32_t *ret)
{
	bool is_running = false;
	struct ec_worker *other;
	unsigned i;

	for (i = 0; i < ec_workers_num(base) && !is_running; i++) {
		other = base->workers[i];
		if (other == w || !ec_event_is_running_at(other, ev))
			continue;
		ec_run_lock(other);
		is_running = ec_event_is_running_at(other, ev) && other->current != NULL;
		if (is_running)
			*ret = ec_load_relaxed(&other->current->number);
		ec_run_unlock(other);
	}
	return is_running;
}

static __attribute__((noinline)) bool wait_for_other(struct ec_worker *w, struct ec_event *ev)
{
	struct ec_color *c;
	struct ec_batch b;
	uint32_t color;

	if (!color_of_other(w->base, w, ev, &color))
		return false;
	ec_batch_begin(&b, w->base);
	b.birth = EC_BIRTH_NEEDED;
	c = ec_batch_color(&b, color, ec_event_hint(ev));
	if (c == NULL) {
		/* That callback has ended meanwhile, and no memory is left for its color: color 0 needs none. */
		color = 0;
		c = ec_batch_color(&b, color, ec_event_hint(ev));
	}
	__atomic_store_n(&ev->task.color, color, __ATOMIC_RELAXED);
	ec_task_push(&b, c, &ev->task);
	ec_batch_end(&b);
	return true;
}

bool ec_runs_finalizer_waits(struct ec_worker *w, struct ec_event *ev)
{
	return (ec_load_relaxed(ec_event_runner(ev)) & EC_RUNNER_MANY) != 0 && wait_for_other(w, ev);
}

/* ---------------------------------------------------------------- the calls of a signal's event */

/* The worker whose callback of `ev` the caller is in, perhaps in a nested loop of another base; or NULL. */
static struct ec_worker *own_run(const struct ec_event *ev)
{
	struct ec_worker *w = ec_self();

	while (w != NULL && !ec_event_is_running_at(w, ev))
		w = w->outer;
	return w;
}

/* The same of all bases whose loops the calling thread is in. What they carry is the thread's own. */
static void own_suspended_end(const struct ec_event *ev)
{
	struct ec_suspended *s;
	struct ec_worker *w;

	for (w = ec_self(); w != NULL; w = w->outer) {
		for (s = ec_load_relaxed(&w->suspended); s != NULL; s = s->outer) {
			if (s->ev != ev)
				continue;
			ec_store_relaxed(&s->is_calls_end, true);
			s->calls_carried = 0;
		}
	}
}

void ec_runs_calls_end(struct ec_base *base, struct ec_event *ev)
{
	struct ec_worker *self = own_run(ev), *w = self;

	own_suspended_end(ev);
	if (ec_workers_num(base) == 1)
		suspended_end(&base->zero, ev);
	if (ec_workers_num(base) == 1 && w == NULL)
		w = &base->zero;
	if (w == NULL || !ec_event_is_running_at(w, ev))
		return;
	ec_store_relaxed(&w->is_calls_end, true);
	if (w == self)
		w->calls_carried = 0;
}

void ec_runs_anew(struct ec_worker *w, struct ec_event *ev)
{
	ec_store_relaxed(ec_event_runner(ev), EC_RUNNER_MANY);
	w->calls_carried = w->calls_left;
	ec_store_relaxed(&w->is_calls_end, true);
}

/* As ec_runs_calls_carried, in a callback on top of the one that assigned `ev`. */
static uint32_t suspended_carried(const struct ec_event *ev)
{
	struct ec_suspended *s = NULL;
	struct ec_worker *w;
	uint32_t num;

	for (w = ec_self(); w != NULL && s == NULL; w = w->outer) {
		s = w->base == ev->base ? ec_load_relaxed(&w->suspended) : NULL;
		while (s != NULL && (s->ev != ev || s->calls_signal != ev->fd))
			s = s->outer;
	}
	if (s == NULL)
		return 0;
	num = s->calls_carried;
	s->calls_carried = 0;
	return num;
}

uint32_t ec_runs_calls_carried(const struct ec_event *ev)
{
	struct ec_worker *w;
	uint32_t num;

	if ((ev->events & EC_SIGNAL) == 0)
		return 0;
	w = own_run(ev);
	if (w == NULL)
		return suspended_carried(ev);
	if (w->calls_carried == 0 || w->calls_signal != ev->fd || w->base != ev->base)
		return 0;
	num = w->calls_carried;
	w->calls_carried = w->calls_left = 0;
	return num;
}

bool ec_runs_in_other_color(struct ec_base *base, struct ec_event *ev, uint32_t *ret)
{
	uint32_t color;

	if (own_run(ev) != NULL || !color_of_other(base, NULL, ev, &color) || color == ec_event_color_now(ev))
		return false;
	*ret = color;
	return true;
}

/* ---------------------------------------------------------------- suspended runs */

void ec_runs_suspend(struct ec_worker *w, struct ec_suspended *s)
{
	ec_run_lock(w);
	*s = (struct ec_suspended){
		.outer = ec_load_relaxed(&w->suspended),
		.ev = ec_load_relaxed(&w->running_event),
		.calls_left = w->calls_left,
		.calls_carried = w->calls_carried,
		.calls_signal = w->calls_signal,
		.is_calls_end = ec_load_relaxed(&w->is_calls_end),
	};
	ec_store_relaxed(&w->suspended, s);
	ec_store_release(&w->has_suspended, true);	/* meets may_be_suspended */
	w->calls_left = w->calls_carried = 0;
	ec_run_unlock(w);
}

/* The event counts as running again, so w->is_calls_end may have been set for it since. */
void ec_runs_resume(struct ec_worker *w, struct ec_suspended *s)
{
	ec_run_lock(w);
	ec_store_relaxed(&w->suspended, s->outer);
	w->calls_left = s->calls_left;
	w->calls_carried = s->calls_carried;
	w->calls_signal = s->calls_signal;
	if (ec_load_relaxed(&s->is_calls_end))
		ec_store_relaxed(&w->is_calls_end, true);
	ec_run_unlock(w);
}
