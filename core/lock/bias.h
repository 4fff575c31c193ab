/*
 * Locks that lean to one thread.
 *
 * A base with one worker has one thread that takes its locks all the time, and others that
 * hardly ever do. For that thread a lock is two plain stores and a load: it notes
 * that it is inside (L1), then looks whether the base still leans to it (L2). Another thread
 * takes the lock's word as usual, ends the leaning (V1), has every thread of the process pass a
 * barrier (V2, membarrier), and waits until the other is not inside (V3). If L1 took effect before V2, V3
 * sees it and waits; else L2 comes after V1, and that thread goes the usual way too.
 *
 * A sandbox may come to refuse membarrier. ec_barrier_all then reaches the threads by slower means, and the base leans
 * no more.
 *
 * V1 says "asked" first and "ended" after V2: a third thread that finds "asked" may not rely on
 * a barrier that has not passed yet, and passes its own.
 *
 * A base leans to its owner, the thread of its first loop, and until there is one to its maker, the thread that
 * gave it its first color. Never to another, so who has found itself to be the owner is. The maker may have found
 * that long before L1, when a loop has begun in another thread: so each notes in a word of its own that it is inside,
 * the one would else take back what the other noted; and V3 looks at both.
 *
 * Before a turn of its loop, if no other thread ever came, or not while it took its locks the usual way many times
 * in a row, the owner makes the base lean to it, holding both locks. Not while one of `vetoes` is not 0: who
 * makes it so comes under RUNQ before it relies on that, so while the base leans the owner need not look there.
 */
#ifndef EC_BIAS_H
#define EC_BIAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/thread.h"
#include "sync.h"

enum ec_bias_state { EC_BIAS_OWNER, EC_BIAS_MAKER, EC_BIAS_REVOKING, EC_BIAS_REVOKED };

/* Whose word in ec_spin.is_entered: that of whom the base leans to in the state of the same number. */
enum ec_role { EC_OWNER = EC_BIAS_OWNER, EC_MAKER = EC_BIAS_MAKER, EC_FOREIGN };

struct ec_bias {
	/* atomic: written under both locks; NULL: none yet, or none any more. One of them at most is set. */
	_Atomic(const void *) owner;
	_Atomic(const void *) maker;
	_Atomic(uint8_t) state;		/* enum ec_bias_state */

	_Atomic(bool) is_allowed;	/* the kernel has such a barrier, and other threads may come */

	/* own */
	uint32_t slow_num;			/* the usual way, since the last look at `visits` */
	uint32_t patience;		/* how many of those make it lean again; at first none is needed */
	uint32_t foreign_seen;		/* of both locks, when it looked last */

	/* const */
	const _Atomic(uint32_t) *vetoes[2];
};

void ec_bias_init(struct ec_bias *l, const _Atomic(uint32_t) *veto, const _Atomic(uint32_t) *other_veto);

/* The calling thread is the owner from here on. */
void ec_bias_set_owner(struct ec_bias *l, struct ec_spin *src, struct ec_spin *run);

/* The base has its first color, by the calling thread, after ec_bias_allow. */
void ec_bias_set_maker(struct ec_bias *l, struct ec_spin *src, struct ec_spin *run);

/* The owner is gone, in a forked child; nobody else is there. */
void ec_bias_reset(struct ec_bias *l);

/* The owner, without locks, now and then: lean again? */
void ec_bias_rebias(struct ec_bias *l, struct ec_spin *src, struct ec_spin *run);

/* Before other threads come: may the base lean to one? */
void ec_bias_allow(struct ec_bias *l);

static inline bool ec_bias_is_owner(struct ec_bias *l)
{
	return ec_load_relaxed(&l->owner) == ec_thread_key();
}

/* The calling thread runs the base's loop: it is the owner if it is the first to, or no lock was ever taken. */
static inline void ec_bias_claim(struct ec_bias *l, struct ec_spin *src, struct ec_spin *run, bool is_new)
{
	if (!ec_bias_is_owner(l) && (is_new || ec_load_relaxed(&l->owner) == NULL))
		ec_bias_set_owner(l, src, run);
}

static inline enum ec_role ec_bias_role(struct ec_bias *l)
{
	if (__builtin_expect(ec_bias_is_owner(l), 1))
		return EC_OWNER;
	return ec_load_relaxed(&l->maker) == ec_thread_key() ? EC_MAKER : EC_FOREIGN;
}

/* The quick way in, for the thread whose role that is, of the two that have one. False: take the lock. */
static inline bool ec_bias_enter_as(struct ec_bias *l, struct ec_spin *s, enum ec_role role) EC_NO_ANALYSIS
{
	ec_store_buffered(&s->is_entered[role], true);				/* L1 */
	if (__builtin_expect(ec_load_relaxed(&l->state) != (uint8_t)role, 0)) {	/* L2 */
		ec_store_release(&s->is_entered[role], false);
		return false;
	}
	ec_rank_push(s);
	return true;
}

/* … and out. */
static inline void ec_bias_leave_as(struct ec_spin *s, enum ec_role role) EC_NO_ANALYSIS
{
	ec_rank_pop(s);
	ec_store_release(&s->is_entered[role], false);
}

/* The owner's. */
static inline bool ec_bias_enter(struct ec_bias *l, struct ec_spin *s) EC_NO_ANALYSIS
{
	return ec_bias_enter_as(l, s, EC_OWNER);
}

static inline void ec_bias_leave(struct ec_spin *s) EC_NO_ANALYSIS
{
	ec_bias_leave_as(s, EC_OWNER);
}

/* In a forked child: who was on the way in, if only to find that the base leans no more, is the parent's. */
static inline void ec_bias_reset_entered(struct ec_spin *s)
{
	ec_store_relaxed(&s->is_entered[EC_OWNER], false);
	ec_store_relaxed(&s->is_entered[EC_MAKER], false);
}

/* The lock, for any thread. */
void ec_bias_lock(struct ec_bias *l, struct ec_spin *s) EC_ACQUIRE(s);
void ec_bias_unlock(struct ec_bias *l, struct ec_spin *s) EC_RELEASE(s);

/* Before fork: no rank is noted. Left by ec_spin_thaw. */
void ec_bias_freeze(struct ec_bias *l, struct ec_spin *s);

#endif
