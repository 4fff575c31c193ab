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
bool ec_runs_elsewhere(struct ec_base *base, struct ec_event *ev)
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

/* Ends the run of `w`, if it is still a run of `ev`. */
static void end_one(struct ec_worker *w, struct ec_event *ev, bool waits)
{
	struct ec_wait wait;
	bool is_running;

	ec_run_lock(w);
	is_running = ec_event_is_running_at(w, ev);
	if (is_running)
		ec_store_relaxed(&w->is_calls_end, true);
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
		if (!ec_worker_is_mine(base->workers[i]) && ec_event_is_running_at(base->workers[i], ev))
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

void ec_runs_calls_end(struct ec_base *base, struct ec_event *ev)
{
	struct ec_worker *self = own_run(ev), *w = self;

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

uint32_t ec_runs_calls_carried(const struct ec_event *ev)
{
	struct ec_worker *w;
	uint32_t num;

	if ((ev->events & EC_SIGNAL) == 0)
		return 0;
	w = own_run(ev);
	if (w == NULL || w->calls_carried == 0 || w->calls_signal != ev->fd || w->base != ev->base)
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
