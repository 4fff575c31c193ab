/*
 * Memory that is given back all at once: what a parsed message consists of. The room it starts with
 * is its owner's, so that an ordinary message costs no call of the allocator.
 */
#ifndef HTTP_ARENA_H
#define HTTP_ARENA_H

#include <stddef.h>

struct le_arena_block;

struct le_arena {
	char *at, *end;				/* what is left of the current block */
	struct le_arena_block *blocks;		/* the allocated ones, newest first */
};

void le_arena_init(struct le_arena *arena, void *room, size_t size);
void le_arena_fini(struct le_arena *arena);

void *le_arena_get_from_new(struct le_arena *arena, size_t size);

/* Aligned for pointers. NULL: no memory. */
static inline void *le_arena_get(struct le_arena *arena, size_t size)
{
	size_t rounded = (size + sizeof(void *) - 1) & ~(sizeof(void *) - 1);
	char *p = arena->at;

	/* Rounding up may have wrapped. */
	if (rounded > (size_t)(arena->end - p) || rounded < size)
		return le_arena_get_from_new(arena, size);
	arena->at = p + rounded;
	return p;
}

/* A copy with a NUL behind it. */
char *le_arena_copy(struct le_arena *arena, const char *s, size_t len);

#endif
