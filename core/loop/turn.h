/*
 * A worker's turn in a base with colors: its own colors first, then a victim's, and only then the kernel.
 */
#ifndef EC_TURN_H
#define EC_TURN_H

#include <stdbool.h>

#include "sched/worker.h"

/* One turn, without sleeping: run what there is and look at the poller. The number of colors run, or -errno. */
int ec_worker_turn(struct ec_worker *w);

/*
 * After a turn that found nothing: look for work, the others' and what the own poller reports, for as
 * long as that paid lately. A worker that looks sees it at once, a sleeping one after a wake-up.
 * False: there is none, and it is to sleep.
 */
bool ec_worker_search(struct ec_worker *w);

/* Look at the poller, until something turns up. 0, or -errno. */
int ec_worker_sleep(struct ec_worker *w);

#endif
