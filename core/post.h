/*
 * Posts: callbacks without an event (libasync-smp's cpucb).
 *
 * A post by a callback to its own color goes to a list that only its worker touches: no lock,
 * no atomic read-modify-write. It may, as long as no post of another thread waits in the color's
 * queue: one that was made before this one, and that this thread can know of, is
 * counted in posts_num by then. From the first such post on, all go through the queue, until
 * it has none left and the list is empty.
 */
#ifndef EC_POST_H
#define EC_POST_H

#include "ec.h"
#include "worker.h"

void ec_post_free(struct ec_worker *w, struct ec_task *t);
void ec_posts_fini(struct ec_base *base);

/* Own: the next post of the running color by itself, or NULL. */
static inline struct ec_task *ec_post_local(struct ec_worker *w)
{
	struct ec_list *first = w->local.next;

	if (first == &w->local)
		return NULL;
	ec_list_remove(first);
	w->local_num--;
	return ec_container_of(first, struct ec_task, link);
}

/* Own, under RUNQ of `c`, which ends its run: the list becomes part of its queue. */
void ec_posts_flush(struct ec_worker *w, struct ec_color *c);

/* Own, under RUNQ of `c`, which begins its run: its first posts become the list. */
void ec_posts_fetch(struct ec_worker *w, struct ec_color *c);

#endif
