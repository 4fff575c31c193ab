/*
 * Everything that two threads may meet on: atomics named by their order, the ranked spin
 * lock, and the futex. Nothing else in the tree spells a memory order.
 *
 * Compiled with EC_SIM, each operation first asks the simulator (testsuite/sim/sched.h)
 * whether another thread runs now; the code above this file does not change.
 */
#ifndef EC_SYNC_H
#define EC_SYNC_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#ifdef EC_SIM
void sim_point(const char *func, int line);	/* a place where another thread may run */
void sim_spin(const char *func, int line);	/* this thread can't go on until another has run */
int sim_futex_wait(const void *word, uint32_t expected, const struct timespec *timeout);
void sim_futex_wake(const void *word, int num);
void sim_store_late(_Atomic(bool) *p, bool v);	/* takes effect at a later point of this thread */
void sim_flush(void);				/* those of this thread take effect, */
void sim_barrier(void);				/* of all threads */
#define EC_FLUSH() sim_flush()
#define EC_POINT() sim_point(__func__, __LINE__)
/* `v` may hold atomic operations itself: another thread may run after them, too. */
#define EC_POINT_AFTER(v) ({ __typeof__(v) ec_v_ = (v); EC_POINT(); ec_v_; })
#else
#define EC_FLUSH() ((void)0)
#define EC_POINT() ((void)0)
#define EC_POINT_AFTER(v) (v)
#endif

#define EC_CACHE_LINE 64

/* The line of `p` is written soon, and another processor may have it: take it from there now. */
static inline void ec_fetch_line(const void *p)
{
#if defined(__x86_64__)
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)p));
#else
	__builtin_prefetch(p, 1);
#endif
}

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
 * Atomics. `p` points to an _Atomic object. Every use names its partner in a comment.
 */
#define ec_load_relaxed(p)	(EC_POINT(), atomic_load_explicit((p), memory_order_relaxed))
#define ec_load_acquire(p)	(EC_POINT(), atomic_load_explicit((p), memory_order_acquire))
#define ec_store_relaxed(p, v)	atomic_store_explicit((p), EC_POINT_AFTER(v), memory_order_relaxed)
#define ec_store_release(p, v)                                                                     \
	(EC_FLUSH(), atomic_store_explicit((p), EC_POINT_AFTER(v), memory_order_release))
#define ec_swap_acq_rel(p, v)	atomic_exchange_explicit((p), EC_POINT_AFTER(v), memory_order_acq_rel)
#define ec_add_acq_rel(p, v)	atomic_fetch_add_explicit((p), EC_POINT_AFTER(v), memory_order_acq_rel)
#define ec_sub_acq_rel(p, v)	atomic_fetch_sub_explicit((p), EC_POINT_AFTER(v), memory_order_acq_rel)
#define ec_add_relaxed(p, v)	atomic_fetch_add_explicit((p), EC_POINT_AFTER(v), memory_order_relaxed)
#define ec_or_acq_rel(p, v)	atomic_fetch_or_explicit((p), EC_POINT_AFTER(v), memory_order_acq_rel)
/* On failure *expected becomes what was there. */
#define ec_cas_acq_rel(p, expected, v)                                                             \
	(EC_POINT(), atomic_compare_exchange_strong_explicit((p), (expected), (v),                 \
							     memory_order_acq_rel, memory_order_acquire))
#define ec_cas_weak_acq_rel(p, expected, v)                                                        \
	(EC_POINT(), atomic_compare_exchange_weak_explicit((p), (expected), (v),                   \
							   memory_order_acq_rel, memory_order_acquire))

/*
 * A counter with one writer at a time (its guard says who) that others read without the
 * guard for a hint: no read-modify-write.
 */
#define ec_counter_add(p, v)                                                                       \
	atomic_store_explicit((p), atomic_load_explicit((p), memory_order_relaxed) + (v),          \
			      memory_order_relaxed)

/*
 * The two halves of a meeting that one side passes a million times for each time of the
 * other's. This side's store may take effect after what the thread does next, but in the program's order: only
 * the other side's barrier makes it visible, and tells whether it was there before.
 */
#ifdef EC_SIM
#define ec_store_buffered(p, v) (EC_POINT(), sim_store_late((p), (v)))
#else
#define ec_store_buffered(p, v)                                                                    \
	do {                                                                                       \
		atomic_store_explicit((p), (v), memory_order_relaxed);                             \
		atomic_signal_fence(memory_order_seq_cst);                                         \
	} while (0)
#endif

/* What the calling thread itself stored so. */
#define ec_load_own(p) (EC_FLUSH(), atomic_load_explicit((p), memory_order_relaxed))

/* Every running thread of the process passes a full barrier before it returns. */
void ec_barrier_all(void);

/* Once, before the first one. False: the kernel has none. */
bool ec_barrier_prepare(void);

/*
 * To a plain field of the calling thread: in a child that another thread forks at any moment, what this
 * thread wrote before is there when this is.
 */
#define ec_store_for_child(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

static inline void ec_cpu_relax(void)
{
#if defined(EC_SIM)
	sim_spin(__func__, __LINE__);
#elif defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* Sleep while *word == expected, at most `timeout` (NULL: no limit). 0, -EAGAIN, -EINTR or -ETIMEDOUT. */
int ec_futex_wait(const _Atomic(uint32_t) *word, uint32_t expected, const struct timespec *timeout);

/* Wake at most `num` of those who sleep on `word`. */
void ec_futex_wake(const _Atomic(uint32_t) *word, int num);

/*
 * Ranks: a thread takes locks in rising rank only. Of one rank it holds at most one, but for
 * SOURCE, of which it may hold several in the order of their workers' ids.
 */
enum ec_rank {
	EC_RANK_BASE,		/* base.mu: starting and stopping workers, moves of homes */
	EC_RANK_SOURCE,		/* worker.src: descriptors, timers, signals, poller */
	EC_RANK_RUNQ,		/* worker.run: run queue, and the colors that are at this worker */
	EC_RANK_TABLE,		/* base.colors: birth and death of colors */
	EC_RANK_WAIT,		/* base.waits: who waits for whom */
	EC_RANK_LEAF,		/* nothing is taken under it */
};

/*
 * A lock for a few dozen instructions. Taking it costs one read-modify-write; leaving it
 * is a plain store, half the price of a mutex that must look for sleepers. A waiter spins,
 * then yields, then sleeps for ever longer moments: a holder that was preempted, even
 * by a real-time thread, gets to run.
 */
struct EC_CAPABILITY ec_spin {
	_Atomic(unsigned) held;
	uint8_t rank;

	/* lean.h */
	_Atomic(bool) is_entered[2];	/* own: one that the lock leans or leant to is inside; by enum ec_role */
	uint32_t visits;		/* mu: how often another thread took it; wraps */
};

void ec_spin_wait(struct ec_spin *s);		/* until it looks free */

#ifndef NDEBUG
void ec_rank_push(const struct ec_spin *s);	/* aborts where the order is wrong */
void ec_rank_push_peer(const struct ec_spin *s);
void ec_rank_pop(const struct ec_spin *s);
#else
#define ec_rank_push_peer(s) ((void)(s))
#define ec_rank_push(s) ((void)(s))
#define ec_rank_pop(s) ((void)(s))
#endif

static inline void ec_spin_init(struct ec_spin *s, enum ec_rank rank)
{
	atomic_init(&s->held, 0);
	atomic_init(&s->is_entered[0], false);
	atomic_init(&s->is_entered[1], false);
	s->rank = (uint8_t)rank;
	s->visits = 0;
}

/* For one more lock of the same rank: it never waits, so no order is needed. */
static inline bool ec_spin_trylock_peer(struct ec_spin *s) EC_TRY_ACQUIRE(true, s) EC_NO_ANALYSIS
{
	unsigned expected = 0;

	EC_POINT();
	if (!atomic_compare_exchange_strong_explicit(&s->held, &expected, 1, memory_order_acquire,
						     memory_order_relaxed))
		return false;
	ec_rank_push_peer(s);
	return true;
}

static inline bool ec_spin_trylock(struct ec_spin *s) EC_TRY_ACQUIRE(true, s) EC_NO_ANALYSIS
{
	unsigned expected = 0;

	EC_POINT();
	if (!atomic_compare_exchange_strong_explicit(&s->held, &expected, 1, memory_order_acquire,
						     memory_order_relaxed))
		return false;
	ec_rank_push(s);
	return true;
}

static inline void ec_spin_lock(struct ec_spin *s) EC_ACQUIRE(s) EC_NO_ANALYSIS
{
	while (!ec_spin_trylock(s))
		ec_spin_wait(s);
}

static inline void ec_spin_unlock(struct ec_spin *s) EC_RELEASE(s) EC_NO_ANALYSIS
{
	ec_rank_pop(s);
	EC_POINT();
	atomic_store_explicit(&s->held, 0, memory_order_release);
}

/*
 * Before fork every lock of the process is taken, in the order of the bases: no thread holds
 * one then that waits for another, so ranks don't matter, and nobody notes them.
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

#endif
