/*
 * Memory of an arena. Chunks double up to 64 KiB; a piece that is larger gets a chunk of its own.
 */
#include "arena.h"

/* A chunk begins with a pointer to the one before it. */
static const size_t head = sizeof(char *);
static const u_int chunk_max = 65536;

void *arena::alloc_in_new_chunk(size_t bytes, size_t align)
{
	size_t need, room;

	LIBASYNC_LIMIT(!__builtin_add_overflow(bytes, head + align, &need), "arena: too large");

	const bool is_apart = need > size;

	room = is_apart ? need : size;

	char *const made = static_cast<char *>(libasync::container_alloc(room, 1, 1));
	char *const p = made + head + (-reinterpret_cast<uintptr_t>(made + head) & (align - 1));

	/* One that is for this piece alone goes behind the chunk in use, whose free part stays in use. */
	if (is_apart && chunk) {
		memcpy(made, chunk, head);
		memcpy(chunk, &made, head);
		return p;
	}
	memcpy(made, &chunk, head);
	chunk = made;
	cur = p + bytes;
	avail = is_apart ? 0 : static_cast<u_int>(made + room - cur);
	if (size < chunk_max)
		size *= 2;
	return p;
}

arena::~arena()
{
	while (chunk) {
		char *before;

		memcpy(&before, chunk, head);
		libasync::container_free(chunk);
		chunk = before;
	}
}
