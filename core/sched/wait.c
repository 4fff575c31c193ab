#include "wait.h"

#include <limits.h>

#include "ec.h"
#include "base.h"
#include "worker.h"

void ec_wait_prepare(struct ec_wait *wait, struct ec_worker *runner, struct ec_event *ev)
{
	*wait = (struct ec_wait){ .runner = runner, .ev = ev, .seq = ec_load_relaxed(&runner->run_seq) };
	ec_add_acq_rel(&runner->del_waiters, 1);
}

void ec_wait_notify(struct ec_worker *w)
{
	ec_add_acq_rel(&w->run_done, 1);
	ec_futex_wake(&w->run_done, INT_MAX);
}

/* False: `self` must not wait, because it is waited for, in the end, by `runner`. */
static bool join(struct ec_worker *self, struct ec_worker *runner)
{
	struct ec_base *base = self->base;
	struct ec_worker *w;
	bool is_pausing;

	ec_run_lock(runner);
	is_pausing = runner->is_pausing;
	ec_run_unlock(runner);

	ec_spin_lock(&base->waits);
	for (w = runner; w != NULL && w != self;)
		w = ec_load_relaxed(&w->waits_for);
	if (w == NULL && !is_pausing)
		ec_store_relaxed(&self->waits_for, runner);
	ec_spin_unlock(&base->waits);
	return w == NULL && !is_pausing;
}

static void leave(struct ec_worker *self)
{
	ec_spin_lock(&self->base->waits);
	ec_store_relaxed(&self->waits_for, NULL);
	ec_spin_unlock(&self->base->waits);
}

static bool is_running(const struct ec_wait *wait)
{
	return ec_load_acquire(&wait->runner->running_event) == wait->ev &&
	       ec_load_acquire(&wait->runner->run_seq) == wait->seq;
}

void ec_wait_for(struct ec_wait *wait)
{
	struct ec_worker *self = ec_worker_self(wait->runner->base);
	bool is_in_callback = self != NULL && self->current != NULL;
	uint32_t done;

	if (is_in_callback && !join(self, wait->runner)) {
		ec_log(EC_LOG_WARN, "event_del: two callbacks wait for each other's end; not waiting");
	} else {
		for (;;) {
			done = ec_load_acquire(&wait->runner->run_done);
			if (!is_running(wait))
				break;
			ec_futex_wait(&wait->runner->run_done, done, NULL);
		}
		if (is_in_callback)
			leave(self);
	}
	ec_sub_acq_rel(&wait->runner->del_waiters, 1);
}
