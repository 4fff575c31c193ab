/*
 * core/sched/numbers.c: color numbers that nobody else uses. No loop runs but the test's own.
 */
#include "table.h"

#include <errno.h>
#include <limits.h>

#include "core/sched/base.h"
#include "core/ec.h"
#include "fault.h"

enum { MANY = 500 };

static struct ec_base *base;
static int ran;

static int setup_with(unsigned workers)
{
	struct ec_config cfg = { .max_callbacks = INT_MAX, .workers_num = workers, .flags = EC_BASE_IGNORE_ENV };

	ran = 0;
	return ec_base_new(&cfg, &base);
}

static int setup(void **state)
{
	(void)state;
	return setup_with(2);
}

static int setup_alone(void **state)
{
	(void)state;
	return setup_with(1);
}

static int teardown(void **state)
{
	(void)state;
	(void)fault_end();
	ec_base_free(base);
	return fault_alive() == 0 ? 0 : -1;
}

static uint32_t color_new(void)
{
	uint32_t color = 0;

	assert_int_equal(ec_color_new(base, &color), 0);
	assert_true(color >= EC_NUMBER_FIRST);
	return color;
}

static void count(void *arg)
{
	(void)arg;
	ran++;
}

/* The callback of a color releases it; the number must not come back while it runs. */
static void release_own(void *arg)
{
	uint32_t color = *(uint32_t *)arg, other;

	assert_int_equal(ec_color_release(base, color), 0);
	other = color_new();
	assert_int_not_equal(other, color);
	assert_int_equal(ec_color_release(base, other), 0);
	ran++;
}

static void all_numbers_differ_and_come_back_oldest_first(void **state)
{
	uint32_t colors[MANY];
	int i, j;

	(void)state;
	for (i = 0; i < MANY; i++) {
		colors[i] = color_new();
		for (j = 0; j < i; j++)
			assert_int_not_equal(colors[i], colors[j]);
	}
	for (i = 0; i < MANY; i += 2)
		assert_int_equal(ec_color_release(base, colors[i]), 0);
	for (i = 0; i < MANY; i += 2)
		assert_int_equal(color_new(), colors[i]);
	for (j = 0; j < MANY; j++)
		assert_int_not_equal(color_new(), colors[j]);
}

static void what_was_not_handed_out_is_not_released(void **state)
{
	static const uint32_t never[] = { 0, 1, 0x80000000, EC_NUMBER_FIRST - 1, EC_NUMBER_FIRST + 1, UINT32_MAX };
	uint32_t color;
	size_t i;

	(void)state;
	assert_int_equal(ec_color_release(base, EC_NUMBER_FIRST), -EINVAL);
	color = color_new();
	for (i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		assert_int_equal(ec_color_release(base, never[i]), -EINVAL);
	assert_int_equal(ec_color_release(base, color), 0);
	assert_int_equal(ec_color_release(base, color), -EINVAL);
	assert_int_equal(color_new(), color);
	assert_int_equal(ec_color_release(base, color), 0);
}

static void a_number_with_work_stays_out(void **state)
{
	struct ec_event ev;
	uint32_t posted = color_new(), pending = color_new(), idle = color_new();
	const struct timeval hour = { 3600, 0 };

	(void)state;
	assert_int_equal(ec_base_post(base, posted, count, NULL), 0);
	(void)ec_event_init(&ev, base, -1, 0, NULL, NULL);
	assert_int_equal(ec_event_set_color(&ev, pending), 0);
	assert_int_equal(ec_event_add(&ev, &hour), 0);
	assert_int_equal(ec_color_release(base, posted), 0);
	assert_int_equal(ec_color_release(base, pending), 0);
	assert_int_equal(ec_color_release(base, idle), 0);

	assert_int_equal(ec_base_loop(base, EC_LOOP_NONBLOCK), 0);
	assert_int_equal(ran, 1);
	/* The event waits for an hour. */
	assert_int_equal(color_new(), posted);
	assert_int_equal(color_new(), idle);
	assert_int_equal(ec_event_del(&ev, EC_DEL_AUTOBLOCK), 0);
	assert_int_equal(color_new(), pending);
}

/* Before the loop takes the posts of an unlocked base, nobody knows their colors. */
static void a_post_that_waits_for_the_first_loop_keeps_its_number(void **state)
{
	uint32_t color = color_new();

	(void)state;
	assert_int_equal(ec_base_post(base, color, count, NULL), 0);
	assert_int_equal(ec_color_release(base, color), 0);
	assert_int_not_equal(color_new(), color);
	assert_int_equal(ec_base_loop(base, 0), 1);
	assert_int_equal(ran, 1);
	assert_int_equal(color_new(), color);
}

static void a_callback_may_release_its_own_color(void **state)
{
	uint32_t color = color_new();

	(void)state;
	assert_int_equal(ec_base_post(base, color, release_own, &color), 0);
	assert_int_equal(ec_base_loop(base, 0), 1);
	assert_int_equal(ran, 1);
}

static void hints_end_with_the_number(void **state)
{
	struct ec_color_stats stats;
	uint32_t color = color_new();

	(void)state;
	assert_int_equal(ec_color_set_cost(base, color, 12345), 0);
	assert_int_equal(ec_color_set_penalty(base, color, 0), 0);
	assert_int_equal(ec_base_color_stats(base, color, &stats), 0);
	assert_int_equal(stats.cost_ns, 12345);
	assert_int_equal(ec_color_release(base, color), 0);
	assert_int_equal(color_new(), color);
	assert_int_equal(ec_base_color_stats(base, color, &stats), 0);
	assert_int_equal(stats.cost_ns, 0);
	assert_int_equal(stats.events, 0);
}

/* Also one that is forgotten while none is set, and many that are busy: then a new one is taken. */
static void busy_numbers_are_passed_over(void **state)
{
	enum { BUSY = 20 };
	uint32_t colors[BUSY], color;
	int i, j;

	(void)state;
	for (i = 0; i < BUSY; i++) {
		colors[i] = color_new();
		assert_int_equal(ec_base_post(base, colors[i], count, NULL), 0);
		assert_int_equal(ec_color_release(base, colors[i]), 0);
	}
	color = color_new();
	for (j = 0; j < BUSY; j++)
		assert_int_not_equal(color, colors[j]);
}

static int new_one(void *arg)
{
	uint32_t color;

	(void)arg;
	return ec_color_new(base, &color);
}

static void without_memory_there_is_no_number_and_all_is_as_before(void **state)
{
	int i;

	(void)state;
	fault_alloc_at(1);
	assert_int_equal(new_one(NULL), -ENOMEM);
	assert_true(fault_end());
	assert_int_equal(color_new(), EC_NUMBER_FIRST);
	for (i = 1; i < 64; i++)
		(void)color_new();
	fault_alloc_at(1);
	assert_int_equal(new_one(NULL), -ENOMEM);
	/* Releasing takes no memory, and the number is there again. */
	assert_int_equal(ec_color_release(base, EC_NUMBER_FIRST + 7), 0);
	assert_int_equal(color_new(), EC_NUMBER_FIRST + 7);
	assert_true(fault_end());
	assert_int_equal(color_new(), EC_NUMBER_FIRST + 64);
}

#define TEST(fn, s) cmocka_unit_test_setup_teardown(fn, s, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_numbers_differ_and_come_back_oldest_first, setup),
		TEST(all_numbers_differ_and_come_back_oldest_first, setup_alone),
		TEST(what_was_not_handed_out_is_not_released, setup),
		TEST(a_number_with_work_stays_out, setup),
		TEST(a_post_that_waits_for_the_first_loop_keeps_its_number, setup),
		TEST(a_callback_may_release_its_own_color, setup),
		TEST(hints_end_with_the_number, setup),
		TEST(busy_numbers_are_passed_over, setup),
		TEST(without_memory_there_is_no_number_and_all_is_as_before, setup),
		TEST(without_memory_there_is_no_number_and_all_is_as_before, setup_alone),
	};

	return cmocka_run_group_tests(tests, fault_init, fault_fini);
}
