#include "mailbox.h"

#include "ec.h"
#include "pool.h"

struct ec_mailbox ec_mailbox_none;

bool ec_mailbox_shut_if_none_for(struct ec_worker *w, const struct ec_color *c) EC_NO_ANALYSIS
{
	struct ec_mailbox *m = w->mailbox;
	unsigned i;

	if (m == &ec_mailbox_none)
		return true;
	ec_spin_lock(&m->mu);
	for (i = 0; i < ec_load_relaxed(&m->num); i++) {
		if (m->messages[i].color == c) {
			ec_spin_unlock(&m->mu);
			return false;
		}
	}
	return true;
}

void ec_mailbox_reopen(struct ec_worker *w) EC_NO_ANALYSIS
{
	if (w->mailbox != &ec_mailbox_none)
		ec_spin_unlock(&w->mailbox->mu);
}

/* ---------------------------------------------------------------- sleep */

bool ec_mailbox_sleep(struct ec_worker *w)
{
	struct ec_mailbox *m = w->mailbox;

	if (m == &ec_mailbox_none)
		return true;
	ec_spin_lock(&m->mu);
	m->is_closed = ec_load_relaxed(&m->num) == 0;
	ec_spin_unlock(&m->mu);
	return m->is_closed;
}

void ec_mailbox_wake(struct ec_worker *w)
{
	struct ec_mailbox *m = w->mailbox;

	if (!m->is_closed)
		return;
	ec_spin_lock(&m->mu);
	m->is_closed = false;
	ec_spin_unlock(&m->mu);
}

/* ---------------------------------------------------------------- fork */

void ec_mailbox_freeze(struct ec_worker *w)
{
	if (w->mailbox != &ec_mailbox_none)
		ec_spin_freeze(&w->mailbox->mu);
}

void ec_mailbox_thaw(struct ec_worker *w)
{
	if (w->mailbox != &ec_mailbox_none)
		ec_spin_thaw(&w->mailbox->mu);
}

bool ec_mailbox_reset(struct ec_worker *w)
{
	return w->mailbox != &ec_mailbox_none && ec_spin_reset(&w->mailbox->mu);
}

/* ---------------------------------------------------------------- memory */

struct ec_mailbox *ec_mailbox_new(void)
{
	struct ec_mailbox *m = ec_lines_alloc(sizeof(*m));
	struct ec_task *t;
	uint8_t num = 0;

	if (m == NULL)
		return &ec_mailbox_none;
	ec_spin_init(&m->mu, EC_RANK_MAIL);
	ec_store_relaxed(&m->num, 0);
	m->is_closed = false;
	while (num < EC_MAILBOX_MAX && (t = ec_malloc(sizeof(*t))) != NULL)
		m->posts[num++] = t;
	ec_store_relaxed(&m->posts_num, num);
	return m;
}

void ec_mailbox_free(struct ec_mailbox *m)
{
	unsigned i;

	if (m == &ec_mailbox_none)
		return;
	for (i = 0; i < ec_load_relaxed(&m->posts_num); i++)
		ec_free(m->posts[i]);
	ec_free(m);
}

void ec_mailbox_refill(struct ec_worker *w)
{
	struct ec_mailbox *m = w->mailbox;
	uint8_t num = ec_load_relaxed(&m->posts_num);

	if (num == EC_MAILBOX_MAX || m == &ec_mailbox_none || ec_list_is_empty(&w->free_posts))
		return;
	while (num < EC_MAILBOX_MAX && !ec_list_is_empty(&w->free_posts))
		m->posts[num++] = ec_pool_take(w);
	ec_store_relaxed(&m->posts_num, num);
}
