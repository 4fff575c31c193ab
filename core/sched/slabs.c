#include "slabs.h"

#include <string.h>

#include "ec.h"
#include "os/process.h"
#include "os/tsan.h"

static size_t size_of(uint32_t k)
{
	return ((size_t)EC_SLAB_FIRST << k) * sizeof(struct ec_color) + EC_CACHE_LINE;
}

/* Under slab_mu. A slab begins on a cache line, so a post to another color touches one line of it. */
static bool slab_add(struct ec_colors *t, uint32_t k)
{
	char *block = k == 0 ? t->reserve : NULL;

	if (k == 0 && block != NULL) {
		ec_tsan_acquire(t);			/* meets ec_colors_reserve */
		memset(block, 0, size_of(k));
		t->reserve = NULL;
	} else if (k != 0) {
		block = t->blocks[k] = ec_calloc(1, size_of(k));
	}
	if (block == NULL)
		return false;
	block += -(uintptr_t)block % EC_CACHE_LINE;
	ec_store_release(&t->slabs[k], (struct ec_color *)(void *)block);
	t->slabs_num++;
	return true;
}

void ec_slabs_init(struct ec_colors *t)
{
	ec_spin_init(&t->slab_mu, EC_RANK_LEAF);
}

void ec_slabs_fini(struct ec_colors *t)
{
	ec_process_count(&ec_process.colors, -t->used);
	while (t->slabs_num > 0)
		ec_free(t->blocks[--t->slabs_num]);
}

/*
 * Of each EC_SLAB_FIRST indexes, the even ones are used first. So while at most half are in use, no two colors share
 * a cache line, and there is no false sharing.
 */
static uint32_t index_of(uint32_t nth)
{
	uint32_t in_group = nth % EC_SLAB_FIRST;

	return nth - in_group + (in_group * 2 + in_group / (EC_SLAB_FIRST / 2)) % EC_SLAB_FIRST;
}

/* Under slab_mu: does slab `k` exist, or can it be made? */
static bool slab_need(struct ec_colors *t, uint32_t k)
{
	return k < t->slabs_num || (k < sizeof(t->slabs) / sizeof(t->slabs[0]) && slab_add(t, k));
}

/* Under slab_mu: a color struct that was never used, or NULL. The slab after it is the reserve: see enum ec_birth. */
static struct ec_color *slab_take(struct ec_colors *t, enum ec_birth birth)
{
	bool is_needed = birth == EC_BIRTH_NEEDED;
	uint32_t index, offset, k;
	struct ec_color *c = NULL;

	index = index_of(t->used);
	k = ec_slab_of(index, &offset);
	if (slab_need(t, k) && (slab_need(t, k + 1) || is_needed)) {
		c = ec_load_relaxed(&t->slabs[k]) + offset;
		c->index = index;
		t->used++;
		ec_process_count(&ec_process.colors, 1);
	}
	return c;
}

/*
 * All shards share the free structs. So colors that are born one after another are neighbours in memory, whatever
 * their numbers are.
 */
struct ec_color *ec_slabs_take(struct ec_base *base, enum ec_birth birth)
{
	struct ec_color *c = ec_color_linked(base, base->colors.free);

	if (c == NULL)
		return slab_take(&base->colors, birth);
	base->colors.free = ec_load_relaxed(&c->hash_next);
	return c;
}

void ec_slabs_give(struct ec_base *base, struct ec_color *c)
{
	ec_store_relaxed(&c->hash_next, base->colors.free);
	base->colors.free = c->index + 1;
}

uint32_t ec_colors_used(struct ec_colors *t)
{
	uint32_t used;

	ec_spin_lock(&t->slab_mu);
	used = (t->used + EC_SLAB_FIRST - 1) / EC_SLAB_FIRST * EC_SLAB_FIRST;
	ec_spin_unlock(&t->slab_mu);
	return used;
}
