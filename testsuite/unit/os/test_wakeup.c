/*
 * core/os/wakeup.c, core/os/clock.c: two things that all threads share.
 */
#include "table.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "core/os/clock.h"
#include "core/os/wakeup.h"
#include "fault.h"

static bool is_readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static void sends_are_seen_once(void **state)
{
	struct ec_wakeup w;

	(void)state;
	assert_int_equal(ec_wakeup_open(&w), 0);
	assert_false(is_readable(ec_wakeup_fd(&w)));
	ec_wakeup_send(&w);
	ec_wakeup_send(&w);
	assert_true(is_readable(ec_wakeup_fd(&w)));
	ec_wakeup_drain(&w);
	assert_false(is_readable(ec_wakeup_fd(&w)));
	ec_wakeup_drain(&w);			/* never blocks */
	ec_wakeup_send_fd(ec_wakeup_fd(&w));
	assert_true(is_readable(ec_wakeup_fd(&w)));
	ec_wakeup_close(&w);
	assert_int_equal(ec_wakeup_fd(&w), -1);
}

static void a_full_one_is_readable_all_the_same(void **state)
{
	const uint64_t nearly_full = UINT64_MAX - 1;
	struct ec_wakeup w;

	(void)state;
	assert_int_equal(ec_wakeup_open(&w), 0);
	assert_int_equal(write(ec_wakeup_fd(&w), &nearly_full, sizeof(nearly_full)), sizeof(nearly_full));
	ec_wakeup_send(&w);			/* EAGAIN: returns */
	assert_true(is_readable(ec_wakeup_fd(&w)));
	ec_wakeup_drain(&w);
	assert_false(is_readable(ec_wakeup_fd(&w)));
	ec_wakeup_close(&w);
}

static void interrupted_calls_are_made_again(void **state)
{
	struct ec_wakeup w;

	(void)state;
	assert_int_equal(ec_wakeup_open(&w), 0);
	fault_call_at(FAULT_write, 1, EINTR);
	ec_wakeup_send(&w);
	assert_int_equal(fault_calls(FAULT_write), 2);
	assert_true(is_readable(ec_wakeup_fd(&w)));
	fault_call_at(FAULT_read, 1, EINTR);
	ec_wakeup_drain(&w);
	assert_int_equal(fault_calls(FAULT_read), 2);
	assert_true(fault_end());
	assert_false(is_readable(ec_wakeup_fd(&w)));
	ec_wakeup_close(&w);
}

static void without_eventfd_there_is_none(void **state)
{
	struct ec_wakeup w = { .fd = -7 };

	(void)state;
	fault_call_at(FAULT_eventfd, 1, EMFILE);
	assert_int_equal(ec_wakeup_open(&w), -EMFILE);
	assert_int_equal(w.fd, -7);
	assert_true(fault_end());
}

/* ---------------------------------------------------------------- clocks */

static int64_t now_ns;

static int64_t clock_now(void)
{
	return now_ns;
}

static void a_test_owns_all_clocks(void **state)
{
	(void)state;
	now_ns = 12345;
	ec_clock_set_source(clock_now);
	assert_true(ec_monotonic_ns() == 12345);
	assert_true(ec_clock_ticks() == 12345);
	assert_true(ec_clock_ticks_to_ns(77) == 77);
	assert_true(ec_clock_ns_to_ticks(77) == 77);
	ec_clock_set_source(NULL);
	assert_true(ec_monotonic_ns() > 12345);
}

static void the_clocks_never_go_back(void **state)
{
	int64_t ns = ec_monotonic_ns(), next_ns;
	uint64_t ticks = ec_clock_ticks(), next_ticks;
	int i;

	(void)state;
	for (i = 0; i < 10000; i++) {
		next_ns = ec_monotonic_ns();
		next_ticks = ec_clock_ticks();
		assert_true(next_ns >= ns && next_ticks >= ticks);
		ns = next_ns;
		ticks = next_ticks;
	}
}

/* There and back, up to a day, loses less than a thousandth and two ticks of a nanosecond or more. */
static void ticks_and_nanoseconds_are_the_same_time(void **state)
{
	const uint64_t rows[] = { 0, 1, 1000, 999999937, UINT64_C(86400000000000) };
	uint64_t back;
	size_t i;

	(void)state;
	(void)ec_clock_ticks();
	for (i = 0; i < ROWS(rows); i++) {
		back = ec_clock_ticks_to_ns(ec_clock_ns_to_ticks(rows[i]));
		assert_in_range(back, rows[i] - rows[i] / 1000 - (rows[i] != 0), rows[i] + rows[i] / 1000 + 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sends_are_seen_once),
		cmocka_unit_test(a_full_one_is_readable_all_the_same),
		cmocka_unit_test(interrupted_calls_are_made_again),
		cmocka_unit_test(without_eventfd_there_is_none),
		cmocka_unit_test(a_test_owns_all_clocks),
		cmocka_unit_test(the_clocks_never_go_back),
		cmocka_unit_test(ticks_and_nanoseconds_are_the_same_time),
	};

	return cmocka_run_group_tests_name("wake-ups and clocks", tests, fault_init, fault_fini);
}
