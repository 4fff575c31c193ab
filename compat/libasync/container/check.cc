/*
 * How containers end the program, and their memory. Nothing here depends on the rest of the library, so
 * that containers work before main and while the program ends.
 */
#include "libasync_container.h"

#include <stdio.h>
#include <stdlib.h>

namespace libasync
{

void container_fail(const char *what, const char *file, int line)
{
	fprintf(stderr, "%s (%s:%d)\n", what, file, line);
	abort();
}

/* Bytes for `n` objects, at least 1: each block is an address of its own. */
static size_t bytes_of(size_t n, size_t size)
{
	size_t bytes;

	LIBASYNC_LIMIT(!__builtin_mul_overflow(n, size, &bytes) && bytes <= PTRDIFF_MAX, "container: too large");
	return bytes ? bytes : 1;
}

void *container_alloc(size_t n, size_t size, size_t align)
{
	const size_t bytes = bytes_of(n, size);
	void *block = NULL;

	if (align <= alignof(max_align_t))
		block = malloc(bytes);
	else if (posix_memalign(&block, align, bytes))
		block = NULL;
	LIBASYNC_LIMIT(block != NULL, "container: out of memory");
	return block;
}

void *container_realloc(void *block, size_t n, size_t size)
{
	block = realloc(block, bytes_of(n, size));
	LIBASYNC_LIMIT(block != NULL, "container: out of memory");
	return block;
}

void container_free(void *block)
{
	free(block);
}

} // namespace libasync
