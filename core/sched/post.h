/*
 * Posts: callbacks without an event (libasync-smp's cpucb).
 *
 * A post by a callback to its own color goes to a ring that only its worker touches: no lock,
 * no atomic read-modify-write, no allocation. It may, as long as no post of another thread waits in the color's
 * queue: one that was made before this one, and that this thread can know of, is
 * counted in posts_num by then. From the first such post on, all go through the queue, until
 * it has none left and the ring is empty. The ring holds no more than the worker has spare
 * posts for, so that a run can end at any time.
 */
#ifndef EC_POST_H
#define EC_POST_H

#include <stdint.h>

#include "ec.h"
#include "worker.h"

struct ec_batch;

/* What came from other threads before the base was locked. The loop's thread. */
void ec_inbox_drain(struct ec_base *base);

bool ec_post_is_job(const struct ec_task *t);	/* `t` is a post */

/* What base.inbox points to once no post goes there any more. */
extern struct ec_task ec_inbox_closed;

static inline uint32_t ec_posts_local_num(const struct ec_worker *w)
{
	return w->local_tail - w->local_head;
}

/* Own: the next one. There is one. It stays as it is until the next post. */
static inline struct ec_local *ec_post_local_take(struct ec_worker *w)
{
	return &w->local[w->local_head++ % EC_LOCAL_MAX];
}

/*
 * Own, under RUNQ of `c`, whose run begins: from here on the ring takes posts to those colors
 * that equal that of `c` under `mask`. fetch: the first posts of its queue go to the ring,
 * which is empty.
 */
void ec_posts_open(struct ec_worker *w, struct ec_color *c, uint32_t mask);
void ec_posts_fetch(struct ec_worker *w, struct ec_color *c);

/* Own, under RUNQ of `c`, whose run ends: the ring becomes part of its queue. */
void ec_posts_close(struct ec_worker *w, struct ec_color *c);

/*
 * In a forked child, under RUNQ of `c`, which ran in a thread that is gone: as close. The spare posts of
 * that thread may have been in the midst of a change, the ring was not: an entry is there before it counts.
 */
void ec_posts_close_in_child(struct ec_worker *w, struct ec_color *c);

#endif
