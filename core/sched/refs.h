/*
 * What keeps a color alive: references, and the ring of idle colors of its worker. A color whose last reference is put
 * enters the ring, whose oldest color may end for it. So a color that comes and goes is not born each time.
 */
#ifndef EC_REFS_H
#define EC_REFS_H

#include <stdbool.h>

#include "base.h"
#include "color.h"
#include "colors.h"

/* All of this under RUNQ of the color's worker. */
static inline void ec_color_get(struct ec_color *c)
{
	c->refs++;
}

/* Put `c` into the ring. `c` itself does not end: the caller may give it a task. */
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
