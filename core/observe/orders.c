#include "orders.h"

#include <stddef.h>
#include <stdlib.h>

#include "os/list.h"
#include "os/tsan.h"

/*
 * Its own address is the one that is released and acquired. It is libc's memory, because ThreadSanitizer forgets an
 * address only when libc's memory is freed there; and it does not see that either is done.
 */
struct order {
	struct ec_keyed_node node;
};

static struct order *order_new(void)
{
	struct order *order;

	ec_tsan_ignore_begin();
	order = malloc(sizeof(*order));
	ec_tsan_ignore_end();
	return order;
}

static void order_free(struct order *order)
{
	ec_tsan_ignore_begin();
	free(order);
	ec_tsan_ignore_end();
}

static struct order *order_of(struct ec_keyed_node *node)
{
	return node == NULL ? NULL : ec_container_of(node, struct order, node);
}

void ec_orders_init(struct ec_orders *o)
{
	ec_spin_init(&o->mu, EC_RANK_LEAF);
	ec_keyed_init(&o->handed);
	ec_keyed_init(&o->ended);
}

static void node_free(struct ec_keyed_node *node, void *arg)
{
	(void)arg;
	order_free(order_of(node));
}

void ec_orders_fini(struct ec_orders *o)
{
	ec_keyed_each(&o->handed, node_free, NULL);
	ec_keyed_fini(&o->handed);
	ec_keyed_each(&o->ended, node_free, NULL);
	ec_keyed_fini(&o->ended);
}

/* Under the lock. NULL: `*spare` was needed, and is NULL. */
static struct order *find_or_add(struct ec_keyed *k, uintptr_t key, struct order **spare)
{
	struct order *order = order_of(ec_keyed_find(k, key));

	if (order != NULL || *spare == NULL)
		return order;
	order = *spare;
	*spare = NULL;
	ec_keyed_add(k, &order->node, key);
	return order;
}

/* Under the lock, another thread cannot free the order meanwhile. */
static void release(struct ec_orders *o, struct ec_keyed *k, const void *key)
{
	struct order *spare = order_new(), *order;

	ec_spin_lock(&o->mu);
	order = find_or_add(k, (uintptr_t)key, &spare);
	ec_tsan_do_release(order != NULL ? (const void *)order : &o->spill);
	ec_spin_unlock(&o->mu);
	order_free(spare);
}

static struct order *take(struct ec_orders *o, struct ec_keyed *k, const void *key)
{
	struct order *order;

	ec_spin_lock(&o->mu);
	order = order_of(ec_keyed_find(k, (uintptr_t)key));
	if (order != NULL)
		ec_keyed_remove(k, &order->node);
	ec_spin_unlock(&o->mu);
	return order;
}

static void acquire(struct order *order)
{
	if (order != NULL)
		ec_tsan_do_acquire(order);
	order_free(order);
}

void ec_orders_hand(struct ec_orders *o, const void *task)
{
	release(o, &o->handed, task);
}

void ec_orders_take(struct ec_orders *o, const void *task)
{
	ec_tsan_do_acquire(&o->spill);
	acquire(take(o, &o->handed, task));
}

void ec_orders_end(struct ec_orders *o, const void *event)
{
	release(o, &o->ended, event);
}

void ec_orders_forget(struct ec_orders *o, const void *event)
{
	struct order *handed = take(o, &o->handed, event);

	ec_tsan_do_acquire(&o->spill);
	acquire(take(o, &o->ended, event));
	order_free(handed);
}
