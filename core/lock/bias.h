/*
 * Biased locks: SOURCE and RUNQ of worker 0, while the base has locks but no other worker.
 *
 * One thread takes these locks all the time, the others hardly ever. For that thread, the base's owner, a lock is two
 * plain stores and a load: it notes that it is inside (L1), then checks that the base is still biased to it (L2).
 * Another thread takes the lock's word, revokes the bias (V1), makes every thread of the process pass a barrier (V2,
 * membarrier), and waits until the owner is not inside (V3). If L1 took effect before V2, V3 sees it and waits.
 * Otherwise L2 comes after V1, and the owner takes the lock's word, too.
 *
 * The owner can also enter both locks with one note. V3 waits for that note as well, whichever lock it is for.
 *
 * V1 writes REVOKING before V2, and REVOKED after it. A third thread that reads REVOKING may not rely on a barrier that
 * has not passed yet, and passes its own.
 *
 * A sandbox may start to refuse membarrier. ec_barrier_all then reaches the threads by slower means, once, and the base
 * is biased no more.
 *
 * The owner is the thread that runs the base's loop, or ran it last; before the first loop, the thread that made the
 * base or its locks. A new owner claims the base under both locks' words, as any visitor. The owner before may have
 * found that it is the owner long before L1. So each owner has a role, a number that no other thread of this base gets,
 * and notes in words of its role that it is inside. Otherwise one would erase the other's note. L2 reads the role that
 * the base is biased to. V3 reads the words of all roles. There are few roles; a thread that gets none takes the words.
 * Role 0 is that of the first thread that runs a loop, for the shortest ways; that thread may have another one before.
 *
 * Before a turn of its loop, the owner biases the base to itself again, holding both locks: at once if no other thread
 * ever came, or else after it took the locks many times in a row and no other thread did. It does not do so while one
 * of `vetoes` is not 0. A thread that sets a veto takes RUNQ before it relies on it, so while the base is biased the
 * owner need not read the vetoes.
 *
 * A thread that visits keeps all others out of both locks without holding them, so that what it calls may take them.
 * It begins under both locks' words (S1), when no other thread is inside. Whoever takes a word looks whether another
 * thread visits (S2); then it gives the word back, and waits. Nor does the owner bias the base meanwhile: its next look
 * finds that the visitor took the locks, and the one after that comes only when the owner took them by their words.
 */
#ifndef EC_BIAS_H
#define EC_BIAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/thread.h"
#include "sync.h"

/* What the calling thread is to a base: the owner, by the number of its role, or not the owner. */
enum ec_role { EC_FIRST_LOOP, EC_FOREIGN = EC_ROLES };

/* ec_bias.state: a role, to which the base is biased, or one of these. It is never EC_FOREIGN. */
enum ec_bias_state { EC_BIAS_REVOKING = EC_FOREIGN + 1, EC_BIAS_REVOKED };

struct ec_bias {
	/* atomic: written under both locks, read by any thread. Each thread asks only whether it is itself: L2, V1 */
	_Atomic(uintptr_t) owner;	/* its ec_thread_key(), and its role in the low bits; or EC_NOBODY */
	_Atomic(uint8_t) state;		/* enum ec_bias_state */
	_Atomic(bool) is_allowed;	/* the kernel has such a barrier, and other threads may come */

	/* atomic: each role writes its own: inside both locks; the last counts for nobody. L1, V3 */
	_Atomic(bool) is_both[EC_ROLES + 1];

	/* both locks */
	uint8_t roles_num;		/* the roles from this one on are free; perhaps role 0, too */
	const void *threads[EC_ROLES];	/* the key of each; NULL: free */

	/* atomic: written under both locks' words, or by the visitor: S1 */
	_Atomic(uintptr_t) visitor;	/* its ec_thread_key(), or 0 */
	_Atomic(uint32_t) waiting;	/* threads that wait for its end */

	/* own: the owner */
	uint32_t slow_num;		/* locks that it took by their words since it last read foreign_num */
	uint32_t patience;		/* that many, and it biases the base again; at first 0 */
	uint16_t foreign_seen;		/* foreign_num of both locks, when it last read them */
	uint8_t role;			/* of the thread that claimed the base last; EC_FOREIGN: it got none */

	/* const */
	const _Atomic(uint32_t) *vetoes[2];
};

#define EC_NOBODY UINTPTR_MAX

void ec_bias_init(struct ec_bias *l, const _Atomic(uint32_t) *veto, const _Atomic(uint32_t) *other_veto);

/* Before other threads come: allow a bias if the kernel has the barrier. */
void ec_bias_allow(struct ec_bias *l);

/*
 * The calling thread is the owner from now on: it makes the base or its locks, or is about to run a loop. No other
 * thread runs one.
 */
enum ec_claim { EC_CLAIM_MAKER, EC_CLAIM_LOOP };
void ec_bias_claim(struct ec_bias *l, struct ec_spin *src, struct ec_spin *run, enum ec_claim why);

/* In a forked child, where the owner is gone and there is no other thread: there is no owner, and no bias. */
void ec_bias_reset(struct ec_bias *l);

/* The owner, without locks: bias the base to it again. */
void ec_bias_rebias(struct ec_bias *l, struct ec_spin *src, struct ec_spin *run);

/* The owner, without locks, now and then: is it time for that? */
static inline bool ec_bias_is_rebias_due(const struct ec_bias *l)
{
	return __builtin_expect(l->slow_num >= l->patience, 0) && ec_load_relaxed(&l->is_allowed);
}

/*
 * Visits: before, without locks; under both locks' words, which may be released then; and the end. They nest: `outer`
 * is what begin returned. The visitor gives up before it waits for another thread: then others come in before the end.
 */
void ec_bias_visit_prepare(struct ec_bias *l);
uintptr_t ec_bias_visit_begin(struct ec_bias *l);
void ec_bias_visit_end(struct ec_bias *l, uintptr_t outer);
void ec_bias_visit_give_up(struct ec_bias *l);		/* any thread */

/* Under both locks' words (ec_bias_lock_both): there is no owner any more, and no bias. */
void ec_bias_end(struct ec_bias *l);

/* The owner's role; EC_FOREIGN for any other thread. */
static inline enum ec_role ec_bias_role(struct ec_bias *l)
{
	uintptr_t role = ec_load_relaxed(&l->owner) ^ (uintptr_t)ec_thread_key();

	return __builtin_expect(role < EC_ROLES, 1) ? (enum ec_role)role : EC_FOREIGN;
}

/* The owner, by role 0: with a constant role, the short ways are a little shorter. */
static inline bool ec_bias_is_first(struct ec_bias *l)
{
	return __builtin_expect(ec_load_relaxed(&l->owner) == ((uintptr_t)ec_thread_key() | EC_FIRST_LOOP), 1);
}

/* Before a loop: must the thread claim the base? */
static inline bool ec_bias_is_claim_due(struct ec_bias *l)
{
	enum ec_role role = ec_bias_role(l);

	return __builtin_expect(role == EC_FOREIGN || (role != EC_FIRST_LOOP && l->threads[EC_FIRST_LOOP] == NULL), 0);
}

/*
 * The short way in, by the owner, whose role it is. False: the caller must take the lock's word. So it is always with
 * EC_FOREIGN, for the loop's thread, which need not ask for its role each time.
 */
static inline bool ec_bias_enter(struct ec_bias *l, struct ec_spin *s, enum ec_role role) EC_NO_ANALYSIS
{
	ec_store_buffered(&s->is_entered[role], true);				/* L1 */
	if (__builtin_expect(ec_load_relaxed(&l->state) != (uint8_t)role, 0)) {	/* L2 */
		ec_store_release(&s->is_entered[role], false);
		return false;
	}
	ec_rank_push(s);
	return true;
}

static inline void ec_bias_leave(struct ec_spin *s, enum ec_role role) EC_NO_ANALYSIS
{
	ec_rank_pop(s);
	ec_store_release(&s->is_entered[role], false);
}

/* The same for both locks at once. */
static inline bool ec_bias_enter_both(struct ec_bias *l, struct ec_spin *src, struct ec_spin *run,
				      enum ec_role role) EC_NO_ANALYSIS
{
	(void)src;
	(void)run;
	ec_store_buffered(&l->is_both[role], true);				/* L1 */
	if (__builtin_expect(ec_load_relaxed(&l->state) != (uint8_t)role, 0)) {	/* L2 */
		ec_store_release(&l->is_both[role], false);
		return false;
	}
	ec_rank_push(src);
	ec_rank_push(run);
	return true;
}

static inline void ec_bias_leave_both(struct ec_bias *l, struct ec_spin *src, struct ec_spin *run,
				      enum ec_role role) EC_NO_ANALYSIS
{
	(void)src;
	(void)run;
	ec_rank_pop(run);
	ec_rank_pop(src);
	ec_store_release(&l->is_both[role], false);
}

/* In a forked child: a thread that was on its way in, or visited, is the parent's. */
void ec_bias_reset_entered(struct ec_bias *l, struct ec_spin *src, struct ec_spin *run);

/* The lock, for any thread. */
void ec_bias_lock(struct ec_bias *l, struct ec_spin *s) EC_ACQUIRE(s);
void ec_bias_unlock(struct ec_bias *l, struct ec_spin *s) EC_RELEASE(s);

/* Both locks by their words, for any thread. ec_spin_unlock releases them. */
void ec_bias_lock_both(struct ec_bias *l, struct ec_spin *src, struct ec_spin *run) EC_ACQUIRE(src, run);

/* Before fork, as ec_spin_freeze. ec_spin_thaw releases it. */
void ec_bias_freeze(struct ec_bias *l, struct ec_spin *s);

#endif
