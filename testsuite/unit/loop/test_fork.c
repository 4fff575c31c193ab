/*
 * core/loop/fork.c: what a forked child finds, where the parent's other threads were in the midst of something. The
 * rest of its contract is in stress/test_contract_10_fork.c.
 */
#include "child.h"

#include <limits.h>
#include <pthread.h>

#include "core/sched/base.h"
#include "core/ec.h"
#include "core/lock/lean.h"
#include "table.h"

static struct ec_base *base;
static bool is_late;
static int ran;

static void count(void *arg)
{
	(void)arg;
	ran++;
}

static void entered(bool v)
{
	unsigned role;

	for (role = EC_OWNER; role <= EC_MAKER; role++) {
		ec_store_relaxed(&base->zero.src.is_entered[role], v);
		ec_store_relaxed(&base->zero.run.is_entered[role], v);
	}
}

/* After the engine's own handler, which holds all locks then: threads come for them, and see that they must wait. */
static void prepare(void)
{
	if (is_late)
		entered(true);
}

static void in_parent(void)
{
	if (is_late)
		entered(false);
}

static void use(struct ec_base *b)
{
	check(ec_base_reinit(b) == 0);
	check(ec_base_post(b, 8, count, NULL) == 0);
	check(ec_base_loop(b, EC_LOOP_NONBLOCK) >= 0);
	check(ran == 2);
	ec_base_free(b);
}

static void who_was_on_the_way_into_a_lock_is_not_in_the_child(void **state)
{
	struct ec_config cfg = { .max_callbacks = INT_MAX, .workers_num = 1, .flags = EC_BASE_IGNORE_ENV };
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(ec_base_new(&cfg, &base), 0);
	assert_int_equal(ec_base_post(base, 7, count, NULL), 0);
	assert_true(ec_base_loop(base, EC_LOOP_NONBLOCK) >= 0);
	assert_int_equal(ran, 1);
	is_late = true;
	pid = fork();
	if (pid == 0) {
		alarm(20);
		use(base);
		child_end(0);
	}
	is_late = false;
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	ec_base_free(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_was_on_the_way_into_a_lock_is_not_in_the_child),
	};

	/* Handlers that prepare run in the reverse order: before the engine's are there. */
	if (pthread_atfork(prepare, in_parent, NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
