#include "holds.h"

void ec_base_wait_holds(struct ec_base *base)
{
	unsigned steps = 0;

	(void)ec_load_acquire(&base->is_break);			/* F1: the loop has read it without order */
	while (ec_load_acquire(&base->holds) != 0)		/* F2 */
		ec_wait_step(&steps);
}
