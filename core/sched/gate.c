#include "gate.h"

#include <errno.h>
#include <limits.h>

#include "ec.h"
#include "handover.h"
#include "holds.h"
#include "os/clock.h"
#include "wait.h"

void ec_gate_notify(struct ec_base *base)
{
	ec_add_acq_rel(&base->gate_seq, 1);
	ec_futex_wake(&base->gate_seq, INT_MAX);
}

void ec_gate_close(struct ec_base *base)
{
	ec_add_acq_rel(&base->gate, 1);		/* C1 */
	/* By a callback: the run of its lane does not read the gate. */
	if (!ec_is_colored(base))
		ec_store_relaxed(&base->is_continue, true);
}

void ec_gate_open(struct ec_base *base)
{
	ec_hand_open(base);
	ec_sub_acq_rel(&base->gate, 1);		/* O1 */
	ec_gate_notify(base);
}

/* The loop's thread may lock the base at any time, so remember whether the lock was taken. */
static bool is_busy(struct ec_worker *w, bool counts_pausing)
{
	bool is_locked = ec_is_locked(w->base), busy;

	if (is_locked)
		ec_run_lock(w);
	busy = w->current != NULL && (counts_pausing || !w->is_pausing);	/* C2 */
	/*
	 * Once more, in the same critical section. The turn that `current` belongs to has cleared is_continue before it
	 * took the lock, but the store may have taken effect after the closer's.
	 */
	if (busy && !ec_is_colored(w->base))
		ec_store_relaxed(&w->base->is_continue, true);
	if (is_locked)
		ec_run_unlock(w);
	return busy;
}

/* ---------------------------------------------------------------- the end of a loop */

static void wait_callbacks(struct ec_base *base, struct ec_waiting *waiting)
{
	uint32_t seq;
	unsigned i;

	for (i = 1; i < ec_workers_num(base); i++) {
		for (;;) {
			seq = ec_load_acquire(&base->gate_seq);
			if (!is_busy(base->workers[i], true) || ec_wait_is_broken(waiting))
				break;
			ec_futex_wait(&base->gate_seq, seq, NULL);
		}
	}
}

static bool is_any_busy(struct ec_base *base)
{
	unsigned i;

	for (i = 1; i < ec_workers_num(base); i++) {
		if (is_busy(base->workers[i], true))
			return true;
	}
	return false;
}

/* The wait can close a cycle only if the loop is nested, or if a thread waits for a pause of this thread. */
void ec_gate_wait_callbacks(struct ec_base *base)
{
	struct ec_waiting waiting = { .what = EC_WAIT_LOOP, .base = base, .futex = &base->gate_seq };

	if (!is_any_busy(base))
		return;
	if (!ec_wait_begin_for_sure(&waiting)) {
		ec_log(EC_LOG_WARN, "event_base_loop: a callback waits for the end of this loop; not waiting for it");
		return;
	}
	wait_callbacks(base, &waiting);
	ec_wait_end(&waiting);
}

/* ---------------------------------------------------------------- waiting for the gate to open */

static bool is_above(struct ec_base *base, uint32_t max)
{
	return ec_load_acquire(&base->gate) > max && !ec_load_relaxed(&base->is_stopping);
}

static void sleep_closed(struct ec_base *base, uint32_t max, struct ec_waiting *waiting)
{
	uint32_t seq;

	for (;;) {
		seq = ec_load_acquire(&base->gate_seq);
		if (!is_above(base, max) || ec_wait_is_broken(waiting))
			return;
		ec_futex_wait(&base->gate_seq, seq, NULL);
	}
}

/* -EDEADLK: the pause is the caller's own, or its end depends on the caller. */
static int wait_closers(struct ec_base *base, uint32_t max)
{
	struct ec_waiting waiting = { .what = EC_WAIT_RESUME, .base = base, .futex = &base->gate_seq };

	while (is_above(base, max)) {
		if (!ec_wait_begin_for_sure(&waiting)) {
			ec_log(EC_LOG_WARN, "event_base_loop: the thread of the loop would wait for its own "
					    "event_base_resume; not waiting");
			return -EDEADLK;
		}
		sleep_closed(base, max, &waiting);
		ec_wait_end(&waiting);
		ec_store_relaxed(&waiting.is_broken, false);
	}
	return 0;
}

int ec_gate_wait_open(struct ec_base *base)
{
	return wait_closers(base, 0);
}

int ec_gate_wait_last(struct ec_base *base)
{
	return wait_closers(base, 1);
}

/* ---------------------------------------------------------------- pause */

/* A callback that waits for its turn to pause counts as quiescent. */
static void set_pausing(struct ec_base *base, bool is_pausing)
{
	struct ec_worker *self = ec_worker_in(base);

	if (self == NULL)
		return;
	ec_run_lock(self);
	self->is_pausing = is_pausing;
	ec_run_unlock(self);
	if (is_pausing)
		ec_gate_notify(base);
}

/*
 * Begins a pause and closes the gate, unless another thread pauses. Returns the caller's number of pauses; 0: another
 * thread pauses. Both happen under the lock, because a forked child must know how many of the closers are pauses.
 */
static unsigned pause_claim(struct ec_base *base)
{
	const void *me = ec_thread_key(), *pauser;
	unsigned num = 0;
	bool is_mine;

	ec_spin_lock(&base->mu);
	pauser = ec_load_relaxed(&base->pauser);
	is_mine = pauser == NULL || pauser == me;
	if (is_mine) {
		ec_store_relaxed(&base->pauser, me);
		num = ++base->pauses;
		ec_gate_close(base);
	}
	ec_spin_unlock(&base->mu);
	return num;
}

/* Waits until the caller has claimed the pause. 0: that would never happen. */
static unsigned wait_turn(struct ec_base *base)
{
	struct ec_waiting waiting = { .what = EC_WAIT_RESUME, .base = base, .futex = &base->gate_seq };
	uint32_t seq;
	unsigned num;

	/*
	 * The order matters: a thread that finds the callback quiescent, and then waits for it, must find this wait.
	 */
	if (!ec_wait_begin(&waiting))
		return 0;
	set_pausing(base, true);
	for (;;) {
		seq = ec_load_acquire(&base->gate_seq);
		num = pause_claim(base);
		if (num != 0 || ec_wait_is_broken(&waiting))
			break;
		ec_futex_wait(&base->gate_seq, seq, NULL);
	}
	set_pausing(base, false);
	ec_wait_end(&waiting);
	return num;
}

/* Waits until `w` runs no callback, or one that waits for its turn to pause. False: `w` waits for the caller. */
static bool wait_quiescent(struct ec_worker *w)
{
	struct ec_base *base = w->base;
	struct ec_waiting waiting = { .what = EC_WAIT_QUIESCENT, .base = base, .worker = w, .futex = &base->gate_seq };
	uint32_t seq;
	bool busy;

	if (!is_busy(w, false))
		return true;
	if (!ec_wait_begin(&waiting))
		return false;
	for (;;) {
		seq = ec_load_acquire(&base->gate_seq);
		busy = is_busy(w, false);
		if (!busy || ec_wait_is_broken(&waiting))
			break;
		ec_futex_wait(&base->gate_seq, seq, NULL);
	}
	ec_wait_end(&waiting);
	return !busy;
}

/*
 * Waits for all workers, except those whose callback waits for this thread, directly or not. Such a callback cannot
 * continue before this thread does.
 */
static void wait_quiet(struct ec_base *base)
{
	bool is_quiet = true;
	unsigned i;

	for (i = 0; i < ec_workers_num(base); i++) {
		if (!ec_worker_is_mine(base->workers[i]) && !wait_quiescent(base->workers[i]))
			is_quiet = false;
	}
	if (!is_quiet)
		ec_log(EC_LOG_WARN, "event_base_pause: a callback waits for the one that pauses; not waiting for it");
}

int ec_base_pause(struct ec_base *base)
{
	unsigned num = pause_claim(base);

	if (num == 0)
		num = wait_turn(base);
	if (num == 0) {
		ec_log(EC_LOG_WARN, "event_base_pause: two threads wait for each other's event_base_resume; "
				    "not pausing");
		return -EDEADLK;
	}
	if (num == 1)
		wait_quiet(base);
	ec_hand_all_rest(base);
	return 0;
}

void ec_gate_resume_all(struct ec_base *base)
{
	while (ec_base_resume(base) == 0)
		;
}

/* False: some worker still runs a callback at `deadline_ns`. */
static bool wait_quiescent_until(struct ec_worker *w, int64_t deadline_ns)
{
	struct ec_base *base = w->base;
	struct timespec left;
	int64_t left_ns;
	uint32_t seq;

	for (;;) {
		seq = ec_load_acquire(&base->gate_seq);
		if (!is_busy(w, false))
			return true;
		left_ns = deadline_ns - ec_monotonic_ns();
		if (left_ns <= 0)
			return false;
		left.tv_sec = (time_t)(left_ns / 1000000000);
		left.tv_nsec = (long)(left_ns % 1000000000);
		ec_futex_wait(&base->gate_seq, seq, &left);
	}
}

int ec_base_pause_within(struct ec_base *base, unsigned ms)
{
	int64_t deadline_ns = ec_monotonic_ns() + (int64_t)ms * 1000000;
	bool is_quiet = true;
	unsigned i;

	if (pause_claim(base) == 0)
		return -EBUSY;
	for (i = 0; i < ec_workers_num(base) && is_quiet; i++)
		is_quiet = ec_worker_is_mine(base->workers[i]) || wait_quiescent_until(base->workers[i], deadline_ns);
	if (!is_quiet)
		return -ETIMEDOUT;
	ec_hand_all_rest(base);
	return 0;
}

int ec_base_resume(struct ec_base *base)
{
	const void *me = ec_thread_key();
	bool is_mine;

	ec_hand_open(base);
	ec_base_hold(base);
	ec_spin_lock(&base->mu);
	is_mine = ec_load_relaxed(&base->pauser) == me;
	if (is_mine && --base->pauses == 0)
		ec_store_relaxed(&base->pauser, NULL);
	if (is_mine)
		ec_sub_acq_rel(&base->gate, 1);	/* O1 */
	ec_spin_unlock(&base->mu);
	if (is_mine)
		ec_gate_notify(base);
	ec_base_release(base);
	return is_mine ? 0 : -EPERM;
}

void ec_gate_reinit(struct ec_base *base, bool has_loop)
{
	uint32_t kept, lost = 0;

	ec_spin_lock(&base->mu);
	if (ec_load_relaxed(&base->pauser) != ec_thread_key()) {
		lost = base->pauses;
		ec_store_relaxed(&base->pauser, NULL);
		base->pauses = 0;
	}
	/* If the loop's thread does not exist here, it may have closed the gate at the loop's end, or not yet. */
	kept = base->pauses + (ec_is_colored(base) ? 1 : 0);
	ec_store_relaxed(&base->gate, has_loop ? ec_load_relaxed(&base->gate) - lost : kept);
	ec_spin_unlock(&base->mu);
}
