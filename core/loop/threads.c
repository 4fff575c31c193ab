#include "threads.h"

#include "ec.h"
#include "io/observing.h"
#include "io/poller.h"
#include "observe/control.h"
#include "observe/late.h"
#include "os/process.h"
#include "os/thread.h"
#include "sched/gate.h"
#include "sched/misuse.h"
#include "sched/park.h"
#include "sched/wait.h"
#include "turn.h"

void ec_start_wait(struct ec_base *base)
{
	uint32_t expected = 0;
	unsigned steps = 0;

	ec_bias_visit_give_up(&base->bias);	/* who has the lock may wait for the end of the visit */
	while (!ec_cas_acq_rel(&base->starting, &expected, 1)) {
		expected = 0;
		ec_wait_step(&steps);
	}
}

/*
 * `w` cannot poll: perhaps the program has closed all descriptors. So the loop ends with an error, as if worker 0 could
 * not poll. The worker rests until the next loop, and tries again then.
 */
static void fail(struct ec_worker *w, int err)
{
	struct ec_base *base = w->base;

	if (ec_load_relaxed(&base->is_break))
		return;
	ec_log_errno(EC_LOG_WARN, err, "worker %u cannot poll by %s: the loop ends", w->id, w->poller->ops->name);
	ec_base_break(base, EC_BREAK_FAILED);
}

/* After ec_base_break: until the next loop. */
static void rest(struct ec_worker *w)
{
	struct ec_base *base = w->base;
	uint32_t seq;

	if (ec_load_relaxed(&base->is_break))
		ec_gate_notify(base);					/* B1, meets poll_all */
	for (;;) {
		seq = ec_load_acquire(&base->gate_seq);
		if (!ec_load_relaxed(&base->is_break) || ec_load_relaxed(&base->is_stopping))
			return;
		ec_futex_wait(&base->gate_seq, seq, NULL);
	}
}

/* The thread of `w`, between callbacks, becomes the loop's thread for one loop, and ends then: see fork.h. */
static void become_loop(struct ec_worker *w)
{
	struct ec_base *base = w->base;

	w->is_successor = false;
	ec_run_lock(w);
	ec_store_relaxed(&w->has_thread, false);
	ec_store_relaxed(&w->is_started, false);
	ec_run_unlock(w);
	ec_process_count(&ec_process.threads, -1u);
	ec_set_self(NULL);
	ec_store_relaxed(&base->is_running, false);
	(void)ec_base_loop(base, 0);
	ec_base_stop_threads(base);
}

static void worker_main(void *arg)
{
	struct ec_worker *w = arg;
	struct ec_base *base = w->base;
	int r;

	ec_set_self(w);
	if (base->start != NULL)
		base->start(base, w->id, base->start_arg);
	ec_run_lock(w);
	ec_store_relaxed(&w->is_started, true);
	ec_run_unlock(w);
	if (__builtin_expect(ec_control_attention() != 0, 0))
		ec_observing_begin(w);
	while (!ec_load_acquire(&base->is_stopping)) {
		if (__builtin_expect(w->is_successor, 0)) {
			become_loop(w);
			break;
		}
		if (ec_gate_is_closed(base) && ec_worker_runnable(w) != 0) {
			ec_gate_notify(base);
			if (ec_gate_wait_open(base) < 0)
				ec_gate_resume_all(base);
		}
		if (ec_load_relaxed(&base->is_break))
			rest(w);
		r = ec_worker_turn(w);
		if (r == 0 && ec_worker_runnable(w) == 0 && !ec_worker_search(w))
			r = ec_worker_sleep(w);
		if (r < 0) {
			fail(w, -r);
			rest(w);
		}
		if (ec_gate_is_closed(base)) {
			ec_gate_notify(base);
			if (r > 0 && ec_debug_on())
				ec_misuse_check_pause(w);
		}
	}
	ec_late_flush();
	ec_set_self(NULL);
}

/* What a face must change before another thread runs its callbacks. */
static void tell_face(void)
{
	void (*fn)(void) = (void (*)(void))ec_slot_get(EC_SLOT_THREADS_FN);

	if (fn != NULL)
		fn();
}

void ec_base_start_threads(struct ec_base *base)
{
	bool is_any = false;
	unsigned i;
	int r = 0;

	if (__builtin_expect(base->is_bare, 0))
		return;
	for (i = 1; i < ec_workers_num(base) && r == 0; i++) {
		struct ec_worker *w = base->workers[i];

		if (ec_load_relaxed(&w->has_thread))
			continue;
		if (!is_any)
			tell_face();
		r = ec_osthread_start(&w->thread, worker_main, w);
		if (r < 0) {
			ec_late_log_errno(EC_LOG_WARN, -r, "cannot start worker %u", i);
			break;
		}
		ec_run_lock(w);
		ec_store_relaxed(&w->has_thread, true);
		ec_run_unlock(w);
		ec_process_count(&ec_process.threads, 1);
		is_any = true;
	}
	/* While they are in their start callbacks, their colors wait for a ticker: see park.h. */
	if (is_any && base->start != NULL)
		ec_park_wake_if_asleep(&base->zero);
}

static void join_threads(struct ec_base *base)
{
	unsigned i;

	for (i = 1; i < ec_workers_num(base); i++) {
		/* Not the own thread: a forked child may free its base in a callback from which it does not return. */
		if (!ec_load_relaxed(&base->workers[i]->has_thread) || ec_worker_is_mine(base->workers[i]))
			continue;
		ec_park_wake(base->workers[i]);
		ec_osthread_join(&base->workers[i]->thread);
		ec_process_count(&ec_process.threads, -1u);
		ec_store_relaxed(&base->workers[i]->has_thread, false);
		ec_store_relaxed(&base->workers[i]->is_started, false);
	}
}

/* A thread may be in the program's start callback, which may wait for the callback that the caller is in. */
void ec_base_stop_threads(struct ec_base *base)
{
	struct ec_waiting waiting = { .what = EC_WAIT_THREADS, .base = base, .futex = &base->gate_seq };
	bool is_known;

	ec_store_release(&base->is_stopping, true);
	ec_gate_notify(base);
	is_known = ec_wait_begin_for_sure(&waiting);
	join_threads(base);
	if (is_known)
		ec_wait_end(&waiting);
}
