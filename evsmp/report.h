/*
 * Reports of ThreadSanitizer about colors: they are read as they come, and told with the names of colors and with what
 * to do.
 */
#ifndef EVSMP_REPORT_H
#define EVSMP_REPORT_H

#include <stdio.h>

#include "races.h"
#include "say.h"

struct report {
	const char *by;			/* const: what colors are planned by, as "connection"; NULL: they are set */
	const char *program;		/* const: the name of its file */
	bool counts_libraries;		/* const: reports about the memory of other libraries count */
	FILE *out;			/* const */
	struct races *kinds;		/* of all reports of the program */
	unsigned long races, others, in_libraries; /* reports so far */

	struct list lines;		/* of the report that is not complete yet; none: we are between two */
	char *rest;			/* the line that is not complete yet */
};

/* What the runtime wrote; `len` may end anywhere. */
void report_read(struct report *r, const char *text, size_t len);

/* Nothing more comes. */
void report_end(struct report *r);

#endif
