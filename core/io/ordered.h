/*
 * A poller whose reports depend on the machine as little as possible: they come in the order of their descriptors, and
 * with a virtual clock a wait for a deadline advances the clock instead of sleeping. Everything else it leaves to the
 * poller of a kernel interface.
 */
#ifndef EC_ORDERED_H
#define EC_ORDERED_H

#include "poller.h"

struct ec_ordered {
	/* const after ec_ordered_take */
	struct ec_poller_ops ops;
	const struct ec_poller_ops *real;
};

/* `p`, just opened, becomes ordered. `o` lives longer than it. */
void ec_ordered_take(struct ec_ordered *o, struct ec_poller *p);

#endif
