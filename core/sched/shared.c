#include "shared.h"

#include "colors.h"
#include "event.h"
#include "os/clock.h"
#include "park.h"
#include "queue.h"
#include "quiet.h"
#include "refs.h"
#include "task.h"

/* Under RUNQ of its color. An event does not overlap itself. */
static bool is_running_anywhere(struct ec_base *base, const struct ec_event *ev)
{
	unsigned i;

	for (i = 0; i < ec_workers_num(base); i++) {
		if (ec_load_relaxed(&base->workers[i]->running_event) == ev)
			return true;
	}
	return false;
}

/* Lock the worker of `c`, which has a reference of the caller. */
static struct ec_worker *lock_color(struct ec_color *c)
{
	struct ec_worker *w;

	for (;;) {
		w = ec_load_relaxed(&c->worker);
		ec_run_lock(w);
		if (ec_load_acquire(&c->worker) == w)			/* meets ec_color_take */
			return w;
		ec_run_unlock(w);
	}
}

static void close_run(struct ec_worker *w, struct ec_color *c)
{
	struct ec_base *base = w->base;
	struct ec_worker *at, *wake = NULL;
	struct ec_ran ran;

	at = lock_color(c);
	ran = ec_run_ended(w);
	w->is_reader = false;
	c->callbacks++;
	c->last_num -= c->last_num != 0;
	c->readers--;
	if (c->state == EC_COLOR_WAITING) {
		ec_color_enqueue(at, c);
		if (at->asleep) {
			at->asleep = false;
			wake = at;
		}
	}
	ec_color_put(base, c);
	ec_run_unlock(at);

	ec_run_lock(w);
	w->current = NULL;
	ec_counter_add(&w->active_num, UINT32_MAX);
	ec_run_unlock(w);
	ec_store_relaxed(&w->busy_since, 0);
	w->ran_until = ec_clock_ticks();
	ec_counter_add(&w->stats.busy_ns, ec_clock_ticks_to_ns(w->ran_until - w->batch_start));
	if (wake != NULL)
		ec_park_wake(wake);
	ec_run_notify(w, ran);
	ec_quiet_note_run(base);
}

void ec_shared_run(struct ec_worker *w, struct ec_color *c, uint64_t now)
{
	struct ec_base *base = w->base;
	struct ec_task *t = ec_color_due(base, c);
	struct ec_worker *src;

	if (!ec_task_lock_source(w, c, t, 0, &src))
		return;
	ec_runq_remove(&w->runq, c);
	/* The end of a reader ends WAITING. Without readers, it runs in another color, or another event is there. */
	if (c->readers != 0 && is_running_anywhere(base, ec_task_event(t))) {
		c->state = EC_COLOR_WAITING;
		ec_run_unlock(w);
		if (src != NULL)
			ec_src_unlock(src);
		return;
	}
	ec_color_get(c);
	c->readers++;
	c->state = EC_COLOR_RUNNING;
	ec_task_pop(w, c, t);
	if (c->tasks_num != 0)
		ec_color_enqueue(w, c);
	else
		c->state = EC_COLOR_IDLE;
	w->batch_start = now;
	ec_store_relaxed(&w->busy_since, now);
	w->current = c;
	w->is_reader = true;
	ec_counter_add(&w->active_num, 1);
	ec_run_unlock(w);
	if (src != NULL)
		ec_src_unlock(src);
	ec_park_wake_thief(w);
	w->run_popped(w, t);
	close_run(w, c);
}
