/*
 * core/io/signals.c: which base gets a signal, how often, and what the program gets back after.
 */
#include "table.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>

#include "core/sched/base.h"
#include "core/ec.h"
#include "fault.h"

static struct ec_base *base, *other;
static struct ec_event ev, second;
static int ran, warnings;
static int programs_ran;

static void count(int fd, short what, void *arg)
{
	(void)fd;
	(void)arg;
	assert_int_equal(what, EC_SIGNAL);
	ran++;
}

static void programs_handler(int sig)
{
	(void)sig;
	programs_ran++;
}

static void note_warning(int severity, const char *text)
{
	(void)text;
	warnings += severity == EC_LOG_WARN;
}

static int setup(void **state)
{
	struct ec_config cfg = { .max_callbacks = INT_MAX, .flags = EC_BASE_IGNORE_ENV };

	(void)state;
	ran = programs_ran = warnings = 0;
	if (signal(SIGUSR1, programs_handler) == SIG_ERR || signal(SIGUSR2, programs_handler) == SIG_ERR)
		return -1;
	ec_log_set_fn(note_warning);
	return ec_base_new(&cfg, &base) < 0 || ec_base_new(&cfg, &other) < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	(void)state;
	(void)fault_end();
	if (base != NULL)
		ec_base_free(base);
	if (other != NULL)
		ec_base_free(other);
	base = other = NULL;
	ec_log_set_fn(NULL);
	return fault_alive() == 0 ? 0 : -1;
}

static int add(struct ec_event *e, struct ec_base *b, int sig)
{
	(void)ec_event_init(e, b, sig, EC_SIGNAL | EC_PERSIST, count, NULL);
	return ec_event_add(e, NULL);
}

static int turn(struct ec_base *b)
{
	return ec_base_loop(b, EC_LOOP_NONBLOCK);
}

static void each_one_is_called_for(void **state)
{
	(void)state;
	assert_int_equal(add(&ev, base, SIGUSR1), 0);
	assert_int_equal(turn(base), 0);
	assert_int_equal(ran, 0);
	raise(SIGUSR1);
	raise(SIGUSR1);
	raise(SIGUSR1);
	assert_int_equal(turn(base), 0);
	assert_int_equal(ran, 3);
	assert_int_equal(programs_ran, 0);
	assert_int_equal(turn(base), 0);
	assert_int_equal(ran, 3);
}

static void two_events_hear_one_signal(void **state)
{
	(void)state;
	assert_int_equal(add(&ev, base, SIGUSR1), 0);
	assert_int_equal(add(&second, base, SIGUSR1), 0);
	raise(SIGUSR1);
	assert_int_equal(turn(base), 0);
	assert_int_equal(ran, 2);
	assert_int_equal(ec_event_del(&ev, EC_DEL_BLOCK), 0);
	raise(SIGUSR1);
	assert_int_equal(turn(base), 0);
	assert_int_equal(ran, 3);
}

static void the_programs_handler_comes_back(void **state)
{
	(void)state;
	assert_int_equal(add(&ev, base, SIGUSR1), 0);
	assert_int_equal(add(&second, base, SIGUSR2), 0);
	assert_int_equal(ec_event_del(&ev, EC_DEL_BLOCK), 0);
	raise(SIGUSR1);
	assert_int_equal(programs_ran, 1);
	raise(SIGUSR2);
	assert_int_equal(programs_ran, 1);
	ec_base_free(base);		/* with an event still added */
	base = NULL;
	raise(SIGUSR2);
	assert_int_equal(programs_ran, 2);
	assert_int_equal(ran, 0);
}

static void the_last_base_gets_them(void **state)
{
	(void)state;
	assert_int_equal(add(&ev, base, SIGUSR1), 0);
	assert_int_equal(warnings, 0);
	assert_int_equal(add(&second, other, SIGUSR2), 0);
	assert_int_equal(warnings, 1);
	raise(SIGUSR2);
	assert_int_equal(turn(other), 0);
	assert_int_equal(ran, 1);
	/* A loop that has events for signals takes them over. */
	raise(SIGUSR1);
	assert_int_equal(turn(base), 0);
	assert_int_equal(ran, 2);
}

static void numbers_that_are_no_signals_are_refused(void **state)
{
	const int rows[] = { -1, 0, EC_SIGNALS, 1000, INT_MAX };
	size_t i;

	(void)state;
	for (i = 0; i < ROWS(rows); i++) {
		assert_int_equal(add(&ev, base, rows[i]), -EINVAL);
		assert_int_equal(ec_event_pending(&ev, EC_SIGNAL, NULL), 0);
		ec_base_active_by_signal(base, rows[i]);
	}
	assert_int_equal(add(&ev, base, SIGKILL), -EINVAL);	/* the system's word */
	assert_int_equal(warnings, 1);
	assert_int_equal(turn(base), 1);
}

static void a_refused_one_is_not_added(void **state)
{
	(void)state;
	fault_call_at(FAULT_sigaction, 1, EINVAL);
	assert_int_equal(add(&ev, base, SIGUSR1), -EINVAL);
	assert_true(fault_end());
	assert_int_equal(ec_base_num_events(base, EC_COUNT_ADDED), 0);
	raise(SIGUSR1);
	assert_int_equal(programs_ran, 1);
	assert_int_equal(add(&ev, base, SIGUSR1), 0);
	raise(SIGUSR1);
	assert_int_equal(turn(base), 0);
	assert_int_equal(ran, 1);
}

static int add_one(void *arg)
{
	int r;

	(void)arg;
	if (setup(NULL) < 0) {
		(void)teardown(NULL);
		return -ENOMEM;
	}
	r = add(&ev, base, SIGUSR1);
	assert_int_equal(ec_event_pending(&ev, EC_SIGNAL, NULL), r < 0 ? 0 : EC_SIGNAL);
	ec_base_free(base);
	ec_base_free(other);
	base = other = NULL;
	return r;
}

static void adding_may_fail(void **state)
{
	(void)state;
	(void)fault_each_alloc(add_one, NULL, -ENOMEM);
	assert_int_equal(fault_each_call(FAULT_sigaction, EPERM, add_one, NULL), 2);	/* the second gives it back */
}

/* In the handler: the write that wakes the loop is interrupted, and the callee's errno is the program's. */
static void the_handler_leaves_no_trace(void **state)
{
	(void)state;
	assert_int_equal(add(&ev, base, SIGUSR1), 0);
	fault_call_at(FAULT_write, 1, EINTR);
	errno = 77;
	raise(SIGUSR1);
	assert_int_equal(errno, 77);
	assert_true(fault_end());
	assert_int_equal(fault_calls(FAULT_write), 2);
	fault_call_at(FAULT_write, 1, EAGAIN);
	errno = 78;
	raise(SIGUSR1);
	assert_int_equal(errno, 78);
	assert_true(fault_end());
	assert_int_equal(turn(base), 0);
	assert_int_equal(ran, 2);
}

static void what_came_before_a_fork_is_the_parents(void **state)
{
	(void)state;
	assert_int_equal(add(&ev, base, SIGUSR1), 0);
	raise(SIGUSR1);
	assert_int_equal(ec_base_reinit(base), 0);
	assert_int_equal(turn(base), 0);
	assert_int_equal(ran, 0);
	raise(SIGUSR1);
	assert_int_equal(turn(base), 0);
	assert_int_equal(ran, 1);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_one_is_called_for),
		TEST(two_events_hear_one_signal),
		TEST(the_programs_handler_comes_back),
		TEST(the_last_base_gets_them),
		TEST(numbers_that_are_no_signals_are_refused),
		TEST(a_refused_one_is_not_added),
		cmocka_unit_test(adding_may_fail),
		TEST(the_handler_leaves_no_trace),
		TEST(what_came_before_a_fork_is_the_parents),
	};

	return cmocka_run_group_tests_name("signals", tests, fault_init, fault_fini);
}
