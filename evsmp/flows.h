/*
 * The arrows of a timeline: from a post to its callback, from a wake-up to the end of the sleep, from the worker that
 * was to run a color to the worker that stole it.
 */
#ifndef EVSMP_FLOWS_H
#define EVSMP_FLOWS_H

#include "timeline.h"

/* Rows are sorted. */
void flows_find(struct band *b);

#endif
