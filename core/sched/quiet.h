/*
 * Has everything come to rest? Worker 0 asks before it ends the loop, and the others tell it.
 */
#ifndef EC_QUIET_H
#define EC_QUIET_H

#include <stdbool.h>

#include "base.h"
#include "worker.h"

/* Nothing is pending; nothing is queued or running. The first is a hint. */
bool ec_base_is_idle(struct ec_base *base);
bool ec_base_is_quiet(struct ec_base *base);

/* A worker has announced that it sleeps. False: the loop may have ended meanwhile, look first. */
bool ec_loop_rested(struct ec_worker *w);

/* Worker 0 waits for rest, and a callback has returned: it has waited long enough under load. */
void ec_loop_ran(struct ec_base *base);

#endif
