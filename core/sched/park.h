/*
 * Sleeping and waking.
 *
 * A worker sleeps in its poller. If its queue is empty, it announces that under its RUNQ lock (S1). A poster queues
 * under the same lock (P1). If it sees the announcement, it resets it, and then sends the wake-up. So no wake-up is
 * lost, and a busy worker gets none.
 *
 * Other reasons to wake up work in the same way (ec_base_loopbreak, ec_loop_idle). The thread writes the reason, then
 * takes the lock and checks the announcement. The worker checks the reason once more after it has announced.
 *
 * A worker with a non-empty queue does not sleep in its poller, even if the gate is closed: the opener wakes only
 * threads that wait at the gate.
 *
 * Work behind a busy worker wakes a thief:
 *
 *   Poster:   P1 queue the work under RUNQ; P2 read `sleepers`.
 *   Sleeper:  S2 add itself to `sleepers`; S3 check each other worker's queue under its lock; then sleep.
 *
 * P1 and S3 take one lock. P1 first: S3 sees the color. S3 first: P2 sees S2. Without the lock, S3 could lose the
 * wake-up, because a store and a later load may be reordered.
 *
 * Some work is not worth a thief or a wake-up. While such work waits, one sleeper, the ticker, wakes up periodically:
 * a worker may be stuck in a callback, or may still be in its start callback. The ticker steals from that worker and
 * polls for it. If no worker sleeps, the busy workers do that (ec_worker_rescue).
 */
#ifndef EC_PARK_H
#define EC_PARK_H

#include <stdbool.h>
#include <stdint.h>

#include "base.h"
#include "worker.h"

/* `asleep` of `w` was reset under its lock. */
void ec_park_wake(struct ec_worker *w);

/* Wake `w` if it sleeps. */
void ec_park_wake_if_asleep(struct ec_worker *w);

/*
 * P2: does work that was queued behind `behind`, or is about to be, need a thief, if there are sleepers? Not if a
 * worker is searching, or if the ticker is soon enough.
 */
bool ec_park_needs_thief(struct ec_worker *behind);

/* Wake a sleeper to steal from `behind`, if that is needed. */
void ec_park_find_thief(struct ec_worker *behind);

static inline void ec_park_wake_thief(struct ec_worker *behind)
{
	if (ec_load_relaxed(&behind->base->sleepers) != 0)		/* P2, meets S2 */
		ec_park_find_thief(behind);
}

/*
 * True: there is no ticker. A worker that begins a run may get stuck in it, and then no worker would poll for it. So
 * it wakes one, which is the ticker while any worker is busy. Call this after the run began under RUNQ: a ticker that
 * did not see the run under that lock has left `tickers` before.
 */
static inline bool ec_park_is_unwatched(struct ec_base *base)
{
	return ec_load_relaxed(&base->tickers) == 0;
}

/*
 * Announces that the calling worker sleeps. False: it has work. *tick_ns: the time that it may sleep; INT64_MAX
 * unless it is the ticker.
 */
bool ec_park_begin(struct ec_worker *w, int64_t *tick_ns);
void ec_park_end(struct ec_worker *w, bool is_ticker);

#endif
