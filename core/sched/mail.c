#include "mail.h"

#include "colors.h"
#include "mailbox.h"
#include "park.h"
#include "pool.h"
#include "queue.h"

static bool needs_thief(struct ec_worker *w)
{
	return ec_load_relaxed(&w->base->sleepers) != 0 && ec_park_needs_thief(w);
}

bool ec_mailbox_put(struct ec_worker *w, struct ec_color *c, uint32_t color, ec_post_fn fn, void *arg)
{
	struct ec_mailbox *m = w->mailbox;
	uint8_t num;
	bool fits;

	if (m == &ec_mailbox_none || needs_thief(w))
		return false;
	ec_spin_lock(&m->mu);
	num = ec_load_relaxed(&m->num);
	fits = ec_color_is(c, w, color) && num < ec_load_relaxed(&m->posts_num) && !m->is_closed && !needs_thief(w);
	if (fits) {
		m->messages[num] = (struct ec_message){ c, fn, arg };
		ec_store_relaxed(&m->num, (uint8_t)(num + 1));
	}
	ec_spin_unlock(&m->mu);
	return fits;
}

/* ---------------------------------------------------------------- delivery: under RUNQ of the worker */

/* Turns messages into posts of the worker, and queues them. */
static void deliver(struct ec_worker *w, const struct ec_message *from, struct ec_task **posts, unsigned num)
{
	struct ec_batch b;
	struct ec_color *c;
	struct ec_task *t;
	unsigned i;

	ec_batch_begin(&b, w->base);
	for (i = 0; i < num; i++) {
		c = from[i].color;
		t = posts[i];
		ec_post_fill(t, w->base, ec_load_relaxed(&c->number), EC_POST_PRI_MIDDLE, from[i].fn, from[i].arg);
		ec_task_push(&b, c, t);
	}
}

/* Under MAIL: the posts for all messages. */
static struct ec_task **take_posts(struct ec_mailbox *m)
{
	uint8_t left = (uint8_t)(ec_load_relaxed(&m->posts_num) - ec_load_relaxed(&m->num));

	ec_store_relaxed(&m->posts_num, left);
	return &m->posts[left];
}

/* RUNQ guards posts_num, but another thread reads it: the worker's. */
static void mark(struct ec_color *c, uint32_t coming)
{
	ec_store_relaxed(&c->posts_num, (ec_load_relaxed(&c->posts_num) & ~EC_POSTS_COMING) | coming);
}

/*
 * Copies the messages, so that posters wait for that only. Their colors are marked before the mailbox is empty: see
 * ec_mailbox_is_empty_for.
 */
void ec_mailbox_deliver(struct ec_worker *w)
{
	struct ec_message taken[EC_MAILBOX_MAX];
	struct ec_mailbox *m = w->mailbox;
	struct ec_task **posts;
	unsigned num, i;

	if (m == &ec_mailbox_none)
		return;
	ec_spin_lock(&m->mu);
	num = ec_load_relaxed(&m->num);
	posts = take_posts(m);
	for (i = 0; i < num; i++) {
		taken[i] = m->messages[i];
		mark(taken[i].color, EC_POSTS_COMING);
	}
	ec_store_release(&m->num, 0);				/* meets ec_mailbox_is_empty_for */
	ec_spin_unlock(&m->mu);
	deliver(w, taken, posts, num);
	for (i = 0; i < num; i++)
		mark(taken[i].color, 0);
}

void ec_mailbox_shut(struct ec_worker *w) EC_NO_ANALYSIS
{
	struct ec_mailbox *m = w->mailbox;

	if (m == &ec_mailbox_none)
		return;
	ec_spin_lock(&m->mu);
	if (ec_load_relaxed(&m->num) == 0)
		return;
	deliver(w, m->messages, take_posts(m), ec_load_relaxed(&m->num));
	ec_store_release(&m->num, 0);				/* meets ec_mailbox_is_empty_for */
}
