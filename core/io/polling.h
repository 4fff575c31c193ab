/*
 * A worker polls: descriptors, signals and deadlines become active events.
 */
#ifndef EC_POLLING_H
#define EC_POLLING_H

#include <stdbool.h>

struct ec_worker;

/* Look at the poller once, blocking if `may_block` and nothing turns up; activate what is ready. 0 or -errno. */
int ec_worker_poll(struct ec_worker *w, bool may_block);
int ec_worker_poll_serial(struct ec_worker *w, bool may_block);	/* of a base that is not locked */

/* Look at the poller of `w`, whose thread is busy, for it. */
void ec_worker_poll_for(struct ec_worker *w);

#endif
