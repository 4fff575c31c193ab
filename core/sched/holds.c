#include "holds.h"

/* Tens of milliseconds, for a system call that another thread is about to make. */
enum { GONE_STEPS = 2000 };

/*
 * In a child of fork, no other thread is there to end its call. A base with locks knows that it is a child's (fork.c).
 * One without locks does not: only a post to its inbox holds it, and one that takes so long has no thread any more.
 */
void ec_base_wait_holds(struct ec_base *base)
{
	unsigned steps = 0, num;

	(void)ec_load_acquire(&base->is_break);			/* F1: the loop has read it without order */
	for (num = 0; ec_load_acquire(&base->holds) != 0; num++) { /* F2 */
		if (num >= GONE_STEPS && !ec_is_locked(base))
			return;
		ec_wait_step(&steps);
	}
}
