#include "gate.h"

#include <limits.h>

#include "ec.h"
#include "task.h"

void ec_gate_notify(struct ec_base *base)
{
	ec_add_acq_rel(&base->gate_seq, 1);
	ec_futex_wake(&base->gate_seq, INT_MAX);
}

void ec_gate_close(struct ec_base *base)
{
	ec_add_acq_rel(&base->gate, 1);		/* C1 */
	if (base->is_alone)
		ec_store_relaxed(&base->is_continue, true);	/* by a callback: see pop_quick in alone.c */
}

void ec_gate_open(struct ec_base *base)
{
	ec_sub_acq_rel(&base->gate, 1);		/* O1 */
	ec_gate_notify(base);
}

/* A base may be locked at any time, by its loop's thread: so what was not taken is not left. */
static bool is_busy(struct ec_worker *w)
{
	bool is_locked = ec_is_locked(w->base), busy;

	if (is_locked)
		ec_run_lock(w);
	busy = w->current != NULL && !w->is_pausing;	/* C2 */
	if (is_locked)
		ec_run_unlock(w);
	return busy;
}

void ec_gate_wait_quiet(struct ec_base *base)
{
	struct ec_worker *self = ec_worker_self(base);
	uint32_t seq;
	unsigned i;

	for (i = 0; i < ec_workers_num(base); i++) {
		if (base->workers[i] == self)
			continue;
		for (;;) {
			seq = ec_load_acquire(&base->gate_seq);
			if (!is_busy(base->workers[i]))
				break;
			ec_futex_wait(&base->gate_seq, seq, NULL);
		}
	}
}

static void wait_closers(struct ec_base *base, uint32_t max)
{
	uint32_t seq;

	for (;;) {
		seq = ec_load_acquire(&base->gate_seq);
		if (ec_load_acquire(&base->gate) <= max || ec_load_relaxed(&base->is_stopping))
			return;
		ec_futex_wait(&base->gate_seq, seq, NULL);
	}
}

void ec_gate_wait_open(struct ec_base *base)
{
	wait_closers(base, 0);
}

void ec_gate_wait_last(struct ec_base *base)
{
	wait_closers(base, 1);
}

/* While it waits for its turn, or for the others, a callback counts as at rest. */
static void set_pausing(struct ec_base *base, bool is_pausing)
{
	struct ec_worker *self = ec_worker_self(base);

	if (self == NULL)
		return;
	ec_run_lock(self);
	self->is_pausing = is_pausing;
	ec_run_unlock(self);
	if (is_pausing)
		ec_gate_notify(base);
}

/*
 * True: the caller is the one that pauses now, and the gate is closed. Both under the lock: a
 * forked child must know how many of the closers are pauses.
 */
static bool pause_claim(struct ec_base *base)
{
	const void *me = ec_thread_key();
	bool is_mine;

	ec_spin_lock(&base->mu);
	is_mine = base->pauser == NULL || base->pauser == me;
	if (is_mine) {
		base->pauser = me;
		base->pauses++;
		ec_gate_close(base);
	}
	ec_spin_unlock(&base->mu);
	return is_mine;
}

int ec_base_pause(struct ec_base *base)
{
	uint32_t seq;

	set_pausing(base, true);
	for (;;) {
		seq = ec_load_acquire(&base->gate_seq);
		if (pause_claim(base))
			break;
		ec_futex_wait(&base->gate_seq, seq, NULL);
	}
	ec_gate_wait_quiet(base);
	set_pausing(base, false);
	return 0;
}

int ec_base_resume(struct ec_base *base)
{
	const void *me = ec_thread_key();
	bool is_mine;

	ec_spin_lock(&base->mu);
	is_mine = base->pauser == me;
	if (is_mine && --base->pauses == 0)
		base->pauser = NULL;
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
	if (base->pauser != ec_thread_key()) {
		lost = base->pauses;
		base->pauser = NULL;
		base->pauses = 0;
	}
	/* The loop's thread, where it is gone, may have closed the gate in its end, or not yet. */
	kept = base->pauses + (ec_is_colored(base) ? 1 : 0);
	ec_store_relaxed(&base->gate, has_loop ? ec_load_relaxed(&base->gate) - lost : kept);
	ec_spin_unlock(&base->mu);
}
