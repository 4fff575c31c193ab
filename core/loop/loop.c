/*
 * The loop: turns of a base without workers, turns of worker 0, and how both end.
 */
#include "ec.h"

#include <limits.h>
#include <string.h>

#include "fork.h"
#include "io/observing.h"
#include "io/polling.h"
#include "lanes.h"
#include "observe/control.h"
#include "observe/late.h"
#include "once.h"
#include "os/chunk.h"
#include "os/clock.h"
#include "os/thread.h"
#include "sched/event.h"
#include "sched/gate.h"
#include "sched/handover.h"
#include "sched/holds.h"
#include "sched/park.h"
#include "sched/post.h"
#include "sched/queue.h"
#include "sched/quiet.h"
#include "sched/run.h"
#include "sched/runs.h"
#include "sched/steal.h"
#include "sched/task.h"
#include "sched/wait.h"
#include "sched/zero.h"
#include "threads.h"
#include "turn.h"
#include "virtual.h"

/* ---------------------------------------------------------------- without colors */

/* Take the posts of other threads. False: one had the first color, which changes how the base runs. */
static inline bool take_inbox(struct ec_base *base, const bool is_locked)
{
	if (!is_locked && ec_load_relaxed(&base->inbox) == NULL)
		return true;
	if (is_locked && ec_load_relaxed(&base->inbox) == &ec_inbox_closed)
		return true;
	ec_inbox_drain(base);
	return is_locked ? !ec_is_colored(base) : !ec_is_locked(base);
}

/*
 * With EVLOOP_ONCE or EVLOOP_NONBLOCK, in a stream of posts, or of events in a base with colors: the tasks that are
 * ready when a run has ended early still run. As ec_quiet_is_enough.
 */
static __attribute__((noinline)) bool is_serial_enough(struct ec_base *base)
{
	uint64_t ran = ec_load_relaxed(&base->zero.stats.callbacks);

	if ((ec_load_relaxed(&base->loop_flags) & (EC_LOOP_ONCE | EC_LOOP_NONBLOCK)) == 0)
		return false;
	if (base->brief_until == 0) {
		/* With a limit, each run is short. */
		if (base->lane_limits != 0 && !ec_quiet_is_enough(base))
			return false;
		base->brief_until = ran + ec_load_relaxed(&base->zero.active_num);
	}
	return ran >= base->brief_until;
}

/* After a poll that left no event active. */
static inline enum ec_outcome nothing_active(int flags)
{
	return (flags & EC_LOOP_NONBLOCK) != 0 ? EC_STOPPED : EC_GO_ON;
}

/* Run what is active; is_locked: both locks are held, and released here. */
static inline __attribute__((always_inline)) enum ec_outcome run_active(struct ec_base *base, int flags,
									const bool is_locked)
{
	struct ec_worker *w = &base->zero;
	int ran;

	w->is_run_over = false;
	ec_store_plain(&w->lanes_began, ec_clock_cycles());
	ran = is_locked ? ec_lanes_run_held(w) : ec_lanes_run(w);
	ec_store_plain(&w->lanes_cycles, ec_clock_cycles() - w->lanes_began + w->lanes_cycles);
	if (__builtin_expect(w->is_run_over, 0) && ec_load_relaxed(&w->active_num) != 0 && is_serial_enough(base))
		return EC_STOPPED;
	if ((flags & EC_LOOP_ONCE) != 0 && ran != 0 && ec_load_relaxed(&w->active_num) == 0)
		return EC_STOPPED;
	return EC_GO_ON;
}

/* What comes from now on ends the next turn. False: there is none, for the loop must stop. */
static inline bool turn_begins(struct ec_base *base)
{
	ec_store_relaxed(&base->is_continue, false);
	return !ec_loop_must_stop(base);
}

/* After turn_begins. A base that is not locked has one thread, and needs none of the checks for others. */
static inline __attribute__((always_inline)) enum ec_outcome serial_turn(struct ec_base *base)
{
	struct ec_worker *w = &base->zero;
	bool has_active, may_block;
	int flags, r;

	if (!take_inbox(base, false))
		return EC_GO_ON;
	has_active = ec_load_relaxed(&w->active_num) != 0;
	if (!has_active && ec_quiet_is_serial_end(base))
		return EC_NOTHING_LEFT;
	flags = ec_load_relaxed(&base->loop_flags);
	may_block = !has_active && (flags & EC_LOOP_NONBLOCK) == 0;
	r = ec_worker_poll_serial(w, may_block);
	if (r < 0)
		return EC_FAILED;
	if (!take_inbox(base, false))
		return EC_GO_ON;
	if (ec_gate_is_closed(base) && ec_gate_wait_open(base) < 0)
		return EC_FAILED;
	if (ec_load_relaxed(&w->active_num) == 0)
		return nothing_active(flags);
	return run_active(base, flags, false);
}

/*
 * The same of a base with locks and one worker: zero.h. The inbox is closed once the base is locked. Work that other
 * threads bring is counted in active_num or pending_num, under the locks; a first look without them is a hint.
 */
static inline enum ec_outcome held_turn(struct ec_base *base)
{
	struct ec_worker *w = &base->zero;
	bool has_active, may_block;
	int flags, r;

	if (!turn_begins(base))
		return EC_STOPPED;
	if (ec_bias_is_rebias_due(&base->bias))
		ec_bias_rebias(&base->bias, &w->src, &w->run);
	if (!take_inbox(base, true))
		return EC_GO_ON;
	has_active = ec_load_relaxed(&w->active_num) != 0;
	if (!has_active && ec_quiet_is_serial_end(base))
		return EC_NOTHING_LEFT;
	flags = ec_load_relaxed(&base->loop_flags);
	may_block = !has_active && (flags & EC_LOOP_NONBLOCK) == 0;
	r = ec_worker_poll_held(w, may_block);
	if (__builtin_expect(r <= 0, 0))
		return r < 0 ? EC_FAILED : EC_GO_ON;
	if (ec_load_relaxed(&base->is_break)) {	/* before this turn had the locks, meets wake_all */
		ec_zero_release(base);
		return EC_STOPPED;
	}
	if (ec_gate_is_closed(base)) {
		ec_zero_release(base);
		if (ec_gate_wait_open(base) < 0)
			return EC_FAILED;
		if (!ec_zero_hold(base))
			return EC_GO_ON;
	}
	if (ec_load_relaxed(&w->active_num) == 0) {
		ec_zero_release(base);
		return nothing_active(flags);
	}
	return run_active(base, flags, true);
}

/* ---------------------------------------------------------------- with colors */

/*
 * Every other worker polls once, so events that were ready before are active after. After a loopbreak the workers rest
 * instead (threads.c). They notify the gate (B1) after they read is_break, so this thread, which read gate_seq before
 * (B2), does not sleep on it.
 */
static void poll_all(struct ec_base *base)
{
	struct ec_worker *w;
	uint32_t turns, seq;
	unsigned i;

	for (i = 1; i < ec_workers_num(base); i++) {
		w = base->workers[i];
		if (!ec_load_relaxed(&w->is_started)) {
			ec_worker_poll_for(w);
			continue;
		}
		turns = ec_load_acquire(&w->polls);
		ec_wakeup_send(&w->wakeup);
		for (;;) {
			seq = ec_load_acquire(&base->gate_seq);		/* B2, meets B1 */
			/* A poll in progress may have begun before this call; the one after it has not. */
			if (ec_load_acquire(&w->polls) - turns >= 2 || ec_load_relaxed(&base->is_break))
				break;
			ec_wakeup_send(&w->wakeup);
			ec_futex_wait(&base->gate_seq, seq, NULL);
		}
	}
}

/* Worker 0 has nothing to run. Has another one? */
static enum ec_outcome colored_idle(struct ec_base *base)
{
	enum ec_outcome o;

	ec_store_release(&base->wants_quiet, true);		/* meets ec_loop_idle: with the flags */
	o = ec_base_is_quiet(base) ? ec_quiet_outcome(base) : EC_GO_ON;
	if (o == EC_STOPPED && (ec_load_relaxed(&base->loop_flags) & EC_LOOP_NONBLOCK) != 0) {
		poll_all(base);
		base->zero.poll_at = base->zero.poll_late_at = 0;
		/* Quiet before that turn, and after it: the turn ends with a poll, whose events nobody has run yet. */
		return ec_base_is_quiet(base) && ec_worker_turn(&base->zero) == 0 && ec_base_is_quiet(base) ?
			EC_STOPPED : EC_GO_ON;
	}
	if (o != EC_GO_ON)
		return o;
	if (ec_quiet_is_enough(base))
		return EC_ENOUGH;
	return ec_worker_sleep(&base->zero) < 0 ? EC_FAILED : EC_GO_ON;
}

/* The caller wants a short loop: do not spin for work. */
static bool is_brief(struct ec_base *base)
{
	return (ec_load_relaxed(&base->loop_flags) & (EC_LOOP_ONCE | EC_LOOP_NONBLOCK)) != 0;
}

static enum ec_outcome colored_turn(struct ec_base *base)
{
	enum ec_outcome o;
	int r;

	if (ec_load_relaxed(&base->is_break))
		return EC_STOPPED;
	if (ec_gate_is_closed(base) && ec_gate_wait_open(base) < 0)
		return EC_FAILED;
	ec_inbox_drain(base);
	r = ec_worker_turn(&base->zero);
	if (r < 0)
		return EC_FAILED;
	if (ec_load_relaxed(&base->is_exit))
		return EC_STOPPED;
	if (ec_quiet_is_enough(base))
		return EC_ENOUGH;
	if (r > 0 || ec_worker_runnable(&base->zero) != 0)
		return EC_GO_ON;
	if (is_brief(base) ? ec_steal(&base->zero) : ec_worker_search(&base->zero))
		return EC_GO_ON;
	o = colored_idle(base);
	ec_store_relaxed(&base->wants_quiet, false);
	return o;
}

/* ---------------------------------------------------------------- within a callback */

/* What the caller's run keeps in its worker. */
struct outer {
	struct ec_event *running_event;
	struct ec_color *current;
	uint32_t running_color;
	unsigned running_pri;
	bool has_ring;
};

static int several_turn(struct ec_base *base, const struct outer *o)
{
	struct ec_worker *w = &base->zero;
	int r;

	ec_run_suspend(w);
	r = ec_gate_is_closed(base) ? ec_gate_wait_open(base) : 0;
	ec_inbox_drain(base);
	if (r >= 0)
		r = base->virtual != NULL ? ec_virtual_turn_nested(base) : ec_worker_turn_own(w);
	ec_store_relaxed(&w->is_calls_end, false);	/* of the last run; ec_runs_resume has the caller's */
	ec_run_resume(w, o->running_event);
	return r;
}

/* The base has one worker, or had until this turn. */
static int one_turn(struct ec_base *base, const struct outer *o)
{
	struct ec_worker *w = &base->zero;
	enum ec_outcome outcome;
	struct ec_ran ran;

	ec_run_lock(w);
	ran = ec_run_ended(w);				/* see ec_base_turn */
	if (o->has_ring)
		ec_posts_close(w, &base->color0);	/* its posts must run in this turn */
	ec_run_unlock(w);
	ec_run_settle(w, ran);
	if (ec_is_locked(base))
		outcome = held_turn(base);
	else
		outcome = turn_begins(base) ? serial_turn(base) : EC_STOPPED;
	ec_run_lock(w);
	ec_store_relaxed(&w->is_calls_end, false);	/* as above */
	ec_store_release(&w->running_event, o->running_event);
	w->current = o->current;
	w->running_color = o->running_color;
	base->running_pri = o->running_pri;
	if (o->has_ring && base->is_single)
		ec_posts_open(w, &base->color0, 0);
	ec_run_unlock(w);
	return outcome == EC_FAILED ? -EIO : 0;
}

int ec_base_turn(struct ec_base *base)
{
	struct ec_worker *w = ec_worker_self(base);
	struct ec_suspended suspended;
	struct outer o;
	uint32_t color;
	int r;

	if (w != &base->zero || w->current != &base->color0 || ec_base_running_color(base, &color) < 0 || color != 0)
		return -EPERM;
	if (ec_loop_must_stop(base))
		return 0;
	o = (struct outer){
		.running_event = ec_load_relaxed(&w->running_event),
		.current = w->current,
		.running_color = w->running_color,
		.running_pri = base->running_pri,
		.has_ring = w->local_of != NULL,
	};
	ec_runs_suspend(w, &suspended);
	r = ec_is_colored(base) ? several_turn(base, &o) : one_turn(base, &o);
	ec_runs_resume(w, &suspended);
	ec_store_relaxed(&base->is_continue, true);	/* the caller's run ends: its lane has changed */
	return r;
}

/* ---------------------------------------------------------------- loopexit */

/* Under RUNQ. Posts that come from now on go behind the other tasks, so that they take nobody's place. */
static uint32_t note_color(struct ec_color *c)
{
	ec_color_put_others_first(c);
	return c->tasks_num;
}

/*
 * All workers rest. Note how many tasks of each color are ready now, or (`is_any` false) clear that note. Returns the
 * number of those tasks.
 */
static uint64_t note_ready(struct ec_base *base, bool is_any)
{
	uint64_t sum = 0;
	struct ec_worker *w;
	struct ec_color *c;
	unsigned i;

	for (i = 0; i < ec_workers_num(base); i++) {
		w = base->workers[i];
		ec_run_lock(w);
		for (c = ec_runq_first(&w->runq); c != NULL; c = ec_runq_next(&w->runq, c)) {
			c->last_num = is_any ? note_color(c) : 0;
			sum += c->last_num;
		}
		ec_run_unlock(w);
	}
	return sum;
}

/* Up to `max` colors that have such tasks left, the most urgent ones of each worker first. */
static unsigned find_ready(struct ec_base *base, struct ec_color **ret, unsigned max)
{
	unsigned i, num = 0;
	struct ec_worker *w;
	struct ec_color *c;

	for (i = 0; i < ec_workers_num(base); i++) {
		w = base->workers[i];
		ec_run_lock(w);
		for (c = ec_runq_first(&w->runq); c != NULL && num < max; c = ec_runq_next(&w->runq, c)) {
			if (c->last_num != 0)
				ret[num++] = c;
		}
		ec_run_unlock(w);
	}
	return num;
}

/* Closes the gate. No worker runs a callback then. */
static void bring_to_rest(struct ec_base *base)
{
	ec_gate_close(base);
	ec_gate_wait_callbacks(base);
	ec_hand_all_rest(base);
}

/* Do tasks wait at another worker? A hint. */
static bool is_any_left_elsewhere(struct ec_base *base)
{
	unsigned i;

	for (i = 1; i < ec_workers_num(base); i++) {
		if (ec_load_relaxed(&base->workers[i]->active_num) > 1)		/* one may be running */
			return true;
	}
	return false;
}

/*
 * `num` tasks are noted: all workers run them, as before the end of the loop. They also run some that become ready
 * meanwhile, so a few of the noted ones are left. Tasks at another worker may be none that this one can steal. It
 * waits for them as long as that worker gets on.
 */
static void finish_together(struct ec_base *base, uint64_t num)
{
	uint64_t ran = ec_quiet_callbacks(base), end = ran + num, seen = 0, since = 0, now;

	ec_gate_open(base);
	for (; !ec_loop_must_stop(base) && ran < end; ran = ec_quiet_callbacks(base)) {
		if (ec_worker_turn(&base->zero) > 0 || ec_steal(&base->zero))
			continue;
		now = ec_clock_ticks();
		if (ran != seen) {
			seen = ran;
			since = now;
		} else if (!is_any_left_elsewhere(base) || now - since >= ec_clock_ns_to_ticks(EC_RUN_NS)) {
			break;
		}
		ec_osthread_yield();
		ec_cpu_relax();
	}
	bring_to_rest(base);
}

/*
 * After ec_base_loopexit, or a loop that ran enough: the gate is closed and all workers rest. The tasks that are ready
 * now still run. After ec_base_loopexit, those that they make ready do not: this thread runs as many tasks of each
 * color as it has now. One count for all colors would let a busy color use up another one's share. A task that becomes
 * ready meanwhile, and is more urgent than its color's others, takes the place of the last one.
 */
static __attribute__((noinline)) void finish_ready(struct ec_base *base)
{
	enum { MAX = 256, MANY = 64 };
	struct ec_color *c[MAX];
	uint64_t ready = note_ready(base, true);
	unsigned i, num;

	if (ready >= MANY && !ec_load_relaxed(&base->is_exit) && base->virtual == NULL) {
		finish_together(base, ready);
		if (ec_load_relaxed(&base->is_exit))
			(void)note_ready(base, true);
	}
	base->zero.is_finishing = true;
	if (base->virtual != NULL)
		ec_virtual_finish(base);
	while (!ec_load_relaxed(&base->is_break) && (num = find_ready(base, c, MAX)) != 0) {
		for (i = 0; i < num; i++) {
			while (ec_run_last(&base->zero, c[i]))
				;
		}
	}
	base->zero.is_finishing = false;
	(void)note_ready(base, false);
}

/* ---------------------------------------------------------------- the loop */

/* The calling thread is worker 0 from now on; in a callback of another base it also stays that base's worker. */
static inline void thread_enter(struct ec_base *base)
{
	struct ec_worker *outer = ec_self();

	if (__builtin_expect(outer != NULL, 0)) {
		base->zero.outer = outer;
		ec_wait_nest(&base->nested, base);
	}
	ec_set_self(&base->zero);
	ec_store_relaxed(&base->zero.has_thread, true);
	ec_store_relaxed(&base->zero.is_started, true);
}

static inline void loop_begin(struct ec_base *base, int flags)
{
	ec_store_relaxed(&base->loop_flags, flags);
	base->brief_until = 0;
	ec_store_relaxed(&base->is_continue, false);	/* first: a loopbreak between the two ends no loop */
	ec_store_relaxed(&base->stop, 0);
}

/* False: another thread runs the loop. */
static inline bool loop_enter(struct ec_base *base, int flags)
{
	bool is_colored;

	if (ec_is_colored(base))
		(void)ec_base_prepare_colors(base); /* as start.c: those that could not be made before */
	ec_start_lock(base);
	if (ec_load_relaxed(&base->is_running)) {
		ec_start_unlock(base);
		return false;
	}
	is_colored = ec_is_colored(base);	/* the start lock keeps that */
	loop_begin(base, flags);
	thread_enter(base);
	if (!is_colored && ec_bias_is_claim_due(&base->bias))
		ec_bias_claim(&base->bias, &base->zero.src, &base->zero.run, EC_CLAIM_LOOP);
	base->zero.poll_at = base->zero.poll_late_at = base->zero.ask_ticks = 0;
	/* A thread that adds the first signal event now claims the signals itself. */
	if (ec_load_relaxed(&base->signals.added_num) != 0) {
		ec_src_lock(&base->zero);
		ec_signals_claim(base);
		ec_src_unlock(&base->zero);
	}
	/* Before the gate opens, because the workers run as soon as it does. */
	ec_store_relaxed(&base->callbacks_before, is_colored ?
		ec_quiet_callbacks(base) : ec_load_relaxed(&base->zero.stats.callbacks));
	ec_store_release(&base->is_running, true);
	if (is_colored) {
		ec_hand_enter(base);
		ec_gate_open(base);
		ec_base_start_threads(base);
	}
	ec_start_unlock(base);
	return true;
}

/* Before another thread may run the loop. */
static void thread_leave(struct ec_base *base)
{
	struct ec_worker *outer = base->zero.outer;

	base->zero.read_ns = base->zero.now_ns;
	base->zero.now_ns = 0;
	if (__builtin_expect(outer != NULL, 0)) {
		base->zero.outer = NULL;
		ec_wait_unnest(&base->nested);
	}
	ec_set_self(outer);
}

static void loop_end(struct ec_base *base)
{
	thread_leave(base);
	ec_store_release(&base->is_running, false);
}

static void loop_leave(struct ec_base *base, enum ec_outcome o)
{
	bool is_colored;

	ec_start_lock(base);
	is_colored = ec_is_colored(base);
	if (!is_colored)
		loop_end(base);
	ec_start_unlock(base);
	ec_tsan_acquire(&base->is_break);
	if (is_colored) {
		bring_to_rest(base);
		if (o == EC_ENOUGH || ec_load_relaxed(&base->is_exit))
			finish_ready(base);
		ec_hand_leave(base);
		loop_end(base);
	}
}

/* The base got its first color in this turn: the run of color 0 ends, and color 0 queues like others. */
static void color0_rest(struct ec_base *base)
{
	struct ec_worker *w = &base->zero;

	ec_run_lock(w);
	if (base->color0.state == EC_COLOR_RUNNING) {
		w->current = NULL;
		ec_counter_add(&w->active_num, UINT32_MAX);
		if (base->color0.tasks_num != 0)
			ec_color_enqueue(w, &base->color0);
		else
			base->color0.state = EC_COLOR_IDLE;
	}
	ec_run_unlock(w);
	if (ec_gate_is_closed(base))		/* a thread that pauses the base may wait for that */
		ec_gate_notify(base);
}

/* 0, 1: nothing is left, or -errno. */
static inline int loop_result(struct ec_base *base, enum ec_outcome o)
{
	if (o != EC_NOTHING_LEFT)
		return o == EC_FAILED || ec_load_relaxed(&base->is_break) == EC_BREAK_FAILED ? -EIO : 0;
	if (__builtin_expect(ec_chunk_has_excess, 0) || ec_timers_may_have_excess(&base->zero.timers))
		ec_worker_tidy(&base->zero);
	if (__builtin_expect(ec_log_debug_on(), 0))
		ec_log(EC_LOG_DEBUG, "event_base_loop: no events registered.");
	return 1;
}

/* The rest of a loop whose base is locked, from the start or by its first color. */
static __attribute__((noinline)) int loop_locked(struct ec_base *base, enum ec_outcome o)
{
	if (__builtin_expect(ec_control_attention() != 0, 0))
		ec_observing_begin(&base->zero);
	while (o == EC_GO_ON && !ec_is_colored(base))
		o = held_turn(base);
	if (ec_is_colored(base)) {
		color0_rest(base);
		if (__builtin_expect(ec_control_attention() != 0, 0))
			ec_observing_turn(&base->zero);
		while (o == EC_GO_ON && base->virtual != NULL)
			o = ec_virtual_turn(base);
	}
	while (o == EC_GO_ON)
		o = colored_turn(base);
	loop_leave(base, o);
	if (__builtin_expect(ec_control_attention() != 0, 0))
		ec_late_flush();
	return loop_result(base, o);
}

/* A base that is not locked has no other thread that must know of the loop's beginning and end. */
static __attribute__((noinline)) int loop_serial(struct ec_base *base)
{
	enum ec_outcome o;

	thread_enter(base);
	if (ec_load_relaxed(&base->signals.added_num) != 0)
		ec_signals_claim(base);
	ec_store_relaxed(&base->callbacks_before, ec_load_relaxed(&base->zero.stats.callbacks));
	ec_store_release(&base->is_running, true);
	if (__builtin_expect(ec_control_attention() != 0, 0))
		ec_observing_begin(&base->zero);
	for (;;) {
		o = serial_turn(base);
		if (o != EC_GO_ON || ec_is_locked(base))
			break;
		if (!turn_begins(base)) {
			o = EC_STOPPED;
			break;
		}
	}
	if (ec_is_locked(base))
		return loop_locked(base, o);
	loop_end(base);
	if (__builtin_expect(ec_control_attention() != 0, 0))
		ec_late_flush();
	return loop_result(base, o);
}

static __attribute__((noinline, cold)) int loop_refuse(void)
{
	ec_log(EC_LOG_WARN, "event_base_loop: reentrant invocation.  Only one event_base_loop can run on each "
			    "event_base at once.");
	return -EBUSY;
}

/* The first turn of a base without colors would find that nothing is left. `inbox`: its inbox if it has no posts. */
static inline bool is_nothing_left(struct ec_base *base, int flags, const struct ec_task *inbox)
{
	return (flags & EC_LOOP_NO_EXIT_ON_EMPTY) == 0 && ec_load_relaxed(&base->zero.active_num) == 0 &&
	       ec_quiet_is_empty(base) && ec_load_relaxed(&base->inbox) == inbox;
}

/*
 * For a base that is locked: what other threads bring later, they may as well bring after this loop. False: the loop
 * must begin, or be refused.
 */
static inline bool loop_is_over(struct ec_base *base, int flags)
{
	bool is_over;

	if (ec_is_colored(base) || !is_nothing_left(base, flags, &ec_inbox_closed))
		return false;
	ec_start_lock(base);
	is_over = !ec_is_colored(base) && !ec_load_relaxed(&base->is_running);
	if (is_over)
		loop_begin(base, flags);
	ec_start_unlock(base);
	if (is_over)
		ec_tsan_acquire(&base->is_break);
	return is_over;
}

static __attribute__((noinline)) int loop_enter_locked(struct ec_base *base, int flags)
{
	if (loop_is_over(base, flags))
		return loop_result(base, EC_NOTHING_LEFT);
	return loop_enter(base, flags) ? loop_locked(base, EC_GO_ON) : loop_refuse();
}

int ec_base_loop(struct ec_base *base, int flags)
{
	if (ec_load_relaxed(&base->is_running))
		return loop_refuse();
	/* A fork in a nested loop must take the WAIT lock first. Without memory for the handlers it cannot. */
	if (__builtin_expect(ec_self() != NULL, 0))
		(void)ec_fork_prepare();
	if (ec_is_locked(base))
		return loop_enter_locked(base, flags);
	loop_begin(base, flags);
	return is_nothing_left(base, flags, NULL) ? loop_result(base, EC_NOTHING_LEFT) : loop_serial(base);
}

bool ec_base_is_looping(const struct ec_base *base)
{
	return atomic_load_explicit(&base->is_running, memory_order_relaxed);
}

/*
 * Sets is_continue, after the lock of worker 0 was taken and released. A turn that holds it clears is_continue before,
 * so the store here comes later. A turn that takes it later finds what the caller has set (held_turn).
 */
static void wake_all(struct ec_base *base)
{
	unsigned i;

	for (i = 0; ec_is_locked(base) && i < ec_workers_num(base); i++)
		ec_park_wake_if_asleep(base->workers[i]);
	ec_store_release(&base->is_continue, true);
}

/* Without locks the caller is the loop's thread. */
void ec_base_break(struct ec_base *base, uint8_t why)
{
	const bool is_held = ec_is_locked(base);

	if (is_held)
		ec_base_hold(base);
	if (why != 0) {
		ec_tsan_release(&base->is_break);
		ec_store_release(&base->is_break, why);
	}
	wake_all(base);
	if (is_held)
		ec_base_release(base);
}

int ec_base_loopbreak(struct ec_base *base)
{
	ec_base_break(base, EC_BREAK_ASKED);
	return 0;
}

int ec_base_loopcontinue(struct ec_base *base)
{
	ec_base_break(base, 0);
	return 0;
}

static void exit_now(int fd, short what, void *arg)
{
	struct ec_base *base = arg;

	(void)fd;
	(void)what;
	ec_store_relaxed(&base->is_exit, true);
}

int ec_base_loopexit(struct ec_base *base, const struct timeval *in)
{
	return ec_once_add(base, 0, -1, EC_TIMEOUT, exit_now, base, in);
}

bool ec_base_got_exit(struct ec_base *base)
{
	return ec_load_relaxed(&base->is_exit);
}

bool ec_base_got_break(struct ec_base *base)
{
	return ec_load_relaxed(&base->is_break) == EC_BREAK_ASKED;
}
