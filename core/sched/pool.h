/*
 * The post pool: the memory of posts that have run is reused. Each worker keeps some posts; the others go to the
 * base's pool.
 */
#ifndef EC_POOL_H
#define EC_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "base.h"
#include "ec.h"
#include "worker.h"

enum { EC_POST_PRI_MIDDLE = -1 };

void ec_post_free(struct ec_worker *w, struct ec_task *t);

void ec_pool_fini(struct ec_base *base);

/* Move posts from the base's pool to `w`, and take one. NULL: the pool is empty. */
struct ec_task *ec_pool_fetch(struct ec_base *base, struct ec_worker *w);

/* Own: take a free post of `w`, which has one. */
static inline struct ec_task *ec_pool_take(struct ec_worker *w)
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

/* A post for the calling thread: `w`, or NULL if it is no worker. NULL: no memory. */
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
			t = ec_pool_fetch(base, w);
	}
	return t != NULL ? t : ec_malloc(sizeof(*t));
}

#endif
