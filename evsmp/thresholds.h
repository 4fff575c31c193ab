/*
 * From where on figures mean something, the same for what `top`, `trace` and `advise` say.
 */
#ifndef EVSMP_THRESHOLDS_H
#define EVSMP_THRESHOLDS_H

#include <stdbool.h>
#include <stdint.h>

enum {
	HOT = 85,			/* percent of the time: the worker is busy */
	ALONE = 80,			/* percent of a worker: one color has nearly all of it */
	SHORT_NS = 2000,		/* callbacks of less gain nothing from coloring: see docs/guide.md */
	LONG_NS = 10000000,		/* one callback holds up its worker */
	FEW = 100,			/* callbacks: too few for a mean, or a quantile */
	ENOUGH_NS = 500000000,		/* a time in which slow callbacks say something, too, though they are few */
};

/* Do so many callbacks in that time tell what the program usually does? */
static inline bool is_enough(uint64_t calls, uint64_t ns)
{
	return calls >= FEW || ns >= ENOUGH_NS;
}

#endif
