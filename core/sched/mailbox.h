/*
 * The mailbox of a worker: posts by other threads to its colors.
 *
 * If a poster queued a post itself, the cache lines of the color, the run queue and its lock would move to the
 * poster's CPU and back, and many posters would wait for the lock that the worker needs for each run. So the poster
 * leaves a message in the mailbox, which has a lock of its own, MAIL. The next thread that takes RUNQ to use a color
 * or the queue delivers all messages first: each becomes a post in the queue of its color. The memory for these posts
 * is the worker's own. So only the lines of the messages move between the two CPUs. Without MAIL, treat a non-empty
 * mailbox as work.
 *
 * A thread that takes RUNQ delivers at least what it posted itself before, and what was posted before anything that it
 * knows of. So posts of one thread to one color stay in order, and work that a check under RUNQ misses is too new for
 * that check. Three checks must not miss any: the last look before the worker sleeps (ec_mailbox_sleep), that of a
 * thread that is about to sleep, for work to steal (S3 in park.h), and whether the loop has anything left (quiet.c).
 * These take MAIL.
 *
 * A color leaves the worker, or ends, under MAIL, too, and only if no message is for it. So a poster that finds the
 * color under MAIL knows that the message will be delivered where the color is.
 *
 * If the mailbox has no post left for another message, the poster allocates a post and queues it itself. After that
 * post has run, it belongs to the worker.
 *
 * If the worker sleeps, or a sleeper may have to steal from it, the poster does not use the mailbox. It must queue the
 * post, to learn which worker to wake. One check under MAIL is enough (P2, S2 and S3 in park.h): a worker that goes
 * to sleep later checks this mailbox under the same lock. So the poster may check before it puts the message.
 */
#ifndef EC_MAILBOX_H
#define EC_MAILBOX_H

#include <stdbool.h>

#include "base.h"

/*
 * Called by the thread of `w`, which runs `c`, without the lock. True: no post waits for `c`. A color is first marked
 * (EC_POSTS_COMING), then the mailbox counts as empty, then its messages are counted as posts.
 */
static inline bool ec_mailbox_is_empty_for(const struct ec_worker *w, const struct ec_color *c)
{
	return ec_load_acquire(&w->mailbox->num) == 0 &&
	       ec_load_relaxed(&c->posts_num) == 0;		/* meets ec_mailbox_deliver */
}

/*
 * Under RUNQ of `w`: takes MAIL, so that `c` may leave or end. False: a message for `c` is there, and MAIL is not
 * held. See also ec_mailbox_shut in base.h.
 */
bool ec_mailbox_shut_if_none_for(struct ec_worker *w, const struct ec_color *c);

void ec_mailbox_reopen(struct ec_worker *w);

/* Own, under RUNQ of `w`, which is about to sleep: closes the mailbox. False: it has messages. */
bool ec_mailbox_sleep(struct ec_worker *w);
void ec_mailbox_wake(struct ec_worker *w);

/* For fork; as those of a lock. */
void ec_mailbox_freeze(struct ec_worker *w);
void ec_mailbox_thaw(struct ec_worker *w);
bool ec_mailbox_reset(struct ec_worker *w);

/* One with as many posts as there is memory for; &ec_mailbox_none: not even for the mailbox. */
struct ec_mailbox *ec_mailbox_new(void);
void ec_mailbox_free(struct ec_mailbox *m);

/* Own, under RUNQ of `w`: gives posts that have run here to the mailbox. */
void ec_mailbox_refill(struct ec_worker *w);

#endif
