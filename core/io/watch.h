/*
 * What the poller watches of a descriptor: changes of interest, disarming, and a poller that is new.
 *
 * A change of interest waits for the next poll, so changes that cancel out cost no system call. The first watch of a
 * descriptor does not wait: the kernel may refuse it, and ec_event_add must say so.
 *
 * Between the removal of a descriptor's last event and the next one, the program may close the descriptor and open
 * another one with its number. If the same event comes back and was not assigned anew, the change may wait; the
 * descriptor is then watched anew (MOD, which the poller turns into ADD if the kernel forgot the descriptor). Another
 * event's watch counts as a first one.
 *
 * All of it under the worker's SOURCE lock, but for what says otherwise.
 */
#ifndef EC_WATCH_H
#define EC_WATCH_H

#include <stdbool.h>

#include "fds.h"

struct ec_batch;
struct ec_worker;

/* What the poller is to watch for `s`. */
static inline unsigned ec_source_interest(const struct ec_source *s)
{
	return s->is_disarmed ? 0 : s->wants;
}

/* The poller hears of `s` at the next flush. */
static inline void ec_source_defer(struct ec_fds *fds, struct ec_source *s)
{
	if (s->is_dirty)
		return;
	s->is_dirty = true;
	s->was_gone = false;
	ec_list_push_back(&fds->dirty, &s->dirty);
}

/* Tell the poller now. 0 or -errno: then the poller watches nothing for `s`. */
int ec_source_watch(struct ec_worker *w, struct ec_source *s);

/* The interest of `s` changed: tell the poller, or defer that. is_accepted: the kernel is known to watch it. */
int ec_source_changed(struct ec_worker *w, struct ec_source *s, bool is_accepted);

/* Tell the poller now of a change of `fd` that waits: a caller that deleted an event may close the descriptor next. */
void ec_source_settle(struct ec_worker *w, int fd);

/*
 * Tell the poller of all changes; before each wait. Activates the events of a descriptor that the poller refuses, in
 * `b`; NULL: the caller has no batch, and holds no RUNQ lock.
 */
void ec_source_flush(struct ec_worker *w, struct ec_batch *b);

/*
 * Disarm: the poller does not watch `s` until ec_source_rearm (sched/above.h), which the worker calls that ran the
 * callback.
 */
void ec_source_disarm(struct ec_worker *w, struct ec_source *s);

/* The end of disarming, of which the poller does not know yet. False: `s` was not disarmed. */
bool ec_source_rearm_unwatched(struct ec_worker *w, struct ec_source *s);

/* The callback will not run, though its event stays. Also under a RUNQ lock. */
void ec_source_unqueued(struct ec_worker *w, int fd);

/* In a forked child: the callbacks that were to rearm may be lost. ec_source_rewatch tells the poller. */
void ec_source_rearm_all(struct ec_worker *w);

/* The poller is new and empty: watch everything again. As ec_source_flush. */
void ec_source_rewatch(struct ec_worker *w, struct ec_batch *b);

#endif
