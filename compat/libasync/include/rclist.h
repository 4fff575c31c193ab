/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_RCLIST_H
#define LIBASYNC_RCLIST_H

/*
 * rclist_t<T, &T::link>: a list that holds a reference to each of its elements. The link is a
 * rclist_entry_t<T>, and an element is in one list by it at most. Copies of an element are in no list.
 *
 * An element that is removed, or whose list dies, loses one reference. The callback of traverse may
 * remove any element; the pass ends early if it removes the one that would be next.
 */
#include "callback.h"
#include "libasync_container.h"
#include "list.h"
#include "refcnt.h"

namespace libasync
{

/* What a list has for each element. */
template <class T> class rc_node
{
	ptr<T> element;

public:
	tailq_entry<rc_node> link;

	rc_node(ptr<T> e) : element(e) {}
	ptr<T> elem() { return element; }
};

/* What an element has: its node, or NULL while it is in no list. */
template <class T> struct rc_entry {
	rc_node<T> *node;

	rc_entry() : node(NULL) {}
	rc_entry(const rc_entry &) : node(NULL) {}
	rc_entry &operator=(const rc_entry &) { return *this; }
	~rc_entry() { LIBASYNC_CHECK(!node, "rclist: an element died while it was in its list"); }
};

/* What both kinds of list do. */
template <class T, class Entry, Entry T::*field> class rc_list
{
	typedef rc_node<T> node;

	tailq<node, &node::link> nodes;

	static ptr<T> elem_of(node *n)
	{
		if (n)
			return n->elem();
		return NULL;
	}

	static node *node_of(T *e)
	{
		LIBASYNC_CHECK(e && (e->*field).node, "rclist: the element is in no list");
		return (e->*field).node;
	}

protected:
	static node *new_node(ptr<T> p)
	{
		LIBASYNC_CHECK(p && !(p->*field).node, "rclist: the element is in a list already");
		return (p->*field).node = new node(p);
	}

	void add_tail(ptr<T> p) { nodes.insert_tail(new_node(p)); }
	ptr<T> tail() { return elem_of(nodes.last()); }

public:
	rc_list() {}
	~rc_list()
	{
		while (node *n = nodes.first)
			remove(n->elem());
	}
	rc_list(const rc_list &) = delete;
	rc_list &operator=(const rc_list &) = delete;

	void insert_head(ptr<T> p) { nodes.insert_head(new_node(p)); }

	void remove(ptr<T> p)
	{
		node *const n = node_of(p);

		nodes.remove(n);
		(p->*field).node = NULL;
		delete n;
	}

	/* The first element, and the one after `p`; NULL if there is none. */
	ptr<T> first() { return elem_of(nodes.first); }
	ptr<T> next(ptr<T> p) { return elem_of(nodes.next(node_of(p))); }

	void traverse(typename callback<void, ptr<T>>::ref cb) const
	{
		ptr<T> at = elem_of(nodes.first);

		while (at && (at->*field).node) {
			const ptr<T> following = elem_of(nodes.next(node_of(at)));

			(*cb)(at);
			at = following;
		}
	}
};

} // namespace libasync

template <class T> struct rclist_entry_t : libasync::rc_entry<T> {
	rclist_entry_t() {}
	~rclist_entry_t() {}
	rclist_entry_t(const rclist_entry_t &) = default;
	rclist_entry_t &operator=(const rclist_entry_t &) = default;
};

template <class T> struct rclist_node_t : libasync::rc_node<T> {
	rclist_node_t(ptr<T> e) : libasync::rc_node<T>(e) {}
};

template <class T, rclist_entry_t<T> T::*field>
class rclist_t : public libasync::rc_list<T, rclist_entry_t<T>, field>
{
public:
	rclist_t() {}
};

#endif
