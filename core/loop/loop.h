/*
 * The loop of a base, for its workers.
 */
#ifndef EC_LOOP_H
#define EC_LOOP_H

#include "sched/worker.h"

/* A worker other than 0, after ec_base_loopbreak: sleep until the next loop. */
void ec_loop_rest(struct ec_worker *w);

#endif
