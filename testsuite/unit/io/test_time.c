/*
 * core/io/time.c, and deadlines as events have them: cached time, the wall clock, common timeouts.
 * Time is the test's.
 */
#include "table.h"

#include <errno.h>
#include <limits.h>

#include "core/ec.h"
#include "core/io/common.h"
#include "core/io/time.h"
#include "core/os/clock.h"
#include "core/sched/base.h"
#include "fault.h"

enum { EVENTS = 100 };

static const int64_t second_ns = 1000000000;

static int64_t now_ns;
static struct ec_base *base;
static struct ec_event evs[EVENTS];
static int order[EVENTS + 1];
static int ran;

static int64_t clock_now(void)
{
	return now_ns;
}

static void note(int fd, short what, void *arg)
{
	struct ec_event *ev = arg;

	(void)fd;
	assert_int_equal(what, EC_TIMEOUT);
	assert_true(ran < EVENTS);
	order[ran++] = (int)(ev - evs);
}

static int setup_with(unsigned flags)
{
	struct ec_config cfg = { .max_callbacks = INT_MAX, .flags = EC_BASE_IGNORE_ENV | flags };
	int i;

	now_ns = 1000 * second_ns;
	ec_clock_set_source(clock_now);
	ran = 0;
	if (ec_base_new(&cfg, &base) < 0)
		return -1;
	for (i = 0; i < EVENTS; i++)
		(void)ec_event_init(&evs[i], base, -1, 0, note, &evs[i]);
	return 0;
}

static int setup(void **state)
{
	(void)state;
	return setup_with(0);
}

static int setup_uncached(void **state)
{
	(void)state;
	return setup_with(EC_BASE_NO_CACHE_TIME);
}

static int teardown(void **state)
{
	(void)state;
	(void)fault_end();
	ec_base_free(base);
	ec_clock_set_source(NULL);
	return fault_alive() == 0 ? 0 : -1;
}

static void turn(int64_t passed_ns)
{
	now_ns += passed_ns;
	assert_true(ec_base_loop(base, EC_LOOP_NONBLOCK) >= 0);
}

/* ---------------------------------------------------------------- durations */

/* Before any base has a common timeout, so that none looks like one. */
static void durations_are_nanoseconds(void **state)
{
	const struct {
		struct timeval tv;
		int64_t ns;
	} rows[] = {
		{ { 0, 0 }, 0 },
		{ { 0, 1 }, 1000 },
		{ { 1, 999999 }, 1999999000 },
		{ { 100000000, 0 }, 100000000 * INT64_C(1000000000) },
		{ { 0, EC_COMMON_MARK | 0xff << EC_COMMON_SHIFT | 999999 }, 1610564159000 },
		{ { 2, 1500000000 }, 1502000000000 },
		{ { 0, INT32_MAX }, INT32_MAX * INT64_C(1000) },
		{ { 0, -1 }, -1000 },
	};
	const struct timeval forever = { LONG_MAX, 999999 };
	size_t i;

	(void)state;
	for (i = 0; i < ROWS(rows); i++)
		assert_true(ec_timeval_ns(&rows[i].tv) == rows[i].ns);
	/* Far enough for ever, and can be added to any time. */
	assert_true(ec_timeval_ns(&forever) > INT64_C(50) * 365 * 86400 * second_ns);
	assert_true(ec_timeval_ns(&forever) < INT64_MAX / 2);
}

static void a_timer_for_ever_can_be_added(void **state)
{
	const struct timeval forever = { LONG_MAX, 999999 };

	(void)state;
	assert_int_equal(ec_event_add(&evs[0], &forever), 0);
	turn(1000 * second_ns);
	assert_int_equal(ran, 0);
	assert_int_equal(ec_event_del(&evs[0], EC_DEL_BLOCK), 0);
}

/* ---------------------------------------------------------------- what time it is */

static int64_t seen_ns[2];

static void look_twice(int fd, short what, void *arg)
{
	struct timeval tv;
	int i;

	(void)fd;
	(void)what;
	(void)arg;
	for (i = 0; i < 2; i++) {
		assert_int_equal(ec_base_gettimeofday_cached(base, &tv), 0);
		seen_ns[i] = ec_timeval_ns(&tv);
		now_ns += second_ns;
		if (i == 0 && arg != NULL)
			assert_int_equal(ec_base_update_cache_time(base), 0);
	}
}

static int64_t seen_difference(void *arg)
{
	const struct timeval none = { 0, 0 };
	struct ec_event ev;

	(void)ec_event_init(&ev, base, -1, 0, look_twice, arg);
	assert_int_equal(ec_event_add(&ev, &none), 0);
	turn(second_ns);
	return seen_ns[1] - seen_ns[0];
}

static void time_stands_still_in_a_turn(void **state)
{
	(void)state;
	assert_true(seen_difference(NULL) == 0);
}

static void unless_it_is_updated(void **state)
{
	(void)state;
	assert_true(seen_difference(&now_ns) == second_ns);
}

/* The wall clock is the real one, which a test cannot stop: it goes on, but not by a second. */
static void or_is_not_cached(void **state)
{
	(void)state;
	assert_in_range(seen_difference(NULL), 0, second_ns - 1);
	assert_true(base->zero.now_ns == 0);
}

static void without_a_base_there_is_no_cache_to_update(void **state)
{
	struct timeval tv;

	(void)state;
	assert_int_equal(ec_base_update_cache_time(NULL), -EINVAL);
	assert_int_equal(ec_base_gettimeofday_cached(NULL, &tv), 0);
	assert_true(tv.tv_sec > 0);
	ec_set_current_base(base);
	assert_int_equal(ec_base_update_cache_time(NULL), 0);
	assert_int_equal(ec_base_gettimeofday_cached(NULL, &tv), 0);
	ec_set_current_base(NULL);
}

/* ---------------------------------------------------------------- common timeouts */

static void one_handle_for_each_duration(void **state)
{
	const struct timeval one = { 1, 0 }, other = { 1, 1 };
	const struct timeval *a = ec_base_common_timeout(base, &one), *b = ec_base_common_timeout(base, &other);

	(void)state;
	assert_non_null(a);
	assert_non_null(b);
	assert_ptr_not_equal(a, b);
	assert_ptr_equal(ec_base_common_timeout(base, &one), a);
	assert_ptr_equal(ec_base_common_timeout(base, a), a);
	assert_true(ec_timeval_ns(a) == second_ns && ec_timeval_ns(b) == second_ns + 1000);
}

static void quiet(int severity, const char *text)
{
	(void)severity;
	(void)text;
}

static void there_are_256_and_no_more(void **state)
{
	struct timeval tv = { 0, 1 };
	int i;

	(void)state;
	for (i = 0; i < EC_COMMON_MAX; i++, tv.tv_usec++)
		assert_non_null(ec_base_common_timeout(base, &tv));
	ec_log_set_fn(quiet);
	assert_null(ec_base_common_timeout(base, &tv));
	ec_log_set_fn(NULL);
	tv.tv_usec--;
	assert_non_null(ec_base_common_timeout(base, &tv));
}

static void they_expire_as_ordinary_ones_do(void **state)
{
	const struct timeval tv = { 2, 0 }, *common = ec_base_common_timeout(base, &tv);
	int i;

	(void)state;
	for (i = 0; i < 6; i++) {
		assert_int_equal(ec_event_add(&evs[i], i % 2 == 0 ? common : &tv), 0);
		now_ns += second_ns / 10;
	}
	assert_int_equal(ec_event_del(&evs[0], EC_DEL_BLOCK), 0);		/* the first of the queue */
	assert_int_equal(ec_event_del(&evs[3], EC_DEL_BLOCK), 0);
	turn(second_ns * 14 / 10 + second_ns / 20);				/* 2.05 s */
	assert_int_equal(ran, 0);
	turn(second_ns / 10);
	assert_int_equal(ran, 1);
	turn(second_ns);
	assert_int_equal(ran, 4);
	assert_int_equal(order[0], 1);
	assert_int_equal(order[1], 2);
	assert_int_equal(order[2], 4);
	assert_int_equal(order[3], 5);
}

static void an_event_may_change_to_and_from_one(void **state)
{
	const struct timeval tv = { 2, 0 }, soon = { 1, 0 }, *common = ec_base_common_timeout(base, &tv);

	(void)state;
	assert_int_equal(ec_event_add(&evs[0], common), 0);
	assert_int_equal(ec_event_add(&evs[0], &soon), 0);
	assert_int_equal(ec_event_add(&evs[1], &soon), 0);
	assert_int_equal(ec_event_add(&evs[1], common), 0);
	assert_int_equal(ec_base_num_events(base, EC_COUNT_ADDED), 2);
	turn(second_ns);
	assert_int_equal(ran, 1);
	assert_int_equal(order[0], 0);
	turn(second_ns);
	assert_int_equal(ran, 2);
	assert_int_equal(ec_base_num_events(base, EC_COUNT_ADDED), 0);
}

/* A handle of another base is an ordinary duration. */
static void a_foreign_handle_is_a_duration(void **state)
{
	const struct timeval one = { 1, 7 };
	struct ec_base *own = base;

	(void)state;
	assert_int_equal(setup_with(0), 0);	/* the events are of the new base */
	assert_int_equal(ec_event_add(&evs[0], ec_base_common_timeout(own, &one)), 0);
	turn(second_ns + 6999);
	assert_int_equal(ran, 0);
	turn(1);
	assert_int_equal(ran, 1);
	ec_base_free(own);
}

/* Programs give 25 minutes in microseconds alone. In a process with few common timeouts, that is no handle. */
static void minutes_in_microseconds_are_no_handle(void **state)
{
	const struct timeval tv = { 0, 1500000000 }, one = { 1, 0 };

	(void)state;
	assert_non_null(ec_base_common_timeout(base, &one));
	assert_int_equal(ec_event_add(&evs[0], &tv), 0);
	turn(1500 * second_ns - 1);
	assert_int_equal(ran, 0);
	turn(1);
	assert_int_equal(ran, 1);
}

/* ---------------------------------------------------------------- no memory */

static int make_common(void *arg)
{
	const struct timeval tv = { 1, 0 };
	const struct timeval *common;
	int r = 0;

	(void)arg;
	if (setup(NULL) < 0)
		return -ENOMEM;
	common = ec_base_common_timeout(base, &tv);
	if (common == NULL || ec_event_add(&evs[0], common) < 0)
		r = -ENOMEM;
	assert_int_equal(ec_event_pending(&evs[0], EC_TIMEOUT, NULL), r == 0 ? EC_TIMEOUT : 0);
	ec_base_free(base);
	return r;
}

static void making_one_may_fail(void **state)
{
	(void)state;
	ec_base_free(base);
	(void)fault_each_alloc(make_common, NULL, -ENOMEM);
	(void)setup(NULL);
}

/* Add to `ev` without memory for one more timer. What it waited for before, it still waits for. */
static void add_without_memory(struct ec_event *ev, const struct timeval *tv)
{
	int i;

	for (i = 10; base->zero.timers.heap_num < base->zero.timers.heap_cap; i++) {
		const struct timeval hour = { 3600, 0 };

		assert_int_equal(ec_event_add(&evs[i], &hour), 0);
	}
	fault_alloc_always();
	assert_int_equal(ec_event_add(ev, tv), -ENOMEM);
	assert_true(fault_end());
}

static void a_timeout_that_cannot_change_stays(void **state)
{
	const struct timeval tv = { 2, 0 }, soon = { 1, 0 }, *common = ec_base_common_timeout(base, &tv);

	(void)state;
	assert_int_equal(ec_event_add(&evs[0], &tv), 0);
	assert_int_equal(ec_event_add(&evs[1], common), 0);
	assert_int_equal(ec_event_add(&evs[2], common), 0);
	add_without_memory(&evs[0], &soon);
	add_without_memory(&evs[2], &soon);		/* from a common timeout to one of its own */
	add_without_memory(&evs[3], &soon);		/* a new one: waits for nothing */
	assert_int_equal(ec_event_pending(&evs[3], EC_TIMEOUT, NULL), 0);
	assert_int_equal(ec_event_pending(&evs[2], EC_TIMEOUT, NULL), EC_TIMEOUT);
	turn(second_ns * 3 / 2);
	assert_int_equal(ran, 0);
	turn(second_ns / 2);
	assert_int_equal(ran, 3);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations_are_nanoseconds),
		TEST(a_timer_for_ever_can_be_added),
		TEST(time_stands_still_in_a_turn),
		TEST(unless_it_is_updated),
		cmocka_unit_test_setup_teardown(or_is_not_cached, setup_uncached, teardown),
		TEST(without_a_base_there_is_no_cache_to_update),
		TEST(one_handle_for_each_duration),
		TEST(minutes_in_microseconds_are_no_handle),	/* while no base has had many handles */
		TEST(there_are_256_and_no_more),
		TEST(they_expire_as_ordinary_ones_do),
		TEST(an_event_may_change_to_and_from_one),
		TEST(a_foreign_handle_is_a_duration),
		TEST(making_one_may_fail),
		TEST(a_timeout_that_cannot_change_stays),
	};

	return cmocka_run_group_tests_name("time", tests, fault_init, fault_fini);
}
