/*
 * The events of a descriptor: which of them wait for it, and for what. watch.h tells the poller.
 *
 * All of it under the worker's SOURCE lock.
 */
#ifndef EC_SOURCE_H
#define EC_SOURCE_H

#include <stdbool.h>

struct ec_event;
struct ec_worker;

/* -EPERM, -EBADF, …: the poller refuses; -EINVAL: mixes edge- and level-triggered. Nothing changed then. */
int ec_source_add(struct ec_worker *w, struct ec_event *ev);
void ec_source_del(struct ec_worker *w, struct ec_event *ev);

/*
 * The same for the commonest change: a descriptor's only event leaves, and returns before the poller has heard of that,
 * not assigned anew meanwhile. False: it is another change, and nothing was done.
 */
bool ec_source_return(struct ec_worker *w, struct ec_event *ev);
bool ec_source_leave(struct ec_worker *w, struct ec_event *ev);

#endif
