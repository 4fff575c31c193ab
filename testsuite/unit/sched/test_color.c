/*
 * core/sched/color.c, post.c: what colors and posts cost in memory, and that it comes back. No loop runs
 * but the test's own, so there are no threads.
 */
#include "table.h"

#include <errno.h>
#include <limits.h>

#include "core/sched/base.h"
#include "core/sched/colors.h"
#include "core/sched/slabs.h"
#include "core/ec.h"
#include "fault.h"

enum { WORKERS = 2, IDLE_MAX = 8192, MANY = 5000, GROUP = 64 };

_Static_assert(sizeof(struct ec_color) <= 96, "with its place in the table, an idle color has less than 128 bytes");

static struct ec_base *base;
static struct ec_event evs[MANY];
static int ran;

static void count_event(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	ran++;
}

static void count_post(void *arg)
{
	(void)arg;
	ran++;
}

static int setup_with(unsigned workers)
{
	struct ec_config cfg = { .max_callbacks = INT_MAX, .workers_num = workers, .flags = EC_BASE_IGNORE_ENV };

	ran = 0;
	return ec_base_new(&cfg, &base);
}

static int setup(void **state)
{
	(void)state;
	return setup_with(WORKERS);
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

static int add(int i, uint32_t color)
{
	const struct timeval hour = { 3600, 0 };

	(void)ec_event_init(&evs[i], base, -1, 0, count_event, NULL);
	assert_int_equal(ec_event_set_color(&evs[i], color), 0);
	return ec_event_add(&evs[i], &hour);
}

static uint32_t events_of(uint32_t color)
{
	struct ec_color_stats stats;
	int r = ec_base_color_stats(base, color, &stats);

	if (r == -ENOENT)
		return 0;
	assert_int_equal(r, 0);
	assert_int_equal(stats.color, color);
	return stats.events;
}

/* ---------------------------------------------------------------- colors */

static void a_color_is_there_while_something_refers_to_it(void **state)
{
	(void)state;
	assert_int_equal(add(0, 77), 0);
	assert_int_equal(add(1, 77), 0);
	assert_int_equal(add(2, UINT32_MAX), 0);
	assert_int_equal(events_of(77), 2);
	assert_int_equal(events_of(UINT32_MAX), 1);
	assert_int_equal(events_of(78), 0);
	assert_int_equal(ec_event_del(&evs[0], EC_DEL_BLOCK), 0);
	assert_int_equal(events_of(77), 1);
	assert_int_equal(ec_event_del(&evs[1], EC_DEL_BLOCK), 0);
	assert_int_equal(events_of(77), 0);
	assert_int_equal(ec_event_del(&evs[2], EC_DEL_BLOCK), 0);
}

/* Each number is used once: the memory of those that ended serves the next ones. */
static void colors_that_come_and_go_are_few(void **state)
{
	uint32_t color;

	(void)state;
	for (color = 1; color <= 8 * IDLE_MAX; color++) {
		assert_int_equal(add(0, color * 2654435761U), 0);
		assert_int_equal(ec_event_del(&evs[0], EC_DEL_BLOCK), 0);
	}
	assert_in_range(ec_colors_used(&base->colors), 1, WORKERS * IDLE_MAX + 32);
}

/* Oldest ones end, but not one that is in use again. */
static void one_that_came_back_to_life_stays(void **state)
{
	uint32_t color;

	(void)state;
	assert_int_equal(add(1, 7), 0);
	assert_int_equal(ec_event_del(&evs[1], EC_DEL_BLOCK), 0);
	assert_int_equal(add(1, 7), 0);
	for (color = 1000; color < 1000 + 3 * IDLE_MAX; color++) {
		assert_int_equal(add(0, color), 0);
		assert_int_equal(ec_event_del(&evs[0], EC_DEL_BLOCK), 0);
	}
	assert_int_equal(events_of(7), 1);
	assert_int_equal(ec_event_del(&evs[1], EC_DEL_BLOCK), 0);
	assert_int_equal(events_of(7), 0);
}

static void nothing_finalizer(struct ec_event *ev, void *arg)
{
	(void)ev;
	count_post(arg);
}

/* It leaves its color's queue and enters it again: the color lives on between, though nothing refers to it. */
static void a_color_that_is_about_to_get_a_task_stays(void **state)
{
	(void)state;
	assert_int_equal(add(0, 7), 0);
	assert_int_equal(ec_event_del(&evs[0], EC_DEL_BLOCK), 0);	/* the workers are made */
	fault_alloc_always();
	ec_event_active(&evs[0], EC_READ, 1);
	assert_int_equal(ec_event_finalize(&evs[0], nothing_finalizer, false), 0);
	assert_int_equal(ec_base_loop(base, 0), 1);
	(void)fault_end();
	assert_int_equal(ran, 1);
}

/* Without memory for the ring of idle ones, or to let it grow, the one before ends. */
static void without_memory_one_is_kept(void **state)
{
	uint32_t color;

	(void)state;
	for (color = 1; color <= 500; color++) {
		assert_int_equal(add(0, color), 0);
		fault_alloc_at(1);
		assert_int_equal(ec_event_del(&evs[0], EC_DEL_BLOCK), 0);
		(void)fault_end();
		assert_int_equal(events_of(color), 0);
	}
	assert_in_range(ec_colors_used(&base->colors), 1, 300);
}

static struct ec_color *struct_of(uint32_t color)
{
	_Atomic(uint32_t) hint = 0;
	struct ec_color *c = ec_color_lock_existing(base, color, &hint);

	assert_non_null(c);
	ec_color_unlock(c);
	return c;
}

static uintptr_t address_of(uint32_t color)
{
	return (uintptr_t)struct_of(color);
}

/* Else each post to one would take the line of another from the worker that runs that. */
static void few_share_no_cache_line(void **state)
{
	uintptr_t one, other;
	uint32_t i, j;

	(void)state;
	for (i = 1; i <= GROUP / 2; i++)
		assert_int_equal(add((int)i, i), 0);
	for (i = 1; i <= GROUP / 2; i++) {
		one = address_of(i);
		assert_int_equal(one % EC_CACHE_LINE, 0);
		for (j = 1; j < i; j++) {
			other = address_of(j);
			assert_true(one > other ? one - other >= 2 * EC_CACHE_LINE : other - one >= 2 * EC_CACHE_LINE);
		}
	}
}

/*
 * Numbers of equal distances, as descriptors, indexes and addresses have. There are at least as many buckets as colors,
 * so of random numbers 1/e find theirs taken, at most.
 */
static void few_meet_in_a_bucket(void **state)
{
	static const uint32_t distances[] = { 1, 2, 3, 5, 8, 16, 48, 64, 96, 192, 224, 256, 288, 4096, 65536 };
	unsigned i, behind;
	uint32_t n;

	for (i = 0; i < sizeof(distances) / sizeof(distances[0]); i++) {
		behind = 0;
		for (n = 0; n < MANY; n++)
			assert_int_equal(add((int)n, 1000 + n * distances[i]), 0);
		for (n = 0; n < MANY; n++)
			behind += ec_load_relaxed(&struct_of(1000 + n * distances[i])->hash_next) != 0;
		assert_in_range(behind, 0, MANY * 2 / 5);
		assert_int_equal(teardown(state), 0);
		assert_int_equal(setup(state), 0);
	}
}

/* Again and again: what comes to life in a row is used in a row, and memory is fast in that order. */
static void neighbors_are_born_side_by_side(void **state)
{
	uint32_t round, n, near;
	uintptr_t one, other;

	(void)state;
	for (round = 0; round < 8; round++) {
		near = 0;
		for (n = 0; n < MANY; n++)
			assert_int_equal(add((int)n, (round * MANY + n) * 2654435761U), 0);
		for (n = 1; n < MANY; n++) {
			one = address_of((round * MANY + n - 1) * 2654435761U);
			other = address_of((round * MANY + n) * 2654435761U);
			near += (one > other ? one - other : other - one) <= 4 * sizeof(struct ec_color);
		}
		assert_in_range(near, MANY * 9 / 10, MANY);
		for (n = 0; n < MANY; n++)
			assert_int_equal(ec_event_del(&evs[n], EC_DEL_BLOCK), 0);
	}
}

static void many_at_once_are_all_found(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < MANY; i++)
		assert_int_equal(add((int)i, 1 + i * 32), 0);		/* all in few buckets, if hashing is poor */
	assert_in_range(ec_colors_used(&base->colors), MANY, MANY + GROUP - 1);
	for (i = 0; i < MANY; i++)
		assert_int_equal(events_of(1 + i * 32), 1);
	for (i = 0; i < MANY; i += 2)
		assert_int_equal(ec_event_del(&evs[i], EC_DEL_BLOCK), 0);
	for (i = 0; i < MANY; i++)
		assert_int_equal(events_of(1 + i * 32), i % 2);
	for (i = 0; i < MANY; i += 2)
		assert_int_equal(add((int)i, 1 + i * 32), 0);
	assert_in_range(ec_colors_used(&base->colors), MANY, MANY + GROUP - 1);
	assert_int_equal(ec_base_num_events(base, EC_COUNT_ADDED), MANY);
}

/* The oldest idle ones end, but none with a hint of the program's. */
static void a_hint_keeps_its_color(void **state)
{
	struct ec_color_stats stats;
	uint32_t color;

	(void)state;
	assert_int_equal(ec_color_set_cost(base, 5, 12345), 0);
	assert_int_equal(ec_color_set_penalty(base, 6, 3), 0);
	for (color = 1000; color < 1000 + 3 * IDLE_MAX; color++) {
		assert_int_equal(add(0, color), 0);
		assert_int_equal(ec_event_del(&evs[0], EC_DEL_BLOCK), 0);
	}
	assert_int_equal(ec_base_color_stats(base, 5, &stats), 0);
	assert_int_equal(stats.cost_ns, 12345);
	assert_int_equal(ec_color_set_cost(base, 5, 0), 0);
	assert_int_equal(ec_color_set_penalty(base, 6, 1), 0);
	assert_int_equal(ec_base_color_stats(base, 4, &stats), -ENOENT);
}

/* 200 colors: slabs, buckets of several shards, timers; each allocation fails once and is asked for again. */
static int add_many(void *arg)
{
	int i, failures = 0, r;

	(void)arg;
	if (setup_with(WORKERS) < 0)
		return -ENOMEM;
	for (i = 0; i < 200; i++) {
		r = add(i, (uint32_t)i + 1);
		if (r == 0)
			continue;
		failures++;
		assert_int_equal(r, -ENOMEM);
		assert_int_equal(ec_event_pending(&evs[i], EC_TIMEOUT, NULL), 0);
		assert_int_equal(events_of((uint32_t)i + 1), 0);
		assert_int_equal(add(i, (uint32_t)i + 1), 0);
	}
	assert_true(failures <= 1);
	for (i = 0; i < 200; i++)
		assert_int_equal(events_of((uint32_t)i + 1), 1);
	ec_base_free(base);
	return 0;
}

static void colors_fail_without_a_trace(void **state)
{
	(void)state;
	assert_true(fault_each_alloc(add_many, NULL, -ENOMEM) > 50);
}

/* ---------------------------------------------------------------- posts */

static void run(void)
{
	assert_true(ec_base_loop(base, EC_LOOP_NONBLOCK) >= 0);
}

/* After a flood some are kept for the next one, not all of them. */
static void a_flood_of_posts_is_given_back(void **state)
{
	enum { FLOOD = 20000, KEPT = 4096 + 128 + 2 * 64 };
	long before = fault_alive();
	int i;

	(void)state;
	for (i = 0; i < FLOOD; i++)
		assert_int_equal(ec_base_post(base, 0, count_post, NULL), 0);
	assert_in_range(fault_alive() - before, FLOOD, FLOOD + 100);
	run();
	assert_int_equal(ran, FLOOD);
	assert_in_range(fault_alive() - before, 1, KEPT + 100);
}

static void post_many(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < 3000; i++)
		assert_int_equal(ec_base_post_priority(base, 0, 1, count_post, NULL), 0);
}

/* A callback that posts more than its worker kept gets them from the pool. */
static void what_was_given_back_serves_who_posts(void **state)
{
	(void)state;
	assert_int_equal(ec_base_priority_init(base, 3), 0);
	assert_int_equal(ec_base_post_priority(base, 0, 1, post_many, NULL), 0);
	run();
	assert_int_equal(ran, 3000);
	assert_int_equal(ec_base_post_priority(base, 0, 1, post_many, NULL), 0);
	fault_alloc_at(0);
	run();
	assert_int_equal(fault_allocs(), 0);
	assert_int_equal(ran, 6000);
}

static void a_priority_that_is_none_is_refused(void **state)
{
	(void)state;
	assert_int_equal(ec_base_post_priority(base, 0, 1, count_post, NULL), -1);
	assert_int_equal(ec_base_post_priority(base, 0, -1, count_post, NULL), -1);
	assert_int_equal(ec_base_post_priority(base, 0, -2, count_post, NULL), -1);
	assert_int_equal(ec_base_post_priority(base, 3, 256, count_post, NULL), -1);
	assert_int_equal(ec_base_post_priority(base, 0, 0, count_post, NULL), 0);
	run();
	assert_int_equal(ran, 1);
}

static void posts_that_never_ran_go_with_the_base(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < 1000; i++)
		assert_int_equal(ec_base_post(base, i % 7, count_post, NULL), 0);
	ec_base_free(base);
	assert_int_equal(fault_alive(), 0);
	assert_int_equal(ran, 0);
	assert_int_equal(setup(NULL), 0);
}

static int posts_ran, events_ran;

static void next_post(void *arg)
{
	assert_int_equal((intptr_t)arg, posts_ran++);
}

static void next_event(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	assert_int_equal((intptr_t)arg, events_ran++);
}

static void queue_both(int events_num, int posts_num)
{
	int i;

	posts_ran = events_ran = 0;
	for (i = 0; i < events_num || i < posts_num; i++) {
		if (i < events_num) {
			assert_int_equal(ec_event_init(&evs[i], base, -1, 0, next_event, (void *)(intptr_t)i), 0);
			assert_int_equal(ec_event_set_color(&evs[i], 5), 0);
			ec_event_active(&evs[i], EC_TIMEOUT, 1);
		}
		if (i < posts_num)
			assert_int_equal(ec_base_post(base, 5, next_post, (void *)(intptr_t)i), 0);
	}
	run();
	assert_int_equal(posts_ran, posts_num);
	assert_int_equal(events_ran, events_num);
}

/* A post's place in the queue is found from the nearer end. */
static void posts_and_events_of_a_color_stay_in_order(void **state)
{
	(void)state;
	queue_both(GROUP, 2 * GROUP);
	queue_both(2 * GROUP, GROUP);
	queue_both(GROUP, GROUP);
	queue_both(0, GROUP);
	queue_both(GROUP, 0);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
#define TEST_ALONE(test) { #test " (one worker)", test, setup_alone, teardown, NULL }

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_color_is_there_while_something_refers_to_it),
		TEST(colors_that_come_and_go_are_few),
		TEST(one_that_came_back_to_life_stays),
		TEST(a_color_that_is_about_to_get_a_task_stays),
		TEST(without_memory_one_is_kept),
		TEST(few_share_no_cache_line),
		TEST(few_meet_in_a_bucket),
		TEST(neighbors_are_born_side_by_side),
		TEST(many_at_once_are_all_found),
		TEST(a_hint_keeps_its_color),
		cmocka_unit_test(colors_fail_without_a_trace),
		TEST(a_flood_of_posts_is_given_back),
		TEST_ALONE(a_flood_of_posts_is_given_back),
		TEST(what_was_given_back_serves_who_posts),
		TEST_ALONE(what_was_given_back_serves_who_posts),
		TEST(a_priority_that_is_none_is_refused),
		TEST(posts_and_events_of_a_color_stay_in_order),
		TEST(posts_that_never_ran_go_with_the_base),
		TEST_ALONE(posts_that_never_ran_go_with_the_base),
	};

	return cmocka_run_group_tests_name("colors", tests, fault_init, fault_fini);
}
