#include "pool.h"

#include "ec.h"

enum { CHUNK = 64, KEEP = EC_LOCAL_MAX + 2 * CHUNK, POOL_MAX = 4096 };

struct ec_task *ec_pool_fetch(struct ec_base *base, struct ec_worker *w)
{
	struct ec_list *node;
	unsigned i;

	ec_spin_lock(&base->pool_mu);
	for (i = 0; i < CHUNK && !ec_list_is_empty(&base->post_pool); i++) {
		node = base->post_pool.next;
		ec_list_remove(node);
		ec_list_push_front(&w->free_posts, node);
		base->post_pool_num--;
		w->free_posts_num++;
	}
	ec_spin_unlock(&base->pool_mu);
	if (i == 0)
		return NULL;
	node = w->free_posts.next;
	ec_list_remove(node);
	w->free_posts_num--;
	return ec_container_of(node, struct ec_task, link);
}

/* Surplus posts go to the pool. Workers that only post take them from there. */
static void give_back(struct ec_worker *w)
{
	struct ec_base *base = w->base;
	struct ec_list *node;
	unsigned i;

	ec_spin_lock(&base->pool_mu);
	for (i = 0; i < CHUNK && base->post_pool_num < POOL_MAX; i++) {
		node = w->free_posts.next;
		ec_list_remove(node);
		ec_list_push_front(&base->post_pool, node);
		base->post_pool_num++;
	}
	ec_spin_unlock(&base->pool_mu);
	w->free_posts_num -= i;
	for (; i < CHUNK; i++) {
		node = w->free_posts.next;
		ec_list_remove(node);
		w->free_posts_num--;
		ec_free(ec_container_of(node, struct ec_task, link));
	}
}

void ec_post_free(struct ec_worker *w, struct ec_task *t)
{
	ec_list_push_front(&w->free_posts, &t->link);
	if (++w->free_posts_num > KEEP)
		give_back(w);
}

static void list_free(struct ec_list *head)
{
	struct ec_list *node;

	while (!ec_list_is_empty(head)) {
		node = head->next;
		ec_list_remove(node);
		ec_free(ec_container_of(node, struct ec_task, link));
	}
}

void ec_pool_fini(struct ec_base *base)
{
	struct ec_worker *w;
	unsigned i;

	for (i = 0; i < ec_workers_num(base); i++) {
		w = base->workers[i];
		list_free(&w->free_posts);
	}
	list_free(&base->post_pool);
}
