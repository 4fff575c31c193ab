/*
 * Hand-overs from one fiber or thread to another, of single tasks and events. Each has an address of its own, so the
 * program's ThreadSanitizer learns what the contract of colors promises for that task, and no more:
 *
 *   before a post, event_add, event_active		->  the callback that this causes
 *   after the last callback of an event		->  who deletes that event in another color
 *
 * A callback takes what was handed to its task. After that the color itself keeps the order.
 */
#ifndef EC_ORDERS_H
#define EC_ORDERS_H

#include "keyed.h"
#include "lock/sync.h"

struct ec_orders {
	/* mu: rank LEAF */
	struct ec_spin mu;
	struct ec_keyed handed;		/* by task */
	struct ec_keyed ended;		/* by event */

	char spill;			/* an address: where memory for others was short, all is ordered by this one */
};

void ec_orders_init(struct ec_orders *o);
void ec_orders_fini(struct ec_orders *o);

/* What the caller did before comes before the next callback of `task`. any thread */
void ec_orders_hand(struct ec_orders *o, const void *task);

/* At its beginning: the caller comes after all that was handed to `task`. */
void ec_orders_take(struct ec_orders *o, const void *task);

/* A callback of `event` ends. */
void ec_orders_end(struct ec_orders *o, const void *event);

/* `event` was deleted, and no callback of it runs: the caller comes after those that ran. any thread */
void ec_orders_forget(struct ec_orders *o, const void *event);

#endif
