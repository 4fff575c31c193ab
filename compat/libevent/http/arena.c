#include "arena.h"

#include <stdint.h>
#include <string.h>

#include "core/ec.h"

enum { BLOCK_SIZE = 4096 };

struct le_arena_block {
	struct le_arena_block *next;
	char data[];
};

void le_arena_init(struct le_arena *arena, void *room, size_t size)
{
	arena->at = room;
	arena->end = arena->at + size;
	arena->blocks = NULL;
}

void le_arena_fini(struct le_arena *arena)
{
	struct le_arena_block *block;

	while ((block = arena->blocks) != NULL) {
		arena->blocks = block->next;
		ec_free(block);
	}
}

static size_t round_up(size_t size)
{
	return (size + sizeof(void *) - 1) & ~(sizeof(void *) - 1);
}

/* *room: the size that the caller needs, then the size of the block. */
static struct le_arena_block *new_block(struct le_arena *arena, size_t *room)
{
	struct le_arena_block *block;

	if (*room < BLOCK_SIZE - sizeof(*block))
		*room = BLOCK_SIZE - sizeof(*block);
	block = ec_malloc(sizeof(*block) + *room);
	if (block == NULL)
		return NULL;
	block->next = arena->blocks;
	arena->blocks = block;
	return block;
}

void *le_arena_get_from_new(struct le_arena *arena, size_t size)
{
	struct le_arena_block *block;
	size_t room;

	if (size > SIZE_MAX - sizeof(*block) - sizeof(void *))
		return NULL;
	size = room = round_up(size);
	block = new_block(arena, &room);
	if (block == NULL)
		return NULL;
	/* Go on with the block that has more room: the new one may be full with one large piece. */
	if (room - size > (size_t)(arena->end - arena->at)) {
		arena->at = block->data + size;
		arena->end = block->data + room;
	}
	return block->data;
}

bool le_arena_extend(struct le_arena *arena, void *p, size_t old_size, size_t size)
{
	char *end = (char *)p + round_up(old_size);

	if (end != arena->at || round_up(size) - round_up(old_size) > (size_t)(arena->end - end))
		return false;
	arena->at = (char *)p + round_up(size);
	return true;
}

void *le_arena_get_growing(struct le_arena *arena, size_t size)
{
	struct le_arena_block *block;
	size_t room;

	if (size > (SIZE_MAX - sizeof(*block)) / 2 - sizeof(void *))
		return NULL;
	size = round_up(size);
	room = 2 * size;
	block = new_block(arena, &room);
	if (block == NULL)
		return NULL;
	arena->at = block->data + size;
	arena->end = block->data + room;
	return block->data;
}
