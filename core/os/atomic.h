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
#include <stddef.h>
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
/*
 * Before a write to *p; after a store, or a read-modify-write; after a load, which may get the value before the last
 * write instead (sim/weak.c).
 */
void sim_writes(const volatile void *p, size_t size);
void sim_wrote(const volatile void *p, size_t size, memory_order order);
void sim_changed(const volatile void *p, size_t size, memory_order order);
void sim_loaded(const volatile void *p, void *value, size_t size, bool is_acquire);
#define EC_FLUSH() sim_flush()
#define EC_POINT() sim_point(__func__, __LINE__)
/* `v` may hold atomic operations itself: another thread may run after them, too. */
#define EC_POINT_AFTER(v) ({ __typeof__(v) ec_v_ = (v); EC_POINT(); ec_v_; })
#define EC_LOAD(p, order)                                                                          \
	({ __auto_type ec_l_ = atomic_load_explicit((p), (order));                                 \
	   sim_loaded((p), &ec_l_, sizeof(ec_l_), (order) == memory_order_acquire); ec_l_; })
#define EC_STORE(p, v, order)                                                                      \
	({ __auto_type ec_s_ = (v); sim_writes((p), sizeof(*(p)));                                 \
	   atomic_store_explicit((p), ec_s_, (order)); sim_wrote((p), sizeof(*(p)), (order)); })
#define EC_CHANGE(op, p, v, order)                                                                 \
	({ __auto_type ec_s_ = (v); sim_writes((p), sizeof(*(p)));                                 \
	   __auto_type ec_c_ = atomic_##op##_explicit((p), ec_s_, (order));                        \
	   sim_changed((p), sizeof(*(p)), (order)); ec_c_; })
#define EC_CAS(op, p, expected, v, order, failure)                                                 \
	({ __auto_type ec_s_ = (v); sim_writes((p), sizeof(*(p)));                                 \
	   bool ec_c_ = atomic_compare_exchange_##op##_explicit((p), (expected), ec_s_, (order), (failure)); \
	   ec_c_ ? sim_changed((p), sizeof(*(p)), (order)) :                                       \
		   sim_loaded((p), NULL, sizeof(*(p)), (failure) == memory_order_acquire); ec_c_; })
#else
#define EC_FLUSH() ((void)0)
#define EC_POINT() ((void)0)
#define EC_POINT_AFTER(v) (v)
#define EC_LOAD(p, order) atomic_load_explicit((p), (order))
#define EC_STORE(p, v, order) atomic_store_explicit((p), (v), (order))
#define EC_CHANGE(op, p, v, order) atomic_##op##_explicit((p), (v), (order))
#define EC_CAS(op, p, expected, v, order, failure)                                                 \
	atomic_compare_exchange_##op##_explicit((p), (expected), (v), (order), (failure))
#endif

#define EC_CACHE_LINE 64

/*
 * Atomics. `p` points to an _Atomic object. Every use names its partner in a comment.
 */
#define ec_load_relaxed(p)	(EC_POINT(), EC_LOAD((p), memory_order_relaxed))
#define ec_load_acquire(p)	(EC_POINT(), EC_LOAD((p), memory_order_acquire))
#define ec_store_relaxed(p, v)	EC_STORE((p), EC_POINT_AFTER(v), memory_order_relaxed)
#define ec_store_release(p, v)	(EC_FLUSH(), EC_STORE((p), EC_POINT_AFTER(v), memory_order_release))
#define ec_swap_acq_rel(p, v)	EC_CHANGE(exchange, (p), EC_POINT_AFTER(v), memory_order_acq_rel)
#define ec_add_acq_rel(p, v)	EC_CHANGE(fetch_add, (p), EC_POINT_AFTER(v), memory_order_acq_rel)
#define ec_sub_acq_rel(p, v)	EC_CHANGE(fetch_sub, (p), EC_POINT_AFTER(v), memory_order_acq_rel)
#define ec_add_relaxed(p, v)	EC_CHANGE(fetch_add, (p), EC_POINT_AFTER(v), memory_order_relaxed)
#define ec_or_acq_rel(p, v)	EC_CHANGE(fetch_or, (p), EC_POINT_AFTER(v), memory_order_acq_rel)
#define ec_and_acq_rel(p, v)	EC_CHANGE(fetch_and, (p), EC_POINT_AFTER(v), memory_order_acq_rel)
/* On failure *expected becomes the present value. */
#define ec_cas_acq_rel(p, expected, v)                                                             \
	(EC_POINT(), EC_CAS(strong, (p), (expected), (v), memory_order_acq_rel, memory_order_acquire))
#define ec_cas_weak_acq_rel(p, expected, v)                                                        \
	(EC_POINT(), EC_CAS(weak, (p), (expected), (v), memory_order_acq_rel, memory_order_acquire))
/* To take a lock. A failure orders nothing. */
#define ec_cas_acquire(p, expected, v)                                                             \
	(EC_POINT(), EC_CAS(strong, (p), (expected), (v), memory_order_acquire, memory_order_relaxed))

/*
 * For a counter that one thread at a time writes, by its guard. Other threads read it without the guard, as a hint.
 * So it needs no read-modify-write.
 */
#define ec_counter_add(p, v)                                                                       \
	EC_STORE((p), atomic_load_explicit((p), memory_order_relaxed) + (v), memory_order_relaxed)

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
