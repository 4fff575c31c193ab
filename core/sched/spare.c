#include "spare.h"

#include "queue.h"

enum { CHUNK = 64, KEEP = EC_LOCAL_MAX + 2 * CHUNK, POOL_MAX = 4096 };

struct ec_task *ec_spare_fetch(struct ec_base *base, struct ec_worker *w)
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

/* More than a worker keeps goes to the pool, from where workers that only post take it. */
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

void ec_posts_fini(struct ec_base *base)
{
	struct ec_worker *w;
	unsigned i;

	for (i = 0; i < ec_workers_num(base); i++) {
		w = base->workers[i];
		list_free(&w->free_posts);
		while (w->mail_room > 0)
			ec_free(w->mail_posts[--w->mail_room]);
	}
	list_free(&base->post_pool);
}

void ec_post_deliver(struct ec_batch *b, struct ec_worker *w, const struct ec_letter *letter)
{
	struct ec_task *t = w->mail_posts[--w->mail_room];

	ec_post_fill(t, w->base, ec_load_relaxed(&letter->color->number), EC_POST_PRI_MIDDLE, letter->fn, letter->arg);
	ec_task_push(b, letter->color, t);
}

void ec_posts_reserve(struct ec_worker *w)
{
	struct ec_task *t;

	while (w->mail_room < EC_MAIL_MAX && (t = ec_malloc(sizeof(*t))) != NULL)
		w->mail_posts[w->mail_room++] = t;
}

void ec_posts_refill(struct ec_worker *w)
{
	while (w->mail_room < EC_MAIL_MAX && !ec_list_is_empty(&w->free_posts))
		w->mail_posts[w->mail_room++] = ec_spare_take(w);
}
