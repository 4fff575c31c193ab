/*
 * core/loop/fork.c: what a forked child finds, where the parent's other threads were in the midst of something. The
 * rest of its contract is in stress/test_contract_10_fork.c.
 */
#include "child.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sys/syscall.h>

#include "core/sched/base.h"
#include "core/ec.h"
#include "core/lock/bias.h"
#include "qemu.h"
#include "table.h"
#include "../../sanitizers.h"

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

	for (role = 0; role < EC_ROLES; role++) {
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

/* ---------------------------------------------------------------- a child that fork did not make */

static pthread_barrier_t held, done;

static void *holder_main(void *arg)
{
	struct ec_spin *s = arg;

	ec_spin_lock(s);
	(void)pthread_barrier_wait(&held);
	(void)pthread_barrier_wait(&done);
	ec_spin_unlock(s);
	return NULL;
}

/* A thread that is not in the child was changing the base. */
static void torn_child(void)
{
	struct ec_base *fresh;

	alarm(20);
	check(ec_base_reinit(base) == -ENOTRECOVERABLE);
	check(ec_base_reinit(base) == -ENOTRECOVERABLE);
	ec_base_free(base);
	check(ec_base_new(NULL, &fresh) == 0);
	ran = 1;
	use(fresh);
	child_end(0);
}

static void whole_child(void)
{
	alarm(20);
	ran = 1;
	use(base);
	child_end(0);
}

static void clone_while_held(struct ec_spin *s, void (*in_child)(void))
{
	pthread_t holder;
	int status;
	pid_t pid;

	if (s != NULL) {
		assert_int_equal(pthread_create(&holder, NULL, holder_main, s), 0);
		(void)pthread_barrier_wait(&held);
	}
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (pid == 0)
		in_child();
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	if (s != NULL) {
		(void)pthread_barrier_wait(&done);
		assert_int_equal(pthread_join(holder, NULL), 0);
	}
}

static void a_clone_says_where_another_thread_was_changing_the_base(void **state)
{
	struct ec_config cfg = { .max_callbacks = INT_MAX, .workers_num = 2, .flags = EC_BASE_IGNORE_ENV };

	(void)state;
	if (IS_SANITIZED)	/* their runtimes know of children of fork only */
		skip();
	if (is_qemu())		/* MADV_WIPEONFORK does nothing (QEMU 7.2) */
		skip();
	assert_int_equal(pthread_barrier_init(&held, NULL, 2), 0);
	assert_int_equal(pthread_barrier_init(&done, NULL, 2), 0);
	assert_int_equal(ec_base_new(&cfg, &base), 0);
	assert_int_equal(ec_base_post(base, 7, count, NULL), 0);
	assert_true(ec_base_loop(base, EC_LOOP_NONBLOCK) >= 0);
	clone_while_held(NULL, whole_child);
	clone_while_held(&base->zero.run, torn_child);
	clone_while_held(&base->workers[1]->src, torn_child);
	clone_while_held(&base->mu, torn_child);
	clone_while_held(&base->pool_mu, whole_child);		/* spare memory alone */
	clone_while_held(NULL, whole_child);
	ec_base_free(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_was_on_the_way_into_a_lock_is_not_in_the_child),
		cmocka_unit_test(a_clone_says_where_another_thread_was_changing_the_base),
	};

	/* Handlers that prepare run in the reverse order: before the engine's are there. */
	if (pthread_atfork(prepare, in_parent, NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
