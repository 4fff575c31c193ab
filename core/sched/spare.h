/*
 * Spare posts: the memory of posts, which is used again. Each worker keeps some, more go to the base's pool.
 */
#ifndef EC_SPARE_H
#define EC_SPARE_H

#include <stddef.h>
#include <stdint.h>

#include "base.h"
#include "ec.h"
#include "worker.h"

struct ec_batch;

enum { EC_POST_PRI_MIDDLE = -1 };

void ec_post_free(struct ec_worker *w, struct ec_task *t);

/* Under RUNQ of `w`: one of the spare posts for mail becomes what the letter says, and goes into the queue. */
void ec_post_deliver(struct ec_batch *b, struct ec_worker *w, const struct ec_letter *letter);

/*
 * Spare posts for mail, or fewer where there is no memory: before others know of `w`; own, under its RUNQ, from those
 * that have run here.
 */
void ec_posts_reserve(struct ec_worker *w);
void ec_posts_refill(struct ec_worker *w);

void ec_posts_fini(struct ec_base *base);

/* Some of the base's spare posts become those of `w`, and one is taken. NULL: there are none. */
struct ec_task *ec_spare_fetch(struct ec_base *base, struct ec_worker *w);

/* Own: one of the free ones, of which there is one. */
static inline struct ec_task *ec_spare_take(struct ec_worker *w)
{
	struct ec_list *node = w->free_posts.next;

	ec_list_remove(node);
	w->free_posts_num--;
	return ec_container_of(node, struct ec_task, link);
}

static inline unsigned ec_post_pri(const struct ec_base *base, int pri)
{
	return pri == EC_POST_PRI_MIDDLE ? base->lanes_num / 2 : (unsigned)pri;
}

static inline void ec_post_fill(struct ec_task *t, struct ec_base *base, uint32_t color, int pri, ec_post_fn fn,
				void *arg)
{
	t->flags = EC_IN_INIT;
	t->pri = (uint8_t)ec_post_pri(base, pri);
	t->kind = EC_KIND_POST;
	t->color = color;
	t->fn.post = fn;
	t->arg = arg;
}

/* A post for a thread, `w` or none. NULL: no memory. */
static inline struct ec_task *ec_post_new(struct ec_base *base, struct ec_worker *w)
{
	struct ec_list *node;
	struct ec_task *t = NULL;

	if (w != NULL) {
		node = w->free_posts.next;
		if (node != &w->free_posts && w->free_posts_num > w->local_room) {
			ec_list_remove(node);
			w->free_posts_num--;
			return ec_container_of(node, struct ec_task, link);
		}
		if (node == &w->free_posts)
			t = ec_spare_fetch(base, w);
	}
	return t != NULL ? t : ec_malloc(sizeof(*t));
}

#endif
