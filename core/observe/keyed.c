#include "keyed.h"

#include <stddef.h>
#include <string.h>

#include "ec.h"

enum { LOAD = 2 };			/* nodes in a list, on average */

static struct ec_keyed_node **list_of(const struct ec_keyed *k, uintptr_t key)
{
	uint64_t hash = (uint64_t)key * UINT64_C(0x9e3779b97f4a7c15);

	return &k->lists[(uint32_t)(hash >> 32) & (k->lists_num - 1)];
}

void ec_keyed_init(struct ec_keyed *k)
{
	memset(k, 0, sizeof(*k));
	k->lists = k->first;
	k->lists_num = EC_KEYED_FIRST;
}

void ec_keyed_fini(struct ec_keyed *k)
{
	if (k->lists != k->first)
		ec_free(k->lists);
	ec_keyed_init(k);
}

struct ec_keyed_node *ec_keyed_find(const struct ec_keyed *k, uintptr_t key)
{
	struct ec_keyed_node *node = *list_of(k, key);

	while (node != NULL && node->key != key)
		node = node->next;
	return node;
}

static void put(struct ec_keyed *k, struct ec_keyed_node *node)
{
	struct ec_keyed_node **list = list_of(k, node->key);

	node->next = *list;
	*list = node;
}

static void grow(struct ec_keyed *k)
{
	struct ec_keyed_node **before = k->lists, **lists, *node, *next;
	uint32_t before_num = k->lists_num, i;

	if (before_num > UINT32_MAX / 8)
		return;
	lists = ec_calloc((size_t)before_num * 4, sizeof(struct ec_keyed_node *));
	if (lists == NULL)
		return;
	k->lists = lists;
	k->lists_num = before_num * 4;
	for (i = 0; i < before_num; i++) {
		for (node = before[i]; node != NULL; node = next) {
			next = node->next;
			put(k, node);
		}
	}
	if (before != k->first)
		ec_free(before);
}

void ec_keyed_add(struct ec_keyed *k, struct ec_keyed_node *node, uintptr_t key)
{
	if (k->num >= k->lists_num * LOAD)
		grow(k);
	node->key = key;
	put(k, node);
	k->num++;
}

void ec_keyed_remove(struct ec_keyed *k, struct ec_keyed_node *node)
{
	struct ec_keyed_node **at = list_of(k, node->key);

	while (*at != node)
		at = &(*at)->next;
	*at = node->next;
	k->num--;
}

void ec_keyed_each(struct ec_keyed *k, void (*fn)(struct ec_keyed_node *node, void *arg), void *arg)
{
	struct ec_keyed_node *node, *next;
	uint32_t i;

	for (i = 0; i < k->lists_num; i++) {
		for (node = k->lists[i]; node != NULL; node = next) {
			next = node->next;
			fn(node, arg);
		}
	}
}
