/*
 * Whether reference counts are shared by threads, and what the headers need of refcnt.h once for the process.
 *
 * `last_shared_count` is set before the first worker but the loop's own starts, so the store comes before whatever the
 * worker does. Until then, only one thread changes counts. A thread that got an object through a post reads what was
 * stored before the post, so it sees the flag too.
 */
#include "refcnt.h"

#include <cstdio>
#include <cstdlib>

bool __globaldestruction_t::has_begun;

/* Not in the header: a compiler that inlines it warns of uses after the deletion, which counts exclude. */
void refcount::finalize()
{
	delete this;
}

namespace libasync
{

uintptr_t last_shared_count;

void share_counts()
{
	/* A line that every count change reads: written once. */
	if (!are_counts_shared())
		__atomic_store_n(&last_shared_count, UINTPTR_MAX, __ATOMIC_RELAXED);
}

void ref_is_null()
{
	fputs("libasync: a ref cannot hold NULL\n", stderr);
	abort();
}

} // namespace libasync
