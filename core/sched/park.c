#include "park.h"

#include "gate.h"
#include "mailbox.h"
#include "observed.h"
#include "os/clock.h"
#include "steal.h"

enum { TICK_FIRST_NS = 1000000, TICK_MAX_NS = 4000000 };

void ec_park_wake(struct ec_worker *w)
{
	struct ec_worker *self = ec_worker_self(w->base);

	ec_add_relaxed(&w->stats.wakeups, 1);
	if (self != NULL)
		ec_observed_note(self, EC_PROBE_WAKEUP, 0, w->id);
	ec_store_relaxed(&w->woken_at, ec_clock_ticks());
	ec_wakeup_send(&w->wakeup);
}

void ec_park_wake_if_asleep(struct ec_worker *w)
{
	bool was_asleep;

	ec_run_lock(w);
	was_asleep = w->asleep;
	w->asleep = false;
	ec_run_unlock(w);
	if (was_asleep)
		ec_park_wake(w);
}

bool ec_park_needs_thief(struct ec_worker *behind)
{
	struct ec_base *base = behind->base;

	if (ec_load_relaxed(&base->searchers) != 0 || !base->steals)
		return false;						/* P2, meets S2 */
	return ec_load_relaxed(&base->tickers) == 0 || ec_steal_is_worth_any(behind);
}

void ec_park_find_thief(struct ec_worker *behind)
{
	struct ec_base *base = behind->base;
	struct ec_worker *w, *self = ec_worker_self(base);
	unsigned i, n;
	bool was_asleep;

	if (!ec_park_needs_thief(behind) ||
	    (ec_load_relaxed(&base->tickers) != 0 && ec_worker_runnable(behind) == 0))
		return;
	n = ec_workers_num(base);
	for (i = 0; i < n; i++) {
		w = base->workers[self == NULL ? i : (self->id + 1 + i) % n];
		if (w == self)
			continue;
		ec_run_lock(w);
		was_asleep = w->asleep;
		w->asleep = false;
		ec_run_unlock(w);
		if (was_asleep) {
			ec_park_wake(w);
			return;
		}
	}
}

/* Without colors, ready tasks are in the lanes, not in the run queue. */
bool ec_park_begin(struct ec_worker *w, int64_t *tick_ns)
{
	struct ec_base *base = w->base;
	enum ec_victim victim = EC_VICTIM_IDLE;
	bool is_free;
	unsigned i, n = ec_workers_num(base);

	ec_run_lock(w);
	is_free = ec_load_relaxed(&w->runq.num) == 0 && !ec_load_relaxed(&base->is_break) &&
		  !ec_load_acquire(&base->is_stopping) &&
		  (ec_load_relaxed(&w->active_num) == 0 || ec_is_colored(base));
	is_free = is_free && ec_mailbox_sleep(w);
	w->asleep = is_free;						/* S1 */
	ec_run_unlock(w);
	if (!is_free)
		return false;

	*tick_ns = INT64_MAX;
	if (n == 1 || !base->steals)
		return true;
	w->is_sleeper = true;
	ec_add_acq_rel(&base->sleepers, 1);				/* S2 */
	for (i = 0; i < n && victim != EC_VICTIM_WORTH; i++) {		/* S3 */
		if (base->workers[i] != w) {
			enum ec_victim one = ec_steal_probe(w, base->workers[i]);

			victim = one > victim ? one : victim;
		}
	}
	if (victim == EC_VICTIM_WORTH && !ec_gate_is_closed(base)) {
		ec_park_end(w, false);
		return false;
	}
	if (victim != EC_VICTIM_IDLE && ec_load_relaxed(&base->tickers) == 0) {
		ec_add_acq_rel(&base->tickers, 1);
		w->tick_ns = w->tick_ns == 0 ? TICK_FIRST_NS : w->tick_ns * 2;
		if (w->tick_ns > TICK_MAX_NS)
			w->tick_ns = TICK_MAX_NS;
		*tick_ns = w->tick_ns;
	}
	return true;
}

void ec_park_end(struct ec_worker *w, bool is_ticker)
{
	struct ec_base *base = w->base;

	ec_run_lock(w);
	w->asleep = false;
	ec_mailbox_wake(w);
	ec_run_unlock(w);
	if (!w->is_sleeper)		/* the base may have got its workers since */
		return;
	w->is_sleeper = false;
	ec_sub_acq_rel(&base->sleepers, 1);
	if (is_ticker)
		ec_sub_acq_rel(&base->tickers, 1);
}
