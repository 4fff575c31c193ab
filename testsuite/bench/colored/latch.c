/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#include "latch.h"

#include <stdatomic.h>
#include <stdint.h>

#include "../util.h"
#include "futex.h"

enum { GROUPS_MAX = 64 };

/*
 * Hits are read-modify-writes in one order, so that who finds a group at 0 has seen all of it, and
 * who finds `groups_left` at 0 has seen all groups; `done` hands that on to the waiter.
 */
struct latch {
	/* const: between latch_set() and the last hit */
	unsigned group_size;

	/* atomic */
	_Alignas(64) _Atomic uint32_t done;
	_Alignas(64) _Atomic unsigned groups_left;
	struct {
		_Alignas(64) _Atomic unsigned left;
	} groups[GROUPS_MAX];
};

struct latch *latch_new(void)
{
	return bench_alloc(1, sizeof(struct latch));
}

void latch_set(struct latch *latch, unsigned count)
{
	unsigned i, left;

	latch->group_size = (count + GROUPS_MAX - 1) / GROUPS_MAX;
	atomic_store(&latch->groups_left, (count + latch->group_size - 1) / latch->group_size);
	for (i = 0, left = count; left > 0; i++) {
		const unsigned size = left < latch->group_size ? left : latch->group_size;

		atomic_store(&latch->groups[i].left, size);
		left -= size;
	}
	atomic_store(&latch->done, 0);
}

void latch_hit(struct latch *latch, unsigned i)
{
	if (atomic_fetch_sub(&latch->groups[i / latch->group_size].left, 1) != 1)
		return;
	if (atomic_fetch_sub(&latch->groups_left, 1) != 1)
		return;
	atomic_store(&latch->done, 1);
	futex_wake(&latch->done);
}

int latch_is_done(struct latch *latch)
{
	return atomic_load(&latch->done) != 0;
}

void latch_wait(struct latch *latch)
{
	while (!latch_is_done(latch))
		futex_wait(&latch->done, 0);
}
