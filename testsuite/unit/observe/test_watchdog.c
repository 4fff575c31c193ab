/*
 * core/observe/watchdog.c: it works, ends, and may be impossible.
 */
#include "table.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "core/lock/sync.h"
#include "core/observe/watchdog.h"
#include "fault.h"

static _Atomic(uint32_t) works;
static sigset_t mask_there;

static void work(void)
{
	if (ec_load_relaxed(&works) == 0)
		assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &mask_there), 0);
	ec_add_acq_rel(&works, 1);
	ec_futex_wake(&works, 1);
}

static void the_watchdog_works_and_ends(void **state)
{
	uint32_t num;

	(void)state;
	assert_int_equal(ec_watchdog_start(work, 1), 0);
	assert_true(ec_watchdog_is_on());
	while ((num = ec_load_acquire(&works)) < 3)
		(void)ec_futex_wait(&works, num, NULL);
	ec_watchdog_stop();
	assert_false(ec_watchdog_is_on());
	assert_int_equal(sigismember(&mask_there, SIGTERM), 1);
	assert_int_equal(sigismember(&mask_there, SIGRTMIN), 1);
	num = ec_load_acquire(&works);
	ec_watchdog_stop();
	assert_int_equal(ec_load_acquire(&works), num);
}

static void a_thread_that_cannot_be_made(void **state)
{
	(void)state;
	fault_call_at(FAULT_pthread_create, 1, EAGAIN);
	assert_int_equal(ec_watchdog_start(work, 1), -EAGAIN);
	assert_false(ec_watchdog_is_on());
	assert_true(fault_end());
	ec_watchdog_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_watchdog_works_and_ends),
		cmocka_unit_test(a_thread_that_cannot_be_made),
	};

	return cmocka_run_group_tests(tests, fault_init, fault_fini);
}
