/*
 * The forms in which advice is shown. Write errors are the stream's (ferror).
 */
#ifndef EVSMP_ADVISE_PAGES_H
#define EVSMP_ADVISE_PAGES_H

#include "advice.h"

/* What was recorded, and how far it can be believed. */
struct advised {
	const struct advice *advice;
	const struct band *band;
	const char *program;		/* its file */
	uint64_t lost, damaged;		/* records: lost ones are missing between others */
	bool has_older;			/* callbacks before the first one are lost */
	size_t bases_left_out;		/* event_bases with less work */
};

void advise_text(FILE *out, const struct advised *a);
void advise_json(FILE *out, const struct advised *a);
void advise_svg(FILE *out, const struct advised *a);

/* "on_read"; valid until the band's symbols are freed */
const char *advised_fn(const struct advised *a, uint32_t fn);

/* Why the figures may be wrong: sentences, each with a line of its own; "" if nothing speaks against them. */
char *advised_doubts(const struct advised *a);

#endif
