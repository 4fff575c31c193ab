/*
 * Callbacks of a base that has colors and one worker.
 *
 * No color runs beside another there, so a color is only a name: all tasks are in the lanes, as those of color 0. A
 * callback's posts, of any color, go to the worker's ring. A lane's run ends after a while, so that the worker polls.
 * Posts let the other callbacks pass: after a burst of posts, those that wait at that moment go first, but for at most
 * RUN_NS. Then the others have a turn. burst.h says how long a burst is.
 */
#ifndef EC_SINGLE_H
#define EC_SINGLE_H

#include <stdbool.h>
#include <stdint.h>

#include "sched/worker.h"

/* Run the lane `pri`; `limits`: EC_LIMIT_…. The number of callbacks. */
int ec_single_run(struct ec_worker *w, unsigned pri, int64_t deadline_ns, unsigned limits);

#endif
