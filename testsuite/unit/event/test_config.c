/* Configurations, and what a base that is made from one is told. */
#include "mock.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <event2/event.h>
#include <event2/smp.h>

static void start(struct event_base *base, unsigned worker, void *arg)
{
	(void)base;
	(void)worker;
	(void)arg;
}

static void make(const struct event_config *cfg)
{
	mock.calls[0] = '\0';
	assert_non_null(event_base_new_with_config(cfg));
	assert_calls("base_new");
}

static void a_base_without_configuration_has_the_engines_defaults(void **state)
{
	(void)state;
	assert_non_null(event_base_new());
	assert_calls("base_new(NULL)");
}

static void a_new_configuration_asks_for_nothing(void **state)
{
	struct event_config *cfg = event_config_new();

	(void)state;
	assert_non_null(cfg);
	make(cfg);
	assert_null(mock.config.avoid);
	assert_int_equal(mock.config.features, 0);
	assert_int_equal(mock.config.flags, 0);
	assert_false(mock.config.has_interval);
	assert_int_equal(mock.config.max_callbacks, INT_MAX);
	assert_int_equal(mock.config.workers_num, 0);
	assert_true(mock.config.start == NULL);
	event_config_free(cfg);
	assert_int_equal(mock.allocs_out, 0);
}

static void all_that_is_set_arrives(void **state)
{
	const struct timeval interval = { 3, 4 };
	struct event_config *cfg = event_config_new();

	(void)state;
	assert_int_equal(event_config_avoid_method(cfg, "epoll"), 0);
	assert_int_equal(event_config_avoid_method(cfg, "poll"), 0);
	assert_int_equal(event_config_require_features(cfg, EV_FEATURE_ET), 0);
	assert_int_equal(event_config_require_features(cfg, EV_FEATURE_FDS), 0);
	assert_int_equal(event_config_set_flag(cfg, EVENT_BASE_FLAG_NOLOCK), 0);
	assert_int_equal(event_config_set_flag(cfg, EVENT_BASE_FLAG_PRECISE_TIMER), 0);
	assert_int_equal(event_config_set_num_cpus_hint(cfg, 8), 0);
	assert_int_equal(event_config_set_max_dispatch_interval(cfg, &interval, 5, 2), 0);
	assert_int_equal(event_config_set_workers(cfg, 6, start, cfg), 0);
	make(cfg);
	assert_string_equal(mock.avoid[0], "epoll");
	assert_string_equal(mock.avoid[1], "poll");
	assert_null(mock.avoid[2]);
	assert_int_equal(mock.config.features, EC_FEATURE_FDS); /* the last word counts, as in libevent */
	assert_int_equal(mock.config.flags, EC_BASE_NOLOCK | EC_BASE_PRECISE_TIMER);
	assert_true(mock.config.has_interval);
	assert_int_equal(mock.config.max_interval.tv_sec, 3);
	assert_int_equal(mock.config.max_interval.tv_usec, 4);
	assert_int_equal(mock.config.max_callbacks, 5);
	assert_int_equal(mock.config.limit_after_pri, 2);
	assert_int_equal(mock.config.workers_num, 6);
	assert_true(mock.config.start != NULL);
	assert_ptr_equal(mock.config.start_arg, cfg);
	event_config_free(cfg);
	assert_int_equal(mock.allocs_out, 0);
}

static void limits_below_zero_are_none(void **state)
{
	struct event_config *cfg = event_config_new();

	(void)state;
	assert_int_equal(event_config_set_max_dispatch_interval(cfg, NULL, -1, -7), 0);
	make(cfg);
	assert_false(mock.config.has_interval);
	assert_int_equal(mock.config.max_callbacks, INT_MAX);
	assert_int_equal(mock.config.limit_after_pri, 0);
	event_config_free(cfg);
}

static void there_are_at_most_1024_workers(void **state)
{
	struct event_config *cfg = event_config_new();

	(void)state;
	assert_int_equal(event_config_set_workers(cfg, 1024, NULL, NULL), 0);
	assert_int_equal(event_config_set_workers(cfg, 1025, NULL, NULL), -1);
	make(cfg);
	assert_int_equal(mock.config.workers_num, 1024);
	event_config_free(cfg);
}

static void no_configuration_is_an_error(void **state)
{
	(void)state;
	assert_int_equal(event_config_require_features(NULL, 0), -1);
	assert_int_equal(event_config_set_flag(NULL, 0), -1);
	assert_int_equal(event_config_set_num_cpus_hint(NULL, 1), -1);
	assert_int_equal(event_config_set_workers(NULL, 1, NULL, NULL), -1);
	event_config_free(NULL);
}

static void no_method_to_avoid_is_an_error(void **state)
{
	struct event_config *cfg = event_config_new();

	(void)state;
	assert_int_equal(event_config_avoid_method(cfg, NULL), -1);
	assert_int_equal(event_config_avoid_method(cfg, "select"), 0);
	make(cfg);
	assert_string_equal(mock.avoid[0], "select");
	assert_null(mock.avoid[1]);
	event_config_free(cfg);
	assert_int_equal(mock.allocs_out, 0);
}

/* The Nth allocation fails, for each N until none does; a method that was not noted is not half there. */
static void every_allocation_may_fail(void **state)
{
	struct event_config *cfg;
	int n, r = -1;

	for (n = 0; r != 0; n++) {
		(void)face_mock_reset(state);
		mock.allocs_left = n;
		cfg = event_config_new();
		if (cfg == NULL)
			continue;
		r = event_config_avoid_method(cfg, "epoll");
		if (r == 0)
			r = event_config_avoid_method(cfg, "poll");
		mock.allocs_left = -1;
		make(cfg);
		assert_true(r == 0 || mock.avoid[1] == NULL);
		event_config_free(cfg);
		assert_int_equal(mock.allocs_out, 0);
		assert_in_range(n, 0, 10);
	}
	assert_int_equal(n, 6);
}

static void a_base_that_cannot_be_made_says_why(void **state)
{
	char said[100];

	(void)state;
	mock.result = -ENOTSUP;
	assert_null(event_base_new());
	assert_string_equal(mock.message, "event_base_new_with_config: no event mechanism available");
	mock.result = -EMFILE;
	assert_null(event_base_new());
	assert_int_equal(errno, EMFILE);
	snprintf(said, sizeof(said), "event_base_new_with_config: %s", strerror(EMFILE));
	assert_string_equal(mock.message, said);
}

static void freeing_no_base_frees_the_current_one(void **state)
{
	int current;

	(void)state;
	mock.current = (struct ec_base *)(void *)&current;
	event_base_free(NULL);
	event_base_free_nofinalize(NULL);
	assert_calls("base_free base_free_nofinalize");
	assert_ptr_equal(mock.base, &current);
}

static void freeing_no_base_where_there_is_none_is_warned_of(void **state)
{
	(void)state;
	event_base_free(NULL);
	assert_string_equal(mock.message, "event_base_free_: no base to free");
	mock.message[0] = '\0';
	event_base_free_nofinalize(NULL);
	assert_string_equal(mock.message, "event_base_free_: no base to free");
	assert_calls("");
}

#define TEST(name) cmocka_unit_test_setup(name, face_mock_reset)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_base_without_configuration_has_the_engines_defaults),
		TEST(a_new_configuration_asks_for_nothing),
		TEST(all_that_is_set_arrives),
		TEST(limits_below_zero_are_none),
		TEST(there_are_at_most_1024_workers),
		TEST(no_configuration_is_an_error),
		TEST(no_method_to_avoid_is_an_error),
		TEST(every_allocation_may_fail),
		TEST(a_base_that_cannot_be_made_says_why),
		TEST(freeing_no_base_frees_the_current_one),
		TEST(freeing_no_base_where_there_is_none_is_warned_of),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
