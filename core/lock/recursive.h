/*
 * A recursive mutex of one futex word: for what several colors or threads share, such as a bufferevent. A waiter
 * sleeps. Taking it costs one read-modify-write, releasing it another, and a nested pair none: a third of what a
 * recursive pthread_mutex_t costs. While the process has one thread, it costs plain loads and stores: what that thread
 * finds in the word stays there.
 *
 * A thread that sleeps makes the word AWAITED before, and takes the lock so, because it does not know whether others
 * sleep. So the thread that releases an AWAITED one wakes a sleeper. The kernel compares the word again before a thread
 * sleeps, so no wake-up is lost. Nothing touches the lock after its release: who takes it next may free it.
 */
#ifndef EC_RECURSIVE_H
#define EC_RECURSIVE_H

#include <errno.h>
#include <stdint.h>

#include "os/thread.h"
#include "os/tsan.h"
#include "sync.h"

enum { EC_RECURSIVE_FREE, EC_RECURSIVE_HELD, EC_RECURSIVE_AWAITED };

/* All zeros: nobody holds it. */
struct ec_recursive {
	_Atomic(uint32_t) word;		/* EC_RECURSIVE_… */

	/* the lock itself */
	uint32_t depth;			/* how often the holder has taken it besides */

	/* atomic: its holder writes it. Any thread asks only whether it is itself */
	_Atomic(uintptr_t) holder;	/* ec_thread_key(), or 0 */
};

/*
 * The ends of the two below where another thread wants it, or ThreadSanitizer is told. They return 0: so they are tail
 * calls, and the short ways save no registers.
 */
int ec_recursive_take(struct ec_recursive *m);		/* it is not the calling thread's */
int ec_recursive_release(struct ec_recursive *m);	/* it is, for the last time */

/* 0 */
static inline int ec_recursive_lock(struct ec_recursive *m)
{
	uintptr_t self = (uintptr_t)ec_thread_key();
	uint32_t expected = EC_RECURSIVE_FREE;

	if (ec_load_relaxed(&m->holder) == self) {
		m->depth++;
		return 0;
	}
	if (ec_tsan_is_on())
		return ec_recursive_take(m);
	if (ec_is_only_thread() && ec_load_relaxed(&m->word) == EC_RECURSIVE_FREE)
		ec_store_relaxed(&m->word, EC_RECURSIVE_HELD);
	else if (__builtin_expect(!ec_cas_acquire(&m->word, &expected, EC_RECURSIVE_HELD), 0))
		return ec_recursive_take(m);
	ec_store_relaxed(&m->holder, self);
	return 0;
}

/* 0; -EPERM: the calling thread does not hold it. */
static inline int ec_recursive_unlock(struct ec_recursive *m)
{
	uint32_t expected = EC_RECURSIVE_HELD;

	if (__builtin_expect(ec_load_relaxed(&m->holder) != (uintptr_t)ec_thread_key(), 0))
		return -EPERM;
	if (m->depth != 0) {
		m->depth--;
		return 0;
	}
	if (ec_tsan_is_on())
		return ec_recursive_release(m);
	ec_store_relaxed(&m->holder, 0);
	if (ec_is_only_thread() && ec_load_relaxed(&m->word) == EC_RECURSIVE_HELD)
		ec_store_release(&m->word, EC_RECURSIVE_FREE);
	else if (__builtin_expect(!ec_cas_acq_rel(&m->word, &expected, EC_RECURSIVE_FREE), 0))
		return ec_recursive_release(m);
	return 0;
}

#endif
