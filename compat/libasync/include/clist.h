/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_CLIST_H
#define LIBASYNC_CLIST_H

/*
 * An intrusive list whose ends meet: clist<T, &T::link>, where link is a clist_entry<T>. It has the operations of
 * dllist in list.h, under the same rules, and its first element may move round.
 */
#include "list.h"

template <class T> struct clist_entry : libasync::double_link<T> {
};

/* A ring of elements, of which one is the first. */
template <class T, clist_entry<T> T::*field> class clist
{
	void check_new(T *elm) const
	{
		LIBASYNC_CHECK(!(elm->*field).prev || !first || !has(elm), "clist: the element is in the list already");
	}
	bool has(T *elm) const
	{
		return libasync::list_has(first, elm, [this](T *e) { return next(e); });
	}

public:
	T *first;

	constexpr clist() : first(NULL) {}

	/* The last element, or NULL. */
	T *last() const { return first ? (first->*field).prev : NULL; }

	/*
	 * The element after `elm`, or NULL if it is the last one; before it, or NULL if it is the first. One that was
	 * removed has no `prev`, and what was behind it as `next`: perhaps the first one, now.
	 */
	T *next(const T *elm) const
	{
		T *const e = (elm->*field).next;

		return e == first && (elm->*field).prev ? NULL : e;
	}
	T *prev(const T *elm) const { return elm == first ? NULL : (elm->*field).prev; }

	void insert_head(T *elm)
	{
		insert_tail(elm);
		first = elm;
	}

	void insert_tail(T *elm)
	{
		check_new(elm);

		libasync::double_link<T> &e = elm->*field;

		if (!first) {
			first = e.next = e.prev = elm;
			return;
		}
		e.next = first;
		e.prev = (first->*field).prev;
		(e.prev->*field).next = elm;
		(first->*field).prev = elm;
	}

	T *remove(T *elm)
	{
		libasync::double_link<T> &e = elm->*field;

		LIBASYNC_CHECK(first && e.prev && (e.prev->*field).next == elm && (e.next != elm || first == elm),
			       "clist: the element to remove is in no list");

		T *const following = next(elm);

		(e.prev->*field).next = e.next;
		(e.next->*field).prev = e.prev;
		if (first == elm)
			first = following;
		e.next = following;
		e.prev = NULL;
		return elm;
	}

	/* The second element becomes the first, the first the last. */
	void rotate()
	{
		if (first)
			first = (first->*field).next;
	}

	void traverse(typename callback<void, T *>::ref cb) const
	{
		T *following;

		for (T *e = first; e; e = following) {
			following = next(e);
			(*cb)(e);
		}
	}
};

#endif
