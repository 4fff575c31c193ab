/*
 * Which of several ready colors runs next, in the process's bases with virtual workers (virtual.h). Each choice has a
 * number, its step. A policy decides by the step, its seed, and the keys of the ready colors, and by nothing else: so
 * the same program makes the same choices again.
 *
 *   order	 the first in the queue; a color that has more work goes on for a while
 *   random	 any, with equal probability
 *   pct	 the color with the highest priority. Priorities are random, and at depth - 1 random steps the color
 *		 that is to run gets a lower one than all others. (Burckhardt, Kothari, Musuvathi, Nagarakatte: A
 *		 randomized scheduler with probabilistic guarantees of finding bugs, ASPLOS 2010.)
 *   list	 as order, but at the steps of a list what the list says
 *
 * any thread. With several loops in several threads, though, the steps are theirs in the order in which they come.
 */
#ifndef EC_POLICY_H
#define EC_POLICY_H

#include <stddef.h>
#include <stdint.h>

enum ec_policy_kind { EC_POLICY_ORDER, EC_POLICY_RANDOM, EC_POLICY_PCT, EC_POLICY_LIST };

enum { EC_POLICY_DEPTH_MAX = 64 };

/* At `step`, not the first of the ready colors runs, but the one with the index `choice`, of `num`. */
struct ec_switch {
	uint64_t step;
	uint32_t choice, num;
};

struct ec_policy {
	enum ec_policy_kind kind;
	uint64_t seed;
	unsigned depth;			/* pct: from 1 on */
	uint64_t steps;			/* pct: about so many steps the program makes */
	const struct ec_switch *list;	/* list: by step; the caller keeps it */
	size_t list_num;
};

/* Once, before the first choice. */
void ec_policy_set(const struct ec_policy *policy);

/*
 * The index of the key that is chosen. keys[0] is that of the color that runs by order. *step: the number of the
 * choice. One key is no choice, and has no step.
 */
uint32_t ec_policy_choose(const uint64_t *keys, uint32_t num, uint64_t *step);

/* A number that looks random, for `seed` and `n`. */
uint64_t ec_policy_mix(uint64_t seed, uint64_t n);

#endif
