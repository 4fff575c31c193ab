/*
 * core/os/clock.c: what is told from ticks, beside the clock itself. A thread that stands still in the
 * middle of a look at the clock is made: clock_gettime is the test's, and may take long to return.
 */
#include "table.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/os/clock.h"

static const int64_t ms_ns = 1000000;

static int64_t slow_ns;			/* how long the next look takes to return */

int clock_gettime(clockid_t id, struct timespec *ret)
{
	int r = (int)syscall(SYS_clock_gettime, id, ret);
	struct timespec now = *ret;

	while (r == 0 && slow_ns > 0 &&
	       (now.tv_sec - ret->tv_sec) * 1000 * ms_ns + now.tv_nsec - ret->tv_nsec < slow_ns)
		r = (int)syscall(SYS_clock_gettime, id, &now);
	slow_ns = 0;
	return r;
}

static void spin(int64_t ns)
{
	const int64_t begin = ec_monotonic_ns();

	while (ec_monotonic_ns() - begin < ns)
		;
}

/* Not ahead of the clock, however long the test itself is held up; nor behind it by a millisecond. */
static void assert_near(void)
{
	int64_t before = ec_monotonic_ns(), near = ec_monotonic_near_ns(), after = ec_monotonic_ns();

	if (near < before - ms_ns || near > after)
		fail_msg("%lld is not from %lld - 1 ms to %lld", (long long)near, (long long)before, (long long)after);
}

static void it_is_near(void **state)
{
	int i, j;

	(void)state;
	for (i = 0; i < 20; i++) {
		for (j = 0; j < 1000; j++)
			assert_near();
		spin(i * ms_ns / 8);
	}
}

/* The tick that is measured from or to such a look is too short or too long. */
static void a_look_that_took_long_misleads_nobody(void **state)
{
	int i, j;

	(void)state;
	for (i = 0; i < 20; i++) {
		spin(ms_ns / 4);	/* long enough for another look at the clock */
		slow_ns = i % 3 * 2 * ms_ns;
		(void)ec_monotonic_near_ns();
		slow_ns = 0;
		spin((i % 2 == 0 ? 1 : 12) * ms_ns / 10);
		for (j = 0; j < 200; j++)
			assert_near();
	}
}

static void it_does_not_go_back(void **state)
{
	int64_t last = 0, near;
	int i;

	(void)state;
	for (i = 0; i < 100000; i++) {
		if (i % 10000 == 5000)
			slow_ns = 3 * ms_ns;
		near = ec_monotonic_near_ns();
		assert_true(near >= last);
		last = near;
	}
}

/* First of all: ticks are measured once in a process, from such a look. */
static void the_measurement_is_not_misled(void **state)
{
	int64_t ns, ticks_ns;
	uint64_t ticks;

	(void)state;
	slow_ns = 30 * ms_ns;
	(void)ec_clock_ticks();
	slow_ns = 0;
	ticks = ec_clock_ticks();
	ns = ec_monotonic_ns();
	spin(20 * ms_ns);
	ns = ec_monotonic_ns() - ns;
	ticks_ns = (int64_t)ec_clock_ticks_to_ns(ec_clock_ticks() - ticks);
	assert_true(ticks_ns > ns / 4 && ticks_ns < ns * 4);
}

static int64_t fixed(void)
{
	return 42;
}

static void a_test_owns_it(void **state)
{
	(void)state;
	(void)ec_monotonic_near_ns();
	ec_clock_set_source(fixed);
	assert_int_equal(ec_monotonic_ns(), 42);
	assert_int_equal(ec_monotonic_near_ns(), 42);
	assert_int_equal(ec_clock_ticks(), 42);
	assert_int_equal(ec_clock_ticks_to_ns(1000), 1000);
	assert_int_equal(ec_clock_ns_to_ticks(1000), 1000);
	ec_clock_set_source(NULL);
	assert_near();
}

static void what_lies_far_ahead_is_due(void **state)
{
	const uint64_t hour = UINT64_C(3600) << 32;

	(void)state;
	assert_true(ec_ticks_before(10, 11));
	assert_true(ec_ticks_before(10, UINT64_C(1) << 32));
	assert_false(ec_ticks_before(10, 10));
	assert_false(ec_ticks_before(11, 10));
	assert_false(ec_ticks_before(hour, 0));
	assert_false(ec_ticks_before(0, hour));		/* the counter has gone back */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_measurement_is_not_misled),
		cmocka_unit_test(it_is_near),
		cmocka_unit_test(a_look_that_took_long_misleads_nobody),
		cmocka_unit_test(it_does_not_go_back),
		cmocka_unit_test(a_test_owns_it),
		cmocka_unit_test(what_lies_far_ahead_is_due),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
