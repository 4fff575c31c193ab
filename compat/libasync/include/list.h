/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_LIST_H
#define LIBASYNC_LIST_H

/*
 * Intrusive lists: an element is in a list by one of its members.
 *
 *   list<T, &T::link>     link is a list_entry<T>: insertion at the head
 *   tailq<T, &T::link>    tailq_entry<T>: at the head or the tail
 *   dllist<T, &T::link>   dllist_entry<T>: both, and steps in both directions
 *
 * clist.h has a ring: some programs have a clist of their own.
 *
 * All operations take constant time. A list owns no element: it neither deletes nor touches them when
 * it dies. Copies of an element are in no list. A copy of a list is only good for reading; a list that
 * is moved or swapped takes its elements along.
 *
 * Changes while iterating: the callback of traverse may remove and delete the element it got, but not
 * the next one. A loop may remove the element it is at and then call next, unless it deleted it.
 */
#include "callback.h"
#include "libasync_container.h"

namespace libasync
{

/* How far a check searches a list for an element that may be in it already. */
enum { LIST_CHECK_MAX = 256 };

template <class T, class Next> inline bool list_has(T *first, const T *elm, Next next_of)
{
	int n = 0;

	for (T *e = first; e && n < LIST_CHECK_MAX; e = next_of(e), n++)
		if (e == elm)
			return true;
	return false;
}

/* The link of list and tailq: pprev is where the list points at the element; NULL if it is in none. */
template <class T> struct forward_link {
	T *next;
	T **pprev;

	forward_link() : next(NULL), pprev(NULL) {}
	forward_link(const forward_link &) : next(NULL), pprev(NULL) {}
	forward_link &operator=(const forward_link &) { return *this; }
};

/* The link of dllist, and of the ring of clist.h. */
template <class T> struct double_link {
	T *next;
	T *prev;

	double_link() : next(NULL), prev(NULL) {}
	double_link(const double_link &) : next(NULL), prev(NULL) {}
	double_link &operator=(const double_link &) { return *this; }
};

} // namespace libasync

template <class T> struct list_entry : libasync::forward_link<T> {
};
template <class T> struct tailq_entry : libasync::forward_link<T> {
};
template <class T> struct dllist_entry : libasync::double_link<T> {
};

template <class T, list_entry<T> T::*field> class list
{
	void check_new(T *elm) const
	{
		LIBASYNC_CHECK(!(elm->*field).pprev ||
				       !libasync::list_has(first, elm, [](T *e) { return (e->*field).next; }),
			       "list: the element is in the list already");
	}

	void own_first()
	{
		if (first)
			(first->*field).pprev = &first;
	}

public:
	T *first;

	constexpr list() : first(NULL) {}
	list(const list &) = default;
	list &operator=(const list &) = default;
	list(list &&b) noexcept : first(b.first)
	{
		b.first = NULL;
		own_first();
	}
	list &operator=(list &&b) noexcept
	{
		T *const elements = b.first;

		b.first = NULL;
		first = elements;
		own_first();
		return *this;
	}

	void insert_head(T *elm)
	{
		check_new(elm);
		(elm->*field).next = first;
		(elm->*field).pprev = &first;
		if (first)
			(first->*field).pprev = &(elm->*field).next;
		first = elm;
	}

	/* Needs no list: an element knows where it is linked, and leaves the list that it is in. */
	static T *remove(T *elm)
	{
		libasync::forward_link<T> &e = elm->*field;

		LIBASYNC_CHECK(e.pprev && *e.pprev == elm, "list: the element to remove is in no list");
		if (e.next)
			(e.next->*field).pprev = e.pprev;
		*e.pprev = e.next;
		e.pprev = NULL;
		return elm;
	}

	/* The element after `elm`, or NULL. */
	static T *next(const T *elm) { return (elm->*field).next; }

	void swap(list &b)
	{
		T *const mine = first;

		first = b.first;
		b.first = mine;
		own_first();
		b.own_first();
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

template <class T, tailq_entry<T> T::*field> struct tailq {
	T *first;
	T **plast;

	constexpr tailq() : first(NULL), plast(&first) {}
	tailq(const tailq &b) : first(b.first), plast(b.first ? b.plast : &first) {}
	tailq &operator=(const tailq &b)
	{
		first = b.first;
		plast = b.first ? b.plast : &first;
		return *this;
	}
	tailq(tailq &&b) noexcept : first(NULL), plast(&first) { swap(b); }
	tailq &operator=(tailq &&b) noexcept
	{
		if (&b != this) {
			first = NULL;
			plast = &first;
			swap(b);
		}
		return *this;
	}

	void insert_head(T *elm)
	{
		check_new(elm);
		(elm->*field).next = first;
		(elm->*field).pprev = &first;
		if (first)
			(first->*field).pprev = &(elm->*field).next;
		else
			plast = &(elm->*field).next;
		first = elm;
	}

	void insert_tail(T *elm)
	{
		check_new(elm);
		(elm->*field).next = NULL;
		(elm->*field).pprev = plast;
		*plast = elm;
		plast = &(elm->*field).next;
	}

	T *remove(T *elm)
	{
		libasync::forward_link<T> &e = elm->*field;

		/* In the midst of another queue it leaves that one, as with list. At its end, both would break. */
		LIBASYNC_CHECK(e.pprev && *e.pprev == elm && (e.next || plast == &e.next),
			       "tailq: the element to remove is not in the queue");
		if (e.next)
			(e.next->*field).pprev = e.pprev;
		else
			plast = e.pprev;
		*e.pprev = e.next;
		e.pprev = NULL;
		return elm;
	}

	/* The element after `elm`, or NULL. */
	static T *next(T *elm) { return (elm->*field).next; }

	/* The last element, or NULL: plast points at its next, where its link begins. */
	T *last() const
	{
		if (!first)
			return NULL;

		const libasync::forward_link<T> *const of_first = &(first->*field);
		const ptrdiff_t offset = reinterpret_cast<const char *>(of_first) - reinterpret_cast<char *>(first);

		return reinterpret_cast<T *>(reinterpret_cast<char *>(plast) - offset);
	}

	void swap(tailq &b)
	{
		T *const mine = first;
		T **const my_last = plast;

		use(b.first, b.plast);
		b.use(mine, my_last);
	}

	void traverse(typename callback<void, T *>::ref cb) const
	{
		T *following;

		for (T *e = first; e; e = following) {
			following = next(e);
			(*cb)(e);
		}
	}

private:
	void use(T *elements, T **last)
	{
		first = elements;
		plast = elements ? last : &first;
		if (elements)
			(elements->*field).pprev = &first;
	}

	void check_new(T *elm) const
	{
		LIBASYNC_CHECK(!(elm->*field).pprev ||
				       !libasync::list_has(first, elm, [](T *e) { return (e->*field).next; }),
			       "tailq: the element is in the queue already");
	}
};

template <class T, dllist_entry<T> T::*field> class dllist
{
	T *first_elm;
	T *last_elm;

	void check_new(T *elm) const
	{
		LIBASYNC_CHECK(!((elm->*field).prev || first_elm == elm) ||
				       !libasync::list_has(first_elm, elm, [](T *e) { return (e->*field).next; }),
			       "dllist: the element is in the list already");
	}

	/* Link `b` behind `a`; one of both may be NULL for an end of the list. */
	void join(T *a, T *b)
	{
		(a ? (a->*field).next : first_elm) = b;
		(b ? (b->*field).prev : last_elm) = a;
	}

public:
	constexpr dllist() : first_elm(NULL), last_elm(NULL) {}

	/* The first and the last element, or NULL. */
	T *head() { return first_elm; }
	T *tail() { return last_elm; }

	/* The element after and before `elm`, or NULL. */
	T *next(T *elm) { return (elm->*field).next; }
	T *prev(T *elem) { return (elem->*field).prev; }

	void insert_head(T *elm)
	{
		check_new(elm);

		T *const second = first_elm;

		join(NULL, elm);
		join(elm, second);
	}

	void insert_tail(T *elm)
	{
		check_new(elm);

		T *const before = last_elm;

		join(before, elm);
		join(elm, NULL);
	}

	T *remove(T *elm)
	{
		libasync::double_link<T> &e = elm->*field;

		LIBASYNC_CHECK((e.prev ? (e.prev->*field).next : first_elm) == elm &&
				       (e.next ? (e.next->*field).prev : last_elm) == elm,
			       "dllist: the element to remove is not in the list");
		join(e.prev, e.next);
		e.prev = NULL;
		return elm;
	}

	/* Does each element's prev point back at the one before it? If not, end the program. */
	void check()
	{
		T *before = NULL;

		for (T *e = first_elm; e; before = e, e = (e->*field).next)
			LIBASYNC_LIMIT((e->*field).prev == before, "dllist: an element does not point back");
		LIBASYNC_LIMIT(last_elm == before, "dllist: the tail is not the last element");
	}

	void traverse(typename callback<void, T *>::ref cb) const
	{
		T *following;

		for (T *e = first_elm; e; e = following) {
			following = (e->*field).next;
			(*cb)(e);
		}
	}
};

#endif
