/*
 * A worker's turn in a base with colors: its own colors first, then a victim's, then a poll.
 */
#ifndef EC_TURN_H
#define EC_TURN_H

#include <stdbool.h>

#include "sched/worker.h"

/* One turn, without sleep: run colors, then poll if that is due. The number of runs, or -errno. */
int ec_worker_turn(struct ec_worker *w);

/* The same, but runs color 0 only, after ec_run_suspend; sleeps if that has nothing to run. 0 or -errno. */
int ec_worker_turn_own(struct ec_worker *w);

/*
 * After a turn without a run: steal and poll for as long as that paid recently. A spinning worker finds work at
 * once, a sleeping one after a wake-up. False: no work, sleep.
 */
bool ec_worker_search(struct ec_worker *w);

/* Sleep in the poller. 0 or -errno. */
int ec_worker_sleep(struct ec_worker *w);

#endif
