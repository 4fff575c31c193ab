/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_ITREE_H
#define LIBASYNC_ITREE_H

/*
 * Intrusive red-black trees: an element is in a tree by a member of type itree_entry.
 *
 *   itree<K, V, &V::key, &V::link>       in the order of one member, and found by it
 *   itree_core<T, &T::link, C>           in the order of C, which compares elements
 *
 * A comparison returns a negative number, 0 or a positive one. Elements that compare equal stand in the
 * order of their insertion.
 *
 * Ownership: the tree owns no element and destroys none, except in deleteall. An element must leave the
 * tree before it dies or its key changes. Copies of an element are in no tree.
 *
 * Changes while iterating: the callback of traverse may remove and delete the element it got. A loop
 * must call next before it removes the element. Insertion is safe at any time.
 */
#include "callback.h"
#include "keyfunc.h"
#include "libasync_container.h"

struct __opaquecontainer;
typedef __opaquecontainer *oc;

namespace libasync
{

/* LEAVING: deleteall removed the element and now deletes it. */
enum itree_state { ITREE_OUT, ITREE_RED, ITREE_BLACK, ITREE_LEAVING };
enum itree_side { ITREE_LEFT, ITREE_RIGHT };

struct itree_link {
	oc up;
	oc child[2];
	itree_state state;

	itree_link() : up(NULL), child{ NULL, NULL }, state(ITREE_OUT) {}
	itree_link(const itree_link &) : up(NULL), child{ NULL, NULL }, state(ITREE_OUT) {}
	itree_link &operator=(const itree_link &) { return *this; }
};

/* Elements have their links `offset` bytes from their beginnings. `parent` NULL: `n` becomes the root. */
LIBASYNC_EXPORT void itree_insert(oc *root, oc n, oc parent, itree_side side, ptrdiff_t offset);
LIBASYNC_EXPORT void itree_remove(oc *root, oc n, ptrdiff_t offset);

/* The last element to that side of `n` (and below); the neighbour of `n` on that side, or NULL. */
LIBASYNC_EXPORT oc itree_outermost(oc n, itree_side side, ptrdiff_t offset);
LIBASYNC_EXPORT oc itree_neighbour(oc n, itree_side side, ptrdiff_t offset);

} // namespace libasync

template <class T> class itree_entry : public libasync::itree_link
{
	static T *elm_of(oc p) { return reinterpret_cast<T *>(p); }

public:
	/* The elements above and below this one in the tree, or NULL. */
	T *up() const { return elm_of(libasync::itree_link::up); }
	T *left() const { return elm_of(child[libasync::ITREE_LEFT]); }
	T *right() const { return elm_of(child[libasync::ITREE_RIGHT]); }
};

template <class T, itree_entry<T> T::*field, class C = compare<T>> class itree_core
{
protected:
	oc top;

	static ptrdiff_t offset(const T *n)
	{
		return reinterpret_cast<const char *>(static_cast<const libasync::itree_link *>(&(n->*field))) -
		       reinterpret_cast<const char *>(n);
	}
	static oc oc_of(const T *n) { return reinterpret_cast<oc>(const_cast<T *>(n)); }
	static T *elm_of(oc p) { return reinterpret_cast<T *>(p); }
	static libasync::itree_link &link(T *n) { return n->*field; }

	/* Is this very element among those that compare equal to it? Only for checks. */
	bool contains(const T *n) const
	{
		for (const T *e = first_equal(n); e && cmp(*n, *e) == 0; e = next(e))
			if (e == n)
				return true;
		return false;
	}
	const T *first_equal(const T *n) const
	{
		const T *found = NULL;

		for (const T *e = root(); e;) {
			const int order = cmp(*n, *e);

			if (order == 0)
				found = e;
			e = order <= 0 ? left(e) : right(e);
		}
		return found;
	}
	bool is_linked(T *n) const
	{
		const libasync::itree_link &l = link(n);

		if (l.state != libasync::ITREE_RED && l.state != libasync::ITREE_BLACK)
			return false;
		return l.up ? left(elm_of(l.up)) == n || right(elm_of(l.up)) == n : root() == n;
	}

public:
	const C cmp;

	itree_core() : top(NULL), cmp() {}
	itree_core(const C &c) : top(NULL), cmp(c) {}
	itree_core(const itree_core &) = delete;
	itree_core &operator=(const itree_core &) = delete;

	/* Forget all elements, which are not touched: they may be gone already. */
	void clear() { top = NULL; }

	/*
	 * Delete all elements, in order. While an element is deleted, the rest of the tree is whole; the
	 * element's destructor may remove it, although it has left, and may remove others.
	 */
	void deleteall()
	{
		while (T *n = first()) {
			libasync::itree_remove(&top, oc_of(n), offset(n));
			link(n).state = libasync::ITREE_LEAVING;
			delete n;
		}
	}
	void deleteall_correct() { deleteall(); }

	void insert(T *n)
	{
		T *parent = NULL;
		libasync::itree_side side = libasync::ITREE_LEFT;

		LIBASYNC_CHECK(link(n).state == libasync::ITREE_OUT || !contains(n),
			       "itree: the element is in the tree already");
		for (T *at = root(); at; at = elm_of(link(at).child[side])) {
			parent = at;
			side = cmp(*n, *at) < 0 ? libasync::ITREE_LEFT : libasync::ITREE_RIGHT;
		}
		libasync::itree_insert(&top, oc_of(n), oc_of(parent), side, offset(n));
	}

	void remove(T *n)
	{
		if (link(n).state == libasync::ITREE_LEAVING) {
			link(n).state = libasync::ITREE_OUT;
			return;
		}
		LIBASYNC_CHECK(is_linked(n), "itree: the element to remove is in no tree");
		libasync::itree_remove(&top, oc_of(n), offset(n));
	}

	/* The element at the top; those above and below one. NULL: there is none. */
	T *root() const { return elm_of(top); }
	T *up(const T *n) const { return (n->*field).up(); }
	T *left(const T *n) const { return (n->*field).left(); }
	T *right(const T *n) const { return (n->*field).right(); }

	/* The first and last element in order, the one after `n` and the one before. NULL: there is none. */
	T *first() const { return outermost(libasync::ITREE_LEFT); }
	T *last() const { return outermost(libasync::ITREE_RIGHT); }
	T *next(const T *n) const { return elm_of(itree_neighbour(oc_of(n), libasync::ITREE_RIGHT, offset(n))); }
	T *prev(const T *n) const { return elm_of(itree_neighbour(oc_of(n), libasync::ITREE_LEFT, offset(n))); }

	/* Call `cb` (the method) for each element in order. */
	void traverse(typename callback<void, T *>::ref cb)
	{
		T *following;

		for (T *n = first(); n; n = following) {
			following = next(n);
			(*cb)(n);
		}
	}
	void traverse(void (T::*fn)())
	{
		T *following;

		for (T *n = first(); n; n = following) {
			following = next(n);
			(n->*fn)();
		}
	}

	/*
	 * Descend from the root: `cb` returns a negative number to go on to the left of an element, a positive
	 * one for the right, and 0 if this is it. NULL: the descent ended below the tree.
	 */
	T *search(typename callback<int, const T *>::ref cb) const
	{
		T *n = root();

		while (n) {
			const int way = (*cb)(n);

			if (way == 0)
				break;
			n = way < 0 ? left(n) : right(n);
		}
		return n;
	}
	template <class A1, class A2>
	T *search(int (*cb)(const A1 *, const A2 *, const T *), const A1 *a1, const A2 *a2) const
	{
		T *n = root();

		while (n) {
			const int way = cb(a1, a2, n);

			if (way == 0)
				break;
			n = way < 0 ? left(n) : right(n);
		}
		return n;
	}

private:
	T *outermost(libasync::itree_side side) const
	{
		return top ? elm_of(itree_outermost(top, side, offset(root()))) : NULL;
	}
};

/* Elements V in the order of their member `key`. */
template <class K, class V, K V::*key, itree_entry<V> V::*field, class C = compare<K>>
class itree : public itree_core<V, field, keyfunc_2<int, V, K, key, C>>
{
	typedef keyfunc_2<int, V, K, key, C> by_key;
	typedef itree_core<V, field, by_key> core;

	V *find(const K &k) const
	{
		V *found = NULL;

		for (V *n = this->root(); n;) {
			const int order = this->cmp.f(k, n->*key);

			if (order == 0)
				found = n;
			n = order <= 0 ? this->left(n) : this->right(n);
		}
		return found;
	}

public:
	itree() {}
	itree(const C &c) : core(by_key(c)) {}

	/* The element with key `k` that was inserted first, or NULL. */
	V *operator[](const K &k) { return find(k); }
	const V *operator[](const K &k) const { return find(k); }
};

#endif
