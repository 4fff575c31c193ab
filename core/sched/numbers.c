#include "numbers.h"

#include <errno.h>

#include "base.h"
#include "colors.h"
#include "ec.h"
#include "post.h"
#include "refs.h"

enum {
	CAP_FIRST = 64,
	CAP_MAX = 1 << 30,		/* all numbers from EC_NUMBER_FIRST on */
	TRIES = 8,			/* released numbers whose colors may still have work, before a new number */
};

void ec_numbers_init(struct ec_numbers *n)
{
	*n = (struct ec_numbers){ .next = NULL };
	ec_spin_init(&n->mu, EC_RANK_LEAF);
}

void ec_numbers_fini(struct ec_numbers *n)
{
	ec_free(n->next);
}

/* ---------------------------------------------------------------- under mu */

static int grow(struct ec_numbers *n)
{
	int32_t cap = n->cap == 0 ? CAP_FIRST : n->cap * 2, *next;

	if (n->cap == CAP_MAX)
		return -ENOSPC;
	next = ec_realloc(n->next, (size_t)cap * sizeof(*next));
	if (next == NULL)
		return -ENOMEM;
	n->next = next;
	n->cap = cap;
	return 0;
}

/* A number that was never handed out; or -errno. */
static int32_t take_new(struct ec_numbers *n)
{
	int r = n->num < n->cap ? 0 : grow(n);

	if (r < 0)
		return r;
	n->next[n->num] = EC_NUMBER_USED;
	return n->num++;
}

static int32_t take_released(struct ec_numbers *n)
{
	int32_t i = n->first - 1;

	n->first = n->next[i];
	if (n->first == 0)
		n->last = 0;
	n->next[i] = EC_NUMBER_USED;
	return i;
}

static void give(struct ec_numbers *n, int32_t i)
{
	n->next[i] = 0;
	if (n->last == 0)
		n->first = i + 1;
	else
		n->next[n->last - 1] = i + 1;
	n->last = i + 1;
}

/* ---------------------------------------------------------------- numbers and colors */

static uint32_t color_of(int32_t i)
{
	return EC_NUMBER_FIRST + (uint32_t)i;
}

/* With one worker a color is a name, and no color runs beside another. */
static bool may_look(struct ec_base *base)
{
	return !base->is_single && ec_has_colors(base);
}

/* Any post in the inbox may have any color. */
static bool has_inbox(struct ec_base *base)
{
	const struct ec_task *first = ec_load_acquire(&base->inbox);

	return first != NULL && first != &ec_inbox_closed;
}

static bool has_work(struct ec_base *base, uint32_t color)
{
	_Atomic(uint32_t) hint = 0;
	struct ec_color *c;
	bool has;

	if (has_inbox(base))
		return true;
	c = may_look(base) ? ec_color_lock_existing(base, color, &hint) : NULL;
	if (c == NULL)
		return false;
	has = c->refs != 0;
	ec_color_unlock(c);
	return has;
}

static void forget_hints(struct ec_base *base, uint32_t color)
{
	_Atomic(uint32_t) hint = 0;
	struct ec_color *c = may_look(base) ? ec_color_lock_existing(base, color, &hint) : NULL;

	if (c == NULL)
		return;
	c->cost_ns = 0;
	c->penalty = 1;
	ec_color_keep(base, c, EC_COLOR_COST_SET, false);
	ec_color_keep(base, c, EC_COLOR_PENALTY_SET, false);
	ec_color_unlock(c);
}

/* A new number, or one that was released; *is_new: which. No lock of a color may be taken under mu. */
static int32_t take(struct ec_numbers *n, bool wants_new, bool *is_new)
{
	int32_t i;

	ec_spin_lock(&n->mu);
	*is_new = wants_new || n->first == 0;
	i = *is_new ? take_new(n) : take_released(n);
	ec_spin_unlock(&n->mu);
	return i;
}

static void give_back(struct ec_numbers *n, int32_t i)
{
	ec_spin_lock(&n->mu);
	give(n, i);
	ec_spin_unlock(&n->mu);
}

int ec_color_new(struct ec_base *base, uint32_t *ret)
{
	unsigned tries;
	bool is_new;
	int32_t i;

	for (tries = 0;; tries++) {
		i = take(&base->numbers, tries == TRIES, &is_new);
		if (i < 0)
			return i;
		if (is_new || !has_work(base, color_of(i)))
			break;
		give_back(&base->numbers, i);
	}
	*ret = color_of(i);
	return 0;
}

static __attribute__((noinline, cold)) int refuse(uint32_t color)
{
	if (ec_debug_on())
		ec_log(EC_LOG_WARN, "event_color_release: color %u is not one of event_color_new(), or was released "
				    "before; release each of them once", color);
	return -EINVAL;
}

int ec_color_release(struct ec_base *base, uint32_t color)
{
	struct ec_numbers *n = &base->numbers;
	uint32_t i = color - EC_NUMBER_FIRST;
	bool is_used;

	if (color < EC_NUMBER_FIRST)
		return refuse(color);
	ec_spin_lock(&n->mu);
	is_used = i < (uint32_t)n->num && n->next[i] == EC_NUMBER_USED;
	ec_spin_unlock(&n->mu);
	if (!is_used)
		return refuse(color);
	forget_hints(base, color);
	ec_spin_lock(&n->mu);
	is_used = n->next[i] == EC_NUMBER_USED;		/* two threads may release it, by mistake */
	if (is_used)
		give(n, (int32_t)i);
	ec_spin_unlock(&n->mu);
	return is_used ? 0 : refuse(color);
}
