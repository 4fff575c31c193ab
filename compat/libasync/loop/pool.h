/*
 * Memory of objects that come and go in thousands, as timers do: slabs of 32 that malloc serves. Taking one and giving
 * it back costs a tenth of malloc and free. A slab is freed when it is empty, but for one.
 *
 * Guard: the caller's lock. Under a sanitizer each object is malloc's, so that it sees each use after the end.
 */
#ifndef LIBASYNC_POOL_H
#define LIBASYNC_POOL_H

#include <cstddef>
#include <new>
#include <utility>

#include "libasync_config.h"

namespace libasync
{

template <class T> class pool
{
	struct slab;

	/* `of` stays while the object lives; `next` and the object take turns. */
	struct cell {
		slab *of;
		union {
			cell *next;
			alignas(T) unsigned char room[sizeof(T)];
		};
	};

	enum { CELLS = 32 };

	/* In the list while it has a cell that is free: in `first`, or beyond the first `begun`. */
	struct slab {
		slab *next, *prev;
		cell *first;
		unsigned begun, used;
		cell cells[CELLS];
	};

	slab *partial = nullptr;

	void link(slab *s)
	{
		s->prev = nullptr;
		s->next = partial;
		if (partial != nullptr)
			partial->prev = s;
		partial = s;
	}

	void unlink(slab *s)
	{
		if (s->prev != nullptr)
			s->prev->next = s->next;
		else
			partial = s->next;
		if (s->next != nullptr)
			s->next->prev = s->prev;
	}

	LIBASYNC_COLD void add_slab()
	{
		slab *s = static_cast<slab *>(::operator new(sizeof(slab)));

		s->first = nullptr;
		s->begun = s->used = 0;
		link(s);
	}

	/* It was full, or is empty. */
	LIBASYNC_COLD void note_edge(slab *s)
	{
		if (s->used != 0) {
			link(s);
		} else if (s->next != nullptr || s->prev != nullptr) {
			unlink(s);
			::operator delete(s);
		}
	}

	cell *take()
	{
		if (partial == nullptr)
			add_slab();

		slab *s = partial;
		cell *c = s->first;

		if (c != nullptr) {
			s->first = c->next;
		} else {
			c = &s->cells[s->begun++];
			c->of = s;
		}
		if (++s->used == CELLS)
			unlink(s);
		return c;
	}

public:
	constexpr pool() {}
	pool(const pool &) = delete;

	/* Without memory: bad_alloc. */
	template <class... A> T *make(A &&...args)
	{
		void *room = LIBASYNC_IS_SANITIZED ? ::operator new(sizeof(T)) : take()->room;

		return ::new (room) T(std::forward<A>(args)...);
	}

	void free(T *t)
	{
		t->~T();
		if (LIBASYNC_IS_SANITIZED) {
			::operator delete(t);
			return;
		}

		cell *c = reinterpret_cast<cell *>(reinterpret_cast<char *>(t) - offsetof(cell, room));
		slab *s = c->of;

		c->next = s->first;
		s->first = c;
		if (s->used-- == CELLS || s->used == 0)
			note_edge(s);
	}
};

} // namespace libasync

#endif
