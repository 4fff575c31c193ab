/*
 * Mail: posts by other threads to the colors of a worker.
 *
 * A post to a color whose queue another processor has would fetch that color's lines, the worker's
 * run queue and its lock, and the worker would fetch them back. So it is left beside the lock, as a letter,
 * and whoever takes the lock next for anything else first puts it where it belongs: the color's queue, and
 * the color into the run queue. What goes into the queue is a spare post of that worker's own, so no line but those
 * of the letters moves between the two. Nobody under that lock sees a difference, and for those who look without
 * it mail counts as something to run.
 *
 * Where there are as many letters as spare posts, the next post goes the whole way, with a post that its thread
 * allocates; when it has run, that one is a spare one here.
 *
 * There is no mail for a worker that sleeps, nor while anyone does that could steal: such a post goes
 * the whole way, which ends with whom to wake. S2 and S3 in park.c are why the look at `sleepers` under the lock
 * suffices: who went to sleep after it looks into this worker's queues after that, under the same lock.
 */
#ifndef EC_MAIL_H
#define EC_MAIL_H

#include <stdbool.h>

#include "base.h"

/*
 * A post of middle priority to `c`, which was `color` and at `w`. False: it has moved or ended, there is no room, or
 * somebody may have to be woken.
 */
bool ec_mail_put(struct ec_worker *w, struct ec_color *c, uint32_t color, ec_post_fn fn, void *arg);

/*
 * For the thread of `w`, without the lock: does no post wait for `c`, which runs there? Mail that is sorted counts
 * as one of its color before it counts as mail no more.
 */
static inline bool ec_mail_is_none(const struct ec_worker *w, const struct ec_color *c)
{
	return ec_load_acquire(&w->mail_num) == 0 && ec_load_relaxed(&c->posts_num) == 0;	/* meets ec_mail_sort */
}

#endif
