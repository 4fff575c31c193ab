/*
 * Where the time of the workers goes: the busiest worker, the color and the function that take most of it, and the
 * longest callback.
 */
#ifndef EVSMP_BUSY_H
#define EVSMP_BUSY_H

#include "timeline.h"

/* Callbacks of one function. */
struct busy_function {
	const struct slice *slice;	/* one of them; NULL: there is none */
	uint64_t num;
	int64_t ns;
};

/* Times are without those of callbacks and polls of nested loops. */
struct busy {
	const struct band *band;	/* the base of the busiest worker; NULL: no callback ran */
	int64_t band_ns;		/* from its first record to its last */
	unsigned row;			/* the busiest worker */
	int64_t row_ns;			/* that it ran callbacks */
	int64_t all_ns;			/* that all workers of the base did */
	uint64_t calls;			/* of the base */
	bool is_colored;		/* the base ran callbacks of other colors than 0 */
	uint32_t color;			/* the busiest one of the base */
	int64_t color_ns;
	struct busy_function of_color, of_row, of_band;	/* which took most of that */
	const struct band *longest_band;
	const struct slice *longest;	/* of all bases */
	int64_t longest_ns;
};

void busy_find(const struct timeline *t, struct busy *ret);

/* The part of the time in percent that the busiest worker ran callbacks. */
unsigned busy_percent(const struct busy *b);

/* What limits the program, and what to do: a sentence, which the caller frees. NULL: the workers have time left. */
char *busy_advice(const struct busy *b);

/* A callback that was long, of another function than `known`: the same. NULL: there is none. */
char *busy_advice_longest(const struct busy *b, const struct slice *known);

#endif
