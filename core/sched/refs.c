#include "refs.h"

#include "ec.h"
#include "mailbox.h"
#include "slabs.h"

#ifdef EC_SIM
enum { IDLE_FIRST = 1, IDLE_MAX = 1 };	/* so that colors end */
#else
enum {
	IDLE_FIRST = 64,		/* idle colors that a worker keeps, at first */
	IDLE_MAX = 8192,		/* … and at most */
};
#endif

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
 * Makes room for one color: removes the oldest, which ends if it is idle now. A color that was stolen meanwhile does
 * not count as in the ring, unless it has come back and was marked again. Then it may end, too.
 */
static void idle_drop(struct ec_base *base, struct ec_worker *w)
{
	struct ec_idle *idle = &w->idle;
	struct ec_color *c = ec_color_at(base, idle->colors[idle->head++ % idle->cap]);

	idle->num--;
	if (!ec_color_is_at(c, w) || (c->flags & EC_COLOR_KEPT) == 0)
		return;
	c->flags &= (uint8_t)~EC_COLOR_KEPT;
	if (c->refs == 0 && ec_mailbox_shut_if_none_for(w, c)) {
		ec_color_end(base, c);
		ec_mailbox_reopen(w);
	}
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
