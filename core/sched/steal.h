/*
 * Whom to rob, and of what.
 *
 * A thief takes whole colors, up to half of what is runnable at the victim, nearest cache
 * first; never the one that runs, never color 0. A color is worth it when the time its
 * queue is expected to take is above the measured cost of a steal (Mely, section 4.2),
 * or when the victim is stuck in a callback and would let it wait.
 *
 * A steal is a loan: a color that waits for descriptors goes back when it is drained. When
 * it is stolen again and again its home moves, and its registrations follow when they
 * next fire.
 */
#ifndef EC_STEAL_H
#define EC_STEAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base.h"
#include "worker.h"

enum ec_victim {
	EC_VICTIM_IDLE,			/* the victim is at rest */
	EC_VICTIM_BUSY,			/* nothing worth it now, but it may get stuck */
	EC_VICTIM_WORTH,
};

/* Under no lock. */
enum ec_victim ec_steal_probe(struct ec_worker *thief, struct ec_worker *victim);

/* True: `thief` has at least one more color in its queue. */
bool ec_steal(struct ec_worker *thief);

/* True: `c` is runnable, and at `thief`, whose RUNQ lock is held. Whether it is worth it is not asked. */
bool ec_steal_fetch(struct ec_worker *thief, struct ec_color *c);

/* May `v` wait for something while it has no thread, or one in its start callback? A hint, without locks. */
bool ec_steal_is_unattended(struct ec_worker *v);

/*
 * Without locks: is it worth it to look for work at `v`, or to wake a thief for it? Colors that run shorter than it
 * takes to move them are best left where they are, however many they are.
 */
bool ec_steal_is_worth_trying(struct ec_worker *v);

/* Without locks, at `now` (ticks): `v` is in a run that has lasted longer than `ns`. */
bool ec_steal_is_busy_for(struct ec_worker *v, uint64_t now, uint64_t ns);

/* Nothing that waits at `v` is found soon: it has no thread, or one in its start callback or in a long run. */
bool ec_steal_is_stuck(struct ec_worker *v, uint64_t now);

/* Steal of `v` what is worth it. How many colors. */
unsigned ec_steal_from(struct ec_worker *thief, struct ec_worker *v);

#endif
