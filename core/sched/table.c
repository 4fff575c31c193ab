#include "table.h"

#include <string.h>

#include "ec.h"
#include "os/tsan.h"
#include "slabs.h"

enum {
	SHARD_BITS = 5,
	SHARDS = 1 << SHARD_BITS,
	BUCKETS_FIRST = 8,		/* of a shard */
	ROW_BITS = 4,			/* log2 of the bucket heads in a cache line */
	CHAIN_MAX = 64,			/* steps of a lookup without the lock: it may walk a chain that changes */
};

/* The buckets of a shard, const except the heads. Older, smaller arrays stay: a lookup may still walk them. */
struct buckets {
	struct buckets *older;
	uint32_t num;			/* a power of two */
	uint32_t shift;			/* 32 - log2(num) */
	_Atomic(uint32_t) head[];	/* index + 1; 0: none */
};

struct ec_color_shard {
	/* mu: rank TABLE */
	struct ec_spin mu;
	uint32_t num;

	/* atomic: read by lookups without the lock */
	_Atomic(struct buckets *) buckets;
	/* the oldest buckets need no memory of their own */
	_Alignas(struct buckets) char first[sizeof(struct buckets) + BUCKETS_FIRST * sizeof(uint32_t)];
	char pad[EC_CACHE_LINE];	/* different threads lock different shards */
};

/*
 * Two multiplications (Wellons, Prospecting for Hash Functions, lowbias32). With them, numbers in a row or at equal
 * distances, such as descriptors, indexes and addresses, collide no more often than random ones. With one
 * multiplication, some distances collide several times as often.
 *
 * A row of 2^ROW_BITS numbers has one hash; the low bits of a number choose a bucket within the row. So a program that
 * looks up numbers in a row touches one cache line.
 */
static uint32_t hash(uint32_t number)
{
	uint32_t h = number >> ROW_BITS;

	h = (h ^ h >> 16) * UINT32_C(0x7feb352d);
	h = (h ^ h >> 15) * UINT32_C(0x846ca68b);
	return h ^ h >> 16;
}

/* The first SHARD_BITS of the hash choose the shard, those after them the bucket. */
static uint32_t bucket_of(const struct buckets *b, uint32_t number)
{
	return (hash(number) << SHARD_BITS) >> b->shift ^ (number & (b->num - 1) & ((1u << ROW_BITS) - 1));
}

static void buckets_init(struct buckets *b, uint32_t num)
{
	b->num = num;
	b->shift = (uint32_t)__builtin_clz(num) + 1;
}

static struct buckets *buckets_new(uint32_t num)
{
	struct buckets *b;

	b = ec_calloc(1, sizeof(*b) + num * sizeof(b->head[0]));
	if (b != NULL)
		buckets_init(b, num);
	return b;
}

static struct buckets *first_of(struct ec_color_shard *s)
{
	return (struct buckets *)(void *)s->first;
}

static void shard_init(struct ec_color_shard *s)
{
	ec_spin_init(&s->mu, EC_RANK_TABLE);
	buckets_init(first_of(s), BUCKETS_FIRST);
	ec_store_relaxed(&s->buckets, first_of(s));
}

enum { SHARDS_BYTES = SHARDS * sizeof(struct ec_color_shard) };

_Static_assert((int)SHARDS_BYTES <= (int)EC_TABLE_BYTES, "they fit into the memory of the first colors");

/* Under slab_mu. */
static struct ec_color_shard *shards_make(struct ec_colors *t)
{
	struct ec_color_shard *shards = t->shards_reserve;
	unsigned i;

	ec_tsan_acquire(t);				/* meets ec_colors_reserve */
	memset(shards, 0, SHARDS_BYTES);
	for (i = 0; i < SHARDS; i++)
		shard_init(&shards[i]);
	t->shards_reserve = NULL;
	ec_store_release(&t->shards, shards);		/* meets shards_of */
	return shards;
}

/* NULL: no color was born. */
static inline struct ec_color_shard *shards_of(struct ec_colors *t)
{
	return ec_load_acquire(&t->shards);		/* meets shards_make */
}

/* NULL: the base has no memory for colors. */
static struct ec_color_shard *shards_need(struct ec_colors *t)
{
	struct ec_color_shard *shards = shards_of(t);

	if (__builtin_expect(shards != NULL, 1))
		return shards;
	ec_spin_lock(&t->slab_mu);
	shards = shards_of(t);
	if (shards == NULL && t->shards_reserve != NULL)
		shards = shards_make(t);
	ec_spin_unlock(&t->slab_mu);
	return shards;
}

void ec_table_fini(struct ec_colors *t)
{
	struct ec_color_shard *shards = shards_of(t);
	struct buckets *b, *older;
	unsigned i;

	for (i = 0; shards != NULL && i < SHARDS; i++) {
		for (b = ec_load_relaxed(&shards[i].buckets); b != first_of(&shards[i]); b = older) {
			older = b->older;
			ec_free(b);
		}
	}
}

/* If memory is short, the chains get longer. */
static void shard_grow(struct ec_base *base, struct ec_color_shard *s)
{
	struct buckets *old = ec_load_relaxed(&s->buckets), *b;
	struct ec_color *c, *next;
	uint32_t i, n;

	if (s->num < old->num)
		return;
	b = buckets_new(old->num * 2);
	if (b == NULL)
		return;
	for (i = 0; i < old->num; i++) {
		for (c = ec_color_linked(base, ec_load_relaxed(&old->head[i])); c != NULL; c = next) {
			next = ec_color_linked(base, ec_load_relaxed(&c->hash_next));
			n = bucket_of(b, ec_load_relaxed(&c->number));
			ec_store_release(&c->hash_next, ec_load_relaxed(&b->head[n]));
			ec_store_release(&b->head[n], c->index + 1);
		}
	}
	b->older = old;
	ec_store_release(&s->buckets, b);
}

static inline struct ec_color_shard *shard_of(struct ec_color_shard *shards, uint32_t number)
{
	return &shards[hash(number) >> (32 - SHARD_BITS)];
}

static inline struct ec_color *chain_find(struct ec_base *base, uint32_t number, unsigned steps)
{
	struct ec_color_shard *shards = shards_of(&base->colors);
	struct buckets *b;
	struct ec_color *c;

	if (__builtin_expect(shards == NULL, 0))
		return NULL;
	b = ec_load_acquire(&shard_of(shards, number)->buckets);

	c = ec_color_linked(base, ec_load_acquire(&b->head[bucket_of(b, number)]));
	for (; c != NULL && steps > 0; steps--) {
		if (ec_load_relaxed(&c->number) == number)
			return c;
		c = ec_color_linked(base, ec_load_acquire(&c->hash_next));
	}
	return NULL;
}

struct ec_color *ec_table_find(struct ec_base *base, uint32_t number)
{
	return chain_find(base, number, CHAIN_MAX);
}

struct ec_color *ec_table_find_locked(struct ec_base *base, uint32_t number)
{
	return chain_find(base, number, UINT32_MAX);
}

struct ec_color_shard *ec_table_lock(struct ec_base *base, uint32_t number) EC_NO_ANALYSIS
{
	struct ec_color_shard *shards = shards_need(&base->colors), *s;

	if (__builtin_expect(shards == NULL, 0))
		return NULL;
	s = shard_of(shards, number);
	ec_spin_lock(&s->mu);
	return s;
}

void ec_table_unlock(struct ec_color_shard *s) EC_NO_ANALYSIS
{
	ec_spin_unlock(&s->mu);
}

void ec_table_insert(struct ec_base *base, struct ec_color_shard *s, struct ec_color *c)
{
	struct buckets *b;
	uint32_t n;

	shard_grow(base, s);
	b = ec_load_relaxed(&s->buckets);
	n = bucket_of(b, ec_load_relaxed(&c->number));
	ec_store_relaxed(&c->hash_next, ec_load_relaxed(&b->head[n]));
	ec_store_release(&b->head[n], c->index + 1);
	s->num++;
}

void ec_table_remove(struct ec_base *base, struct ec_color_shard *s, struct ec_color *c)
{
	struct buckets *b = ec_load_relaxed(&s->buckets);
	_Atomic(uint32_t) *at = &b->head[bucket_of(b, ec_load_relaxed(&c->number))];

	while (ec_load_relaxed(at) != c->index + 1)
		at = &ec_color_linked(base, ec_load_relaxed(at))->hash_next;
	ec_store_release(at, ec_load_relaxed(&c->hash_next));
	s->num--;
}

/* The shards are made before, so that no other thread makes them, and locks one, while some locks are frozen. */
void ec_table_freeze(struct ec_colors *t)
{
	struct ec_color_shard *shards = shards_need(t);
	unsigned i;

	for (i = 0; shards != NULL && i < SHARDS; i++)
		ec_spin_freeze(&shards[i].mu);
}

void ec_table_thaw(struct ec_colors *t)
{
	struct ec_color_shard *shards = shards_of(t);
	unsigned i;

	for (i = SHARDS; shards != NULL && i-- > 0;)
		ec_spin_thaw(&shards[i].mu);
}

bool ec_table_reset(struct ec_colors *t)
{
	struct ec_color_shard *shards = shards_of(t);
	bool was_held = false;
	unsigned i;

	for (i = 0; shards != NULL && i < SHARDS; i++)
		was_held |= ec_spin_reset(&shards[i].mu);
	return was_held;
}
