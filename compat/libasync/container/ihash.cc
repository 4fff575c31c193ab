/*
 * The memory of hash tables.
 */
#include "ihash.h"

#include <string.h>

namespace libasync
{

/* From 2^32 buckets on, hashes of 32 bits tell no more of them apart. */
static const size_t buckets_max = static_cast<size_t>(1) << 31;

void ihash_table_init(_ihash_table *t, size_t buckets)
{
	LIBASYNC_LIMIT(buckets <= buckets_max, "ihash: too many elements");
	t->buckets = buckets;
	t->entries = 0;
	t->tab = static_cast<void **>(container_alloc(buckets, sizeof(void *), alignof(void *)));
	memset(t->tab, 0, buckets * sizeof(void *));
	t->shift = static_cast<unsigned>(32 - __builtin_ctzl(buckets));
	t->low = buckets;
}

void ihash_table_fini(_ihash_table *t)
{
	container_free(t->tab);
}

} // namespace libasync
