/*
 * core/sched/reserve.c: posts that were allocated before need no memory any more.
 */
#include "table.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>

#include "core/sched/base.h"
#include "core/ec.h"
#include "fault.h"

enum { MANY = 300, IDLE_MAX = 8192 };

static struct ec_base *base;
static struct ec_reserved *reserved[MANY];
static uint32_t ran[MANY];
static _Atomic(unsigned) ran_num;	/* colors run in parallel */

static int setup_with(unsigned workers)
{
	struct ec_config cfg = { .max_callbacks = INT_MAX, .workers_num = workers, .flags = EC_BASE_IGNORE_ENV };

	ran_num = 0;
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

static void note(void *arg)
{
	unsigned i = ran_num++;
	uint32_t color;

	assert_int_equal(ec_base_running_color(base, &color), 0);
	assert_true(i < MANY);
	ran[i] = color;
	if (arg != NULL)
		assert_int_equal(color, *(uint32_t *)arg);
}

static void loop(void)
{
	assert_int_equal(ec_base_loop(base, 0), 1);
}

/* From here on colors are in use. */
static void use_colors(void)
{
	assert_int_equal(ec_base_post(base, 1, note, NULL), 0);
	loop();
	ran_num = 0;
}

static void reserve(unsigned i, uint32_t color)
{
	assert_int_equal(ec_post_reserve(base, color, &reserved[i]), 0);
}

static void post_without_memory_in(uint32_t color)
{
	reserve(0, color);
	fault_alloc_always();
	ec_post_reserved(reserved[0], note, &color);
	(void)fault_end();
	loop();
	assert_int_equal(ran_num, 1);
}

static void it_needs_no_memory(void **state)
{
	(void)state;
	post_without_memory_in(0);
	ran_num = 0;
	post_without_memory_in(7);
	ran_num = 0;
	post_without_memory_in(8);
}

static void it_keeps_the_order_of_posts(void **state)
{
	uint32_t color = 7;
	unsigned i;

	(void)state;
	use_colors();
	for (i = 0; i < 3; i++) {
		reserve(i, color);
		assert_int_equal(ec_base_post(base, color, note, &color), 0);
	}
	for (i = 0; i < 3; i++)
		ec_post_reserved(reserved[i], note, &color);
	loop();
	assert_int_equal(ran_num, 6);
}

static struct {
	char said[8];
	unsigned num;
} order;

static void say(void *arg)
{
	order.said[order.num++] = *(char *)arg;
}

/* The ring of the running color has earlier posts. */
static void post_between(void *arg)
{
	(void)arg;
	assert_int_equal(ec_base_post(base, 7, say, (void *)(uintptr_t)"a"), 0);
	ec_post_reserved(reserved[0], say, (void *)(uintptr_t)"b");
	assert_int_equal(ec_base_post(base, 7, say, (void *)(uintptr_t)"c"), 0);
}

static void it_goes_between_the_posts_of_its_own_color(void **state)
{
	(void)state;
	order.num = 0;
	reserve(0, 7);
	assert_int_equal(ec_base_post(base, 7, post_between, NULL), 0);
	loop();
	assert_int_equal(order.num, 3);
	assert_memory_equal(order.said, "abc", 3);
}

static void its_color_stays_however_many_come_and_go(void **state)
{
	uint32_t color;

	(void)state;
	use_colors();
	reserve(0, 7);
	for (color = 1000; color < 1000 + 2 * IDLE_MAX; color++) {
		assert_int_equal(ec_color_set_cost(base, color, 1), 0);
		assert_int_equal(ec_color_set_cost(base, color, 0), 0);
	}
	color = 7;
	fault_alloc_always();
	ec_post_reserved(reserved[0], note, &color);
	(void)fault_end();
	loop();
	assert_int_equal(ran_num, 1);
}

static void what_is_not_posted_leaves_nothing(void **state)
{
	struct ec_color_stats stats;
	unsigned i;

	(void)state;
	use_colors();
	for (i = 0; i < MANY; i++)
		reserve(i, i);
	/* It keeps no loop. */
	loop();
	for (i = 0; i < MANY; i++)
		ec_post_unreserve(reserved[i]);
	assert_int_equal(ran_num, 0);
	if (ec_base_color_stats(base, 7, &stats) == 0)
		assert_int_equal(stats.events, 0);
}

/* Reserved before the first color is in use: the colors are born as they are posted. */
static void many_before_the_first_color(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < 64; i++)
		reserve(i, i + 1);
	fault_alloc_always();
	for (i = 0; i < 64; i++)
		ec_post_reserved(reserved[i], note, NULL);
	(void)fault_end();
	loop();
	assert_int_equal(ran_num, 64);
}

static void *post_one(void *arg)
{
	ec_post_reserved(arg, note, NULL);
	return NULL;
}

/* Another thread may post at any time, as with ec_base_post. */
static void from_another_thread(void **state)
{
	pthread_t thread;

	(void)state;
	reserve(0, 7);
	assert_int_equal(pthread_create(&thread, NULL, post_one, reserved[0]), 0);
	while (ran_num == 0)
		assert_int_equal(ec_base_loop(base, EC_LOOP_ONCE | EC_LOOP_NO_EXIT_ON_EMPTY), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(ran[0], 7);
}

static int reserve_all(void *arg)
{
	int r;

	(void)arg;
	if (setup_with(2) < 0)
		return -ENOMEM;
	r = ec_base_post(base, 1, note, NULL) < 0 ? -errno : 0;
	if (r == 0) {
		loop();
		r = ec_post_reserve(base, 7, &reserved[0]);
	}
	if (r == 0)
		ec_post_unreserve(reserved[0]);
	ec_base_free(base);
	return r;
}

static void a_failure_leaves_nothing(void **state)
{
	(void)state;
	assert_true(fault_each_alloc(reserve_all, NULL, -ENOMEM) > 5);
}

#define TEST(fn, s) cmocka_unit_test_setup_teardown(fn, s, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(it_needs_no_memory, setup),
		TEST(it_needs_no_memory, setup_alone),
		TEST(it_keeps_the_order_of_posts, setup),
		TEST(it_goes_between_the_posts_of_its_own_color, setup),
		TEST(it_goes_between_the_posts_of_its_own_color, setup_alone),
		TEST(its_color_stays_however_many_come_and_go, setup),
		TEST(what_is_not_posted_leaves_nothing, setup),
		TEST(what_is_not_posted_leaves_nothing, setup_alone),
		TEST(many_before_the_first_color, setup),
		TEST(from_another_thread, setup),
		TEST(from_another_thread, setup_alone),
		cmocka_unit_test(a_failure_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, fault_init, fault_fini);
}
