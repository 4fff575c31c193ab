/*
 * A base: its workers, the state that they share, and the state of the loop.
 */
#ifndef EC_BASE_H
#define EC_BASE_H

#include "color.h"
#include "ec.h"
#include "io/signals.h"
#include "lock/bias.h"
#include "lock/sync.h"
#include "os/tsan.h"
#include "runq.h"
#include "waiting.h"
#include "worker.h"

struct ec_common;
struct ec_observer;

/* Why a lane attends to each of its callbacks: ec_base.lane_limits. */
enum {
	EC_LIMIT_CONFIG = 0x01,		/* the configuration has limits */
	EC_LIMIT_OBSERVED = 0x02,	/* sched/observed.h */
};

/* Why the loop ends at once: ec_base.is_break. 0: it does not. */
enum {
	EC_BREAK_ASKED = 1,		/* ec_base_loopbreak */
	EC_BREAK_FAILED,		/* a worker cannot poll: the loop returns an error */
};

/* The ready tasks of color 0 by priority; of all colors, if the base has one worker. */
struct ec_lane {
	/* RUNQ of worker 0 */
	struct ec_list others;
	uint64_t end;			/* 0. Read as the kind of a task after the last one, it ends a row of events */
	struct ec_list posts;		/* they go first */
};

_Static_assert(offsetof(struct ec_task, kind) - offsetof(struct ec_task, link) - offsetof(struct ec_lane, end) <
		       sizeof(uint64_t),
	       "the end of a lane is where a task has its kind");

/* Lanes that are not in the base itself. */
struct ec_lanes {
	/* own: the thread that sets priorities */
	struct ec_lanes *before;	/* empty, but a run of the loop may look at one; or NULL */

	struct ec_lane at[];
};

struct ec_base {
	struct ec_worker zero;		/* worker 0 */

	/* const after ec_base_new. Each post reads it: no field beside it is written often. */
	char pad0[EC_CACHE_LINE];
	struct ec_worker **workers;	/* room for workers_max, behind the base; workers_num exist */
	unsigned workers_max;
	unsigned flags;
	bool has_interval;
	uint8_t lane_limits;		/* EC_LIMIT_…; own: the loop's thread changes it: see observed.h */
	bool steals;			/* EVENT_STEAL=0 turns it off */
	bool is_single;			/* one worker for good: colors are names, all tasks are color 0's */
	int64_t max_interval_ns;
	int max_callbacks;
	unsigned limit_after_pri;
	ec_worker_start_fn start;
	void *start_arg;
	_Atomic(bool) is_color_inherited; /* what a callback makes has its color; any thread, seldom */
	struct ec_lane *lanes;		/* const once there are colors */
	struct ec_lanes *lanes_own;	/* those have them, and the ones before; or NULL */
	struct ec_lane only_lane;	/* the usual number of lanes is 1 */
	unsigned lanes_num, lanes_cap;
	/* atomic: worker 0 changes both; any thread reads them */
	_Atomic(int) posts_pri_end;	/* lanes_num; lower than all priorities in debug mode, or if observed */
	_Atomic(unsigned) events_pri_end; /* lanes_num; 0 if observed */
	_Atomic(bool) is_observed;
	_Atomic(struct ec_observer *) observer; /* NULL: the base was never observed */
	char pad1[EC_CACHE_LINE];

	/* RUNQ of worker 0 */
	struct ec_color color0;
	uint64_t lanes_map[EC_PRI_WORDS]; /* lanes with tasks, but for lane 0, whose lists are looked at */

	/*
	 * Reasons to do more between two callbacks of a lane than to call the next one. They share a word, so that
	 * one load shows that there is none. Any thread sets is_continue.
	 */
	union {
		struct {
			unsigned running_pri;	/* of the lane that runs; 0 if none: no priority is more urgent */
			union {
				struct {
					/* the lane ends: more urgent tasks, a break, the first color */
					_Atomic(bool) is_continue;
					_Atomic(bool) has_posts; /* a lane may have posts */
					_Atomic(uint8_t) limits; /* EC_LIMIT_… of the lane; not in single.c */
					_Atomic(bool) has_grown; /* a count has, since the maxima were noted */
				};
				/* the first two: a load of all would wait for has_grown's store */
				_Atomic(uint16_t) interruption;
				_Atomic(uint32_t) attention;
			};
		};
		uint64_t attention_at_0;	/* attention, while lane 0 runs */
	};

	/*
	 * The list for plain tasks: lane 0's events, while the base is not locked. NULL: check locks, debug mode,
	 * debug messages, observation and a less urgent lane that runs first.
	 */
	struct ec_list *fast_path;
	/* RUNQ: the bits of a task's word that are 0 in a plain task (ready.h). No task has none of all bits. */
	uint64_t special;
	uint64_t special_observed;	/* RUNQ: the same while the base is observed; else all bits */

	/* SOURCE of worker 0 */
	struct ec_signals signals;
	struct ec_common **commons;
	int commons_num;
	_Atomic(uint32_t) virtuals;	/* read by workers that become idle */
	_Atomic(uint32_t) pending_moves; /* registrations that moved to another worker: M1, M2 in quiet.c */
	_Atomic(int) max_added, max_active, max_virtual;
	struct ec_list onces;		/* of ec_base_once, not run yet */

	/* own: the loop's thread */
	_Atomic(bool) is_running;	/* any thread reads it; if locked, changes to true under the start lock */
	_Atomic(bool) wants_quiet;	/* worker 0 waits until all workers are idle */
	_Atomic(int) loop_flags;	/* written before wants_quiet */
	uint64_t brief_until;		/* up to this number of callbacks an EVLOOP_ONCE loop runs under load; or 0 */
	_Atomic(uint64_t) callbacks_before; /* that had run when this loop began; read by all workers */

	/* atomic */
	char pad2[EC_CACHE_LINE];
	_Atomic(bool) is_locked;	/* reset when the base is freed */
	_Atomic(bool) is_colored;	/* has several workers; reset as is_locked */
	_Atomic(bool) has_costs;	/* the program set the cost of a color */
	_Atomic(bool) has_reserved;	/* a post was reserved, ever; it may have a reference on its color */
	_Atomic(bool) is_single_colored;	/* a single worker, with colors; reset as is_locked */
	_Atomic(bool) has_watched;	/* a descriptor was watched, ever */
	_Atomic(uint32_t) workers_num;	/* written before is_colored */
	_Atomic(uint32_t) starting;	/* the start lock: 1 if a thread holds it */
	union {
		struct {
			_Atomic(uint8_t) is_break;	/* EC_BREAK_… */
			_Atomic(bool) is_exit;		/* ec_base_loopexit has expired */
		};
		_Atomic(uint16_t) stop;		/* both */
	};
	_Atomic(bool) is_stopping;	/* threads are to end */
	_Atomic(struct ec_task *) inbox; /* posts from other threads before the base was locked; post.c */

	struct ec_bias bias;		/* of the locks of worker 0, while there is no other */

	_Atomic(uint64_t) rescue_at;	/* ticks: when a busy worker next polls for stuck ones */
	_Atomic(uint32_t) gate;		/* closers: pauses, and the absence of a loop */
	_Atomic(uint32_t) gate_seq;	/* futex: threads that wait for a change of the gate */
	_Atomic(uint32_t) holds;	/* threads of others that still use it after their call took effect: holds.h */

	char pad3[EC_CACHE_LINE];
	_Atomic(uint32_t) sleepers;	/* workers that may be woken to steal */
	_Atomic(uint32_t) searchers;	/* workers that spin for work */
	_Atomic(uint32_t) tickers;	/* sleepers that wake up now and then: mostly one at most */
	char pad4[EC_CACHE_LINE];

	/* mu: rank BASE */
	struct ec_spin mu;
	struct ec_list dependents;
	_Atomic(const void *) pauser;	/* the thread whose pauses close the gate, or NULL */
	unsigned pauses;

	/* the WAIT lock */
	struct ec_waiting nested;	/* if this loop runs in a callback of another base; else its base is NULL */

	/* pool_mu: rank LEAF */
	struct ec_spin pool_mu;
	struct ec_list post_pool;
	uint32_t post_pool_num;

	struct ec_numbers numbers;	/* guarded by the lock in it */

	/* the lock of fork.c's list */
	struct ec_list fork_link;
	unsigned fork_pins;		/* threads that need it not to be freed */

	/* changed in a process of one thread, or by ec_base_reinit's caller */
	bool is_child;			/* in a forked child, before ec_base_reinit has succeeded */
	bool is_bare;			/* ec_base_reinit has failed: no thread starts before it succeeds */
	bool is_lost;			/* in a forked child: its state is unknown */
	unsigned reinits_num;

	/* const after ec_base_new */
	struct ec_virtual *virtual;	/* of virtual workers (loop/virtual.h); NULL: it has none */
	struct ec_fibers *fibers;	/* of its race checker (observe/fibers.h); NULL: it has none */

	/* guarded by the locks in it */
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

/* Of a base that is not locked, after `special`, `running_pri` or the lanes have changed. */
static inline void ec_base_set_fast_path(struct ec_base *base)
{
	base->fast_path = base->special == UINT64_MAX || base->running_pri != 0 ? NULL : &base->lanes[0].others;
}

/* For a counter of a base that is not locked: it has one thread, so a plain addition is enough. */
static inline void ec_serial_add(_Atomic(uint32_t) *counter, uint32_t by)
{
	*(uint32_t *)counter += by;
}

static inline void ec_serial_count(_Atomic(uint64_t) *counter, uint64_t by)
{
	*(uint64_t *)counter += by;
}

/*
 * base.attention, between two callbacks of lane 0 of a base that is not locked. It has one thread, but for the moment
 * after a callback has given it the first color. So a plain load is enough, and needs no instruction of its own: of 64
 * bits, for gcc compares those with memory.
 */
static inline bool ec_base_needs_attention(const struct ec_base *base)
{
#if defined(EC_TSAN_SEES_ALL) || defined(EC_SIM)
	return ec_load_relaxed(&base->attention) != 0;
#else
	return base->attention_at_0 != 0;
#endif
}

/* Can an event of a color other than 0 be queued? */
static inline bool ec_has_colors(struct ec_base *base)
{
	return ec_load_acquire(base->is_single ? &base->is_single_colored : &base->is_colored);
}

/* Of a worker that nobody can post to. It is always empty, and has no room. */
extern struct ec_mailbox ec_mailbox_none;

/* Under RUNQ of `w`: a thread that uses what this lock guards of colors and queues first delivers all messages. */
void ec_mailbox_deliver(struct ec_worker *w);

/* The same; then takes MAIL, so that none comes until ec_mailbox_reopen, and colors may leave. */
void ec_mailbox_shut(struct ec_worker *w);

static inline void ec_mailbox_drain(struct ec_worker *w)
{
	if (ec_load_relaxed(&w->mailbox->num) != 0)
		ec_mailbox_deliver(w);
}

/* The messages of `w`. A hint, for any thread: the mailbox is made with the first color. */
static inline uint32_t ec_worker_messages(const struct ec_worker *w)
{
	return ec_is_colored(w->base) ? ec_load_relaxed(&w->mailbox->num) : 0;
}

/* The runnable colors and the messages of `w`, if the base has colors. A hint, without locks. */
static inline uint32_t ec_worker_runnable(const struct ec_worker *w)
{
	return ec_load_relaxed(&w->runq.num) + ec_load_relaxed(&w->mailbox->num);
}

/*
 * May the locks of `w` be biased? Not from the moment on that the base has several workers. The thread that starts them
 * holds both locks of worker 0 by their words then, and has ended the bias. So a thread that asked before it, or holds
 * such a lock, is right all the same.
 */
static inline bool ec_is_biasable(const struct ec_worker *w)
{
	return !ec_load_acquire(&w->base->is_colored) && w == &w->base->zero;
}

/* A base without threads takes no lock. clang cannot follow that; the ranks are checked at run time. */
static inline void ec_src_lock(struct ec_worker *w) EC_NO_ANALYSIS
{
	if (!ec_is_locked(w->base))
		return;
	if (ec_is_biasable(w))
		ec_bias_lock(&w->base->bias, &w->src);
	else
		ec_spin_lock(&w->src);
}

static inline void ec_src_unlock(struct ec_worker *w) EC_NO_ANALYSIS
{
	if (!ec_is_locked(w->base))
		return;
	if (ec_is_biasable(w))
		ec_bias_unlock(&w->base->bias, &w->src);
	else
		ec_spin_unlock(&w->src);
}

static inline void ec_run_lock(struct ec_worker *w) EC_NO_ANALYSIS
{
	if (!ec_is_locked(w->base))
		return;
	if (ec_is_biasable(w))
		ec_bias_lock(&w->base->bias, &w->run);
	else
		ec_spin_lock(&w->run);
	ec_mailbox_drain(w);
}

static inline void ec_run_unlock(struct ec_worker *w) EC_NO_ANALYSIS
{
	if (!ec_is_locked(w->base))
		return;
	if (ec_is_biasable(w))
		ec_bias_unlock(&w->base->bias, &w->run);
	else
		ec_spin_unlock(&w->run);
}

/* The same for a base with several workers. */
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
	return ec_load_relaxed(&base->stop) != 0;
}

/*
 * Under SOURCE or RUNQ of worker 0, or no lock. With one worker this is no read-modify-write: if two threads do it at
 * the same time, they may lose a maximum, nothing else.
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

void ec_base_raise_maxima(struct ec_base *base, int active, int added);

/* A base that is not locked has one thread, and a plain load needs no instruction of its own. */
static inline int ec_load_max(const _Atomic(int) *max, const bool is_locked)
{
	return is_locked ? atomic_load_explicit(max, memory_order_relaxed) : *(const int *)max;
}

/*
 * Each worker has its own counts. The maxima are those of worker 0, and exact if one thread uses the base. A maximum
 * is updated late: before its count shrinks again, and before the program reads it.
 */
static inline __attribute__((always_inline)) void ec_base_note_grown(struct ec_base *base, const bool is_locked)
{
	int active, added;

	ec_store_relaxed(&base->has_grown, false);
	active = (int)atomic_load_explicit(&base->zero.active_num, memory_order_relaxed);
	added = (int)atomic_load_explicit(&base->zero.pending_num, memory_order_relaxed) + active;
	if (__builtin_expect(active > ec_load_max(&base->max_active, is_locked), 0) ||
	    __builtin_expect(added > ec_load_max(&base->max_added, is_locked), 0))
		ec_base_raise_maxima(base, active, added);
}

static inline void ec_base_note_max(struct ec_base *base)
{
	if (ec_load_relaxed(&base->has_grown))
		ec_base_note_grown(base, true);
}

#endif
