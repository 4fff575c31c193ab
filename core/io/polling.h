/*
 * A worker polls: descriptors, signals and deadlines become active events.
 */
#ifndef EC_POLLING_H
#define EC_POLLING_H

#include <stdbool.h>
#include <stdint.h>

struct ec_worker;

/* Look at the poller once, blocking if `may_block` and nothing turns up; activate what is ready. 0 or -errno. */
int ec_worker_poll(struct ec_worker *w, bool may_block);
int ec_worker_poll_serial(struct ec_worker *w, bool may_block);	/* of a base that is not locked */

/* Poll for `w`, whose thread is busy. */
void ec_worker_poll_for(struct ec_worker *w);

/*
 * By a worker that is busy, at `now` (ticks): poll for those that are stuck in a callback, if none has for a while:
 * nobody may be idle. It takes what waits there, too.
 */
void ec_worker_rescue(struct ec_worker *thief, uint64_t now);

#endif
