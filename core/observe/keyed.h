/*
 * Things that are found by a number or an address: a table of lists, which grows with the things in it. A thing embeds
 * its node.
 */
#ifndef EC_KEYED_H
#define EC_KEYED_H

#include <stdint.h>

struct ec_keyed_node {
	struct ec_keyed_node *next;
	uintptr_t key;
};

enum { EC_KEYED_FIRST = 16 };		/* lists at the start */

/* The caller orders all calls for one table. */
struct ec_keyed {
	struct ec_keyed_node **lists;
	uint32_t lists_num;		/* a power of two */
	uint32_t num;
	struct ec_keyed_node *first[EC_KEYED_FIRST];
};

void ec_keyed_init(struct ec_keyed *k);

/* The nodes are the caller's. */
void ec_keyed_fini(struct ec_keyed *k);

/* NULL: none has the key. */
struct ec_keyed_node *ec_keyed_find(const struct ec_keyed *k, uintptr_t key);

/* No node has its key yet. It cannot fail: without memory the lists only get longer. */
void ec_keyed_add(struct ec_keyed *k, struct ec_keyed_node *node, uintptr_t key);

void ec_keyed_remove(struct ec_keyed *k, struct ec_keyed_node *node);

/* Calls fn(node, arg) for all; fn may free the node. */
void ec_keyed_each(struct ec_keyed *k, void (*fn)(struct ec_keyed_node *node, void *arg), void *arg);

#endif
