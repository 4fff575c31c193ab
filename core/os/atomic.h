/*
 * Atomics, named by their memory order. Nothing else in the tree spells one.
 *
 * Compiled with EC_SIM, each operation first asks the simulator (testsuite/sim/sched.h)
 * whether another thread runs now; the code above this file does not change.
 */
#ifndef EC_ATOMIC_H
#define EC_ATOMIC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#ifdef EC_SIM
void sim_point(const char *func, int line);	/* a place where another thread may run */
void sim_spin(const char *func, int line);	/* this thread waits for another one to run */
int sim_futex_wait(const void *word, uint32_t expected, const struct timespec *timeout);
void sim_futex_wake(const void *word, int num);
void sim_store_late(_Atomic(bool) *p, bool v);	/* takes effect at a later point of this thread */
void sim_flush(void);				/* this thread's late stores take effect */
void sim_barrier(void);				/* all threads' late stores take effect */
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
/* On failure *expected becomes the present value. */
#define ec_cas_acq_rel(p, expected, v)                                                             \
	(EC_POINT(), atomic_compare_exchange_strong_explicit((p), (expected), (v),                 \
							     memory_order_acq_rel, memory_order_acquire))
#define ec_cas_weak_acq_rel(p, expected, v)                                                        \
	(EC_POINT(), atomic_compare_exchange_weak_explicit((p), (expected), (v),                   \
							   memory_order_acq_rel, memory_order_acquire))

/*
 * For a counter that one thread at a time writes, by its guard. Other threads read it without the guard, as a hint.
 * So it needs no read-modify-write.
 */
#define ec_counter_add(p, v)                                                                       \
	atomic_store_explicit((p), atomic_load_explicit((p), memory_order_relaxed) + (v),          \
			      memory_order_relaxed)

/*
 * For a protocol in which one side acts a million times as often as the other (bias.h). The frequent side's store may
 * take effect after the thread's next accesses, but stays in program order. The other side's barrier of all threads
 * makes the store visible.
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

/* Reads the calling thread's own ec_store_buffered. */
#define ec_load_own(p) (EC_FLUSH(), atomic_load_explicit((p), memory_order_relaxed))

/*
 * A plain field that one thread writes, and reads without this; other threads only read it. For counters on the
 * shortest paths: the compiler may fold the owner's read into another instruction.
 */
#define ec_store_plain(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define ec_load_plain(p) __atomic_load_n((p), __ATOMIC_RELAXED)

/*
 * A store to a plain field of the calling thread. Another thread may fork at any moment: if the child sees this
 * store, it also sees all earlier writes of the calling thread.
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

#endif
