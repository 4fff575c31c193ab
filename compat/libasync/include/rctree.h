/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_RCTREE_H
#define LIBASYNC_RCTREE_H

/*
 * rctree_t<K, V, &V::key, &V::link>: a tree that holds a reference to each of its elements. The link is
 * a rctree_entry_t<K, V>, and an element is in one tree by it at most. Copies of an element are in no tree.
 *
 * The tree keeps a copy of the key: an element stays where it was inserted, though its key may change.
 * Equal keys stand in the order of insertion, and the first one is found. An element that is removed, or
 * whose tree dies, loses one reference.
 */
#include "callback.h"
#include "itree.h"
#include "keyfunc.h"
#include "libasync_container.h"
#include "refcnt.h"

/* What the tree has for each element. */
template <class K, class V> class rctree_node_t
{
	ptr<V> element;

public:
	const K key;
	itree_entry<rctree_node_t> link;

	rctree_node_t(const K &k, ptr<V> v) : element(v), key(k) {}
	ptr<V> elem() { return element; }
	ptr<const V> elem() const { return element; }
};

/* What an element has: its node, or NULL while it is in no tree. rctree_entry_t<V> will do too. */
template <class A, class B = void> struct rctree_entry_t {
	void *node;

	rctree_entry_t() : node(NULL) {}
	rctree_entry_t(const rctree_entry_t &) : node(NULL) {}
	rctree_entry_t &operator=(const rctree_entry_t &) { return *this; }
	~rctree_entry_t()
	{
		LIBASYNC_CHECK(!node, "rctree: an element died while it was in its tree");
	}
};

template <class K, class V, K V::*key, auto field, class C = compare<K>> class rctree_t
{
	typedef rctree_node_t<K, V> node;

	itree<const K, node, &node::key, &node::link, C> nodes;

	static ptr<V> elem_of(node *n)
	{
		if (n)
			return n->elem();
		return NULL;
	}

	static node *node_of(V *e)
	{
		LIBASYNC_CHECK(e && (e->*field).node, "rctree: the element is in no tree");
		return static_cast<node *>((e->*field).node);
	}

public:
	rctree_t() {}
	~rctree_t() { clear(); }
	rctree_t(const rctree_t &) = delete;
	rctree_t &operator=(const rctree_t &) = delete;

	/* Remove all. */
	void clear()
	{
		while (node *n = nodes.first())
			remove(n->elem());
	}

	void insert(ptr<V> v)
	{
		LIBASYNC_CHECK(v && !(v->*field).node, "rctree: the element is in a tree already");

		node *const n = new node(v->*key, v);

		(v->*field).node = n;
		nodes.insert(n);
	}

	void remove(ptr<V> p)
	{
		node *const n = node_of(p);

		nodes.remove(n);
		(p->*field).node = NULL;
		delete n;
	}

	/* The first element with that key, or NULL. */
	ptr<V> operator[](const K &k) { return elem_of(nodes[k]); }
	ptr<const V> operator[](const K &k) const
	{
		if (const node *n = nodes[k])
			return n->elem();
		return NULL;
	}

	/* The element at the top, those above and below one; the first and last, the next and the one before. */
	ptr<V> root() { return elem_of(nodes.root()); }
	ptr<V> up(ptr<V> p) { return elem_of(nodes.up(node_of(p))); }
	ptr<V> left(ptr<V> p) { return elem_of(nodes.left(node_of(p))); }
	ptr<V> right(ptr<V> p) { return elem_of(nodes.right(node_of(p))); }
	ptr<V> first() { return elem_of(nodes.first()); }
	ptr<V> last() { return elem_of(nodes.last()); }
	ptr<V> next(ptr<V> p) { return elem_of(nodes.next(node_of(p))); }
	ptr<V> prev(ptr<V> p) { return elem_of(nodes.prev(node_of(p))); }

	/* Call `cb` for each element in order; it may remove the one it got. */
	void traverse(typename callback<void, ptr<V>>::ref cb)
	{
		node *following;

		for (node *n = nodes.first(); n; n = following) {
			following = nodes.next(n);
			(*cb)(n->elem());
		}
	}

	/*
	 * Descend from the root: `fn` returns a negative number to go on to the left of an element, a positive
	 * one for the right, and 0 if this is it. NULL: the descent ended below the tree.
	 */
	ptr<V> search(typename callback<int, ptr<V>>::ref fn) const
	{
		node *n = nodes.root();

		while (n) {
			const int way = (*fn)(n->elem());

			if (way == 0)
				break;
			n = way < 0 ? nodes.left(n) : nodes.right(n);
		}
		return elem_of(n);
	}
};

#endif
