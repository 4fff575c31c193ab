#include "mailbox.h"

#include "colors.h"
#include "park.h"
#include "pool.h"
#include "queue.h"

static bool needs_thief(struct ec_worker *w)
{
	return ec_load_relaxed(&w->base->sleepers) != 0 && ec_park_needs_thief(w);
}

bool ec_mailbox_put(struct ec_worker *w, struct ec_color *c, uint32_t color, ec_post_fn fn, void *arg)
{
	uint8_t num;
	bool fits;

	if (needs_thief(w))
		return false;
	ec_spin_lock(&w->run);
	num = ec_load_relaxed(&w->mailbox_num);
	fits = ec_color_is(c, w, color) && num < w->mailbox_cap && !w->asleep && !needs_thief(w);
	if (fits) {
		w->mailbox[num] = (struct ec_message){ c, fn, arg };
		ec_store_relaxed(&w->mailbox_num, (uint8_t)(num + 1));
	}
	ec_spin_unlock(&w->run);
	return fits;
}

/* Turns a message into one of the worker's posts, and queues it. */
static void deliver(struct ec_batch *b, struct ec_worker *w, const struct ec_message *m)
{
	struct ec_task *t = w->mailbox_posts[--w->mailbox_cap];

	ec_post_fill(t, w->base, ec_load_relaxed(&m->color->number), EC_POST_PRI_MIDDLE, m->fn, m->arg);
	ec_task_push(b, m->color, t);
}

void ec_mailbox_deliver(struct ec_worker *w)
{
	unsigned num = ec_load_relaxed(&w->mailbox_num), i;
	struct ec_batch b;

	ec_batch_begin(&b, w->base);
	for (i = 0; i < num; i++)
		deliver(&b, w, &w->mailbox[i]);
	ec_store_release(&w->mailbox_num, 0);			/* meets ec_mailbox_is_empty_for */
}

void ec_mailbox_reserve(struct ec_worker *w)
{
	struct ec_task *t;

	while (w->mailbox_cap < EC_MAILBOX_MAX && (t = ec_malloc(sizeof(*t))) != NULL)
		w->mailbox_posts[w->mailbox_cap++] = t;
}

void ec_mailbox_refill(struct ec_worker *w)
{
	while (w->mailbox_cap < EC_MAILBOX_MAX && !ec_list_is_empty(&w->free_posts))
		w->mailbox_posts[w->mailbox_cap++] = ec_pool_take(w);
}
