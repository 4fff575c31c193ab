/*
 * The descriptors that one worker watches, and the events of each.
 *
 * Changes of what an already watched descriptor is watched for wait until the next look at
 * the poller, so that those that cancel out cost no system call. The first watch of a
 * descriptor does not wait: the kernel may refuse it, and ec_event_add must say so.
 * A descriptor whose last event went may be closed and opened anew before one comes back. When it
 * is the same event, not assigned anew meanwhile, it may wait; it is watched anew then (MOD, which
 * the poller turns into ADD when the kernel forgot it). Another event's is a first watch.
 *
 * All of it under the worker's SOURCE lock.
 */
#ifndef EC_SOURCE_H
#define EC_SOURCE_H

#include <stdbool.h>

#include "fds.h"

struct ec_worker;
struct ec_event;
struct ec_ready;
struct ec_batch;

void ec_fds_init(struct ec_fds *fds);
void ec_fds_fini(struct ec_fds *fds);

/* -EPERM, -EBADF, …: the poller refuses; -EINVAL: mixes edge- and level-triggered. Nothing changed then. */
int ec_source_add(struct ec_worker *w, struct ec_event *ev);
void ec_source_del(struct ec_worker *w, struct ec_event *ev);

/*
 * The same for the commonest change, or nothing: false. The only event of a descriptor goes, and is the
 * one that comes back before the poller has heard of it, not assigned anew meanwhile.
 */
bool ec_source_return(struct ec_worker *w, struct ec_event *ev);
bool ec_source_leave(struct ec_worker *w, struct ec_event *ev);

/* Tell the poller now what it was to be told of `fd`: who deletes an event may close the descriptor next. */
void ec_source_settle(struct ec_worker *w, int fd);

/* Tell the poller what changed; before each wait. Events of a descriptor that it now refuses are activated. */
void ec_source_flush(struct ec_worker *w);

/* Activate the events that the poller's last `num` reports are for. */
void ec_sources_ready(struct ec_worker *w, int num, struct ec_batch *batch);
void ec_sources_ready_serial(struct ec_worker *w, int num);	/* of a base that is not locked */

/* Stop reports of the descriptor until its callback has run elsewhere: ec_source_rearm in sched/above.h. */
void ec_source_disarm(struct ec_worker *w, int fd);

/*
 * In a forked child: the callbacks that were to end the silences may be lost. The poller is told by
 * ec_source_rewatch.
 */
void ec_source_rearm_all(struct ec_worker *w);

/* The callback will not run, though its event stays: under SOURCE, and a RUNQ lock. */
void ec_source_unqueued(struct ec_worker *w, int fd);

/* Without locks, by the worker: move what fired here and belongs elsewhere now. */
void ec_source_migrate(struct ec_worker *w);

/* The poller is new and empty: watch everything again. */
void ec_source_rewatch(struct ec_worker *w);

#endif
