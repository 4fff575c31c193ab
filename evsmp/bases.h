/*
 * The bases of a process, the busiest first: which one `evsmp top` shows, and a line for each of the others.
 */
#ifndef EVSMP_BASES_H
#define EVSMP_BASES_H

#include "screen.h"

struct base_sum {
	unsigned file;			/* of the source */
	uint32_t base;
	double busy;			/* of its busiest worker's time: the part in callbacks */
	uint64_t callbacks, busy_ns;	/* of all workers */
	uint64_t passed_ns;
};

struct bases {
	unsigned num;
	struct base_sum at[SOURCE_FILES];
};

/* `s`: what was counted in the time that is shown. */
void bases_add(struct bases *b, unsigned file, const struct stats *s);

/* The busiest first. */
void bases_sort(struct bases *b);

/* The one with this number; else the busiest. There is one. */
const struct base_sum *bases_find(const struct bases *b, uint32_t base);

/* The number of the one after it, in order of numbers; after the last one, the first. */
uint32_t bases_next(const struct bases *b, uint32_t base);

/* What the screen says of the bases but `shown`: `not_turned` have no counters. `shown` NULL: only of these. */
void bases_notes(const struct bases *b, const struct base_sum *shown, unsigned not_turned, struct screen *ret);

#endif
