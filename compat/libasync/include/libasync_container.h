/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_CONTAINER_H
#define LIBASYNC_CONTAINER_H

/*
 * What the containers share: memory, checks, and how elements move to another place.
 *
 * Threads: a container belongs to one color at a time. Reading one from several threads is safe while
 * no thread changes it.
 *
 * Checks: an index out of range, an element that is inserted twice and the removal of one that is not
 * there end the program with a message. The checks are off where NDEBUG is defined.
 *
 * Memory: a container that gets none ends the program with a message, and so does a size that
 * overflows. No function here throws an exception of its own.
 */
#include "libasync_bytes.h"
#include "libasync_config.h"
#include "sysconf.h"

#include <new>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>
#include <type_traits>
#include <utility>

namespace libasync
{

/* Write `what` and the place to standard error, then abort. */
[[noreturn]] LIBASYNC_EXPORT LIBASYNC_COLD void container_fail(const char *what, const char *file, int line);

/* Room for `n` objects of `size` bytes each. Never NULL. `align` is a power of two. */
LIBASYNC_EXPORT void *container_alloc(size_t n, size_t size, size_t align);

/* The same block with room for `n` objects, its bytes kept. Only for the default alignment. */
LIBASYNC_EXPORT void *container_realloc(void *block, size_t n, size_t size);
LIBASYNC_EXPORT void container_free(void *block);

#if defined(NDEBUG) && !defined(LIBASYNC_CHECKED)
#define LIBASYNC_CHECKS 0
#else
#define LIBASYNC_CHECKS 1
#endif

#define LIBASYNC_CHECK(cond, what) \
	(__builtin_expect(!LIBASYNC_CHECKS || (cond), 1) \
		 ? (void)0 \
		 : ::libasync::container_fail((what), __FILE__, __LINE__))

/* For what must hold in each build. */
#define LIBASYNC_LIMIT(cond, what) \
	(__builtin_expect((cond), 1) ? (void)0 : ::libasync::container_fail((what), __FILE__, __LINE__))
#define LIBASYNC_NOINLINE __attribute__((noinline))

/* A new T at `place` with what `from` holds: moved if T can be moved, else copied. */
template <class T> inline T *construct_from(void *place, T &from)
{
	if constexpr (std::is_constructible<T, T &&>::value)
		return new (place) T(static_cast<T &&>(from));
	else
		return new (place) T(from);
}

template <class T> inline void destroy_range(T *from, T *end)
{
	if constexpr (!std::is_trivially_destructible<T>::value)
		for (; from != end; from++)
			from->~T();
}

/* New objects side by side in raw memory. They are destroyed unless their maker keeps them: an exception ends it. */
template <class T> class objects_in_making
{
	T *first, *last;

public:
	explicit objects_in_making(T *room) : first(room), last(room) {}
	~objects_in_making() { destroy_range(first, last); }
	objects_in_making(const objects_in_making &) = delete;
	objects_in_making &operator=(const objects_in_making &) = delete;

	template <class... Params> void make(Params &&...p)
	{
		new (static_cast<void *>(last)) T(std::forward<Params>(p)...);
		last++;
	}
	void make_from(T &from)
	{
		construct_from(static_cast<void *>(last), from);
		last++;
	}

	/* Returns the place after the last one. */
	T *keep()
	{
		first = last;
		return last;
	}
};

/*
 * Move `n` objects to raw memory at `to`; what is left at `from` is raw memory. Only what can be copied as bytes may
 * overlap. All are made before the first one is destroyed: if a constructor throws, those at `from` are still there.
 */
template <class T> inline void relocate(T *to, T *from, size_t n)
{
	if constexpr (moves_as_bytes<T>::value) {
		if (n)
			memmove(static_cast<void *>(to), static_cast<const void *>(from), n * sizeof(T));
	} else {
		objects_in_making<T> made(to);

		for (size_t i = 0; i < n; i++)
			made.make_from(from[i]);
		made.keep();
		destroy_range(from, from + n);
	}
}

/* Destroys an object when the scope ends, after a function's result was made from it. */
template <class T> class destroy_at_end
{
	T *obj;

public:
	explicit destroy_at_end(T *o) : obj(o) {}
	~destroy_at_end() { obj->~T(); }
	destroy_at_end(const destroy_at_end &) = delete;
	destroy_at_end &operator=(const destroy_at_end &) = delete;

	typedef typename std::conditional<std::is_constructible<T, T &&>::value, T &&, T &>::type given_t;
	given_t give() { return static_cast<given_t>(*obj); }
};

} // namespace libasync

#endif
