/*
 * Callbacks of a base that has colors and one worker.
 *
 * No color runs beside another there, so a color is only a name: all of them are queued in the
 * lanes, as color 0 is, and posts made by a callback, of whatever color, go to the worker's ring.
 * A lane's run ends after a while, so that the poller is looked at. Posts let the other callbacks through: after
 * a burst of posts those that wait then still go first, but no longer than RUN_NS, and then the others have a turn.
 * How much a burst is depends on how long its callbacks take.
 */
#ifndef EC_SINGLE_H
#define EC_SINGLE_H

#include <stdbool.h>
#include <stdint.h>

#include "sched/worker.h"

/* Run the lane `pri`; how many callbacks ran. */
int ec_single_run(struct ec_worker *w, unsigned pri, int64_t deadline_ns, bool is_limited);

#endif
