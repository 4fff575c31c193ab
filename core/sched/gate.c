#include "gate.h"

#include <errno.h>
#include <limits.h>

#include "ec.h"
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
	ec_sub_acq_rel(&base->gate, 1);		/* O1 */
	ec_gate_notify(base);
}

/* Its loop's thread may lock the base at any time: release only a lock that was taken. */
static bool is_busy(struct ec_worker *w, bool counts_pausing)
{
	bool is_locked = ec_is_locked(w->base), busy;

	if (is_locked)
		ec_run_lock(w);
	busy = w->current != NULL && (counts_pausing || !w->is_pausing);	/* C2 */
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

/* No thread waits for the end of a loop that is not nested, except one that a pause of this thread stops. */
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

/* The pause is the caller's own, or one that no thread can end before the caller goes on. */
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

/* While it waits for its turn, a callback counts as quiescent. */
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
 * How many pauses of the caller hold now, and the gate is closed; 0: another pauses. Both under the lock: a
 * forked child must know how many of the closers are pauses.
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

/* Until the caller has claimed the pause. 0: that would be never. */
static unsigned wait_turn(struct ec_base *base)
{
	struct ec_waiting waiting = { .what = EC_WAIT_RESUME, .base = base, .futex = &base->gate_seq };
	uint32_t seq;
	unsigned num;

	/* In this order: a thread that finds the callback quiescent, and then waits for it, finds this wait. */
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

/* Until `w` runs no callback, or only one that waits for its turn to pause. False: it waits for the caller. */
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
 * The one that pauses: a callback that waits, in the end, for this thread is not waited for. It stands still until
 * this thread goes on.
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
	return 0;
}

void ec_gate_resume_all(struct ec_base *base)
{
	while (ec_base_resume(base) == 0)
		;
}

int ec_base_resume(struct ec_base *base)
{
	const void *me = ec_thread_key();
	bool is_mine;

	ec_spin_lock(&base->mu);
	is_mine = ec_load_relaxed(&base->pauser) == me;
	if (is_mine && --base->pauses == 0)
		ec_store_relaxed(&base->pauser, NULL);
	if (is_mine)
		ec_sub_acq_rel(&base->gate, 1);	/* O1 */
	ec_spin_unlock(&base->mu);
	if (!is_mine)
		return -EPERM;
	ec_gate_notify(base);
	return 0;
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
	/* The loop's thread, where it is gone, may have closed the gate in its end, or not yet. */
	kept = base->pauses + (ec_is_colored(base) ? 1 : 0);
	ec_store_relaxed(&base->gate, has_loop ? ec_load_relaxed(&base->gate) - lost : kept);
	ec_spin_unlock(&base->mu);
}
