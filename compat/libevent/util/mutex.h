/*
 * A lock for short critical sections, in which nothing sleeps. Without contention it costs one
 * read-modify-write on each side, inline: a fifth of the instructions of a pthread_mutex_t. It needs
 * no creation and no end: zero is unlocked.
 *
 * `word` is UNLOCKED, LOCKED, or CONTENDED if a thread may sleep on it. A thread that sleeps sets
 * CONTENDED before, and takes the lock as CONTENDED, because it does not know whether others sleep.
 * So a thread that unlocks CONTENDED wakes one. The kernel compares the word again before the
 * thread sleeps, so no wake-up is lost.
 */
#ifndef LE_MUTEX_H
#define LE_MUTEX_H

#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/ec.h"

/* Sleep while the word is `seen`. May return early. */
static inline void le_word_wait(const uint32_t *word, uint32_t seen)
{
	(void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

/* Wakes up to that many of the threads that sleep. The word may be freed memory by now. */
static inline void le_word_wake(const uint32_t *word, int num)
{
	(void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, num, NULL, NULL, 0);
}

struct le_mutex {
	uint32_t word;			/* atomic */
};

enum { LE_MUTEX_UNLOCKED, LE_MUTEX_LOCKED, LE_MUTEX_CONTENDED };

static __attribute__((noinline, unused)) void le_mutex_lock_slowly(struct le_mutex *m)
{
	while (__atomic_exchange_n(&m->word, LE_MUTEX_CONTENDED, __ATOMIC_ACQUIRE) != LE_MUTEX_UNLOCKED)
		le_word_wait(&m->word, LE_MUTEX_CONTENDED);
}

static inline void le_mutex_lock(struct le_mutex *m)
{
	uint32_t unlocked = LE_MUTEX_UNLOCKED;

	if (__builtin_expect(!__atomic_compare_exchange_n(&m->word, &unlocked, LE_MUTEX_LOCKED, 0, __ATOMIC_ACQUIRE,
							  __ATOMIC_RELAXED),
			     0))
		le_mutex_lock_slowly(m);
	ec_order_after(m);
}

static inline void le_mutex_unlock(struct le_mutex *m)
{
	ec_order_before(m);
	if (__builtin_expect(__atomic_exchange_n(&m->word, LE_MUTEX_UNLOCKED, __ATOMIC_RELEASE) ==
				     LE_MUTEX_CONTENDED,
			     0))
		le_word_wake(&m->word, 1);
}

#endif
