/*
 * A worker polls: descriptors, signals and deadlines become active events.
 */
#ifndef EC_POLLING_H
#define EC_POLLING_H

#include <stdbool.h>
#include <stdint.h>

struct ec_worker;

/* Poll once, and activate the events that are ready. `may_block`: wait for one if none is ready. 0 or -errno. */
int ec_worker_poll(struct ec_worker *w, bool may_block);
int ec_worker_poll_serial(struct ec_worker *w, bool may_block);	/* of a base that is not locked */

/* Would a poll that may not block ask the kernel? If many callbacks wait, not each time: ec_run_ask_ns. */
bool ec_worker_asks(struct ec_worker *w);

/*
 * The same of a base with locks and one worker, by the loop's thread. 1: both locks are held now, see zero.h. 0: none
 * is, the base has several workers since.
 */
int ec_worker_poll_held(struct ec_worker *w, bool may_block);

/* By a loop that ends without a poll, for nothing is left: frees memory after a burst, if it is due. */
void ec_worker_tidy(struct ec_worker *w);

/* Poll for `w`, whose thread is busy. */
void ec_worker_poll_for(struct ec_worker *w);

/*
 * Called by a busy worker at `now` (ticks), because no worker may be idle. If no worker has done this for a while,
 * polls for the workers that are stuck in a callback, and steals the colors that wait there.
 */
void ec_worker_rescue(struct ec_worker *thief, uint64_t now);

#endif
