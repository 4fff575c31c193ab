/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_ARENA_H
#define LIBASYNC_ARENA_H

/*
 * arena: memory that is allocated piece by piece, and freed all at once when the arena dies. Destructors
 * do not run: `new (a) T` is for what needs none.
 */
#include "libasync_container.h"

class LIBASYNC_EXPORT arena
{
public:
	/* The newest chunk, whose first bytes point at the one before; its free part; the size of the next one. */
	u_int size;
	char *chunk;
	char *cur;
	u_int avail;

	arena() : size(512), chunk(NULL), cur(NULL), avail(0) {}
	~arena();
	arena(const arena &) = delete;
	arena &operator=(const arena &) = delete;

	/* `align` is a power of two. Never NULL. */
	void *alloc(size_t bytes, size_t align = sizeof(double))
	{
		const size_t gap = -reinterpret_cast<uintptr_t>(cur) & (align - 1);

		if (__builtin_expect(gap > avail || bytes > avail - gap, 0))
			return alloc_in_new_chunk(bytes, align);

		char *const p = cur + gap;

		cur = p + bytes;
		avail -= static_cast<u_int>(gap + bytes);
		return p;
	}

private:
	void *alloc_in_new_chunk(size_t bytes, size_t align);
};

inline void *operator new(size_t n, arena &a)
{
	return a.alloc(n, alignof(max_align_t));
}
inline void *operator new[](size_t n, arena &a)
{
	return a.alloc(n, alignof(max_align_t));
}

/* Only called when a constructor throws; the memory stays until the arena dies. */
inline void operator delete(void *, arena &) {}
inline void operator delete[](void *, arena &) {}

#endif
