/*
 * The mailbox of a worker: posts by other threads to its colors.
 *
 * If a poster queued a post itself, the cache lines of the color, the run queue and its lock would move to the
 * poster's CPU and back. So the poster leaves a message beside the lock instead. The next thread that takes the lock to
 * use a color or the queue delivers all messages first: each becomes a post in the queue of its color. The memory for
 * these posts is the worker's own. So only the lines of the messages move between the two CPUs. With the lock held, the
 * mailbox is empty. Without it, treat a non-empty mailbox as work.
 *
 * If the mailbox has no post left for another message, the poster allocates a post and queues it itself. After that
 * post has run, it belongs to the worker.
 *
 * If the worker sleeps, or a sleeper may have to steal from it, the poster does not use the mailbox. It must queue the
 * post, to learn which worker to wake. One check under the lock is enough (P2, S2 and S3 in park.h): a worker that goes
 * to sleep later checks this queue under the same lock. So the poster may check before it puts the message.
 */
#ifndef EC_MAILBOX_H
#define EC_MAILBOX_H

#include <stdbool.h>

#include "base.h"

/*
 * Posts with middle priority to `c`, which was the color `color` and at `w`. False: the color has moved or ended,
 * there is no room, or a worker may have to be woken.
 */
bool ec_mailbox_put(struct ec_worker *w, struct ec_color *c, uint32_t color, ec_post_fn fn, void *arg);

/*
 * Called by the thread of `w`, which runs `c`, without the lock. True: no post waits for `c`. A delivered message is
 * first counted as a post of the color; only then the mailbox counts as empty.
 */
static inline bool ec_mailbox_is_empty_for(const struct ec_worker *w, const struct ec_color *c)
{
	return ec_load_acquire(&w->mailbox_num) == 0 &&
	       ec_load_relaxed(&c->posts_num) == 0;		/* meets ec_mailbox_deliver */
}

/* Allocate the posts of the mailbox, fewer if memory is short. Before other threads know `w`. */
void ec_mailbox_reserve(struct ec_worker *w);

/* Own, under RUNQ of `w`: gives posts that have run here to the mailbox. */
void ec_mailbox_refill(struct ec_worker *w);

#endif
