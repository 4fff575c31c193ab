/*
 * A worker's turn in a base with colors: its own colors first, then a victim's, and only
 * then the kernel.
 */
#ifndef EC_TURN_H
#define EC_TURN_H

#include "worker.h"

/* One turn. `may_block`: sleep when there is nothing to do. The number of colors run, or -errno. */
int ec_worker_turn(struct ec_worker *w, bool may_block);

/* The thread of a worker other than 0. */
void ec_worker_main(void *arg);

#endif
