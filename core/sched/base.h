/*
 * A base: its workers, what they share, and the loop's state.
 */
#ifndef EC_BASE_H
#define EC_BASE_H

#include "color.h"
#include "ec.h"
#include "io/signals.h"
#include "lock/bias.h"
#include "lock/sync.h"
#include "runq.h"
#include "waiting.h"
#include "worker.h"

struct ec_common;

/* The ready tasks of color 0, by priority. */
struct ec_lane {
	struct ec_list others, posts;	/* posts go first */
};

struct ec_base {
	struct ec_worker zero;		/* worker 0 */

	/* const after ec_base_new: each post reads it, so nothing beside it is written all the time */
	char pad0[EC_CACHE_LINE];
	struct ec_worker **workers;	/* room for workers_max; the first workers_num are there */
	unsigned workers_max;
	unsigned flags;
	bool has_interval;
	bool has_limits;
	bool steals;			/* EVENT_STEAL=0 turns it off */
	bool is_single;			/* has one worker: colors are names, all is queued as color 0 is */
	int64_t max_interval_ns;
	int max_callbacks;
	unsigned limit_after_pri;
	ec_worker_start_fn start;
	void *start_arg;
	struct ec_lane *lanes;		/* const once there are colors */
	unsigned lanes_num;
	char pad1[EC_CACHE_LINE];

	/* RUNQ of worker 0 */
	struct ec_color color0;
	uint64_t lanes_map[EC_PRI_WORDS];
	unsigned running_pri;		/* of the lane being run; 0 at rest: nothing is more urgent */

	/*
	 * Why there is more to do between two callbacks of a lane than to call them: all in one
	 * word, so that one look tells that there is nothing. is_continue: any thread.
	 */
	union {
		struct {
			_Atomic(bool) is_continue; /* it ends: something more urgent, a break, the first color */
			_Atomic(bool) has_posts;   /* some may be in the lane */
			_Atomic(bool) is_limited;  /* by the configuration; unlocked only */
			_Atomic(bool) has_grown;   /* a count went up since the maxima were noted */
		};
		_Atomic(uint16_t) interruption; /* the first two: a load of all would wait for has_grown */
		_Atomic(uint32_t) attention;
	};

	/*
	 * Where plain tasks go at once: lane 0's events, as long as the base is not locked. NULL:
	 * something is to be looked at first: locks, debug mode, debug messages.
	 */
	struct ec_list *fast_path;
	struct ec_list *biased_path;	/* the same, for whom the base leans to, once it is alone and has colors */

	/* SOURCE of worker 0 */
	struct ec_signals signals;
	struct ec_common **commons;
	int commons_num;
	_Atomic(uint32_t) virtuals;	/* read by workers that come to rest */
	_Atomic(uint32_t) pending_moves; /* registrations that went to another worker: M1, M2 in loop.c */
	_Atomic(int) max_added, max_active, max_virtual;
	struct ec_list onces;		/* of ec_base_once that did not run yet */

	/* own: the loop's thread */
	_Atomic(bool) is_running;	/* read by start.c */
	_Atomic(bool) wants_quiet;	/* worker 0 waits until all have come to rest */
	_Atomic(int) loop_flags;	/* written before wants_quiet */
	uint64_t brief_until;		/* callbacks: those that a loop with EVLOOP_ONCE still runs under load; or 0 */
	_Atomic(uint64_t) callbacks_before; /* all that ran when this loop began; the last one's workers may look yet */

	/* atomic */
	char pad2[EC_CACHE_LINE];
	_Atomic(bool) is_locked;	/* never goes back */
	_Atomic(bool) is_colored;	/* has workers, more than one; never goes back */
	_Atomic(bool) has_costs;	/* the program said what a color costs */
	_Atomic(bool) is_single_colored;	/* alone, and has colors; never goes back */
	_Atomic(bool) has_watched;	/* a descriptor, ever */
	_Atomic(uint32_t) workers_num;	/* written before is_colored */
	_Atomic(uint32_t) starting;	/* 1: a thread makes the workers */
	_Atomic(bool) is_break;
	_Atomic(bool) is_exit;		/* ec_base_loopexit came due */
	_Atomic(bool) is_stopping;	/* threads are to end */
	_Atomic(struct ec_task *) inbox; /* posts from other threads before the base was locked; post.c */

	struct ec_bias bias;		/* of the locks of worker 0, if alone */

	_Atomic(uint64_t) rescue_at;	/* ticks: when a busy worker looks after stuck ones next */
	_Atomic(uint32_t) gate;		/* closers: pauses, and the absence of a loop */
	_Atomic(uint32_t) gate_seq;	/* futex: those who wait at the gate */

	char pad3[EC_CACHE_LINE];
	_Atomic(uint32_t) sleepers;	/* workers that may be woken to steal */
	_Atomic(uint32_t) searchers;
	_Atomic(uint32_t) tickers;	/* sleepers that look up now and then */
	char pad4[EC_CACHE_LINE];

	/* mu: rank BASE */
	struct ec_spin mu;
	_Atomic(const void *) pauser;	/* the thread whose pauses hold the gate; others wait for their turn */
	unsigned pauses;

	/* the WAIT lock */
	struct ec_waiting nested;	/* of a loop in a callback of another base; its base NULL: there is none */

	struct ec_spin pool_mu;		/* rank LEAF */
	struct ec_list post_pool;
	uint32_t post_pool_num;

	struct ec_list fork_link;	/* fork.c */
	unsigned fork_pins;		/* those that rely on it not being freed */
	bool is_child;			/* fork.c: a copy of the parent's, not made whole yet */
	bool is_lost;			/* fork.c: … of which nobody knows what is whole */
	unsigned reinits_num;		/* fork.c */
	char pad5[EC_CACHE_LINE];
	struct ec_colors colors;
};

static inline unsigned ec_workers_num(struct ec_base *base)
{
	return ec_load_acquire(&base->workers_num);
}

static inline bool ec_is_colored(struct ec_base *base)
{
	return ec_load_acquire(&base->is_colored);
}

static inline bool ec_is_locked(struct ec_base *base)
{
	return __builtin_expect(ec_load_relaxed(&base->is_locked), 0);
}

/* A counter of a base that is not locked: it has one thread, so a plain addition will do. */
static inline void ec_serial_add(_Atomic(uint32_t) *counter, uint32_t by)
{
	*(uint32_t *)counter += by;
}

/* Whether an event of another color than 0 may be queued. */
static inline bool ec_has_colors(struct ec_base *base)
{
	return ec_load_acquire(base->is_single ? &base->is_single_colored : &base->is_colored);
}

/* Whoever takes a RUNQ lock, other than to put mail there, finds none left. Under RUNQ of `w`. */
void ec_mailbox_deliver(struct ec_worker *w);

static inline void ec_mailbox_drain(struct ec_worker *w)
{
	if (ec_load_relaxed(&w->mailbox_num) != 0)
		ec_mailbox_deliver(w);
}

/* Has `w` anything to run, or mail that may make it so? A hint, without locks. */
static inline uint32_t ec_worker_runnable(const struct ec_worker *w)
{
	return ec_load_relaxed(&w->runq.num) + ec_load_relaxed(&w->mailbox_num);
}

/* A base without threads takes no lock: clang cannot follow that, the ranks check it as it runs. */
static inline void ec_src_lock(struct ec_worker *w) EC_NO_ANALYSIS
{
	if (!ec_is_locked(w->base))
		return;
	if (w->base->is_single)
		ec_bias_lock(&w->base->bias, &w->src);
	else
		ec_spin_lock(&w->src);
}

static inline void ec_src_unlock(struct ec_worker *w) EC_NO_ANALYSIS
{
	if (!ec_is_locked(w->base))
		return;
	if (w->base->is_single)
		ec_bias_unlock(&w->base->bias, &w->src);
	else
		ec_spin_unlock(&w->src);
}

static inline void ec_run_lock(struct ec_worker *w) EC_NO_ANALYSIS
{
	if (!ec_is_locked(w->base))
		return;
	if (w->base->is_single) {
		ec_bias_lock(&w->base->bias, &w->run);
	} else {
		ec_spin_lock(&w->run);
		ec_mailbox_drain(w);
	}
}

static inline void ec_run_unlock(struct ec_worker *w) EC_NO_ANALYSIS
{
	if (!ec_is_locked(w->base))
		return;
	if (w->base->is_single)
		ec_bias_unlock(&w->base->bias, &w->run);
	else
		ec_spin_unlock(&w->run);
}

/* The same where there are several workers. */
static inline void ec_run_lock_colored(struct ec_worker *w) EC_NO_ANALYSIS
{
	ec_spin_lock(&w->run);
	ec_mailbox_drain(w);
}

static inline void ec_run_unlock_colored(struct ec_worker *w) EC_NO_ANALYSIS
{
	ec_spin_unlock(&w->run);
}

static inline bool ec_loop_must_stop(struct ec_base *base)
{
	return ec_load_relaxed(&base->is_break) || ec_load_relaxed(&base->is_exit);
}

/*
 * Under SOURCE or RUNQ of worker 0, or no lock. With one worker there is no read-modify-write: threads that meet
 * here may lose a maximum, no more.
 */
static inline void ec_base_raise_max(struct ec_base *base, _Atomic(int) *max, int num)
{
	int old = ec_load_relaxed(max);

	if (num <= old)
		return;
	if (ec_workers_num(base) == 1)
		ec_store_relaxed(max, num);
	else
		while (num > old && !ec_cas_weak_acq_rel(max, &old, num))
			;
}

/*
 * Counts are kept by worker; the maxima are those of worker 0, and exact where one thread uses the base. A maximum is
 * noted when it is about to end: before a count goes down after it went up, and before it is told.
 */
static inline void ec_base_note_max(struct ec_base *base)
{
	int active, added;

	if (!ec_load_relaxed(&base->has_grown))
		return;
	ec_store_relaxed(&base->has_grown, false);
	active = (int)atomic_load_explicit(&base->zero.active_num, memory_order_relaxed);
	added = (int)atomic_load_explicit(&base->zero.pending_num, memory_order_relaxed) + active;
	ec_base_raise_max(base, &base->max_active, active);
	ec_base_raise_max(base, &base->max_added, added);
}

#endif
