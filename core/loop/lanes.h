/*
 * The lanes of color 0, which hold the tasks of a base without colors, or with one worker. A turn of the loop runs the
 * most urgent lane with tasks until it is empty. The limits of the configuration, a stream of posts, or a more urgent
 * task end the run earlier.
 */
#ifndef EC_LANES_H
#define EC_LANES_H

#include "sched/worker.h"

/* Run the most urgent lane, as long as the limits allow. The number of callbacks. */
int ec_lanes_run(struct ec_worker *w);

/* The same of a base with locks and one worker: both are held (zero.h), and released when this returns. */
int ec_lanes_run_held(struct ec_worker *w);

#endif
