/*
 * Mail: posts by other threads to the colors of a worker.
 *
 * A post to a color whose queue another processor has would fetch that color's lines, the worker's
 * run queue and its lock, and the worker would fetch them back. So it is left where the lock is, on one
 * line, and whoever takes the lock next for anything else first puts it where it belongs: the color's queue, and
 * the color into the run queue. What the first one is to do lies on that line as well; a spare post of the worker's own
 * takes that over, so that nobody needs to wait for the line of the post itself. Nobody under that lock sees a
 * difference, and for those who look without it mail counts as something to run.
 *
 * There is no mail for a worker that sleeps, nor while anyone does that could steal: such a post goes
 * the whole way, which ends with whom to wake. S2 and S3 in park.c are why the look at `sleepers` under the lock
 * suffices: who went to sleep after it looks into this worker's queues after that, under the same lock.
 */
#ifndef EC_MAIL_H
#define EC_MAIL_H

#include <stdbool.h>

#include "base.h"

/* `t`, a post to `c`, which was at `w`. False: it has moved or ended, or somebody may have to be woken. */
bool ec_mail_put(struct ec_worker *w, struct ec_color *c, struct ec_task *t);

/*
 * For the thread of `w`, without the lock: does no post wait for `c`, which runs there? Mail that is sorted counts
 * as one of its color before it counts as mail no more.
 */
static inline bool ec_mail_is_none(const struct ec_worker *w, const struct ec_color *c)
{
	return ec_load_acquire(&w->mail.num) == 0 && ec_load_relaxed(&c->posts_num) == 0;	/* meets ec_mail_sort */
}

#endif
