/*
 * Buddy allocation. Level l has the blocks of 2^l units, a unit being minalloc bytes; a bit of the level
 * says whether that very block is free. Two free buddies are always merged, so a free byte is in one
 * free block, and a block that is free has no free block above or below it.
 */
#include "bbuddy.h"

static unsigned bits_of(size_t power)
{
	LIBASYNC_LIMIT(power && !(power & (power - 1)), "bbuddy: sizes of blocks are powers of two");
	return static_cast<unsigned>(__builtin_ctzl(power));
}

bbuddy::bbuddy(totsize_t totsize, size_t minalloc, size_t maxalloc)
	: min_bits(bits_of(minalloc)), total(0), free_bytes(0)
{
	LIBASYNC_LIMIT(minalloc <= maxalloc, "bbuddy: minalloc is more than maxalloc");
	levels.setsize(bits_of(maxalloc) - min_bits + 1);
	settotsize(totsize);
}

bbuddy::~bbuddy() {}

/* The level whose blocks have at least `len` bytes; levels.size() if none has. */
size_t bbuddy::level_of(size_t len) const
{
	size_t l = 0;

	while (l < levels.size() && static_cast<totsize_t>(1) << (l + min_bits) < len)
		l++;
	return l;
}

void bbuddy::set_free(size_t l, size_t block)
{
	level &lv = levels[static_cast<ptrdiff_t>(l)];

	lv.is_free[static_cast<ptrdiff_t>(block)] = true;
	lv.blocks_free++;
	if (block < lv.lowest)
		lv.lowest = block;
}

void bbuddy::set_used(size_t l, size_t block)
{
	level &lv = levels[static_cast<ptrdiff_t>(l)];

	lv.is_free[static_cast<ptrdiff_t>(block)] = false;
	lv.blocks_free--;
}

/* There is one. */
size_t bbuddy::lowest_free(size_t l)
{
	level &lv = levels[static_cast<ptrdiff_t>(l)];

	lv.lowest = lv.is_free.find(lv.lowest, true);
	return lv.lowest;
}

bool bbuddy::is_free(size_t l, size_t block) const
{
	const bitvec &bits = levels[static_cast<ptrdiff_t>(l)].is_free;

	return block < bits.size() && bits[static_cast<ptrdiff_t>(block)];
}

/* The level of the free block that begins with or holds this block of level `l`; levels.size(): it is in use. */
size_t bbuddy::level_of_free(size_t l, size_t block) const
{
	while (l < levels.size() && !is_free(l, block)) {
		l++;
		block /= 2;
	}
	return l;
}

/* A block becomes free, and merges with its buddy as often as that is free too. */
void bbuddy::put(size_t l, size_t block)
{
	free_bytes += static_cast<totsize_t>(1) << (l + min_bits);
	for (; l + 1 < levels.size() && is_free(l, block ^ 1); l++, block /= 2)
		set_used(l, block ^ 1);
	set_free(l, block);
}

/* A unit that is free is not for allocation any more: the block that it is in is split. */
void bbuddy::take_unit(size_t unit)
{
	size_t l = level_of_free(0, unit);

	LIBASYNC_LIMIT(l < levels.size(), "bbuddy: the space that goes is in use");
	set_used(l, unit >> l);
	while (l-- > 0)
		set_free(l, unit >> l ^ 1);
	free_bytes -= static_cast<totsize_t>(1) << min_bits;
}

void bbuddy::settotsize(totsize_t totsize)
{
	const size_t before = units(), after = static_cast<size_t>(totsize >> min_bits);

	for (size_t unit = before; unit-- > after;)
		take_unit(unit);
	total = totsize;
	for (size_t l = 0; l < levels.size(); l++)
		levels[static_cast<ptrdiff_t>(l)].is_free.setsize(after >> l);
	for (size_t unit = before; unit < after;) {
		size_t l = 0;

		while (l + 1 < levels.size() && unit % (static_cast<size_t>(2) << l) == 0 &&
		       unit + (static_cast<size_t>(2) << l) <= after)
			l++;
		put(l, unit >> l);
		unit += static_cast<size_t>(1) << l;
	}
}

off_t bbuddy::alloc(size_t len)
{
	const size_t wanted = level_of(len);
	size_t l = wanted, block;

	while (l < levels.size() && !levels[static_cast<ptrdiff_t>(l)].blocks_free)
		l++;
	if (l >= levels.size())
		return -1;
	block = lowest_free(l);
	set_used(l, block);
	while (l > wanted) {
		l--;
		block *= 2;
		set_free(l, block + 1);
	}
	free_bytes -= static_cast<totsize_t>(1) << (wanted + min_bits);
	return static_cast<off_t>(static_cast<totsize_t>(block) << (wanted + min_bits));
}

void bbuddy::dealloc(off_t off, size_t len)
{
	const size_t l = level_of(len);
	const totsize_t place = static_cast<totsize_t>(off);

	LIBASYNC_LIMIT(l < levels.size() && place % (static_cast<totsize_t>(1) << (l + min_bits)) == 0,
		       "bbuddy: no such block");

	const size_t block = static_cast<size_t>(place >> (l + min_bits));

	LIBASYNC_LIMIT((block + 1) << l <= units() && level_of_free(l, block) == levels.size(),
		       "bbuddy: the block to free is free");
	put(l, block);
}
