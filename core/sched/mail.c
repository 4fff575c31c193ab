#include "mail.h"

#include "colors.h"
#include "queue.h"
#include "spare.h"

bool ec_mail_put(struct ec_worker *w, struct ec_color *c, uint32_t color, ec_post_fn fn, void *arg)
{
	struct ec_base *base = w->base;
	uint8_t num;
	bool is_put;

	if (ec_load_relaxed(&base->sleepers) != 0)
		return false;
	ec_spin_lock(&w->run);
	num = ec_load_relaxed(&w->mail_num);
	is_put = ec_color_is(c, w, color) && num < w->mail_room && !w->asleep && ec_load_relaxed(&base->sleepers) == 0;
	if (is_put) {
		w->mail[num] = (struct ec_letter){ c, fn, arg };
		ec_store_relaxed(&w->mail_num, (uint8_t)(num + 1));
	}
	ec_spin_unlock(&w->run);
	return is_put;
}

void ec_mail_sort(struct ec_worker *w)
{
	unsigned num = ec_load_relaxed(&w->mail_num), i;
	struct ec_batch b;

	ec_batch_begin(&b, w->base);
	for (i = 0; i < num; i++)
		ec_post_deliver(&b, w, &w->mail[i]);
	ec_store_release(&w->mail_num, 0);			/* meets ec_mail_is_none */
}
