/*
 * Counters in the text format of Prometheus.
 */
#ifndef EVSMP_METRICS_H
#define EVSMP_METRICS_H

#include <stdio.h>

#include "source.h"

/* Of all bases, since their counters are on. `room`: for SOURCE_FILES of them. The number of bases. */
unsigned metrics_write(FILE *out, struct source *source, struct stats *room);

#endif
