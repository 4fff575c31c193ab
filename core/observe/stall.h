/*
 * EVENT_SMP_STALL_MS=N: callbacks that run for longer than N milliseconds are reported while they run, and loops that
 * do not turn, waits in a cycle, and queues that only grow.
 *
 * Each worker has a record. Its thread counts in it, with plain stores and without a clock: callbacks begun and ended
 * (seq), and turns. A watchdog scans the records four times in N ms. A number that does not change over scans that are
 * N ms apart is a stall. So what it reports has lasted for N ms at least; it is found within N * 5/4.
 *
 * Owner:     O1 store fn and color (release), O2 store seq (release).	Both at the beginning and at the end, O2 is +1.
 * Watchdog:  W1 load seq (acquire), W2 load fn and color (acquire), W3 load seq again.
 * If W1 and W3 agree, W2 is of that callback: had W2 seen a later O1, W3 would see the O2 before that.
 *
 * The list of records has a lock. Under it the watchdog reads what waits at a worker, which takes the worker's RUNQ
 * lock. It holds no lock when it asks a thread for its stack, reads symbols and calls the program's log callback.
 *
 * Scans that come late do not count as time: then the machine was busy or the process was stopped.
 */
#ifndef EC_STALL_H
#define EC_STALL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cpu_time.h"
#include "finding.h"
#include "os/atomic.h"
#include "os/list.h"
#include "os/thread.h"
#include "probe.h"
#include "settings.h"

enum { EC_STALL_DEPTH = 8 };		/* callbacks within callbacks; a power of two */

/* What the scheduler tells of its worker. The watchdog calls it; the worker is there. */
struct ec_stall_ops {
	int (*prepare)(void);	/* before the watchdog starts: makes fork safe; 0 or -errno */
	bool (*is_looping)(const void *worker);	/* false: it need not turn */
	/* Fills the rest if the base has locks; `callbacks` has what the worker's thread said last. */
	void (*look)(void *worker, uint32_t color, struct ec_stall_queue *ret);
};

struct ec_stall_call {
	_Atomic(const void *) fn;
	_Atomic(uint32_t) color;
};

/* A queue that only grows: the least of each window is more than that of the window before, and has doubled. */
struct ec_stall_growth {
	uint64_t least;			/* of this window */
	uint64_t first, last;		/* least of the first window, and of the last one */
	unsigned scans, windows;
};

/* The record of a worker. */
struct ec_stall {
	/* own: the worker's thread writes, the watchdog reads */
	_Atomic(uint32_t) seq;		/* + 1 when a callback begins, and when it ends */
	_Atomic(uint32_t) depth;	/* callbacks that it is in */
	_Atomic(uint32_t) turns;
	_Atomic(bool) is_asleep;	/* in its poller */
	_Atomic(uint32_t) queued;	/* callbacks that wait, as of the last poll or callback */
	struct ec_stall_call calls[EC_STALL_DEPTH];

	/* const */
	unsigned base_id, worker_id;

	/* const: since it was attached */
	const struct ec_stall_ops *ops;
	void *worker;			/* NULL: it is not attached */
	bool is_watched;		/* false: the watchdog could not start */

	/* mu of stall.c */
	struct ec_list link;
	pid_t tid;			/* of the thread that runs the worker */
	uint32_t scan;			/* the last one that it was in */
	uint32_t seen_seq, seen_turns, turn_seq;
	uint64_t call_ns, turn_ns;	/* for so long seq and turns have not changed */
	struct ec_cpu_time cpu;		/* of the thread, when the callback was seen first; at_ns 0: not known */
	bool is_call_told;		/* the callback that runs was looked at */
	bool is_turn_told, is_growth_told;
	struct ec_stall_growth growth;

	/* own; `key` is written under mu, and read by the watchdog */
	const void *key;		/* ec_thread_key() of the thread */
	int signal, blocked;		/* as ec_backtrace_enter */
};

extern const struct ec_consumer ec_stall_consumer;

/* Is any worker watched? A hint. */
static inline bool ec_stall_is_on(void)
{
	return __builtin_expect((ec_load_relaxed(&ec_control_own.on) & EC_OBSERVE_STALL) != 0, 0);
}

/* A record that nobody watches yet. -ENOMEM. */
int ec_stall_new(unsigned base_id, unsigned worker_id, struct ec_stall **ret);

/*
 * From now on the watchdog watches the record; it starts, if it did not run. The calling thread runs the worker. If no
 * thread can be made, that is logged once, and stalls of this worker are not reported.
 */
void ec_stall_attach(struct ec_stall *s, const struct ec_stall_ops *ops, void *worker);

static inline bool ec_stall_is_attached(const struct ec_stall *s)
{
	return s->worker != NULL;
}

/* The worker does not run, or the caller runs it. */
void ec_stall_free(struct ec_stall *s);

/* A base was freed: the watchdog ends if there is no record. */
void ec_stall_settle(void);

static inline void ec_stall_begin(struct ec_stall *s, const void *fn, uint32_t color)
{
	uint32_t depth = ec_load_relaxed(&s->depth);
	struct ec_stall_call *call = &s->calls[depth % EC_STALL_DEPTH];

	ec_store_release(&call->fn, fn);			/* O1, meets W2 */
	ec_store_release(&call->color, color);
	ec_store_relaxed(&s->depth, depth + 1);
	ec_store_release(&s->seq, ec_load_relaxed(&s->seq) + 1);	/* O2, meets W1, W3 */
}

static inline void ec_stall_rename(struct ec_stall *s, const void *fn)
{
	uint32_t depth = ec_load_relaxed(&s->depth);

	ec_store_release(&s->calls[(depth - 1) % EC_STALL_DEPTH].fn, fn);	/* O1, meets W2 */
}

static inline void ec_stall_end(struct ec_stall *s)
{
	ec_store_relaxed(&s->depth, ec_load_relaxed(&s->depth) - 1);
	ec_store_release(&s->seq, ec_load_relaxed(&s->seq) + 1);	/* O2, meets W1, W3 */
}

/* The calling thread runs the worker now: it may be asked for its stack. */
void ec_stall_enter(struct ec_stall *s);

static inline void ec_stall_queued(struct ec_stall *s, uint64_t num)
{
	ec_store_relaxed(&s->queued, (uint32_t)num);
}

/* At the start of each turn. The loop may have got another thread since the last one. */
static inline void ec_stall_turn(struct ec_stall *s)
{
	ec_store_relaxed(&s->turns, ec_load_relaxed(&s->turns) + 1);
	if (__builtin_expect(s->signal != ec_backtrace_signal() || s->key != ec_thread_key(), 0))
		ec_stall_enter(s);
}

/* Around a poll. */
static inline void ec_stall_sleep(struct ec_stall *s, bool is_asleep)
{
	ec_store_relaxed(&s->is_asleep, is_asleep);
}

/* ---------------------------------------------------------------- cycles */

/* One wait of a cycle. */
struct ec_stall_wait {
	const void *worker;		/* only compared; NULL: the thread is in no callback */
	const char *what;		/* it waits for */
};

/*
 * The caller has found that its own wait, the first of `waits`, closes a cycle: reports that, once for a callback. No
 * lock is held, and the other threads wait.
 */
void ec_stall_tell_cycle(const struct ec_stall_wait *waits, int num);

/* ---------------------------------------------------------------- the watchdog */

/* One scan, `now_ns` of the monotonic clock. */
void ec_stall_scan(uint64_t now_ns);

/*
 * Around fork, as ec_spin_freeze. In a child, also of clone, there is no watchdog, and no record is used any more: its
 * workers get new ones when they poll.
 */
void ec_stall_freeze(void);
void ec_stall_thaw(void);
void ec_stall_reset(void);

/* Tests: in place of the environment, and without a thread. What was reported is forgotten. `settings` stays. */
void ec_stall_use(const struct ec_stall_settings *settings);

/* The same: in place of the kernel's numbers; without it, a test has none. */
void ec_stall_use_cpu_time(bool (*of)(pid_t tid, struct ec_cpu_time *ret));

#endif
