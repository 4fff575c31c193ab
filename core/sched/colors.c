#include "colors.h"

#include <string.h>

#include "ec.h"
#include "observe/late.h"
#include "os/tsan.h"
#include "slabs.h"
#include "table.h"

/* ---------------------------------------------------------------- the memory of the first colors */

struct ec_colors_first {
	_Alignas(void *) char shards[EC_TABLE_BYTES];	/* on a line, unless the program's own malloc aligns less */
	char slab[EC_SLAB_BYTES];
};

/*
 * For bases that get their first color by a call that cannot fail, such as event_active, while memory is short. Pages
 * that are never used need no memory.
 */
enum { SPARES = 64 };

static _Alignas(EC_CACHE_LINE) struct ec_colors_first spares[SPARES];
static _Atomic(uint64_t) spares_taken;	/* a bit for each; the thread that sets it owns the memory */

static struct ec_colors_first *spare_take(void)
{
	uint64_t taken = ec_load_relaxed(&spares_taken);
	unsigned i;

	do {
		if (taken == UINT64_MAX)
			return NULL;
		i = (unsigned)__builtin_ctzll(~taken);
	} while (!ec_cas_weak_acq_rel(&spares_taken, &taken, taken | UINT64_C(1) << i));
	return &spares[i];
}

static void first_free(struct ec_colors_first *first)
{
	if (first >= spares && first < spares + SPARES)
		(void)ec_add_acq_rel(&spares_taken, -(UINT64_C(1) << (first - spares)));
	else
		ec_free(first);
}

/* Other threads may look for colors, and find none. */
static void first_use(struct ec_colors *t, struct ec_colors_first *first)
{
	ec_spin_lock(&t->slab_mu);
	t->first = first;
	t->reserve = first->slab;
	t->shards_reserve = first->shards;
	ec_tsan_release(t);				/* to those that clear the memory */
	ec_spin_unlock(&t->slab_mu);
}

int ec_colors_reserve(struct ec_colors *t)
{
	struct ec_colors_first *first;

	if (t->first != NULL)
		return 0;
	first = ec_lines_alloc(sizeof(*first));
	if (first == NULL)
		return -ENOMEM;
	first_use(t, first);
	return 0;
}

void ec_colors_reserve_needed(struct ec_colors *t)
{
	struct ec_colors_first *spare;

	if (ec_colors_reserve(t) == 0)
		return;
	spare = spare_take();
	if (spare != NULL)
		first_use(t, spare);
	else
		ec_late_log(EC_LOG_WARN, "no memory for colors: their callbacks are lost");
}

void ec_colors_init(struct ec_colors *t)
{
	ec_slabs_init(t);
}

void ec_colors_fini(struct ec_colors *t)
{
	ec_table_fini(t);
	ec_slabs_fini(t);
	first_free(t->first);
}

/* ---------------------------------------------------------------- colors */

/*
 * Locks the worker of `c`, then checks that `c` is still the color `number` and at that worker. The load of `alive`
 * (acquire) meets color_birth (release). So a thread that sees it set sees number and worker of that life or a later
 * one. The RUNQ lock then keeps both.
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

/* Under the shard's lock. The caller then locks the worker and checks the color again. */
static struct ec_color *color_birth(struct ec_base *base, struct ec_color_shard *s, uint32_t number,
				    struct ec_worker *near, enum ec_birth birth)
{
	struct ec_color *c;
	unsigned home;

	ec_spin_lock(&base->colors.slab_mu);
	c = ec_slabs_take(base, birth);
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
	ec_table_insert(base, s, c);
	return c;
}

static struct ec_color *find_authoritative(struct ec_base *base, uint32_t number, struct ec_worker *near,
					   enum ec_birth birth)
{
	struct ec_color_shard *s = ec_table_lock(base, number);
	struct ec_color *c;

	if (s == NULL)
		return NULL;
	c = ec_table_find_locked(base, number);
	if (c == NULL && birth != EC_BIRTH_NONE)
		c = color_birth(base, s, number, near, birth);
	ec_table_unlock(s);
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
	c = ec_table_find(base, number);
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
	struct ec_color *c = ec_table_find(base, number);

	return c != NULL && ec_load_acquire(&c->alive) != 0 ? c : NULL;		/* meets color_birth: it has a worker */
}

void ec_color_unlock(struct ec_color *c)
{
	struct ec_worker *w = ec_load_relaxed(&c->worker);

	ec_run_unlock(w);
}

/* From now on, a thread that found `c` without the lock does not use it: its check fails. */
void ec_color_end(struct ec_base *base, struct ec_color *c)
{
	struct ec_color_shard *s = ec_table_lock(base, ec_load_relaxed(&c->number));

	ec_table_remove(base, s, c);
	ec_store_release(&c->alive, 0);
	ec_spin_lock(&base->colors.slab_mu);
	ec_slabs_give(base, c);
	ec_spin_unlock(&base->colors.slab_mu);
	ec_table_unlock(s);
}

void ec_color_take(struct ec_color *c, struct ec_worker *w)
{
	c->flags &= (uint8_t)~EC_COLOR_KEPT;
	ec_store_release(&c->worker, w);
}

void ec_colors_freeze(struct ec_colors *t)
{
	ec_table_freeze(t);
	ec_spin_freeze(&t->slab_mu);
}

void ec_colors_thaw(struct ec_colors *t)
{
	ec_spin_thaw(&t->slab_mu);
	ec_table_thaw(t);
}

bool ec_colors_reset(struct ec_colors *t)
{
	bool was_held = ec_spin_reset(&t->slab_mu);

	return ec_table_reset(t) || was_held;
}
