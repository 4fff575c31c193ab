/*
 * The mailbox of a worker: posts by other threads to its colors.
 *
 * A poster that queues a post itself fetches the lines of the color, the run queue and its lock. The
 * worker then fetches them back. So the poster leaves a message beside the lock instead. The next
 * thread that takes the lock delivers all messages first: each becomes a post in the queue of its
 * color. The posts for that are the worker's own, so only the lines of the messages move between
 * the two CPUs. With the lock held, the mailbox is empty. Without it, treat a non-empty mailbox as work.
 *
 * If there are as many messages as such posts, the next poster allocates a post and queues it itself.
 * When that post has run, it is one of the worker's.
 *
 * A poster uses no mailbox if the worker sleeps, or if a possible thief does: it must queue the post,
 * to learn which worker to wake. One check of `sleepers` under the lock is enough (S2 and S3 in
 * park.h): a worker that goes to sleep after it inspects this queue under the same lock.
 */
#ifndef EC_MAILBOX_H
#define EC_MAILBOX_H

#include <stdbool.h>

#include "base.h"

/*
 * A post of middle priority to `c`, which was `color` and at `w`. False: the color has moved or ended, there is no
 * room, or a worker may have to be woken.
 */
bool ec_mailbox_put(struct ec_worker *w, struct ec_color *c, uint32_t color, ec_post_fn fn, void *arg);

/*
 * For the thread of `w`, which runs `c`, without the lock: does no post wait for `c`? A message that is delivered
 * counts as a post of the color before the mailbox counts as empty.
 */
static inline bool ec_mailbox_is_empty_for(const struct ec_worker *w, const struct ec_color *c)
{
	return ec_load_acquire(&w->mailbox_num) == 0 &&
	       ec_load_relaxed(&c->posts_num) == 0;		/* meets ec_mailbox_deliver */
}

/* Allocate the posts of the mailbox, fewer if memory is short. Before other threads know `w`. */
void ec_mailbox_reserve(struct ec_worker *w);

/* Own, under RUNQ of `w`: make posts that have run here those of the mailbox. */
void ec_mailbox_refill(struct ec_worker *w);

#endif
