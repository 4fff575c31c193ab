/*
 * The loop's time, its common timeouts, and what its turns share with the workers.
 */
#ifndef EC_LOOP_H
#define EC_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base.h"
#include "os/clock.h"
#include "sched/worker.h"

/* ---- time */

/* Who asked for precise timers pays for the clock itself. */
static inline int64_t ec_base_clock(const struct ec_base *base)
{
	return (base->flags & EC_BASE_PRECISE_TIMER) != 0 ? ec_monotonic_ns() : ec_monotonic_near_ns();
}

/* The cached time of the turn of a base that is not locked, else the clock. */
static inline int64_t ec_base_now_serial(struct ec_base *base)
{
	return base->zero.now_ns != 0 ? base->zero.now_ns : ec_base_clock(base);
}

/* The same for any base: the time of the calling worker's turn. */
static inline int64_t ec_base_now(struct ec_base *base)
{
	struct ec_worker *w;

	if (!ec_is_locked(base))
		return ec_base_now_serial(base);
	w = ec_worker_self(base);
	return w != NULL && w->now_ns != 0 ? w->now_ns : ec_base_clock(base);
}

/* Read the clock for the rest of the turn, if times are cached. */
static inline void ec_worker_cache_now(struct ec_worker *w)
{
	w->now_ns = (w->base->flags & EC_BASE_NO_CACHE_TIME) != 0 ? 0 : ec_monotonic_ns();
}

void ec_base_wall_time(struct ec_base *base, int64_t monotonic_ns, struct timeval *ret);
int64_t ec_timeval_ns(const struct timeval *tv);

/* ---- common timeouts: a struct timeval whose tv_usec carries a mark and an index */

enum { EC_COMMON_USEC = 0x000fffff, EC_COMMON_MARK = 0x50000000, EC_COMMON_MASK = 0x70000000, EC_COMMON_SHIFT = 20 };

static inline bool ec_common_is_handle(const struct timeval *tv)
{
	return (tv->tv_usec & EC_COMMON_MASK) == EC_COMMON_MARK;
}

static inline unsigned ec_common_index(const struct timeval *tv)
{
	return (unsigned)(tv->tv_usec >> EC_COMMON_SHIFT) & 0xff;
}

/* What owns a timer: an event, or, with the lowest bit set, a common timeout. */
static inline void *ec_common_owner(struct ec_common *common)
{
	return (char *)common + 1;
}

static inline struct ec_common *ec_common_from_owner(void *owner)
{
	return ((uintptr_t)owner & 1) != 0 ? (struct ec_common *)(void *)((char *)owner - 1) : NULL;
}

bool ec_common_is_head(struct ec_base *base, const struct ec_list *node);

/* ---- turns */

/* Look at the poller once, blocking if `may_block` and nothing turns up; activate what is ready. 0 or -errno. */
int ec_worker_poll(struct ec_worker *w, bool may_block);
int ec_worker_poll_serial(struct ec_worker *w, bool may_block);	/* of a base that is not locked */

/* Look at the poller of `w`, whose thread is busy, for it. */
void ec_worker_poll_for(struct ec_worker *w);

/* Nothing is pending; nothing is queued or running. The first is a hint. */
bool ec_base_is_idle(struct ec_base *base);
bool ec_base_is_quiet(struct ec_base *base);

/* What came from other threads before the base was locked. The loop's thread. */
void ec_inbox_drain(struct ec_base *base);

static inline bool ec_loop_must_stop(struct ec_base *base)
{
	return ec_load_relaxed(&base->is_break) || ec_load_relaxed(&base->is_exit);
}

/* A worker has announced that it sleeps. False: the loop may have ended meanwhile, look first. */
bool ec_loop_rested(struct ec_worker *w);

/* Worker 0 waits for rest, and a callback has returned: it has waited long enough under load. */
void ec_loop_ran(struct ec_base *base);

/* A worker other than 0, after ec_base_loopbreak: sleep until the next loop. */
void ec_loop_rest(struct ec_worker *w);

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

static inline void ec_base_update_now(struct ec_base *base)
{
	base->zero.now_ns = ec_monotonic_ns();
}

#endif
