/*
 * Races that were reported, by what they are about and which functions use it: one report of each kind is told in full,
 * the others are counted.
 */
#ifndef EVSMP_RACES_H
#define EVSMP_RACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The subject, if nothing is known of the memory. */
#define RACES_UNNAMED "the same memory"

struct race {
	const char *subject;		/* "room", "an evbuffer" */
	const char *functions[2];	/* of the program, in order of their names */
	const char *advice;		/* what to do */
	unsigned long num;		/* reports */
};

struct races {
	struct race *at;
	size_t num;
};

/* The texts stay with the table. True: it is the first one of its kind. */
bool races_note(struct races *r, const char *subject, const char *function, const char *other, const char *advice);

/* The kinds, those with the most reports first, and which one to fix first; nothing of a single report. */
void races_sum_up(struct races *r, FILE *out);

#endif
