#include "mail.h"

#include "post.h"
#include "task.h"

static void append(struct ec_worker *w, struct ec_color *c, struct ec_task *t)
{
	struct ec_mail *mail = &w->mail;
	struct ec_list *node = &t->link;

	node->next = NULL;
	if (mail->first == NULL) {
		mail->first = node;
		mail->color = c;
		mail->fn = t->pri == w->base->lanes_num / 2 ? t->fn.post : NULL;
		mail->arg = t->arg;
	} else {
		node->prev = (struct ec_list *)(void *)c;	/* until it is sorted */
		mail->last->next = node;
	}
	mail->last = node;
	ec_counter_add(&mail->num, 1);
}

bool ec_mail_put(struct ec_worker *w, struct ec_color *c, struct ec_task *t)
{
	struct ec_base *base = w->base;
	bool is_put;

	if (ec_load_relaxed(&base->sleepers) != 0)
		return false;
	ec_spin_lock(&w->run);
	is_put = ec_color_is(c, w, t->color) && !w->asleep && ec_load_relaxed(&base->sleepers) == 0;
	if (is_put)
		append(w, c, t);
	ec_spin_unlock(&w->run);
	return is_put;
}

/* The first one, which can be put where it belongs without a look at the post itself. What follows it. */
static struct ec_list *sort_first(struct ec_batch *b, struct ec_mail *mail)
{
	struct ec_task *t = ec_container_of(mail->first, struct ec_task, link);
	struct ec_list *next = mail->first == mail->last ? NULL : mail->first->next;

	if (mail->fn != NULL)
		t = ec_post_exchange(b->base, mail->color, mail->fn, mail->arg, t);
	ec_task_push(b, mail->color, t);
	return next;
}

void ec_mail_sort(struct ec_worker *w)
{
	struct ec_list *node, *next;
	struct ec_batch b;

	ec_batch_begin(&b, w->base);
	for (node = sort_first(&b, &w->mail); node != NULL; node = next) {
		next = node->next;
		ec_task_push(&b, (struct ec_color *)(void *)node->prev, ec_container_of(node, struct ec_task, link));
	}
	w->mail.first = NULL;
	ec_store_release(&w->mail.num, 0);			/* meets ec_mail_is_none */
}
