/*
 * The poller's interest in a descriptor: changes, disarming, and a new poller.
 *
 * A change of interest waits for the next poll, so changes that cancel out cost no system call. The first watch of a
 * descriptor does not wait: the kernel may refuse it, and ec_event_add must return the error.
 *
 * After the last event of a descriptor is removed, the program may close the descriptor and open another file with
 * the same number. If the same event is added again, without a new assignment, the change may still wait. The
 * descriptor is then watched anew: MOD, which the poller turns into ADD if the kernel forgot the descriptor. If
 * another event is added, its watch counts as a first one.
 *
 * Functions are called under the worker's SOURCE lock, unless their comment names another one.
 */
#ifndef EC_WATCH_H
#define EC_WATCH_H

#include <stdbool.h>

#include "fds.h"

struct ec_batch;
struct ec_worker;

/* The interest that the poller should have in `s`. */
static inline unsigned ec_source_interest(const struct ec_source *s)
{
	return s->is_disarmed ? 0 : s->wants;
}

/* Leaves the change of `s` to the next flush. False: no memory, nothing has changed. */
static inline bool ec_source_defer(struct ec_fds *fds, struct ec_source *s)
{
	if (s->is_dirty)
		return true;
	if (!s->is_listed && !ec_fd_stack_push(&fds->dirty, ec_source_fd(s)))
		return false;
	s->is_listed = true;
	s->is_dirty = true;
	s->was_gone = false;
	return true;
}

/* Passes the interest to the poller now. 0 or -errno; after an error the poller does not watch `s`. */
int ec_source_watch(struct ec_worker *w, struct ec_source *s);

/*
 * The interest in `s` changed: passes it to the poller, or defers that. is_accepted: the kernel accepted it before.
 */
int ec_source_changed(struct ec_worker *w, struct ec_source *s, bool is_accepted);

/* Flushes a deferred change of `fd` now: a caller that deleted an event may close the descriptor next. */
void ec_source_settle(struct ec_worker *w, int fd);

/*
 * Flushes all deferred changes, before each wait. Activates the events of a descriptor that the poller refuses, in `b`;
 * NULL: the caller has no batch, and holds no RUNQ lock.
 */
void ec_source_flush(struct ec_worker *w, struct ec_batch *b);

/*
 * Disarms `s`: the poller does not watch it until ec_source_rearm (sched/above.h). The worker that runs the callback
 * calls that.
 */
void ec_source_disarm(struct ec_worker *w, struct ec_source *s);

/* Ends disarming, without a call to the poller. False: `s` was not disarmed. */
bool ec_source_rearm_unwatched(struct ec_worker *w, struct ec_source *s);

/* The queued callback will not run, but its event stays added. May also be called under a RUNQ lock. */
void ec_source_unqueued(struct ec_worker *w, int fd);

/* In a forked child, callbacks that should rearm may be lost. So rearms all; ec_source_rewatch updates the poller. */
void ec_source_rearm_all(struct ec_worker *w);

/* The poller is new and empty: watch everything again. As ec_source_flush. */
void ec_source_rewatch(struct ec_worker *w, struct ec_batch *b);

#endif
