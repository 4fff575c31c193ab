/*
 * core/observe/sketch.c: the heaviest keys of a stream, and the bounds of their weights.
 */
#include "table.h"

#include <stdbool.h>

#include "core/observe/sketch.h"

static uint64_t state_of_random;

/* A fixed stream: tests must not depend on chance. */
static uint32_t next_random(void)
{
	state_of_random = state_of_random * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (uint32_t)(state_of_random >> 33);
}

static unsigned add(struct ec_sketch *s, uint64_t key, uint64_t weight, uint64_t errors[EC_SKETCH_PLACES])
{
	uint64_t error = 0;
	unsigned place;
	bool is_new;

	place = ec_sketch_find(s, key, &error, &is_new);
	assert_true(place < EC_SKETCH_PLACES);
	assert_int_equal(s->keys[place], key);
	if (is_new)
		errors[place] = error;
	ec_sketch_add(s, place, weight);
	return place;
}

static void few_keys_are_exact(void **state)
{
	uint64_t errors[EC_SKETCH_PLACES];
	struct ec_sketch s = { 0 };
	unsigned i, place;

	(void)state;
	for (i = 0; i < 100 * EC_SKETCH_PLACES; i++) {
		place = add(&s, i % EC_SKETCH_PLACES * UINT64_C(0x100000001), i, errors);
		assert_int_equal(place, i % EC_SKETCH_PLACES);
		assert_int_equal(errors[place], 0);
	}
	assert_int_equal(s.num, EC_SKETCH_PLACES);
	for (i = 0; i < EC_SKETCH_PLACES; i++)
		assert_int_equal(s.weights[i], 100 * i + EC_SKETCH_PLACES * 4950u);
}

static void a_new_key_takes_the_lightest_place_with_its_weight_as_error(void **state)
{
	uint64_t errors[EC_SKETCH_PLACES];
	struct ec_sketch s = { 0 };
	unsigned i, place;

	(void)state;
	for (i = 0; i < EC_SKETCH_PLACES; i++)
		(void)add(&s, i, i == 17 ? 5 : 100 + i, errors);
	place = add(&s, 1000, 3, errors);
	assert_int_equal(place, 17);
	assert_int_equal(errors[place], 5);
	assert_int_equal(s.weights[place], 8);
	/* The one that left is new when it comes again, and takes the place that is lightest now. */
	place = add(&s, 17, 1, errors);
	assert_int_equal(place, 17);
	assert_int_equal(errors[place], 8);
}

enum { KEYS = 3000, STEPS = 200000 };

/* A few keys have most of the weight, as a hot color has; all others come and go. */
static uint64_t skewed_key(void)
{
	uint32_t r = next_random() % 100;

	if (r < 20)
		return 7;
	if (r < 35)
		return 8;
	if (r < 50)
		return 100 + next_random() % 10;
	return 1000 + next_random() % (KEYS - 1000);
}

static void bounds_hold_in_a_stream_of_many_keys(void **state)
{
	static uint64_t truth[KEYS], errors[EC_SKETCH_PLACES];
	static struct ec_sketch s;
	uint64_t all = 0, key, weight;
	unsigned i, kept = 0, place;
	bool is_kept;

	(void)state;
	state_of_random = 1;
	for (i = 0; i < STEPS; i++) {
		key = skewed_key();
		weight = 1 + next_random() % 50;
		truth[key] += weight;
		all += weight;
		(void)add(&s, key, weight, errors);
	}
	for (i = 0; i < EC_SKETCH_PLACES; i++) {
		assert_true(s.weights[i] >= truth[s.keys[i]]);
		assert_true(s.weights[i] - errors[i] <= truth[s.keys[i]]);
	}
	for (key = 0; key < KEYS; key++) {
		is_kept = false;
		for (place = 0; place < EC_SKETCH_PLACES; place++)
			is_kept |= s.keys[place] == key;
		if (truth[key] > all / EC_SKETCH_PLACES)
			assert_true(is_kept);
		kept += is_kept;
	}
	assert_int_equal(kept, EC_SKETCH_PLACES);	/* none is there twice */
}

/* Slots are dense, so a removal often moves others. */
static void keys_are_found_after_removals(void **state)
{
	static uint64_t errors[EC_SKETCH_PLACES];
	static struct ec_sketch s;
	unsigned i, round, used;

	(void)state;
	state_of_random = 2;
	for (round = 0; round < 20000; round++) {
		(void)add(&s, next_random() % 200, 1, errors);
		for (i = 0, used = 0; i < EC_SKETCH_SLOTS; i++)
			used += s.slots[i] != 0;
		assert_int_equal(used, s.num);
		for (i = 0; i < s.num; i++) {
			uint64_t error;
			bool is_new;

			s.last = s.num - 1 - i;
			assert_int_equal(ec_sketch_find(&s, s.keys[i], &error, &is_new), i);
			assert_false(is_new);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_keys_are_exact),
		cmocka_unit_test(a_new_key_takes_the_lightest_place_with_its_weight_as_error),
		cmocka_unit_test(bounds_hold_in_a_stream_of_many_keys),
		cmocka_unit_test(keys_are_found_after_removals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
