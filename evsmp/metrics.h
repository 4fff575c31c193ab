/*
 * Counters in the text format of Prometheus.
 */
#ifndef EVSMP_METRICS_H
#define EVSMP_METRICS_H

#include <stdio.h>

#include "source.h"

/* For the counters of one base. All zero: not used yet. */
struct metrics_room {
	struct stats stats;
	struct stats_copy bytes;
};

/* Of all bases, since their counters are on. `room`: for SOURCE_FILES of them. Returns the number of bases. */
unsigned metrics_write(FILE *out, struct source *source, struct metrics_room *room);

#endif
