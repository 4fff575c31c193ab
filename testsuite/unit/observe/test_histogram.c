/*
 * core/observe/histogram.c: buckets of times, each a fifth longer than the one before.
 */
#include "table.h"

#include "core/observe/histogram.h"

static void bounds_grow_by_a_fifth(void **state)
{
	uint64_t bound, next;
	unsigned i;

	(void)state;
	assert_int_equal(ec_histogram_bound_ns(0), EC_HISTOGRAM_FIRST_NS);
	for (i = 0; i + 2 < EC_HISTOGRAM_BUCKETS; i++) {
		bound = ec_histogram_bound_ns(i);
		next = ec_histogram_bound_ns(i + 1);
		assert_true(next * 10 >= bound * 12);
		assert_true(next * 10 < bound * 12 + 10);
	}
	assert_true(ec_histogram_bound_ns(EC_HISTOGRAM_BUCKETS - 2) > UINT64_C(30000000000));
	assert_true(ec_histogram_bound_ns(EC_HISTOGRAM_BUCKETS - 1) == UINT64_MAX);
}

static void each_time_is_in_its_bucket(void **state)
{
	uint64_t bound;
	unsigned i;

	(void)state;
	assert_int_equal(ec_histogram_bucket(0), 0);
	assert_int_equal(ec_histogram_bucket(1), 0);
	for (i = 0; i + 1 < EC_HISTOGRAM_BUCKETS; i++) {
		bound = ec_histogram_bound_ns(i);
		assert_int_equal(ec_histogram_bucket(bound - 1), i);
		assert_int_equal(ec_histogram_bucket(bound), i + 1);
	}
	for (i = 0; i < 64; i++)
		assert_true(ec_histogram_bound_ns(ec_histogram_bucket(UINT64_C(1) << i)) > UINT64_C(1) << i);
	assert_int_equal(ec_histogram_bucket(UINT64_MAX), EC_HISTOGRAM_BUCKETS - 1);
}

static void quantiles_are_bounds_of_whole_buckets(void **state)
{
	uint64_t counts[EC_HISTOGRAM_BUCKETS] = { 0 };

	(void)state;
	assert_int_equal(ec_histogram_quantile_ns(counts, 99, 100), 0);
	counts[ec_histogram_bucket(1000)] = 98;
	counts[ec_histogram_bucket(50000)] = 2;
	assert_in_range(ec_histogram_quantile_ns(counts, 50, 100), 1000, 1200);
	assert_in_range(ec_histogram_quantile_ns(counts, 98, 100), 1000, 1200);
	assert_in_range(ec_histogram_quantile_ns(counts, 99, 100), 50000, 60000);
	assert_in_range(ec_histogram_quantile_ns(counts, 100, 100), 50000, 60000);
	counts[EC_HISTOGRAM_BUCKETS - 1] = 1000000;
	assert_int_equal(ec_histogram_quantile_ns(counts, 99, 100), ec_histogram_bound_ns(EC_HISTOGRAM_BUCKETS - 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bounds_grow_by_a_fifth),
		cmocka_unit_test(each_time_is_in_its_bucket),
		cmocka_unit_test(quantiles_are_bounds_of_whole_buckets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
