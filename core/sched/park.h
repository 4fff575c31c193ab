/*
 * Sleeping and waking.
 *
 * A worker falls asleep in its poller. It announces that under its RUNQ lock, if its queue
 * is empty (S1); who queues a color there holds the same lock (P1), sees the announcement,
 * takes it back and sends the wake-up after. So no wake-up is lost, and a busy worker gets none.
 * What else ends a sleep works the same way: it is written first, then the lock is taken and
 * the announcement looked for (ec_base_loopbreak, ec_loop_idle); and the worker looks at
 * it once more after it has announced. A closed gate is no reason to sleep on a queue that is
 * not empty: who opens it wakes only those who wait at it.
 *
 * Work that waits behind a busy worker wakes a thief: after queueing it, the poster looks
 * at `sleepers` (P2). A sleeper counts itself there (S2), then looks into every other
 * worker's queue under its lock (S3), and only then sleeps. P1 and S3 take one lock: if
 * P1 comes first S3 sees the color, else P2 sees S2. Looking without the lock loses the wake-up,
 * since a store and a later load may pass each other.
 *
 * Not all work is worth a thief, nor a wake-up. While some is left where it is, one sleeper, the ticker,
 * looks up now and then, in case the worker it waits behind is stuck in a callback, or has not returned from its
 * start callback yet; such a worker's poller is then looked at for it, too. While all others are busy, they do the
 * same: ec_steal_rescue.
 */
#ifndef EC_PARK_H
#define EC_PARK_H

#include <stdbool.h>
#include <stdint.h>

#include "base.h"
#include "worker.h"

/* `asleep` of `w` was taken back under its lock. */
void ec_park_wake(struct ec_worker *w);

/* Wake `w` if it sleeps. */
void ec_park_wake_if_asleep(struct ec_worker *w);

/* Wake one sleeper to look for work behind `behind`, unless one is looking, or will soon and that is soon enough. */
void ec_park_find_thief(struct ec_worker *behind);

static inline void ec_park_wake_thief(struct ec_worker *behind)
{
	if (ec_load_relaxed(&behind->base->sleepers) != 0)		/* P2, meets S2 */
		ec_park_find_thief(behind);
}

/*
 * Nobody looks up now and then: a worker that begins to run may be stuck in what it runs, however it came to that, and
 * none would look after the descriptors and timers behind it. So it wakes one, which ticks from then on, as long
 * as anybody is busy. Asked after RUNQ was held to begin: a ticker that has not seen the run under that lock has
 * been taken from `tickers` before.
 */
static inline bool ec_park_is_unwatched(struct ec_base *base)
{
	return ec_load_relaxed(&base->tickers) == 0;
}

/*
 * Announce that the calling worker sleeps. False: there is something to do first. *tick_ns:
 * for how long at most; INT64_MAX.
 */
bool ec_park_begin(struct ec_worker *w, int64_t *tick_ns);
void ec_park_end(struct ec_worker *w, bool is_ticker);

#endif
