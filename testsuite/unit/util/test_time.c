/*
 * compat/libevent/util/time.c under clocks that the test sets, backwards too.
 */
#include "table.h"

#include <errno.h>
#include <time.h>

#include <event2/util.h>

#include "core/ec.h"

static struct timespec clocks[16];
static clockid_t broken_clock = -1;

/* In place of the C library's, for this program. */
int clock_gettime(clockid_t id, struct timespec *ts)
{
	if (id == broken_clock) {
		errno = EINVAL;
		return -1;
	}
	*ts = clocks[id];
	return 0;
}

static void set_clock(clockid_t id, time_t s, long us)
{
	clocks[id] = (struct timespec){ .tv_sec = s, .tv_nsec = us * 1000 };
}

static int setup(void **state)
{
	struct evutil_monotonic_timer *timer = evutil_monotonic_timer_new();

	assert_non_null(timer);
	*state = timer;
	broken_clock = -1;
	set_clock(CLOCK_MONOTONIC, 100, 1);
	set_clock(CLOCK_MONOTONIC_COARSE, 200, 2);
	set_clock(CLOCK_REALTIME, 300, 3);
	return 0;
}

static int teardown(void **state)
{
	evutil_monotonic_timer_free(*state);
	return 0;
}

static void assert_reads(struct evutil_monotonic_timer *timer, time_t s, long us)
{
	struct timeval tv = { -1, -1 };

	assert_int_equal(evutil_gettime_monotonic(timer, &tv), 0);
	assert_int_equal(tv.tv_sec, s);
	assert_int_equal(tv.tv_usec, us);
}

static void flags_choose_the_clock(void **state)
{
	struct evutil_monotonic_timer *timer = *state;

	assert_reads(timer, 100, 1);
	assert_int_equal(evutil_configure_monotonic_time(timer, 0), 0);
	assert_reads(timer, 200, 2);
	assert_int_equal(evutil_configure_monotonic_time(timer, EV_MONOT_PRECISE), 0);
	assert_reads(timer, 100, 1);
	assert_int_equal(evutil_configure_monotonic_time(timer, EV_MONOT_FALLBACK), 0);
	assert_reads(timer, 300, 3);
	assert_int_equal(
		evutil_configure_monotonic_time(timer, EV_MONOT_FALLBACK | EV_MONOT_PRECISE), 0);
	assert_reads(timer, 300, 3);
}

static void without_a_coarse_clock_the_precise_one(void **state)
{
	struct evutil_monotonic_timer *timer = *state;

	broken_clock = CLOCK_MONOTONIC_COARSE;
	assert_int_equal(evutil_configure_monotonic_time(timer, 0), 0);
	assert_reads(timer, 100, 1);
}

static void a_clock_set_back_goes_on_from_where_it_was(void **state)
{
	struct evutil_monotonic_timer *timer = *state;

	assert_int_equal(evutil_configure_monotonic_time(timer, EV_MONOT_FALLBACK), 0);
	assert_reads(timer, 300, 3);
	set_clock(CLOCK_REALTIME, 50, 0);
	assert_reads(timer, 300, 3);
	set_clock(CLOCK_REALTIME, 51, 999999);
	assert_reads(timer, 302, 2);
	set_clock(CLOCK_REALTIME, 10, 0);
	assert_reads(timer, 302, 2);
	set_clock(CLOCK_REALTIME, 11, 0);
	assert_reads(timer, 303, 2);
}

static void a_clock_set_ahead_is_followed(void **state)
{
	struct evutil_monotonic_timer *timer = *state;

	assert_int_equal(evutil_configure_monotonic_time(timer, EV_MONOT_FALLBACK), 0);
	assert_reads(timer, 300, 3);
	set_clock(CLOCK_REALTIME, 5000, 0);
	assert_reads(timer, 5000, 0);
}

static void configuring_forgets_the_past(void **state)
{
	struct evutil_monotonic_timer *timer = *state;

	assert_int_equal(evutil_configure_monotonic_time(timer, EV_MONOT_FALLBACK), 0);
	assert_reads(timer, 300, 3);
	set_clock(CLOCK_REALTIME, 50, 0);
	assert_reads(timer, 300, 3);
	assert_int_equal(evutil_configure_monotonic_time(timer, EV_MONOT_FALLBACK), 0);
	assert_reads(timer, 50, 0);
}

static void a_broken_clock_changes_nothing(void **state)
{
	struct evutil_monotonic_timer *timer = *state;
	struct timeval tv = { 7, 7 };

	assert_int_equal(evutil_configure_monotonic_time(timer, EV_MONOT_PRECISE), 0);
	broken_clock = CLOCK_MONOTONIC;
	assert_int_equal(evutil_gettime_monotonic(timer, &tv), -1);
	assert_int_equal(tv.tv_sec, 7);
	broken_clock = -1;
	assert_reads(timer, 100, 1);
}

static void *no_memory(size_t size)
{
	(void)size;
	return NULL;
}

static void without_memory_there_is_no_timer(void **state)
{
	(void)state;
	ec_mem_set_fns(no_memory, NULL, NULL);
	assert_null(evutil_monotonic_timer_new());
	ec_mem_set_fns(NULL, NULL, NULL);
	evutil_monotonic_timer_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(flags_choose_the_clock, setup, teardown),
		cmocka_unit_test_setup_teardown(without_a_coarse_clock_the_precise_one, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_clock_set_back_goes_on_from_where_it_was, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_clock_set_ahead_is_followed, setup, teardown),
		cmocka_unit_test_setup_teardown(configuring_forgets_the_past, setup, teardown),
		cmocka_unit_test_setup_teardown(a_broken_clock_changes_nothing, setup, teardown),
		cmocka_unit_test(without_memory_there_is_no_timer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
