/*
 * A worker's turn in a base with colors: its own colors first, then a victim's, and only
 * then the kernel.
 */
#ifndef EC_TURN_H
#define EC_TURN_H

#include <stdbool.h>

#include "worker.h"

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

/*
 * By the loop's thread, when the loop ends and all others have come to rest: run one task of `c` that
 * was ready then. False: there is none left, or a loopbreak came.
 */
bool ec_worker_run_last(struct ec_worker *w, struct ec_color *c);

/* The thread of a worker other than 0. */
void ec_worker_main(void *arg);

#endif
