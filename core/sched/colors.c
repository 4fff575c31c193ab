#include "colors.h"

#include "ec.h"

enum {
	SHARD_BITS = 5,
	SHARDS = 1 << SHARD_BITS,
	SLAB_FIRST = 64,		/* colors in slab 0; each slab is twice the one before */
	BUCKETS_FIRST = 8, /* of a shard */
	ROW_BITS = 4,			/* the heads of as many buckets are about a cache line */
	CHAIN_MAX = 64,			/* steps of a lookup without the lock: it may walk a chain that changes */
	IDLE_FIRST = 64,		/* idle colors that a worker keeps, at first, */
	IDLE_MAX = 8192,		/* and in the end */
};

/* The buckets of a shard; older, smaller arrays live on for lookups that still walk them. */
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
	char pad[EC_CACHE_LINE];	/* shards are taken by different threads */
};

/*
 * Multiplied and folded twice (Wellons, Prospecting for Hash Functions, lowbias32): numbers in a row or at equal
 * distances, as descriptors, indexes and addresses are, meet no more often than random ones would. One
 * multiplication alone is better for some distances, and several times as bad for others.
 *
 * A row of 2^ROW_BITS numbers has one hash, which says where their buckets begin; the low bits of each then lead to
 * another of them. So numbers in a row, which are often looked for in a row, are found through one cache line.
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

/* Under slab_mu. What a post touches of a color is one line where the slab begins with one, in every other color. */
static bool slab_add(struct ec_colors *t, uint32_t k)
{
	size_t size = ((size_t)SLAB_FIRST << k) * sizeof(struct ec_color);
	char *block = ec_calloc(1, size + EC_CACHE_LINE);

	if (block == NULL)
		return false;
	t->blocks[k] = block;
	block += -(uintptr_t)block % EC_CACHE_LINE;
	ec_store_release(&t->slabs[k], (struct ec_color *)(void *)block);
	t->slabs_num++;
	return true;
}

int ec_colors_init(struct ec_colors *t, bool has_reserve)
{
	unsigned i;

	*t = (struct ec_colors){ 0 };
	ec_spin_init(&t->slab_mu, EC_RANK_LEAF);
	t->shards = ec_calloc(SHARDS, sizeof(*t->shards));
	if (t->shards == NULL)
		return -ENOMEM;
	for (i = 0; i < SHARDS; i++)
		shard_init(&t->shards[i]);
	if (has_reserve && !slab_add(t, 0)) {
		ec_colors_fini(t);
		return -ENOMEM;
	}
	return 0;
}

void ec_colors_fini(struct ec_colors *t)
{
	struct buckets *b, *older;
	unsigned i;

	for (i = 0; t->shards != NULL && i < SHARDS; i++) {
		for (b = ec_load_relaxed(&t->shards[i].buckets); b != first_of(&t->shards[i]); b = older) {
			older = b->older;
			ec_free(b);
		}
	}
	ec_free(t->shards);
	for (i = 0; i < t->slabs_num; i++)
		ec_free(t->blocks[i]);
	*t = (struct ec_colors){ 0 };
}

static uint32_t slab_of(uint32_t index, uint32_t *offset)
{
	uint32_t k = 31 - (uint32_t)__builtin_clz(index / SLAB_FIRST + 1);

	*offset = index - SLAB_FIRST * ((UINT32_C(1) << k) - 1);
	return k;
}

/* Pairs with the release in slab_take: who learned an index sees its slab. */
struct ec_color *ec_color_at(struct ec_base *base, uint32_t index)
{
	uint32_t offset, k = slab_of(index, &offset);

	return ec_load_acquire(&base->colors.slabs[k]) + offset;
}

/* A slab begins as zeros: nothing in it is alive before it is handed out. */
struct ec_color *ec_color_hinted(struct ec_base *base, uint32_t hint)
{
	uint32_t offset, k = slab_of(hint - 1, &offset);
	struct ec_color *slab = ec_load_acquire(&base->colors.slabs[k]);

	return slab == NULL ? NULL : slab + offset;
}

/*
 * Of each SLAB_FIRST indexes the even ones are handed out first: as long as there are no more than half as many colors,
 * each has its lines to itself, which others would pull to and fro between two workers.
 */
static uint32_t index_of(uint32_t nth)
{
	uint32_t in_group = nth % SLAB_FIRST;

	return nth - in_group + (in_group * 2 + in_group / (SLAB_FIRST / 2)) % SLAB_FIRST;
}

/* Under slab_mu: is slab `k` there, or can it be made? */
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
	k = slab_of(index, &offset);
	if (slab_need(t, k) && (slab_need(t, k + 1) || is_needed)) {
		c = ec_load_relaxed(&t->slabs[k]) + offset;
		c->index = index;
		t->used++;
	}
	return c;
}

/* `link`: index + 1; 0: none */
static inline struct ec_color *follow(struct ec_base *base, uint32_t link)
{
	return link == 0 ? NULL : ec_color_at(base, link - 1);
}

/* Where it can: longer chains do, too. */
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
		for (c = follow(base, ec_load_relaxed(&old->head[i])); c != NULL; c = next) {
			next = follow(base, ec_load_relaxed(&c->hash_next));
			n = bucket_of(b, ec_load_relaxed(&c->number));
			ec_store_release(&c->hash_next, ec_load_relaxed(&b->head[n]));
			ec_store_release(&b->head[n], c->index + 1);
		}
	}
	b->older = old;
	ec_store_release(&s->buckets, b);
}

static struct ec_color_shard *shard_of(struct ec_base *base, uint32_t number)
{
	return &base->colors.shards[hash(number) >> (32 - SHARD_BITS)];
}

/*
 * Walk a chain. Without the shard's lock the chain may change meanwhile and lead astray: a
 * miss then means nothing, and a hit is checked by the caller.
 */
static inline struct ec_color *chain_find(struct ec_base *base, uint32_t number, unsigned steps)
{
	struct buckets *b = ec_load_acquire(&shard_of(base, number)->buckets);
	struct ec_color *c;

	c = follow(base, ec_load_acquire(&b->head[bucket_of(b, number)]));
	for (; c != NULL && steps > 0; steps--) {
		if (ec_load_relaxed(&c->number) == number)
			return c;
		c = follow(base, ec_load_acquire(&c->hash_next));
	}
	return NULL;
}

/*
 * Lock the worker that `c` is at, and look whether `c` still is that color, there.
 * alive (acquire) meets color_birth (release): who sees it set sees number and worker of
 * that life or a later one; the RUNQ lock then keeps both.
 */
static inline bool lock_if_valid(struct ec_color *c, uint32_t number) EC_NO_ANALYSIS
{
	struct ec_worker *w;

	for (;;) {
		if (ec_load_acquire(&c->alive) == 0 || ec_load_relaxed(&c->number) != number)
			return false;
		w = ec_load_relaxed(&c->worker);
		ec_spin_lock(&w->run);
		if (ec_color_is(c, w, number)) {
			ec_mailbox_drain(w);
			return true;
		}
		ec_spin_unlock(&w->run);
		ec_cpu_relax();
	}
}

static unsigned home_choose(struct ec_base *base)
{
	unsigned i, n = ec_workers_num(base), first = base->colors.next_home++;

	for (i = 0; i < n; i++) {
		if (ec_load_relaxed(&base->workers[(first + i) % n]->has_thread) || (first + i) % n == 0)
			return (first + i) % n;
	}
	return 0;
}

/*
 * Under slab_mu. All shards have their free ones in common: those born one after another, whatever their numbers
 * are, lie side by side then, and again when they are used in that order.
 */
static struct ec_color *struct_take(struct ec_base *base, enum ec_birth birth)
{
	struct ec_color *c = follow(base, base->colors.free);

	if (c == NULL)
		return slab_take(&base->colors, birth);
	base->colors.free = ec_load_relaxed(&c->hash_next);
	return c;
}

/* Under the shard's lock. The caller locks the worker and finds it alive. */
static struct ec_color *color_birth(struct ec_base *base, struct ec_color_shard *s, uint32_t number,
				    struct ec_worker *near, enum ec_birth birth)
{
	struct ec_color *c;
	struct buckets *b;
	uint32_t n;
	unsigned home;

	shard_grow(base, s);
	ec_spin_lock(&base->colors.slab_mu);
	c = struct_take(base, birth);
	home = home_choose(base);
	ec_spin_unlock(&base->colors.slab_mu);
	if (c == NULL)
		return NULL;

	ec_store_relaxed(&c->number, number);
	ec_store_release(&c->worker, near != NULL ? near : base->workers[home]);	/* meets ec_color_is_at */
	ec_store_relaxed(&c->home, (uint16_t)home);
	ec_list_init(&c->tasks);
	c->state = EC_COLOR_IDLE;
	c->flags = 0;
	c->readers = 0;
	c->penalty = 1;
	c->refs = 0;
	c->tasks_num = 0;
	c->cost_ns = 0;
	c->run_ns = 0;
	c->away = 0;
	c->callbacks = 0;
	c->last_num = 0;
	ec_store_relaxed(&c->posts_num, 0);
	ec_store_release(&c->alive, 1);

	b = ec_load_relaxed(&s->buckets);
	n = bucket_of(b, number);
	ec_store_relaxed(&c->hash_next, ec_load_relaxed(&b->head[n]));
	ec_store_release(&b->head[n], c->index + 1);
	s->num++;
	return c;
}

static struct ec_color *find_authoritative(struct ec_base *base, uint32_t number, struct ec_worker *near,
					   enum ec_birth birth)
{
	struct ec_color_shard *s = shard_of(base, number);
	struct ec_color *c;

	ec_spin_lock(&s->mu);
	c = chain_find(base, number, UINT32_MAX);
	if (c == NULL && birth != EC_BIRTH_NONE)
		c = color_birth(base, s, number, near, birth);
	ec_spin_unlock(&s->mu);
	return c;
}

static struct ec_color *lock_found(struct ec_base *base, uint32_t number, _Atomic(uint32_t) *hint,
				   struct ec_worker *near, enum ec_birth birth)
{
	uint32_t index = ec_load_relaxed(hint);
	struct ec_color *c;

	if (number == 0 || base->is_single) {
		ec_run_lock(&base->zero);
		return &base->color0;
	}
	if (index != 0) {
		c = ec_color_hinted(base, index);
		if (c != NULL && lock_if_valid(c, number))
			return c;
	}
	c = chain_find(base, number, CHAIN_MAX);
	while (c == NULL || !lock_if_valid(c, number)) {
		c = find_authoritative(base, number, near, birth);
		if (c == NULL)
			return NULL;
	}
	ec_store_relaxed(hint, c->index + 1);
	return c;
}

struct ec_color *ec_color_lock(struct ec_base *base, uint32_t number, _Atomic(uint32_t) *hint)
{
	return lock_found(base, number, hint, NULL, EC_BIRTH_MAY_FAIL);
}

struct ec_color *ec_color_lock_near(struct ec_base *base, uint32_t number, _Atomic(uint32_t) *hint,
				    struct ec_worker *near, enum ec_birth birth)
{
	return lock_found(base, number, hint, near, birth);
}

struct ec_color *ec_color_lock_existing(struct ec_base *base, uint32_t number, _Atomic(uint32_t) *hint)
{
	return lock_found(base, number, hint, NULL, EC_BIRTH_NONE);
}

struct ec_color *ec_color_guess(struct ec_base *base, uint32_t number)
{
	struct ec_color *c = chain_find(base, number, CHAIN_MAX);

	return c != NULL && ec_load_acquire(&c->alive) != 0 ? c : NULL;		/* meets color_birth: it has a worker */
}

void ec_color_unlock(struct ec_color *c)
{
	struct ec_worker *w = ec_load_relaxed(&c->worker);

	ec_run_unlock(w);
}

/* Under the worker's lock: nobody who found `c` without it can go on with it. */
static void color_end(struct ec_base *base, struct ec_color *c)
{
	uint32_t number = ec_load_relaxed(&c->number);
	struct ec_color_shard *s = shard_of(base, number);
	_Atomic(uint32_t) *at;
	struct buckets *b;

	ec_spin_lock(&s->mu);
	b = ec_load_relaxed(&s->buckets);
	at = &b->head[bucket_of(b, number)];
	while (ec_load_relaxed(at) != c->index + 1)
		at = &follow(base, ec_load_relaxed(at))->hash_next;
	ec_store_release(at, ec_load_relaxed(&c->hash_next));
	s->num--;
	ec_store_release(&c->alive, 0);
	ec_spin_lock(&base->colors.slab_mu);
	ec_store_relaxed(&c->hash_next, base->colors.free);
	base->colors.free = c->index + 1;
	ec_spin_unlock(&base->colors.slab_mu);
	ec_spin_unlock(&s->mu);
}

void ec_idle_fini(struct ec_idle *idle)
{
	if (idle->colors != &idle->only)
		ec_free(idle->colors);
}

static bool idle_grow(struct ec_idle *idle)
{
	uint32_t cap = idle->cap < IDLE_FIRST ? IDLE_FIRST : idle->cap * 2, i;
	uint32_t *colors;

	if (cap > IDLE_MAX)
		return false;
	colors = ec_malloc(cap * sizeof(*colors));
	if (colors == NULL)
		return false;
	for (i = 0; i < idle->num; i++)
		colors[i] = idle->colors[(idle->head + i) % idle->cap];
	ec_idle_fini(idle);
	*idle = (struct ec_idle){ .colors = colors, .cap = cap, .num = idle->num };
	return true;
}

/*
 * Make room for one more: the oldest ends, if it is idle now. What was taken away meanwhile, and
 * may have come back since, is no longer the ring's; if it is idle here all the same, no harm is done.
 */
static void idle_drop(struct ec_base *base, struct ec_worker *w)
{
	struct ec_idle *idle = &w->idle;
	struct ec_color *c = ec_color_at(base, idle->colors[idle->head++ % idle->cap]);

	idle->num--;
	if (!ec_color_is_at(c, w) || (c->flags & EC_COLOR_KEPT) == 0)
		return;
	c->flags &= (uint8_t)~EC_COLOR_KEPT;
	if (c->refs == 0)
		color_end(base, c);
}

void ec_idle_add(struct ec_base *base, struct ec_color *c)
{
	struct ec_worker *w = ec_load_relaxed(&c->worker);
	struct ec_idle *idle = &w->idle;

	if (idle->num == idle->cap && !idle_grow(idle)) {
		if (idle->cap == 0) {
			idle->colors = &idle->only;
			idle->cap = 1;
		} else {
		idle_drop(base, w);
	}
	}
	c->flags |= EC_COLOR_KEPT;
	idle->colors[(idle->head + idle->num++) % idle->cap] = c->index;
}

void ec_color_take(struct ec_color *c, struct ec_worker *w)
{
	c->flags &= (uint8_t)~EC_COLOR_KEPT;
	ec_store_release(&c->worker, w);
}

void ec_colors_freeze(struct ec_colors *t)
{
	unsigned i;

	for (i = 0; i < SHARDS; i++)
		ec_spin_freeze(&t->shards[i].mu);
	ec_spin_freeze(&t->slab_mu);
}

void ec_colors_thaw(struct ec_colors *t)
{
	unsigned i;

	ec_spin_thaw(&t->slab_mu);
	for (i = SHARDS; i-- > 0;)
		ec_spin_thaw(&t->shards[i].mu);
}

bool ec_colors_reset(struct ec_colors *t)
{
	bool was_held = ec_spin_reset(&t->slab_mu);
	unsigned i;

	for (i = 0; i < SHARDS; i++)
		was_held |= ec_spin_reset(&t->shards[i].mu);
	return was_held;
}

void ec_color_keep(struct ec_base *base, struct ec_color *c, unsigned flag, bool is_set)
{
	unsigned hints = EC_COLOR_COST_SET | EC_COLOR_PENALTY_SET;
	bool had = (c->flags & hints) != 0, has;

	c->flags = (uint8_t)(is_set ? c->flags | flag : c->flags & ~flag);
	has = (c->flags & hints) != 0;
	if (has && !had)
		ec_color_get(c);
	if (had && !has)
		ec_color_put(base, c);
}

uint32_t ec_colors_used(struct ec_colors *t)
{
	uint32_t used;

	ec_spin_lock(&t->slab_mu);
	used = (t->used + SLAB_FIRST - 1) / SLAB_FIRST * SLAB_FIRST;
	ec_spin_unlock(&t->slab_mu);
	return used;
}
