/*
 * Posts: callbacks without an event (libasync-smp's cpucb).
 *
 * A post by a callback to its own color goes to a ring that only its worker touches: no lock, no atomic
 * read-modify-write, no allocation. To keep the order of posts, the ring is used only while no post of another thread
 * waits in the color's queue. posts_num counts every earlier post that this thread can know of. From the first such
 * post on, all posts use the queue, until it has no posts.
 *
 * The ring holds at most as many posts as the worker has free ones. So a run can end at any time, and move the ring
 * to the queue.
 */
#ifndef EC_POST_H
#define EC_POST_H

#include <stdint.h>

#include "ec.h"
#include "worker.h"

struct ec_batch;

/* The loop's thread: queue the posts that other threads made before the base was locked. */
void ec_inbox_drain(struct ec_base *base);

/* Queues `t`, a filled post. The base is prepared for colors if it has one: so this cannot fail. Any thread. */
void ec_post_needed(struct ec_base *base, struct ec_task *t);

bool ec_post_is_job(const struct ec_task *t);	/* `t` is a post */

/* base.inbox points here when it is closed. */
extern struct ec_task ec_inbox_closed;

static inline uint32_t ec_posts_local_num(const struct ec_worker *w)
{
	return w->local_tail - w->local_head;
}

/* Own: take the first of the ring, which is not empty. It is valid until the next post. */
static inline struct ec_local *ec_post_local_take(struct ec_worker *w)
{
	return &w->ring->at[w->local_head++ % EC_LOCAL_MAX];
}

/*
 * Own, under RUNQ of `c`, whose run begins. From now on the ring takes posts to the colors that equal `c` under
 * `mask`. fetch: moves the first posts of its queue to the ring, which is empty.
 */
void ec_posts_open(struct ec_worker *w, struct ec_color *c, uint32_t mask);
void ec_posts_fetch(struct ec_worker *w, struct ec_color *c);

/* Own, under RUNQ of `c`, whose run ends: the ring becomes part of its queue. */
void ec_posts_close(struct ec_worker *w, struct ec_color *c);

/*
 * As close, in a forked child, under RUNQ of `c`, which ran in a thread that does not exist there. The list of free
 * posts may be half changed. The ring is valid, because an entry is written before it counts.
 */
void ec_posts_close_in_child(struct ec_worker *w, struct ec_color *c);

#endif
