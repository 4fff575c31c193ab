/*
 * Fork in a process whose bases have locks: the child gets one thread, and must find every lock free and every list
 * consistent.
 *
 * The forking thread takes all locks of all such bases before fork, in the order of their ranks. Parent and child
 * release them. So the state that locks guard is consistent in the child. The state that a worker's thread owns alone
 * is of some moment of that thread, perhaps in the middle of a change. Of that, the child trusts only the ring of posts
 * (post.h), and makes the rest anew.
 *
 * In the child, ec_base_reinit repairs the base: callbacks that ran in threads which are gone count as ended, their
 * colors are runnable again, and pauses and waits have ended. Each worker has a new poller and wake-up descriptor, and
 * no thread; threads start with the next loop. Until then the base's pollers are also the parent's, so ec_base_free
 * calls ec_base_reinit first. Without a fork, ec_base_reinit must not change a base whose threads live. If it fails,
 * the base stays a child's, and the next call does all of it again; it replaces also what the first one made. No thread
 * starts before that call, because it would count as one of the parent's.
 *
 * A child that libc's fork did not make (clone.h) is found when it calls ec_base_reinit, or makes or frees a base.
 * Threads that are gone may hold locks then. If all locks of a base were free, the base is as after fork. If one was
 * held, the base is lost: ec_base_reinit fails, and ec_base_free only closes the base's descriptors.
 *
 * If a callback forks, the child continues in that callback. The loop's own thread returns to its loop. A worker's
 * thread finds that the loop's thread is gone, and becomes it (is_successor, threads.c). When that loop ends, the last
 * thread of the process ends, and so does the process. The signals that a worker blocks are unblocked in the child.
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

/* If this process was cloned, bring it into the state of a child of fork. A child's first call must do this. */
void ec_fork_look(void);

/* In place of freeing, for a base that is_lost. */
void ec_fork_abandon(struct ec_base *base);

/* Is `base` registered? This does not read it, for it may be freed. True: it stays until ec_fork_unpin. */
bool ec_fork_pin(struct ec_base *base);
void ec_fork_unpin(struct ec_base *base);

/* Written under a lock of fork.c, read by any thread: how many bases are registered no more. */
extern uintptr_t ec_fork_gone_num __attribute__((visibility("hidden")));

/* own: the base that this thread pinned last, and ec_fork_gone_num then */
struct ec_fork_known {
	const struct ec_base *base;
	uintptr_t gone_num;
};
extern __thread struct ec_fork_known ec_fork_known __attribute__((visibility("hidden"), tls_model("initial-exec")));

/*
 * Has the calling thread pinned `base`, and has no registered base been freed since? Then `base` is there: a thread
 * that frees it while this one uses it would have to wait for this one anyway. This does not read `base`, either.
 */
static inline bool ec_fork_is_known(const struct ec_base *base)
{
	return ec_fork_known.base == base && ec_fork_known.gone_num == ec_load_plain(&ec_fork_gone_num);
}

/* In a child in which ec_base_reinit was not called, or failed. */
static inline bool ec_fork_is_child(const struct ec_base *base)
{
	return base->is_child;
}

#endif
