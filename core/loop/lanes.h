/*
 * The lanes of color 0: what a base without colors runs, and one with colors and a single worker. A turn of the
 * loop runs the most urgent lane that has tasks, until it is empty; the limits of the configuration, posts that
 * beget posts, or something more urgent end it earlier.
 */
#ifndef EC_LANES_H
#define EC_LANES_H

#include "sched/worker.h"

/* The most urgent lane, as long as the limits allow. How many ran. */
int ec_lanes_run(struct ec_worker *w);

#endif
