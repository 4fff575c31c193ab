#include "turn.h"

#include "io/polling.h"
#include "os/clock.h"
#include "os/thread.h"
#include "sched/gate.h"
#include "sched/observed.h"
#include "sched/park.h"
#include "sched/run.h"
#include "sched/steal.h"

enum {
	SPIN_MAX_NS = 20000,		/* before sleeping: about what a wake-up costs */
	SPIN_MIN_NS = 2500,		/* a shorter spin is none */
	AWAIT_NS = 500,			/* for the next message, before it probes */
	POLL_NS = 4000,			/* between two polls that do not block */
	PAUSES_MAX = 64,		/* between two probes of the victims: each disturbs them */
};

static bool is_poll_due(struct ec_worker *w)
{
	return ec_run_is_poll_late(w) || (ec_run_has_sources(w) && !ec_ticks_before(w->ran_until, w->poll_at));
}

/* Yields are for clients, which come by descriptors. */
static bool serves_clients(struct ec_base *base)
{
	return ec_workers_num(base) > 1 && ec_load_relaxed(&base->has_watched);
}

/* Both at the end of its last run: no read of the clock. */
static bool is_yield_due(struct ec_worker *w)
{
	return serves_clients(w->base) && ec_yields_is_due(&w->yields, w->ran_until);
}

static bool is_idle_yield_due(struct ec_worker *w)
{
	return serves_clients(w->base) &&
	       ec_yields_is_due_idle(&w->yields, w->ran_until, ec_load_relaxed(&w->run_ns));
}

static int poll_once(struct ec_worker *w, bool may_block)
{
	uint64_t now;
	int r;

	r = ec_worker_poll(w, may_block);
	now = ec_clock_ticks();
	if (may_block)
		ec_yields_note_sleep(&w->yields, now);
	w->poll_at = now + ec_clock_ns_to_ticks(POLL_NS);
	w->run_ticks = ec_clock_ns_to_ticks(EC_RUN_NS);
	w->poll_late_at = now + w->run_ticks;
	if (!may_block)
		ec_worker_rescue(w, now);
	return r;
}

static int yield_and_poll(struct ec_worker *w)
{
	uint64_t start = ec_clock_ticks(), end;
	int r;

	ec_osthread_yield();
	end = ec_clock_ticks();
	r = poll_once(w, false);
	ec_yields_note(&w->yields, start, end, w->reports);
	return r;
}

static int poll_now(struct ec_worker *w, bool may_block)
{
	bool yields = !may_block && is_yield_due(w) && ec_worker_asks(w);

	return yields ? yield_and_poll(w) : poll_once(w, may_block);
}

static bool has_victims(struct ec_worker *w)
{
	return ec_workers_num(w->base) > 1 && w->base->steals;
}

/*
 * How long to spin next time. Work came while it spun, or soon after: longer. Else the spin wasted CPU that others
 * want: shorter, and none in the end. The time of the work is that of sending the wake-up: its arrival takes
 * as long as the longest spin.
 */
static void learn_spin(struct ec_worker *w)
{
	uint64_t came = ec_load_relaxed(&w->woken_at), idle_ns;

	if (came <= w->idle_since)
		came = ec_clock_ticks();
	idle_ns = ec_clock_ticks_to_ns(came - w->idle_since);

	if (idle_ns > 2ull * SPIN_MAX_NS)
		w->spin_ns = w->spin_ns / 2 < SPIN_MIN_NS ? 0 : w->spin_ns / 2;
	else if (w->spin_ns < SPIN_MAX_NS)
		w->spin_ns = w->spin_ns == 0 ? SPIN_MIN_NS : w->spin_ns * 2;
}

/*
 * Two colors that post to each other, at two workers: each worker is idle until the message of the other one comes. To
 * probe, or to change `searchers`, would only take cache lines from the worker that is about to post. False: it has
 * nothing to run.
 */
static bool await_message(struct ec_worker *w)
{
	uint64_t ns = w->spin_ns < AWAIT_NS ? w->spin_ns : AWAIT_NS, end = w->idle_since + ec_clock_ns_to_ticks(ns);

	while (ec_worker_runnable(w) == 0) {
		if (ec_clock_ticks() >= end || ec_gate_is_closed(w->base) || ec_load_relaxed(&w->base->is_stopping))
			return false;
		ec_cpu_relax();
	}
	return true;
}

/*
 * Spin until `end`, in ticks. A probe takes cache lines from the victims. So several searchers take turns: together
 * they probe no more often than one does.
 */
static bool spin(struct ec_worker *w, uint64_t end)
{
	struct ec_base *base = w->base;
	unsigned pauses = 1, turns = 0, i;
	uint64_t now;

	for (;;) {
		if (ec_worker_runnable(w) != 0)
			return true;
		if (turns == 0) {
			if (ec_steal(w))
				return true;
			turns = ec_load_relaxed(&base->searchers);
		}
		turns--;
		if (ec_gate_is_closed(base) || ec_load_relaxed(&base->is_stopping))
			return false;
		now = ec_clock_ticks();
		if (now >= end)
			return false;
		if (!ec_ticks_before(now, w->poll_at) && ec_run_has_sources(w) && poll_now(w, false) < 0)
			return false;
		for (i = 0; i < pauses && ec_worker_runnable(w) == 0; i++)
			ec_cpu_relax();
		if (pauses < PAUSES_MAX)
			pauses *= 2;
	}
}

bool ec_worker_search(struct ec_worker *w)
{
	struct ec_base *base = w->base;
	bool is_found;

	if (!has_victims(w))
		return false;
	if (is_idle_yield_due(w)) {
		if (yield_and_poll(w) < 0)
			return false;
		w->idle_since = ec_clock_ticks();
	}
	ec_observed_note(w, EC_PROBE_SPIN_BEGIN, 0, ec_clock_ticks());
	is_found = w->gets_messages && await_message(w);
	if (!is_found) {
		ec_add_acq_rel(&base->searchers, 1);
		is_found = spin(w, w->idle_since + ec_clock_ns_to_ticks(w->spin_ns));
		ec_sub_acq_rel(&base->searchers, 1);
	}
	ec_observed_note(w, EC_PROBE_SPIN_END, 0, ec_clock_ticks());
	if (is_found) {
		w->gets_messages = ec_load_relaxed(&w->mailbox->num) != 0;
		w->tick_ns = 0;
		learn_spin(w);
	}
	return is_found;
}

int ec_worker_sleep(struct ec_worker *w)
{
	int r = poll_now(w, true);

	if (has_victims(w))
		learn_spin(w);
	return r;
}

int ec_worker_turn(struct ec_worker *w)
{
	int ran = 0, num, r = 0;

	while ((num = ec_run_some(w)) != 0) {
		ran += num;
		if (!ec_run_may_go_on(w))
			break;
	}
	if (ran == 0)
		w->idle_since = w->ran_until = ec_clock_ticks();
	if (is_poll_due(w))
		r = poll_now(w, false);
	return r < 0 ? r : ran;
}

/*
 * Other colors wait here, and this worker, which is in a callback, must not run them: it counts as stuck, so that the
 * others take all of them over.
 */
static void offer_others(struct ec_worker *w)
{
	ec_store_relaxed(&w->busy_since, 1);
	ec_park_wake_thief(w);
	ec_osthread_yield();
	ec_cpu_relax();
}

int ec_worker_turn_own(struct ec_worker *w)
{
	bool has_run = ec_run_own(w);
	int r = 0;

	/* Nobody takes them over: they run on top of the callback. */
	if (!has_run && !w->base->steals)
		has_run = ec_run_some(w) != 0;
	if (!has_run)
		w->idle_since = w->ran_until = ec_clock_ticks();
	if (!has_run && ec_worker_runnable(w) != 0)
		offer_others(w);
	if (!has_run || is_poll_due(w))
		r = poll_now(w, !has_run);
	if (r >= 0 && !has_run)
		(void)ec_run_own(w);
	return r;
}
