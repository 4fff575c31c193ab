/*
 * Stealing: how an idle worker chooses a victim and its colors.
 *
 * A thief steals whole colors, up to half of the victim's run queue, from the victim with the nearest
 * cache. It never steals a running color or color 0. A color is worth a steal if its expected time is
 * more than the measured cost of a steal (Mely, section 4.2), or if the victim is stuck in a callback.
 * A thief whose last steal brought less work than twice its cost waits before the next one.
 *
 * A steal is a loan: a drained color with pending events goes back to its home. After many steals its
 * home moves; its registrations follow when they next fire.
 */
#ifndef EC_STEAL_H
#define EC_STEAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base.h"
#include "worker.h"

enum ec_victim {
	EC_VICTIM_IDLE,
	EC_VICTIM_BUSY,			/* no color is worth a steal now, but it may get stuck */
	EC_VICTIM_WORTH,
};

/* Called without locks; takes RUNQ of `victim`. */
enum ec_victim ec_steal_probe(struct ec_worker *thief, struct ec_worker *victim);

/* True: `thief` has at least one more color in its queue. */
bool ec_steal(struct ec_worker *thief);

/* Steal `c`, worth it or not. True: it is runnable and at `thief`, whose RUNQ lock is held. */
bool ec_steal_fetch(struct ec_worker *thief, struct ec_color *c);

/* True: `v` waits for events, but has no thread, or its thread is in its start callback. A hint, without locks. */
bool ec_steal_is_unattended(struct ec_worker *v);

/*
 * Without locks: is it worth locking the run queue of `v`, or waking a thief for it? Colors whose runs are shorter
 * than a steal are not worth it, no matter how many there are.
 */
bool ec_steal_is_worth_trying(struct ec_worker *v);

/* The same, whether `v` has such colors or is about to get one. */
bool ec_steal_is_worth_any(struct ec_worker *v);

/* Without locks, at `now` (ticks): `v` is in a run that has lasted longer than `ns`. */
bool ec_steal_is_busy_for(struct ec_worker *v, uint64_t now, uint64_t ns);

/* `v` has no thread, or one in its start callback or in a long run. */
bool ec_steal_is_stuck(struct ec_worker *v, uint64_t now);

/* Steals the colors of `v` that are worth it. Returns their number. */
unsigned ec_steal_from(struct ec_worker *thief, struct ec_worker *v);

#endif
