/*
 * Recycled blocks: the memory of evbuffers and of libasync's large strings, which a server allocates and frees for each
 * message.
 *
 * Each thread has a cache, which no other thread touches: a stack of free blocks for each size. So allocating or
 * freeing a block takes a few instructions. A full stack gives half of its blocks to the depot, which all threads
 * share. An empty stack is filled from the depot. So blocks also circulate if one thread always allocates them and
 * another frees them. If the depot has no room, blocks go to the allocator.
 *
 * If the program has its own allocator, it expects to see each allocation. Then all blocks come from it and go to it,
 * and no thread has a cache.
 *
 *   allocate:  own stack -> depot -> malloc
 *   free:      own stack; then half of it -> depot -> free
 *
 * A burst of traffic must not cost memory for ever. A stack keeps KEEP_BYTES. When it is full, its limit doubles, up
 * to STACK_BYTES. The thread's loop sweeps once a second before it polls: it frees three quarters of the depot, and
 * halves each limit that was not reached since the last sweep. A loop that would sleep longer wakes up for that, until
 * no stack is above KEEP_BYTES. So allocating and freeing do not count anything, and a loop that had no burst does not
 * wake up.
 *
 * The allocator gives only the end of its heap back to the kernel, so a single block there could keep all memory of a
 * burst. For that reason, the last of these sweeps empties the stack, and then the thread trims the heap (mem.h), if
 * it has freed TRIM_BYTES.
 *
 * Blocks in caches and in the depot come from libc. A thread that ends gives its cache to the depot.
 */
#include "chunk.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "ec.h"
#include "lock/sync.h"
#include "mem.h"

enum {
	ORDER_FIRST = EC_CHUNK_BEV,
	ORDERS = EC_CHUNK_ORDER_MAX + 1,	/* those below ORDER_FIRST stay empty */
	KEEP_BYTES = 16 << 10,			/* held by a thread for good, of each size … */
	KEEP_SIZE_MAX = 64 << 10,		/* … and one block up to this size, if that is more */
	STACK_BYTES = 2 << 20,			/* held by a thread after a burst, of each size … */
	STACK_BLOCKS = 256,			/* … and not more blocks than that */
	DEPOT_BYTES = 16 << 20,			/* held by the depot */
	REFILL_BYTES = 256 << 10,		/* taken from the depot at once … */
	REFILL_BLOCKS = 32,			/* … and not more blocks than that */
	REST_BLOCKS = 64,			/* the depot frees so many of a size at once */
	TRIM_BYTES = 1 << 20,			/* freed, before it pays to trim the heap */
};

enum { SWEEP_NS = 1000000000 };

struct block {
	struct block *next;
};

struct stack {
	/* own, in a cache; mu, in the depot */
	struct block *top;
	size_t num;

	/* own; only in a cache */
	size_t max;
	bool is_needed;			/* was full or empty since the last sweep */
};

/* own: the thread's alone */
struct cache {
	struct stack stacks[ORDERS];
	int64_t sweep_ns;		/* when the next sweep is due; 0: not known yet */
	size_t freed;			/* bytes that the allocator got since the heap was trimmed */
};

static struct {
	/* mu; rank LEAF */
	struct ec_spin mu;
	struct stack stacks[ORDERS];
	int64_t sweep_ns;

	/* atomic: written under mu; a thread that reads 0 need not take mu */
	_Atomic(size_t) bytes;
} depot = { .mu = { .rank = EC_RANK_LEAF } };

/* initial-exec: no function call to find it. NULL: the thread has freed no block yet. */
static __thread struct cache *self __attribute__((tls_model("initial-exec")));

__thread bool ec_chunk_has_excess;

/* const after `once` */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool has_key;

static inline size_t size_of(unsigned order)
{
	if (order >= EC_CHUNK_ORDER_MIN)
		return (size_t)1 << order;
	return order == EC_CHUNK_BEV ? EC_CHUNK_BEV_SIZE : EC_CHUNK_ODD_SIZE;
}

/* The number of blocks that a cache keeps for good. */
static size_t keep_of(unsigned order)
{
	if (size_of(order) > KEEP_SIZE_MAX)
		return 0;
	return size_of(order) > KEEP_BYTES ? 1 : KEEP_BYTES / size_of(order);
}

/* The number of blocks that a cache keeps after a burst. */
static size_t limit_of(unsigned order)
{
	size_t num = STACK_BYTES / size_of(order);

	return num < STACK_BLOCKS ? num : STACK_BLOCKS;
}

/* ---------------------------------------------------------------- stacks */

static inline struct block *stack_pop(struct stack *s)
{
	struct block *b = s->top;

	if (b != NULL) {
		s->top = b->next;
		s->num--;
	}
	return b;
}

static inline void stack_push(struct stack *s, struct block *b)
{
	b->next = s->top;
	s->top = b;
	s->num++;
}

static size_t stack_move(struct stack *to, struct stack *from, size_t num)
{
	size_t i;

	for (i = 0; i < num && from->top != NULL; i++)
		stack_push(to, stack_pop(from));
	return i;
}

static void stack_free(struct stack *s, size_t bytes)
{
	struct block *b;

	if (self != NULL)
		self->freed += bytes;
	while ((b = stack_pop(s)) != NULL)
		free(b);
}

/* ---------------------------------------------------------------- depot */

/* Takes `num` blocks of `from`. Blocks that do not fit are freed, after the lock is released. */
static void depot_put(struct stack *from, unsigned order, size_t num)
{
	struct stack excess = { 0 };
	size_t fits;

	if (num == 0)
		return;
	ec_spin_lock(&depot.mu);
	fits = (DEPOT_BYTES - ec_load_relaxed(&depot.bytes)) / size_of(order);
	fits = stack_move(&depot.stacks[order], from, num < fits ? num : fits);
	ec_counter_add(&depot.bytes, fits * size_of(order));
	ec_spin_unlock(&depot.mu);

	stack_move(&excess, from, num - fits);
	stack_free(&excess, excess.num * size_of(order));
}

static size_t depot_get(struct stack *to, unsigned order)
{
	size_t num = REFILL_BYTES / size_of(order);

	if (ec_load_relaxed(&depot.bytes) == 0)
		return 0;
	if (num == 0)
		num = 1;
	if (num > REFILL_BLOCKS)
		num = REFILL_BLOCKS;
	ec_spin_lock(&depot.mu);
	num = stack_move(to, &depot.stacks[order], num);
	ec_counter_add(&depot.bytes, -(num * size_of(order)));
	ec_spin_unlock(&depot.mu);
	return num;
}

/* Once in SWEEP_NS, the first thread that calls this frees three quarters of the depot. */
static void depot_sweep(int64_t now_ns)
{
	struct stack excess = { 0 };
	size_t num, bytes = 0;
	unsigned order;

	if (ec_load_relaxed(&depot.bytes) == 0)
		return;
	ec_spin_lock(&depot.mu);
	if (depot.sweep_ns <= now_ns) {
		depot.sweep_ns = now_ns + SWEEP_NS;
		for (order = 0; order < ORDERS; order++) {
			num = depot.stacks[order].num;
			num = stack_move(&excess, &depot.stacks[order], num <= REST_BLOCKS ? num : num - num / 4);
			bytes += num * size_of(order);
		}
		ec_counter_add(&depot.bytes, -bytes);
	}
	ec_spin_unlock(&depot.mu);
	stack_free(&excess, bytes);
}

static void depot_freeze(void)
{
	ec_spin_freeze(&depot.mu);
}

static void depot_thaw(void)
{
	ec_spin_thaw(&depot.mu);
}

void ec_chunk_reset(void)
{
	unsigned order;

	if (!ec_spin_reset(&depot.mu))
		return;
	for (order = 0; order < ORDERS; order++)
		depot.stacks[order] = (struct stack){ .max = depot.stacks[order].max };
	ec_store_relaxed(&depot.bytes, 0);
}

/* ---------------------------------------------------------------- caches */

bool ec_chunk_recycles(void)
{
	return EC_CHUNK_RECYCLES && !ec_mem_is_custom();
}

/* Runs at a thread's end. If the thread frees blocks even later, this runs again. */
static void cache_end(void *arg)
{
	struct cache *c = arg;
	unsigned order;

	self = NULL;
	ec_chunk_has_excess = false;
	for (order = ORDER_FIRST; order < ORDERS; order++)
		depot_put(&c->stacks[order], order, c->stacks[order].num);
	free(c);
}

/* Without the key, a thread that ends would leak its cache. Without the handlers, a fork could damage the depot. */
static void setup(void)
{
	if (pthread_key_create(&key, cache_end) != 0)
		return;
	if (pthread_atfork(depot_freeze, depot_thaw, depot_thaw) != 0) {
		pthread_key_delete(key);
		return;
	}
	has_key = true;
}

static struct cache *cache_new(void)
{
	struct cache *c;
	unsigned order;

	if (!ec_chunk_recycles())
		return NULL;
	pthread_once(&once, setup);
	if (!has_key)
		return NULL;
	c = calloc(1, sizeof(*c));
	if (c == NULL)
		return NULL;
	if (pthread_setspecific(key, c) != 0) {
		free(c);
		return NULL;
	}
	for (order = ORDER_FIRST; order < ORDERS; order++)
		c->stacks[order].max = keep_of(order);
	self = c;
	return c;
}

/* A full stack may hold twice as much from now on. False: it is at its limit. */
static bool stack_grow(struct stack *s, unsigned order)
{
	size_t limit = limit_of(order);

	s->is_needed = true;
	ec_chunk_has_excess = true;
	if (s->max >= limit)
		return false;
	s->max = s->max == 0 ? 1 : s->max * 2;
	if (s->max > limit)
		s->max = limit;
	return true;
}

/* True: it is still above what it keeps for good. */
static bool stack_sweep(struct stack *s, unsigned order)
{
	struct stack excess = { 0 };
	size_t keep = keep_of(order), left;

	if (!s->is_needed && s->max > keep) {
		s->max = s->max / 2 > keep ? s->max / 2 : keep;
		left = s->max > keep ? s->max : 0;
		if (s->num > left)
			stack_move(&excess, s, s->num - left);
		stack_free(&excess, excess.num * size_of(order));
	}
	s->is_needed = false;
	return s->max > keep;
}

static void sweep(struct cache *c, int64_t now_ns)
{
	bool has_excess = false;
	unsigned order;

	for (order = ORDER_FIRST; order < ORDERS; order++)
		has_excess |= stack_sweep(&c->stacks[order], order);
	depot_sweep(now_ns);
	ec_chunk_has_excess = has_excess || ec_load_relaxed(&depot.bytes) != 0;
	if (!ec_chunk_has_excess && c->freed >= TRIM_BYTES) {
		c->freed = 0;
		ec_mem_trim();
	}
}

void ec_chunk_note_freed(size_t bytes)
{
	struct cache *c = self != NULL ? self : cache_new();

	if (c == NULL)
		return;
	c->freed += bytes;
	if (c->freed >= TRIM_BYTES)
		ec_chunk_has_excess = true;
}

int64_t ec_chunk_sweep(int64_t now_ns)
{
	struct cache *c = self;

	if (c == NULL) {
		ec_chunk_has_excess = false;
		return INT64_MAX;
	}
	if (c->sweep_ns == 0)
		c->sweep_ns = now_ns + SWEEP_NS;
	if (c->sweep_ns <= now_ns) {
		c->sweep_ns = now_ns + SWEEP_NS;
		sweep(c, now_ns);
	}
	if (ec_chunk_has_excess)
		return c->sweep_ns - now_ns;
	c->sweep_ns = 0;
	return INT64_MAX;
}

/* ---------------------------------------------------------------- blocks */

static __attribute__((noinline)) void *take_slowly(unsigned order)
{
	struct cache *c = self != NULL ? self : cache_new();

	if (c == NULL)
		return ec_malloc(size_of(order));
	c->stacks[order].is_needed = true;
	if (depot_get(&c->stacks[order], order) == 0)
		return malloc(size_of(order));
	return stack_pop(&c->stacks[order]);
}

static __attribute__((noinline)) void leave_slowly(void *p, unsigned order)
{
	struct cache *c = self != NULL ? self : cache_new();

	if (c == NULL) {
		ec_free(p);
		return;
	}
	stack_push(&c->stacks[order], p);
	if (c->stacks[order].num > c->stacks[order].max && !stack_grow(&c->stacks[order], order))
		depot_put(&c->stacks[order], order, (c->stacks[order].num + 1) / 2);
}

void *ec_chunk_new(unsigned order)
{
	struct cache *c = self;
	struct block *b;

	if (__builtin_expect(c == NULL, 0))
		return take_slowly(order);
	b = c->stacks[order].top;
	if (__builtin_expect(b == NULL, 0))
		return take_slowly(order);
	c->stacks[order].top = b->next;
	c->stacks[order].num--;
	return b;
}

void ec_chunk_free(void *p, unsigned order)
{
	struct cache *c = self;
	struct stack *s;

	if (__builtin_expect(c == NULL, 0)) {
		leave_slowly(p, order);
		return;
	}
	s = &c->stacks[order];
	if (__builtin_expect(s->num >= s->max, 0))
		leave_slowly(p, order);
	else
		stack_push(s, p);
}

void ec_chunk_leave_cache(void)
{
	struct cache *c = self;

	if (c == NULL)
		return;
	pthread_setspecific(key, NULL);
	cache_end(c);
}

void ec_chunk_shutdown(void)
{
	struct stack all[ORDERS];
	unsigned order;

	ec_chunk_leave_cache();
	ec_spin_lock(&depot.mu);
	for (order = 0; order < ORDERS; order++) {
		all[order] = depot.stacks[order];
		depot.stacks[order] = (struct stack){ 0 };
	}
	ec_store_relaxed(&depot.bytes, 0);
	ec_spin_unlock(&depot.mu);
	for (order = 0; order < ORDERS; order++)
		stack_free(&all[order], 0);
}
