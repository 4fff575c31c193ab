/*
 * The events that wait for a descriptor, and their interest. watch.h passes the interest to the poller.
 *
 * All functions are called under the worker's SOURCE lock.
 */
#ifndef EC_SOURCE_H
#define EC_SOURCE_H

#include <stdbool.h>

struct ec_event;
struct ec_worker;

/* -EPERM, -EBADF, …: the poller refuses; -EINVAL: mixes edge- and level-triggered. An error changes nothing. */
int ec_source_add(struct ec_worker *w, struct ec_event *ev);
void ec_source_del(struct ec_worker *w, struct ec_event *ev);

/* From `w` to `to`, under both SOURCE locks. As ec_source_add; after an error the event waits at `w` as before. */
int ec_source_move(struct ec_worker *w, struct ec_worker *to, struct ec_event *ev);

#endif
