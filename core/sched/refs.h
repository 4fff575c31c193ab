/*
 * The life of a color depends on its references, and on the ring of idle colors of its worker. A color whose last
 * reference is dropped enters the ring; the oldest color of a full ring ends. So a color that is used now and then is
 * not born each time.
 */
#ifndef EC_REFS_H
#define EC_REFS_H

#include <stdbool.h>

#include "base.h"
#include "color.h"
#include "colors.h"

/* All functions are called under RUNQ of the color's worker. */
static inline void ec_color_get(struct ec_color *c)
{
	c->refs++;
}

/* Adds `c` to the ring. `c` itself does not end, even if the ring is full: the caller may give it a task. */
void ec_idle_add(struct ec_base *base, struct ec_color *c);
void ec_idle_fini(struct ec_idle *idle);

static inline void ec_color_put(struct ec_base *base, struct ec_color *c)
{
	if (--c->refs == 0 && (c->flags & (EC_COLOR_PINNED | EC_COLOR_KEPT)) == 0)
		ec_idle_add(base, c);
}

/* Set or clear a hint of the program. A color with a hint has a reference for it. */
void ec_color_keep(struct ec_base *base, struct ec_color *c, unsigned flag, bool is_set);

#endif
