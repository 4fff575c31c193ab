/*
 * Intrusive doubly linked lists. A list is a ring through its head, so insertion and removal have no branches. A node
 * does not record whether it is in a list; its owner must know.
 */
#ifndef EC_LIST_H
#define EC_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct ec_list {
	struct ec_list *next, *prev;
};

#define ec_container_of(ptr, type, member) ((type *)(void *)((char *)(ptr) - offsetof(type, member)))

static inline void ec_list_init(struct ec_list *head)
{
	head->next = head->prev = head;
}

static inline bool ec_list_is_empty(const struct ec_list *head)
{
	return head->next == head;
}

/* Put `node` right after `where`: a head (then it is first) or a node. */
static inline void ec_list_insert_after(struct ec_list *where, struct ec_list *node)
{
	node->next = where->next;
	node->prev = where;
	where->next->prev = node;
	where->next = node;
}

/* As insert_after(head->prev, node), without a load: the next node is known to be the head. */
static inline void ec_list_push_back(struct ec_list *head, struct ec_list *node)
{
	struct ec_list *last = head->prev;

	node->next = head;
	node->prev = last;
	last->next = node;
	head->prev = node;
}

static inline void ec_list_push_front(struct ec_list *head, struct ec_list *node)
{
	ec_list_insert_after(head, node);
}

static inline void ec_list_remove(struct ec_list *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
}

/* Moves the nodes from `first` to `last`, of another list, to the front of `head`, in order. */
static inline void ec_list_move_row(struct ec_list *head, struct ec_list *first, struct ec_list *last)
{
	first->prev->next = last->next;
	last->next->prev = first->prev;
	first->prev = head;
	last->next = head->next;
	head->next->prev = last;
	head->next = first;
}

/* Append all of `from` to `head`, in order; `from` is empty after. */
static inline void ec_list_splice_back(struct ec_list *head, struct ec_list *from)
{
	if (ec_list_is_empty(from))
		return;
	from->next->prev = head->prev;
	head->prev->next = from->next;
	from->prev->next = head;
	head->prev = from->prev;
	ec_list_init(from);
}

#endif
