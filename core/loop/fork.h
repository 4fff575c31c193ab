/*
 * Fork in a process whose bases have locks: the child gets one thread, and must find every
 * lock free and every list whole.
 *
 * Before fork all locks of all such bases are taken, in the order of their ranks, and after it
 * left on both sides. So what locks guard is whole in the child. What a worker's thread owns alone
 * is as of some moment of that thread, perhaps in the midst of a change: the child trusts of it only
 * the ring of posts (post.h), and makes the rest anew.
 *
 * In the child, ec_base_reinit makes the base whole: callbacks that ran in threads which are gone
 * count as ended, their colors are runnable again, nobody pauses or waits any more, each worker has a
 * new poller and wake-up descriptor, and no thread; threads start with the next loop. Until then the
 * base's pollers are the parent's too, so ec_base_free begins with it. Without a fork nothing of that
 * may happen: a base whose threads live is left alone.
 *
 * A child that libc's fork did not make (clone.h) is found where it calls ec_base_reinit, frees a base, or makes
 * one. Threads that are gone may hold locks then. A base whose locks were all free is as after fork. One of which
 * a lock was held is lost: ec_base_reinit fails, and its end gives its descriptors back.
 *
 * The child of a callback goes on in that callback. The loop's own thread returns to its loop. A
 * worker's thread finds that the loop's is gone, and becomes the loop's thread itself (ec_fork_adopt):
 * with the end of that loop the last thread of the process ends, and so the process. The
 * signals that a worker blocks are the program's again from the fork on.
 */
#ifndef EC_FORK_H
#define EC_FORK_H

#include "sched/base.h"
#include "sched/worker.h"

/* Before the first ec_fork_register. 0 or -ENOMEM. */
int ec_fork_prepare(void);

/* A base that is locked, from then on; workers_num changes only under the start lock then. */
void ec_fork_register(struct ec_base *base);
void ec_fork_unregister(struct ec_base *base);

/* Was this process cloned since? Then make of it what a child of fork is. Where a child may come first. */
void ec_fork_look(void);

/* Instead of freeing a base that is_lost. */
void ec_fork_abandon(struct ec_base *base);

/* Is that a base that is registered? It may be gone: it is not looked into. True: it stays until ec_fork_unpin. */
bool ec_fork_pin(struct ec_base *base);
void ec_fork_unpin(struct ec_base *base);

/* In a child that did not call ec_base_reinit. */
static inline bool ec_fork_is_child(const struct ec_base *base)
{
	return base->is_child;
}

#endif
