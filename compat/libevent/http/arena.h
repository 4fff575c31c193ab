/*
 * Memory for the parts of a parsed message, which is freed all at once. It begins with memory of
 * its owner, so an ordinary message needs no allocation.
 */
#ifndef HTTP_ARENA_H
#define HTTP_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct le_arena_block;

struct le_arena {
	char *at, *end;				/* the rest of the current block */
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

	/* rounded < size: rounding up has overflowed. */
	if (rounded > (size_t)(arena->end - p) || rounded < size)
		return le_arena_get_from_new(arena, size);
	arena->at = p + rounded;
	return p;
}

/*
 * Extends the newest piece to `size` bytes, in place. False: `p` is not the newest piece, or there
 * is no room.
 */
bool le_arena_extend(struct le_arena *arena, void *p, size_t old_size, size_t size);

/*
 * A piece that the caller is going to extend. At least `size` bytes of room follow it, so a piece
 * that grows by little many times is moved only a few times.
 */
void *le_arena_get_growing(struct le_arena *arena, size_t size);

/* Copies `len` bytes, and ends them with a NUL. */
static inline char *le_arena_copy(struct le_arena *arena, const char *s, size_t len)
{
	char *copy = len < SIZE_MAX ? le_arena_get(arena, len + 1) : NULL;

	if (copy == NULL)
		return NULL;
	memcpy(copy, s, len);
	copy[len] = '\0';
	return copy;
}

#endif
