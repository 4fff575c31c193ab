/*
 * Holds: a base is not freed while the call of another thread still uses it.
 *
 * A program may free a base as soon as its loop has returned. The loop may return because of what another thread did
 * (a break, an activation, a post, the deletion of the last event), before that thread's call has ended: it still has
 * to wake the worker. Such a call holds the base.
 *
 *   Caller: H1 `holds` + 1, H2 what may end the loop, H3 the rest of the call, H4 `holds` - 1 (release).
 *   Freer:  F1 see H2, F2 wait until `holds` is 0 (acquire).
 *
 * H2 is a store or an unlock with release order, and F1 acquires it, so F2 sees H1. H4 meets F2.
 *
 * A call that ends when it releases RUNQ needs no hold: the loop's thread takes that lock to see the work. One that
 * ends when it releases SOURCE needs none either: the events of that SOURCE are dropped under it. A worker needs none:
 * its thread has ended, or is the one that frees.
 */
#ifndef EC_HOLDS_H
#define EC_HOLDS_H

#include <stdbool.h>

#include "base.h"

static inline void ec_base_hold(struct ec_base *base)
{
	ec_add_relaxed(&base->holds, 1);		/* H1 */
}

static inline void ec_base_release(struct ec_base *base)
{
	ec_sub_acq_rel(&base->holds, 1);		/* H4 */
}

/* Must the caller hold the base? Not if it is a worker of it. */
static inline bool ec_base_is_foreign(const struct ec_base *base)
{
	return ec_worker_self(base) == NULL;
}

/* F1, F2. The base has no other thread. */
void ec_base_wait_holds(struct ec_base *base);

#endif
