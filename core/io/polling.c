#include "polling.h"

#include <string.h>

#include "deadline.h"
#include "ec.h"
#include "migrate.h"
#include "observe/control.h"
#include "observe/late.h"
#include "os/chunk.h"
#include "os/clock.h"
#include "os/thread.h"
#include "observing.h"
#include "poller.h"
#include "report.h"
#include "sched/event.h"
#include "sched/gate.h"
#include "sched/misuse.h"
#include "sched/park.h"
#include "sched/queue.h"
#include "sched/quiet.h"
#include "sched/ready.h"
#include "sched/run.h"
#include "sched/steal.h"
#include "sched/zero.h"
#include "time.h"
#include "watch.h"

/* atomic: a face sets it once; what it calls must not depend on what the face stored before */
static _Atomic(ec_turn_fn) turn_fn;

void ec_set_turn_fn(ec_turn_fn fn)
{
	ec_store_release(&turn_fn, fn);			/* meets attend */
	if (fn != NULL)
		ec_or_acq_rel(&ec_control_own.turn, EC_TURN_FN);
	else
		ec_and_acq_rel(&ec_control_own.turn, (uint8_t)~EC_TURN_FN);
}

/* See control.h. */
static void attend(struct ec_worker *w)
{
	ec_turn_fn fn = ec_load_acquire(&turn_fn);

	if (fn != NULL)
		fn();
	ec_observing_turn(w);
}

static __attribute__((noinline)) int wait_attended(struct ec_worker *w, int64_t wait_ns)
{
	int num;

	if (ec_late_flush_turn())
		wait_ns = 0;		/* the log callback may have made work, and the owner does not wake itself */
	ec_observing_poll(w);
	num = w->poller->ops->wait(w->poller, wait_ns);
	attend(w);
	return num;
}

/* Of a turn that does not ask the kernel. */
static __attribute__((noinline)) void attend_only(struct ec_worker *w)
{
	(void)ec_late_flush_turn();
	attend(w);
}

/* The same of a worker that is busy, between two turns: who asked for each turn hears of the next one. */
static __attribute__((noinline)) void attend_busy(struct ec_worker *w)
{
	(void)ec_late_flush_turn();
	ec_observing_turn(w);
}

/* Wait for reports, without locks; their number, or -errno. */
static inline int poller_wait(struct ec_worker *w, int64_t wait_ns)
{
	if (__builtin_expect(ec_control_attention() != 0, 0))
		return wait_attended(w, wait_ns);
	return w->poller->ops->wait(w->poller, wait_ns);
}

/*
 * A sleep of at least this length may end at the timers' bound instead of the exact deadline. So the usual timeout of
 * a connection, which each message postpones, is sifted once in this time, not once a turn. The cost is at most one
 * needless wake-up in such a sleep.
 */
enum { BOUND_NS = 1000000000 };

/* After a burst of timers: the time to sleep before they are trimmed. */
static __attribute__((noinline)) int64_t trim_time(struct ec_worker *w, int64_t wait_ns)
{
	int64_t trim_ns = ec_timers_trim(&w->timers, ec_monotonic_ns());

	return trim_ns < wait_ns ? trim_ns : wait_ns;
}

/* Under SOURCE: how long the poller may sleep. */
static int64_t wait_time(struct ec_worker *w, int64_t tick_ns)
{
	uint64_t next;
	int64_t now, wait_ns = tick_ns;

	if (__builtin_expect(ec_timers_have_excess(&w->timers), 0))
		wait_ns = trim_time(w, wait_ns);
	next = ec_timers_bound_ns(&w->timers);
	w->wait_until_ns = INT64_MAX;
	if (next != UINT64_MAX) {
		now = ec_monotonic_ns();
		if ((int64_t)next - now < BOUND_NS)
			next = ec_timers_next_ns(&w->timers);
		w->wait_until_ns = (int64_t)next;
		if ((int64_t)next - now < wait_ns)
			wait_ns = (int64_t)next > now ? (int64_t)next - now : 0;
	}
	return wait_ns == INT64_MAX ? -1 : wait_ns;
}

/* After a burst of traffic: frees what is due, and returns the time that this thread may sleep before it frees more. */
static inline int64_t sweep_time(int64_t now_ns)
{
	if (__builtin_expect(!ec_chunk_has_excess, 1))
		return INT64_MAX;
	return ec_chunk_sweep(now_ns != 0 ? now_ns : ec_monotonic_ns());
}

void ec_worker_tidy(struct ec_worker *w)
{
	(void)sweep_time(0);
	if (!ec_timers_may_have_excess(&w->timers))
		return;
	ec_src_lock(w);
	if (ec_timers_have_excess(&w->timers))
		(void)ec_timers_trim(&w->timers, ec_monotonic_ns());
	ec_src_unlock(w);
}

/* As ec_source_flush, apart so that few turns pay for the batch. */
static __attribute__((noinline)) void flush_held(struct ec_worker *w)
{
	struct ec_batch b;

	ec_batch_begin_held(&b, w->base);
	ec_source_flush(w, &b);
}

/* Under SOURCE, before a wait; is_held: as zero.h holds the base. */
static inline int prepare(struct ec_worker *w, const bool is_held)
{
	if (w->fds.dirty.num != 0) {
		if (is_held)
			flush_held(w);
		else
			ec_source_flush(w, NULL);
	}
	return __builtin_expect(w->poller->is_changed, 0) ? w->poller->ops->prepare(w->poller) : 0;
}

/* Under SOURCE, released here, after a wait with `num` reports. */
static void dispatch(struct ec_worker *w, int num, const struct ec_peer_poll *peer)
{
	struct ec_base *base = w->base;
	struct ec_batch b;

	ec_batch_begin(&b, base);
	b.src = w;
	b.peer = peer;
	if (num > 0)
		ec_reports_deliver(w, num, &b);
	if (w->id == 0 && ec_signals_are_pending(&base->signals))
		ec_signals_dispatch(base, &b);
	if (w->timers.num != 0)
		ec_events_expire(w, peer == NULL && w->now_ns != 0 ? w->now_ns : ec_monotonic_ns(), &b);
	ec_batch_end(&b);
	ec_migrate(w);
}

/* Without a cached time, reads the clock only if there are timers. */
static inline bool is_timer_due(const struct ec_worker *w)
{
	uint64_t bound = ec_timers_bound_ns(&w->timers);

	if (__builtin_expect(w->now_ns != 0, 1))
		return bound <= (uint64_t)w->now_ns;
	return bound != UINT64_MAX;
}

static __attribute__((noinline)) void dispatch_signals(struct ec_worker *w)
{
	struct ec_batch b;

	ec_batch_begin_held(&b, w->base);
	ec_signals_dispatch(w->base, &b);
}

/* Signals and deadlines of a base that is not locked, or that is held. */
static inline void dispatch_rest(struct ec_base *base)
{
	struct ec_worker *w = &base->zero;

	if (__builtin_expect(ec_signals_are_pending(&base->signals), 0))
		dispatch_signals(w);
	if (is_timer_due(w))
		ec_events_expire_held(w, w->now_ns != 0 ? w->now_ns : ec_monotonic_ns());
}

/* As ec_worker_poll, of a base that is not locked: there is no other thread. */
int ec_worker_poll_serial(struct ec_worker *w, bool may_block)
{
	struct ec_base *base = ec_container_of(w, struct ec_base, zero);
	int64_t wait_ns = 0, sweep_ns;
	int num;

	num = prepare(w, false);
	sweep_ns = sweep_time(w->now_ns);
	w->now_ns = 0;
	if (num < 0)
		return num;
	/* prepare() may have activated events: those of a descriptor that the poller refused. */
	may_block = may_block && ec_load_relaxed(&w->active_num) == 0 && !ec_load_relaxed(&base->is_break);
	if (may_block) {
		wait_ns = wait_time(w, sweep_ns);
		ec_serial_count(&w->stats.sleeps, 1);
	}
	ec_serial_count(&w->stats.turns, 1);
	if (may_block || w->fds.watched != 0)
		num = poller_wait(w, wait_ns);
	else if (__builtin_expect(ec_control_attention() != 0, 0))
		attend_only(w);
	ec_worker_cache_now(base, w);
	if (num > 0)
		ec_reports_deliver_serial(w, num);
	dispatch_rest(base);
	return num < 0 && num != -EINTR ? num : 0;
}

/* ---------------------------------------------------------------- polls for other workers */

enum {
	RESCUE_NS = 1000000,		/* between two polls for stuck workers; also when a worker is stuck */
	RESCUES = 8,			/* steals from one of them */
};

void ec_worker_poll_for(struct ec_worker *w) EC_NO_ANALYSIS
{
	struct ec_peer_poll peer = { .w = w };
	int num;

	if (!ec_spin_trylock(&w->src))
		return;
	if (w->is_waiting || prepare(w, false) < 0) {
		ec_spin_unlock(&w->src);
		return;
	}
	peer.event = ec_load_relaxed(&w->running_event);
	peer.run_seq = ec_load_relaxed(&w->run_seq);
	num = w->fds.watched != 0 ? ec_poller_ask(w->poller) : 0;
	dispatch(w, num, &peer);
}

/* Polls for the workers that are stuck in a callback. */
static void poll_stuck(struct ec_worker *thief)
{
	struct ec_base *base = thief->base;
	unsigned i, n = ec_workers_num(base);
	uint64_t now = ec_clock_ticks();
	struct ec_worker *v;

	for (i = 0; i + 1 < n; i++) {
		v = base->workers[thief->victims[i]];
		if (!ec_steal_is_stuck(v, now))
			continue;
		ec_worker_poll_for(v);
		if (ec_debug_on())
			ec_misuse_check_stuck(v, now);
	}
}

static void rescue(struct ec_worker *thief, struct ec_worker *v)
{
	unsigned i;

	ec_worker_poll_for(v);
	for (i = 0; i < RESCUES && ec_worker_runnable(v) != 0 && !ec_gate_is_closed(thief->base); i++) {
		if (ec_steal_from(thief, v) == 0)
			return;
	}
}

static __attribute__((noinline)) void rescue_all(struct ec_worker *thief, uint64_t now)
{
	struct ec_base *base = thief->base;
	unsigned i, n = ec_workers_num(base);
	struct ec_worker *v;

	for (i = 0; i + 1 < n; i++) {
		v = base->workers[thief->victims[i]];
		if (ec_load_relaxed(&v->is_started) && !ec_steal_is_busy_for(v, now, RESCUE_NS))
			continue;
		rescue(thief, v);
		if (ec_debug_on())
			ec_misuse_check_stuck(v, now);
	}
}

void ec_worker_rescue(struct ec_worker *thief, uint64_t now)
{
	struct ec_base *base = thief->base;
	uint64_t at = ec_load_relaxed(&base->rescue_at);

	if (ec_ticks_before(now, at) || ec_workers_num(base) == 1 || !base->steals)
		return;
	if (ec_cas_acq_rel(&base->rescue_at, &at, now + ec_clock_ns_to_ticks(RESCUE_NS)))
		rescue_all(thief, now);
}

/* ---------------------------------------------------------------- a worker's own polls */

/* Many callbacks wait, and would be reported again. */
static __attribute__((noinline)) bool asks_late(const struct ec_worker *w)
{
	return w->ran_until - w->asked_at >= w->ask_ticks ||
	       ec_run_is_for_posts(ec_load_relaxed(&w->stats.posts) - w->asked_posts,
				   ec_load_relaxed(&w->stats.callbacks) - w->asked_callbacks);
}

/* Virtual workers take turns by other rules. */
bool ec_worker_asks(struct ec_worker *w)
{
	return w->ask_ticks == 0 || ec_worker_runnable(w) == 0 || w->base->virtual != NULL || asks_late(w);
}

static void note_asked(struct ec_worker *w)
{
	uint64_t ns = ec_run_ask_ns(w->reports);

	w->ask_ticks = ns > EC_POLL_LATE_NS ? ec_clock_ns_to_ticks(ns) : 0;
	if (w->ask_ticks == 0)
		return;
	w->asked_at = w->ran_until;
	w->asked_callbacks = ec_load_relaxed(&w->stats.callbacks);
	w->asked_posts = ec_load_relaxed(&w->stats.posts);
}

/* After a wait with `num` reports. */
static void end(struct ec_worker *w, int num)
{
	ec_src_lock(w);
	w->is_waiting = false;
	w->reports = num > 0 ? (uint32_t)num : 0;
	ec_worker_cache_now(w->base, w);
	dispatch(w, num, NULL);
	ec_counter_add(&w->polls, 1);
	if (ec_load_relaxed(&w->base->wants_quiet))
		ec_gate_notify(w->base);
}

/* A worker that watches nothing calls the kernel only to sleep: only the wake-up could report, and it can wait. */
int ec_worker_poll(struct ec_worker *w, bool may_block)
{
	int64_t tick_ns = INT64_MAX, wait_ns, sweep_ns;
	bool is_parked = may_block && ec_park_begin(w, &tick_ns);
	bool may_sleep = is_parked && ec_loop_idle(w), asks;
	int num;

	sweep_ns = may_sleep ? sweep_time(w->now_ns) : INT64_MAX;
	w->now_ns = 0;
	ec_src_lock(w);
	num = prepare(w, false);
	wait_ns = may_sleep && num == 0 ? wait_time(w, tick_ns < sweep_ns ? tick_ns : sweep_ns) : 0;
	asks = num == 0 && (may_sleep || (w->fds.watched != 0 && (may_block || ec_worker_asks(w))));
	w->is_waiting = true;
	ec_src_unlock(w);

	ec_counter_add(&w->stats.turns, 1);
	if (may_sleep)
		ec_counter_add(&w->stats.sleeps, 1);
	if (asks)
		num = poller_wait(w, wait_ns);
	else if (__builtin_expect(ec_control_attention() != 0, 0))
		attend_busy(w);
	if (is_parked)
		ec_park_end(w, tick_ns != INT64_MAX);
	end(w, num);
	if (asks)
		note_asked(w);
	if (tick_ns != INT64_MAX && num == 0)
		poll_stuck(w);
	return num == -EINTR || num > 0 ? 0 : num;
}

/* ---------------------------------------------------------------- of a base with locks and one worker */

/*
 * Under both locks: the reasons not to sleep. Whoever makes one later, under one of the locks or before it takes one,
 * finds `asleep` there: as in park.h.
 */
static inline bool may_sleep_held(const struct ec_worker *w)
{
	return ec_load_relaxed(&w->active_num) == 0 && !ec_load_relaxed(&w->base->is_break) &&
	       !ec_quiet_is_serial_end(w->base);
}

/* The base got its first color during the poll. */
static __attribute__((noinline)) int end_colored(struct ec_worker *w, bool was_asleep, int num)
{
	if (was_asleep)
		ec_park_end(w, false);
	end(w, num);
	return num == -EINTR || num > 0 ? 0 : num;
}

int ec_worker_poll_held(struct ec_worker *w, bool may_block)
{
	struct ec_base *base = ec_container_of(w, struct ec_base, zero);
	int64_t wait_ns = 0, sweep_ns = sweep_time(w->now_ns);
	bool asks;
	int num;

	w->now_ns = 0;
	if (!ec_zero_hold(base))
		return 0;
	num = prepare(w, true);
	if (num < 0) {
		ec_zero_release(base);
		return num;
	}
	may_block = may_block && may_sleep_held(w);
	if (may_block) {
		wait_ns = wait_time(w, sweep_ns);
		w->asleep = true;
		ec_counter_add(&w->stats.sleeps, 1);
	}
	asks = may_block || w->fds.watched != 0;
	w->is_waiting = true;
	ec_zero_release(base);

	ec_counter_add(&w->stats.turns, 1);
	if (asks)
		num = poller_wait(w, wait_ns);
	else if (__builtin_expect(ec_control_attention() != 0, 0))
		attend_only(w);
	if (!ec_zero_hold(base))
		return end_colored(w, may_block, num);
	w->asleep = false;
	w->is_waiting = false;
	ec_worker_cache_now(base, w);
	if (num > 0)
		ec_reports_deliver_held(w, num);
	dispatch_rest(base);
	if (__builtin_expect(num >= 0 || num == -EINTR, 1))
		return 1;
	ec_zero_release(base);
	return num;
}
