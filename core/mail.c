#include "mail.h"

#include "task.h"

bool ec_mail_put(struct ec_worker *w, struct ec_color *c, struct ec_task *t)
{
	struct ec_base *base = w->base;
	struct ec_list *node = &t->link;
	bool is_put;

	if (ec_load_relaxed(&base->sleepers) != 0)
		return false;
	ec_spin_lock(&w->run);
	is_put = ec_color_is(c, w, t->color) && !w->asleep && ec_load_relaxed(&base->sleepers) == 0;
	if (is_put) {
		node->next = NULL;
		node->prev = (struct ec_list *)(void *)c;	/* until it is sorted */
		if (w->mail.first == NULL)
			w->mail.first = node;
		else
			w->mail.last->next = node;
		w->mail.last = node;
		ec_counter_add(&w->mail.num, 1);
	}
	ec_spin_unlock(&w->run);
	return is_put;
}

void ec_mail_sort(struct ec_worker *w)
{
	struct ec_list *node = w->mail.first, *next;
	struct ec_batch b;

	ec_batch_begin(&b, w->base);
	for (; node != NULL; node = next) {
		next = node->next;
		ec_task_push(&b, (struct ec_color *)(void *)node->prev, ec_container_of(node, struct ec_task, link));
	}
	w->mail.first = NULL;
	ec_store_release(&w->mail.num, 0);			/* meets ec_mail_is_none */
}
