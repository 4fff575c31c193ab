/*
 * Memory that is freed all at once: the parts of a parsed message. The room it starts with
 * is its owner's, so that an ordinary message costs no call of the allocator.
 */
#ifndef HTTP_ARENA_H
#define HTTP_ARENA_H

#include <stdbool.h>
#include <stddef.h>

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

	/* Rounding up may have wrapped. */
	if (rounded > (size_t)(arena->end - p) || rounded < size)
		return le_arena_get_from_new(arena, size);
	arena->at = p + rounded;
	return p;
}

/*
 * The piece that was got last becomes `size` bytes long where it lies. False: it is not the last
 * one, or there is no room.
 */
bool le_arena_extend(struct le_arena *arena, void *p, size_t old_size, size_t size);

/*
 * A piece that is going to be extended: at least as much room as it takes is left behind it, so what
 * grows by little again and again is moved a few times, and not each time.
 */
void *le_arena_get_growing(struct le_arena *arena, size_t size);

/* A copy with a NUL behind it. */
char *le_arena_copy(struct le_arena *arena, const char *s, size_t len);

#endif
