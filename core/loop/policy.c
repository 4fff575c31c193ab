#include "policy.h"

#include <stdbool.h>

#include "os/atomic.h"

/*
 * So often a policy other than order chooses at random: a color that waits for another one, and posts to itself until
 * then, must not run for ever.
 */
enum { FAIR_STEPS = 2048 };

static struct ec_policy policy;		/* const after ec_policy_set */
static uint64_t changes[EC_POLICY_DEPTH_MAX]; /* the same: pct's steps at which it lowers a color */

static _Atomic(uint64_t) steps;
static _Atomic(uint64_t) lowered[EC_POLICY_DEPTH_MAX]; /* pct: the keys, + 1, by the number of the change */

/* The finalizer of SplitMix (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014). */
uint64_t ec_policy_mix(uint64_t seed, uint64_t n)
{
	uint64_t z = seed + (n + 1) * UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

void ec_policy_set(const struct ec_policy *p)
{
	unsigned i;

	policy = *p;
	if (policy.depth > EC_POLICY_DEPTH_MAX)
		policy.depth = EC_POLICY_DEPTH_MAX;
	if (policy.steps == 0)
		policy.steps = 1;
	for (i = 0; i + 1 < policy.depth; i++)
		changes[i] = ec_policy_mix(~policy.seed, i) % policy.steps;
	for (i = 0; i < EC_POLICY_DEPTH_MAX; i++)
		ec_store_relaxed(&lowered[i], 0);
	ec_store_relaxed(&steps, 0);
}

static uint32_t at_random(uint64_t step, uint32_t num)
{
	return (uint32_t)(ec_policy_mix(policy.seed, step) % num);
}

/* That of a lowered color is the number of the change, and below all random ones. */
static uint64_t priority(uint64_t key)
{
	unsigned i;

	for (i = policy.depth; i-- > 0;) {
		if (ec_load_relaxed(&lowered[i]) == key + 1)
			return i;
	}
	return EC_POLICY_DEPTH_MAX + ec_policy_mix(policy.seed, key) / 2;
}

static uint32_t highest(const uint64_t *keys, uint32_t num)
{
	uint64_t max = priority(keys[0]), pri;
	uint32_t i, best = 0;

	for (i = 1; i < num; i++) {
		pri = priority(keys[i]);
		if (pri > max) {
			max = pri;
			best = i;
		}
	}
	return best;
}

/* At the change `i`. An older change of the same color counts no more. */
static void lower(unsigned i, uint64_t key)
{
	unsigned j;

	for (j = 0; j < policy.depth; j++) {
		if (ec_load_relaxed(&lowered[j]) == key + 1)
			ec_store_relaxed(&lowered[j], 0);
	}
	ec_store_relaxed(&lowered[i], key + 1);
}

static uint32_t by_priority(const uint64_t *keys, uint32_t num, uint64_t step)
{
	unsigned i;

	for (i = 0; i + 1 < policy.depth; i++) {
		if (changes[i] == step)
			lower(i, keys[highest(keys, num)]);
	}
	return highest(keys, num);
}

static uint32_t by_list(uint64_t step, uint32_t num)
{
	size_t low = 0, high = policy.list_num, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (policy.list[mid].step < step)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == policy.list_num || policy.list[low].step != step)
		return 0;
	return policy.list[low].choice % num;
}

uint32_t ec_policy_choose(const uint64_t *keys, uint32_t num, uint64_t *step)
{
	*step = 0;
	if (num <= 1)
		return 0;
	*step = ec_add_relaxed(&steps, 1);
	switch (policy.kind) {
	case EC_POLICY_ORDER:
		return 0;
	case EC_POLICY_RANDOM:
		return at_random(*step, num);
	case EC_POLICY_PCT:
		return *step % FAIR_STEPS == FAIR_STEPS - 1 ? at_random(*step, num) : by_priority(keys, num, *step);
	case EC_POLICY_LIST:
		return by_list(*step, num);
	}
	return 0;
}
