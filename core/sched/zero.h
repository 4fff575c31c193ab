/*
 * The loop's thread of a base that has locks, but one worker only, holds both locks of worker 0: for all that it does
 * between two callbacks, and around a poll. One hold covers what many short locks would, and while the base is biased
 * it costs two plain stores and a load (bias.h). Under it the thread does what it does in a base without locks.
 *
 * Nothing within takes one of the two locks once more: batches begin with ec_batch_begin_held.
 */
#ifndef EC_ZERO_H
#define EC_ZERO_H

#include <stdbool.h>

#include "base.h"
#include "queue.h"

/* By the locks' words. False: the base has several workers now, and no lock is held. */
bool ec_zero_hold_slowly(struct ec_base *base);
void ec_zero_release_slowly(struct ec_base *base);

/* The short way: true only while the base is biased to the calling thread, the loop's. */
static inline bool ec_zero_enter(struct ec_base *base) EC_NO_ANALYSIS
{
	return ec_bias_enter_both(&base->bias, &base->zero.src, &base->zero.run, (enum ec_role)base->bias.role);
}

/* As ec_zero_enter, by the thread that has role 0, the usual one: a constant role is a little shorter. */
static inline bool ec_zero_enter_first(struct ec_base *base) EC_NO_ANALYSIS
{
	return ec_bias_enter_both(&base->bias, &base->zero.src, &base->zero.run, EC_FIRST_LOOP);
}

static inline bool ec_zero_hold(struct ec_base *base) EC_NO_ANALYSIS
{
	return ec_zero_enter(base) || ec_zero_hold_slowly(base);
}

static inline void ec_zero_release_by(struct ec_base *base, enum ec_role role) EC_NO_ANALYSIS
{
	if (__builtin_expect(ec_load_own(&base->bias.is_both[role]), 1))
		ec_bias_leave_both(&base->bias, &base->zero.src, &base->zero.run, role);
	else
		ec_zero_release_slowly(base);
}

static inline void ec_zero_release(struct ec_base *base)
{
	ec_zero_release_by(base, (enum ec_role)base->bias.role);
}

/* It takes no lock, and is not to be ended: nobody sleeps who could be woken. Also for a base without locks. */
static inline void ec_batch_begin_held(struct ec_batch *b, struct ec_base *base)
{
	ec_batch_begin(b, base);
	b->locked = &base->zero;
}

#endif
