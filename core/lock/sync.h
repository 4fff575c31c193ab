/*
 * The ranked spin lock, the futex, and the barrier of all threads. Atomics are in os/atomic.h.
 */
#ifndef EC_SYNC_H
#define EC_SYNC_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "os/atomic.h"

#if defined(__clang__) && !defined(EC_SIM)
#define EC_CAPABILITY		__attribute__((capability("mutex")))
#define EC_ACQUIRE(...)		__attribute__((acquire_capability(__VA_ARGS__)))
#define EC_TRY_ACQUIRE(...)	__attribute__((try_acquire_capability(__VA_ARGS__)))
#define EC_RELEASE(...)		__attribute__((release_capability(__VA_ARGS__)))
#define EC_REQUIRES(...)	__attribute__((requires_capability(__VA_ARGS__)))
#define EC_NO_ANALYSIS		__attribute__((no_thread_safety_analysis))
#else
#define EC_CAPABILITY
#define EC_ACQUIRE(...)
#define EC_TRY_ACQUIRE(...)
#define EC_RELEASE(...)
#define EC_REQUIRES(...)
#define EC_NO_ANALYSIS
#endif

/*
 * Every running thread of the process passes a full barrier before this returns. False: it took milliseconds by other
 * means, because the system now refuses membarrier. See sync.c.
 */
bool ec_barrier_all(void);

/* Once, before the first one. False: the kernel has none. */
bool ec_barrier_prepare(void);

/* Sleep while *word == expected, at most `timeout` (NULL: no limit). 0, -EAGAIN, -EINTR or -ETIMEDOUT. */
int ec_futex_wait(const _Atomic(uint32_t) *word, uint32_t expected, const struct timespec *timeout);

/* Wake at most `num` of the threads that sleep on `word`. */
void ec_futex_wake(const _Atomic(uint32_t) *word, int num);

/*
 * Ranks: a thread takes locks in rising rank only. Of one rank it waits for at most one, but for SOURCE, of which it
 * may wait for several in the order of their workers' ids. A second RUNQ is only tried (ec_spin_trylock_peer).
 */
enum ec_rank {
	EC_RANK_BASE,		/* base.mu: pauses (sched/gate.c) */
	EC_RANK_SOURCE,		/* worker.src: descriptors, timers, signals, poller */
	EC_RANK_RUNQ,		/* worker.run: run queue, and the colors that are at this worker */
	EC_RANK_MAIL,		/* of a mailbox: the messages in it, and which colors are at its worker */
	EC_RANK_TABLE,		/* base.colors: birth and death of colors */
	EC_RANK_WAIT,		/* of the process: which thread waits for what, sched/wait.c */
	EC_RANK_LEAF,		/* nothing is taken under it */
};

enum { EC_ROLES = 4 };		/* of bias.h */

/*
 * A lock for a few dozen instructions. Taking it costs one read-modify-write; releasing it is a plain store, half the
 * price of a mutex, which must check for sleepers. A waiter spins, then yields the CPU, then sleeps for 20 µs at a
 * time: so a preempted holder gets to run, even if a real-time thread waits.
 */
struct EC_CAPABILITY ec_spin {
	/* atomic: the thread that swaps it from 0 to 1 has the lock; the store of 0 (release) meets that swap */
	_Atomic(unsigned) held;

	/* const */
	uint8_t rank;

	/* atomic: each role of bias.h writes its own; the last counts for nobody. L1, V3 */
	_Atomic(bool) is_entered[EC_ROLES + 1];

	/* the lock itself */
	uint16_t foreign_num;		/* how often another thread than the owner took it; wraps */
};

/*
 * A step of a wait for another thread: a pause of the CPU at first, then a yield, then a sleep of 20 µs. *steps: 0
 * before the first one.
 */
void ec_wait_step(unsigned *steps);

void ec_spin_wait(struct ec_spin *s);		/* until it seems free */
void ec_spin_contend(struct ec_spin *s);	/* takes it, after another thread had it */

#ifndef NDEBUG
void ec_rank_push(const struct ec_spin *s);	/* aborts if the order is wrong */
void ec_rank_push_peer(const struct ec_spin *s);
void ec_rank_pop(const struct ec_spin *s);
#else
#define ec_rank_push_peer(s) ((void)(s))
#define ec_rank_push(s) ((void)(s))
#define ec_rank_pop(s) ((void)(s))
#endif

static inline void ec_spin_init(struct ec_spin *s, enum ec_rank rank)
{
	memset(s, 0, sizeof(*s));
	s->rank = (uint8_t)rank;
}

/* For one more lock of the same rank: it never waits, so no order is needed. */
static inline bool ec_spin_trylock_peer(struct ec_spin *s) EC_TRY_ACQUIRE(true, s) EC_NO_ANALYSIS
{
	unsigned expected = 0;

	if (!ec_cas_acquire(&s->held, &expected, 1))
		return false;
	ec_rank_push_peer(s);
	return true;
}

static inline bool ec_spin_trylock(struct ec_spin *s) EC_TRY_ACQUIRE(true, s) EC_NO_ANALYSIS
{
	unsigned expected = 0;

	if (!ec_cas_acquire(&s->held, &expected, 1))
		return false;
	ec_rank_push(s);
	return true;
}

static inline void ec_spin_lock(struct ec_spin *s) EC_ACQUIRE(s) EC_NO_ANALYSIS
{
	if (__builtin_expect(!ec_spin_trylock(s), 0))
		ec_spin_contend(s);
}

static inline void ec_spin_unlock(struct ec_spin *s) EC_RELEASE(s) EC_NO_ANALYSIS
{
	ec_rank_pop(s);
	ec_store_release(&s->held, 0);
}

/*
 * Before fork, the forking thread takes every lock of the process, base after base. A thread that holds one of them
 * does not wait for one that comes earlier, so ranks don't matter here and are not noted.
 */
static inline void ec_spin_freeze(struct ec_spin *s) EC_NO_ANALYSIS
{
	while (ec_swap_acq_rel(&s->held, 1) != 0)
		ec_spin_wait(s);
}

static inline void ec_spin_thaw(struct ec_spin *s) EC_NO_ANALYSIS
{
	ec_store_release(&s->held, 0);
}

/* In a cloned child: free it. True: a thread that is gone held it, so what it guards may be inconsistent. */
static inline bool ec_spin_reset(struct ec_spin *s) EC_NO_ANALYSIS
{
	return ec_swap_acq_rel(&s->held, 0) != 0;
}

#endif
