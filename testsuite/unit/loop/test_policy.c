/*
 * core/loop/policy.c: which key is chosen.
 */
#include "table.h"

#include <stdbool.h>

#include "core/loop/policy.h"

enum { NUM = 4 };

static const uint64_t keys[NUM] = { 10, 20, 30, 40 };

static uint32_t choose(uint32_t num)
{
	uint64_t step;

	return ec_policy_choose(keys, num, &step);
}

static void policy_set(enum ec_policy_kind kind, uint64_t seed, unsigned depth, uint64_t steps)
{
	const struct ec_policy p = { .kind = kind, .seed = seed, .depth = depth, .steps = steps };

	ec_policy_set(&p);
}

static void one_key_is_no_choice(void **state)
{
	uint64_t step = 7;

	(void)state;
	policy_set(EC_POLICY_RANDOM, 1, 0, 0);
	assert_int_equal(ec_policy_choose(keys, 1, &step), 0);
	(void)ec_policy_choose(keys, 2, &step);
	assert_int_equal(step, 0);
	(void)ec_policy_choose(keys, 1, &step);
	(void)ec_policy_choose(keys, 2, &step);
	assert_int_equal(step, 1);
}

static void order_takes_the_first(void **state)
{
	unsigned i;

	(void)state;
	policy_set(EC_POLICY_ORDER, 1, 0, 0);
	for (i = 0; i < 100; i++)
		assert_int_equal(choose(NUM), 0);
}

/* A number that all choices of a run make. */
static uint64_t choices(enum ec_policy_kind kind, uint64_t seed)
{
	uint64_t sum = 0;
	unsigned i;

	policy_set(kind, seed, 3, 64);
	for (i = 0; i < 64; i++)
		sum = ec_policy_mix(sum, choose(NUM));
	return sum;
}

static void a_seed_is_a_sequence(void **state)
{
	enum ec_policy_kind kind;
	uint64_t seed;

	(void)state;
	for (kind = EC_POLICY_RANDOM; kind <= EC_POLICY_PCT; kind++) {
		for (seed = 0; seed < 100; seed++) {
			assert_int_equal(choices(kind, seed), choices(kind, seed));
			if (kind == EC_POLICY_RANDOM)
				assert_true(choices(kind, seed) != choices(kind, seed + 1));
		}
	}
}

static void random_takes_each_as_often(void **state)
{
	unsigned i, num[NUM] = { 0 };

	(void)state;
	policy_set(EC_POLICY_RANDOM, 42, 0, 0);
	for (i = 0; i < 4000; i++)
		num[choose(NUM)]++;
	for (i = 0; i < NUM; i++)
		assert_in_range(num[i], 850, 1150);
}

/* Without a change, the same key goes first, wherever it is; and over the seeds, each does. */
static void pct_has_priorities(void **state)
{
	static const uint64_t turned[NUM] = { 40, 30, 20, 10 };
	unsigned first[NUM] = { 0 }, i;
	uint64_t seed, step;
	uint32_t best;

	(void)state;
	for (seed = 0; seed < 400; seed++) {
		policy_set(EC_POLICY_PCT, seed, 1, 100);
		best = choose(NUM);
		first[best]++;
		for (i = 0; i < 20; i++) {
			assert_int_equal(choose(NUM), best);
			assert_int_equal(ec_policy_choose(turned, NUM, &step), NUM - 1 - best);
		}
	}
	for (i = 0; i < NUM; i++)
		assert_in_range(first[i], 60, 140);
}

/* With depth 2 it changes once, and what was first is last from then on. */
static void pct_lowers_at_its_steps(void **state)
{
	enum { STEPS = 10 };
	unsigned changed_at[STEPS] = { 0 }, i, changes;
	uint32_t before, now, lowered;
	uint64_t seed;

	(void)state;
	for (seed = 0; seed < 1000; seed++) {
		policy_set(EC_POLICY_PCT, seed, 2, STEPS);
		before = UINT32_MAX;
		lowered = UINT32_MAX;
		changes = 0;
		for (i = 0; i < 2 * STEPS; i++) {
			now = choose(NUM);
			assert_int_not_equal(now, lowered);
			if (before != UINT32_MAX && now != before) {
				lowered = before;
				changed_at[i]++;
				changes++;
			}
			before = now;
		}
		assert_true(changes <= 1);	/* none: at the first step, before anything was seen */
	}
	for (i = 1; i < STEPS; i++)
		assert_in_range(changed_at[i], 60, 140);
}

/* A color that is lowered at two changes has the priority of the later one. */
static void pct_lowers_again(void **state)
{
	uint64_t seed;
	unsigned i, seen[NUM];

	(void)state;
	for (seed = 0; seed < 200; seed++) {
		memset(seen, 0, sizeof(seen));
		policy_set(EC_POLICY_PCT, seed, EC_POLICY_DEPTH_MAX, 1000);
		for (i = 0; i < 1000; i++)
			seen[choose(NUM)]++;
		for (i = 0; i < NUM; i++)
			assert_true(seen[i] != 0);
	}
}

static void pct_starves_nobody(void **state)
{
	unsigned i, num[2] = { 0, 0 };

	(void)state;
	policy_set(EC_POLICY_PCT, 3, 1, 100);
	for (i = 0; i < 100000; i++)
		num[choose(2)]++;
	assert_true(num[0] > 10 && num[1] > 10);
	assert_true(num[0] < 100 || num[1] < 100);
}

static void a_list_is_followed(void **state)
{
	static const struct ec_switch list[] = { { 0, 2, 4 }, { 3, 1, 4 }, { 4, 7, 9 }, { 90, 3, 4 } };
	const struct ec_policy p = { .kind = EC_POLICY_LIST, .list = list, .list_num = 4 };
	uint32_t want[100] = { [0] = 2, [3] = 1, [4] = 7 % NUM, [90] = 3 };
	unsigned i;

	(void)state;
	ec_policy_set(&p);
	for (i = 0; i < ROWS(want); i++)
		assert_int_equal(choose(NUM), want[i]);
	ec_policy_set(&(struct ec_policy){ .kind = EC_POLICY_LIST });
	assert_int_equal(choose(NUM), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_key_is_no_choice),
		cmocka_unit_test(order_takes_the_first),
		cmocka_unit_test(a_seed_is_a_sequence),
		cmocka_unit_test(random_takes_each_as_often),
		cmocka_unit_test(pct_has_priorities),
		cmocka_unit_test(pct_lowers_at_its_steps),
		cmocka_unit_test(pct_lowers_again),
		cmocka_unit_test(pct_starves_nobody),
		cmocka_unit_test(a_list_is_followed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
