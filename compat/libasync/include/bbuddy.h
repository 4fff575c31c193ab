/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_BBUDDY_H
#define LIBASYNC_BBUDDY_H

/*
 * bbuddy: a buddy allocator for a range of numbers, for instance for the space in a file or in shared
 * memory. It keeps its notes apart from what it allocates: one bit for each block of each size.
 *
 * Blocks are a power of two times `minalloc` long, up to `maxalloc`, and aligned to their length. Of
 * the free blocks that are large enough, the smallest one is split, and of those the lowest.
 */
#include <sys/types.h>

#include "bitvec.h"
#include "vec.h"

static_assert(sizeof(off_t) == 8, "compile with -D_FILE_OFFSET_BITS=64, as `pkg-config --cflags libasync-smp` says");

class LIBASYNC_EXPORT bbuddy
{
public:
	typedef u_int64_t totsize_t;

	/* Offsets from 0 to `totsize`. `minalloc` and `maxalloc` are powers of two, or the program ends. */
	bbuddy(totsize_t totsize, size_t minalloc, size_t maxalloc);
	~bbuddy();
	bbuddy(const bbuddy &) = delete;
	bbuddy &operator=(const bbuddy &) = delete;

	/*
	 * More space at the end, or less: then the space that goes must be free, or the program ends. What is
	 * at the end and shorter than `minalloc` is not used.
	 */
	void settotsize(totsize_t totsize);
	totsize_t gettotsize() const { return total; }

	/* The offset of a block of at least that many bytes; -1: there is none, or it is more than maxalloc. */
	off_t alloc(size_t len);

	/* Free a block of alloc; `len` is the length it was asked for. The end of the program if it is free. */
	void dealloc(off_t off, size_t len);

	/* How many bytes are free. One block may still be too large. */
	totsize_t space() const { return free_bytes; }

private:
	/* The free blocks of one length; no free one lies below `lowest`. */
	struct level {
		bitvec is_free;
		size_t blocks_free;
		size_t lowest;

		level() : blocks_free(0), lowest(0) {}
	};

	const unsigned min_bits;
	totsize_t total;
	totsize_t free_bytes;
	vec<level> levels;

	size_t units() const { return static_cast<size_t>(total >> min_bits); }
	size_t level_of(size_t len) const;
	void set_free(size_t l, size_t block);
	void set_used(size_t l, size_t block);
	size_t lowest_free(size_t l);
	bool is_free(size_t l, size_t block) const;
	size_t level_of_free(size_t l, size_t block) const;
	void put(size_t l, size_t block);
	void take_unit(size_t unit);
};

#endif
