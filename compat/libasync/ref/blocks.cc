/*
 * The blocks that a thread keeps: when it begins to keep them, and their end.
 *
 *   room == 0, nothing kept	the thread has kept no block yet, or has ended
 *   room == 0			it keeps as many of this size as it may
 */
#include "libasync_block.h"

#include <utility>

namespace
{

constexpr unsigned ROOM = 32;

/* own, as the next: the thread's. Its end is when the thread's blocks are freed. */
struct keeper {
	bool has_begun = false;

	~keeper();
};

thread_local keeper own_keeper;

/* The keeper has begun; it may be no more: callbacks that static objects hold are freed later. */
__thread bool has_begun __attribute__((tls_model("initial-exec")));

keeper::~keeper()
{
	for (libasync::free_blocks &of : libasync::own_blocks) {
		of.room = 0;
		while (of.first != nullptr)
			::operator delete(std::exchange(of.first, of.first->next));
	}
}

} // namespace

namespace libasync
{

__thread free_blocks own_blocks[BLOCK_SIZES];

void block_free_slowly(void *p, free_blocks *of)
{
	if (LIBASYNC_LIKELY(has_begun)) {
		::operator delete(p);
		return;
	}
	has_begun = true;
	own_keeper.has_begun = true;	/* makes it */
	for (free_blocks &each : own_blocks)
		each.room = ROOM;
	of->room--;
	of->first = ::new (p) free_block{ nullptr };
}

} // namespace libasync
