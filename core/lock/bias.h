/*
 * Biased locks: SOURCE and RUNQ of a base with one worker.
 *
 * One thread takes these locks all the time, the others hardly ever. For that thread a lock is two plain stores and a
 * load: it notes that it is inside (L1), then checks that the base is still biased to it (L2). Another thread takes
 * the lock's word, revokes the bias (V1), makes every thread of the process pass a barrier (V2, membarrier), and waits
 * until the first thread is not inside (V3). If L1 took effect before V2, V3 sees it and waits. Otherwise L2 comes
 * after V1, and the first thread takes the lock's word, too.
 *
 * V1 writes REVOKING before V2, and REVOKED after it. A third thread that reads REVOKING may not rely on a barrier that
 * has not passed yet, and passes its own.
 *
 * A sandbox may start to refuse membarrier. ec_barrier_all then reaches the threads by slower means, once, and the base
 * is biased no more.
 *
 * A base is biased to its owner, the thread of its first loop. Until there is a loop it is biased to its maker, the
 * thread that gave the base its first color. It is never biased to a third thread, so a thread that found that it is
 * the owner remains so. The maker may have found that it is the maker long before L1, while another thread began a
 * loop. So maker and owner note in different words that they are inside, or one would erase the other's note; V3 reads
 * both words.
 *
 * Before a turn of its loop, the owner biases the base to itself again, holding both locks: at once if no other thread
 * ever came, or else after it took the locks many times in a row and no other thread did. It does not do so while one
 * of `vetoes` is not 0. A thread that sets a veto takes RUNQ before it relies on it, so while the base is biased the
 * owner need not read the vetoes.
 */
#ifndef EC_BIAS_H
#define EC_BIAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/thread.h"
#include "sync.h"

enum ec_bias_state { EC_BIAS_OWNER, EC_BIAS_MAKER, EC_BIAS_REVOKING, EC_BIAS_REVOKED };

/* An index of ec_spin.is_entered, and the state in which the base is biased to that thread. */
enum ec_role { EC_OWNER = EC_BIAS_OWNER, EC_MAKER = EC_BIAS_MAKER, EC_FOREIGN };

struct ec_bias {
	/* atomic: written under both locks, read by any thread. Each thread asks only whether it is itself: L2, V1 */
	/* NULL: none yet, or none any more; at most one is set. */
	_Atomic(const void *) owner;
	_Atomic(const void *) maker;
	_Atomic(uint8_t) state;		/* enum ec_bias_state */

	_Atomic(bool) is_allowed;	/* the kernel has such a barrier, and other threads may come */

	/* own: the owner */
	uint32_t slow_num;		/* locks that it took by their words since it last read foreign_num */
	uint32_t patience;		/* that many, and it biases the base again; at first 0 */
	uint32_t foreign_seen;		/* foreign_num of both locks, when it last read them */

	/* const */
	const _Atomic(uint32_t) *vetoes[2];
};

void ec_bias_init(struct ec_bias *l, const _Atomic(uint32_t) *veto, const _Atomic(uint32_t) *other_veto);

/* The calling thread is the owner from now on. */
void ec_bias_set_owner(struct ec_bias *l, struct ec_spin *src, struct ec_spin *run);

/* The base has its first color, by the calling thread, after ec_bias_allow. */
void ec_bias_set_maker(struct ec_bias *l, struct ec_spin *src, struct ec_spin *run);

/* In a forked child, where the owner is gone and there is no other thread: there is no owner, and no bias. */
void ec_bias_reset(struct ec_bias *l);

/* The owner, without locks, now and then: bias the base to it again if it is time. */
void ec_bias_rebias(struct ec_bias *l, struct ec_spin *src, struct ec_spin *run);

/* Before other threads come: allow a bias if the kernel has the barrier. */
void ec_bias_allow(struct ec_bias *l);

static inline bool ec_bias_is_owner(struct ec_bias *l)
{
	return ec_load_relaxed(&l->owner) == ec_thread_key();
}

/* The calling thread runs the base's loop. It becomes the owner if the loop is the first one, or there is no owner. */
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

/* The short way in, for the thread that has that role (owner or maker). False: the caller must take the lock's word. */
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

static inline void ec_bias_leave_as(struct ec_spin *s, enum ec_role role) EC_NO_ANALYSIS
{
	ec_rank_pop(s);
	ec_store_release(&s->is_entered[role], false);
}

static inline bool ec_bias_enter(struct ec_bias *l, struct ec_spin *s) EC_NO_ANALYSIS
{
	return ec_bias_enter_as(l, s, EC_OWNER);
}

static inline void ec_bias_leave(struct ec_spin *s) EC_NO_ANALYSIS
{
	ec_bias_leave_as(s, EC_OWNER);
}

/* In a forked child: a thread that was on its way in is the parent's. */
static inline void ec_bias_reset_entered(struct ec_spin *s)
{
	ec_store_relaxed(&s->is_entered[EC_OWNER], false);
	ec_store_relaxed(&s->is_entered[EC_MAKER], false);
}

/* The lock, for any thread. */
void ec_bias_lock(struct ec_bias *l, struct ec_spin *s) EC_ACQUIRE(s);
void ec_bias_unlock(struct ec_bias *l, struct ec_spin *s) EC_RELEASE(s);

/* Before fork, as ec_spin_freeze. ec_spin_thaw releases it. */
void ec_bias_freeze(struct ec_bias *l, struct ec_spin *s);

#endif
