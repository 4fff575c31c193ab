/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_ARRAY_H
#define LIBASYNC_ARRAY_H

/*
 * array<T, n>: n elements in place, as T[n], that can be copied and assigned. toarray(T) is T, but an
 * array<> for each dimension where T is a plain array.
 */
#include "libasync_container.h"

template <class T> struct __toarray {
	typedef T type;
};

#define toarray(T) __toarray<T>::type

namespace libasync
{

template <class T, size_t n> struct array_room {
	T elements[n];
	T *at() { return elements; }
	const T *at() const { return elements; }
};

template <class T> struct array_room<T, 0> {
	T *at() { return NULL; }
	const T *at() const { return NULL; }
};

} // namespace libasync

/* Not declared before: clang drops a second declaration after `using namespace std`, which has another array. */
template <class T, size_t n> class array
{
public:
	typedef typename toarray(T) elm_t;
	typedef elm_t *iterator;
	typedef const elm_t *const_iterator;

	/* The number of elements. */
	static constexpr size_t size() { return n; }

	/* The first element, and the place after the last one. */
	elm_t *base() { return room.at(); }
	const elm_t *base() const { return room.at(); }
	elm_t *lim() { return room.at() + n; }
	const elm_t *lim() const { return room.at() + n; }
	elm_t *begin() { return base(); }
	const elm_t *begin() const { return base(); }
	elm_t *end() { return lim(); }
	const elm_t *end() const { return lim(); }

	elm_t &operator[](ptrdiff_t i)
	{
		LIBASYNC_CHECK(static_cast<size_t>(i) < n, "array: index out of range");
		return base()[i];
	}
	const elm_t &operator[](ptrdiff_t i) const
	{
		LIBASYNC_CHECK(static_cast<size_t>(i) < n, "array: index out of range");
		return base()[i];
	}

private:
	libasync::array_room<elm_t, n> room;
};

template <class T, size_t n> struct __toarray<T[n]> {
	typedef ::array<typename __toarray<T>::type, n> type;
};

#endif
