#include "recursive.h"

int ec_recursive_take(struct ec_recursive *m)
{
	uint32_t expected = EC_RECURSIVE_FREE;

	if (!ec_cas_acquire(&m->word, &expected, EC_RECURSIVE_HELD)) {
		while (ec_swap_acq_rel(&m->word, EC_RECURSIVE_AWAITED) != EC_RECURSIVE_FREE)	/* meets the release */
			(void)ec_futex_wait(&m->word, EC_RECURSIVE_AWAITED, NULL);
	}
	ec_store_relaxed(&m->holder, (uintptr_t)ec_thread_key());
	ec_tsan_acquire(m);
	return 0;
}

int ec_recursive_release(struct ec_recursive *m)
{
	ec_tsan_release(m);
	ec_store_relaxed(&m->holder, 0);
	if (ec_swap_acq_rel(&m->word, EC_RECURSIVE_FREE) == EC_RECURSIVE_AWAITED)
		ec_futex_wake(&m->word, 1);
	return 0;
}
