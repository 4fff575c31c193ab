/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_BLOCK_H
#define LIBASYNC_BLOCK_H

/*
 * Memory of callbacks, which come and go with each event. A thread keeps the blocks that it frees, a few of each size,
 * and takes them again. This takes a tenth of the instructions of malloc and free.
 *
 * A block may be freed by another thread than the one that took it. Under a sanitizer nothing is kept, so that it sees
 * each use after the end. What is kept is freed when the thread ends.
 */
#include <cstddef>
#include <new>

#include "libasync_config.h"

namespace libasync
{

/* Blocks have sizes of whole grains; larger ones are not kept. */
enum { BLOCK_GRAIN = 32, BLOCK_SIZES = 6, BLOCK_MAX = BLOCK_GRAIN * BLOCK_SIZES };

struct free_block {
	free_block *next;
};

/* The blocks of one size, and how many more are kept. */
struct free_blocks {
	free_block *first;
	unsigned room;
};

/* own: each thread's. Without memory of its own to set up, so that a plain access will do. */
extern LIBASYNC_EXPORT __thread free_blocks own_blocks[BLOCK_SIZES] __attribute__((tls_model("initial-exec")));

/* There is no room for `p`, or the thread has kept none before. */
LIBASYNC_EXPORT void block_free_slowly(void *p, free_blocks *of);

/* Without memory: bad_alloc. */
inline void *block_alloc(size_t size)
{
	if (size > BLOCK_MAX)
		return ::operator new(size);

	free_blocks &of = own_blocks[(size - 1) / BLOCK_GRAIN];
	free_block *b = of.first;

	if (LIBASYNC_LIKELY(b != nullptr)) {
		of.first = b->next;
		of.room++;
		return b;
	}
	return ::operator new((size + BLOCK_GRAIN - 1) / BLOCK_GRAIN * BLOCK_GRAIN);
}

inline void block_free(void *p, size_t size)
{
	if (LIBASYNC_IS_SANITIZED || size > BLOCK_MAX) {
		::operator delete(p);
		return;
	}

	free_blocks &of = own_blocks[(size - 1) / BLOCK_GRAIN];

	if (LIBASYNC_LIKELY(of.room != 0)) {
		of.room--;
		of.first = ::new (p) free_block{ of.first };
		return;
	}
	block_free_slowly(p, &of);
}

/* Objects of a class that derives from this are in such blocks. */
struct block_object {
	static void *operator new(size_t size) { return block_alloc(size); }
	static void operator delete(void *p, size_t size) { block_free(p, size); }

	static void *operator new(size_t size, std::align_val_t align) { return ::operator new(size, align); }
	static void operator delete(void *p, std::align_val_t align) { ::operator delete(p, align); }
};

} // namespace libasync

#endif
