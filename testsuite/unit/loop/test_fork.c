/*
 * core/loop/fork.c: what a forked child finds, where the parent's other threads were in the midst of something. The
 * rest of its contract is in stress/test_contract_10_fork.c.
 */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "core/sched/base.h"
#include "core/ec.h"
#include "core/io/poller.h"
#include "core/lock/bias.h"
#include "core/sched/holds.h"
#include "emulated.h"
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
	if (!has_wipe_on_fork())
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

/* ---------------------------------------------------------------- a call that holds the base */

static void freeing_child(void)
{
	alarm(20);
	ec_base_free(base);
	child_end(0);
}

/* By fork or not: in the child nobody is there to end the call of the parent's thread. */
static void who_holds_a_base_is_not_in_the_child(void **state)
{
	struct ec_config cfg = { .max_callbacks = INT_MAX, .workers_num = 1, .flags = EC_BASE_IGNORE_ENV };
	struct child child;
	unsigned is_locked;

	(void)state;
	for (is_locked = 0; is_locked < 2; is_locked++) {
		assert_int_equal(ec_base_new(&cfg, &base), 0);
		if (is_locked) {
			assert_int_equal(ec_base_post(base, 7, count, NULL), 0);
			assert_true(ec_base_loop(base, EC_LOOP_NONBLOCK) >= 0);
		}
		assert_int_equal(ec_base_is_locked(base), is_locked);
		ec_base_hold(base);
		child_passes(&child, freeing_child);
		clone_while_held(NULL, freeing_child);
		ec_base_release(base);
		ec_base_free(base);
	}
}

/* ---------------------------------------------------------------- a child without descriptors */

enum { WORKERS = 3 };

static struct ec_event readable;
static int pipe_fd[2];

static void take_byte(int fd, short what, void *arg)
{
	char byte;

	(void)what;
	(void)arg;
	if (read(fd, &byte, 1) == 1)
		ran++;
}

/* Up to `max` descriptors; those that are open stay. */
static rlim_t limit_descriptors(rlim_t max)
{
	struct rlimit l;
	rlim_t before;

	check(getrlimit(RLIMIT_NOFILE, &l) == 0);
	before = l.rlim_cur;
	l.rlim_cur = max;
	check(setrlimit(RLIMIT_NOFILE, &l) == 0);
	return before;
}

static unsigned descriptors(void)
{
	unsigned num = 0;
	int fd;

	for (fd = 0; fd < 1024; fd++)
		num += fcntl(fd, F_GETFD) >= 0;
	return num;
}

static unsigned threads(void)
{
	unsigned i, num = 0;

	for (i = 1; i < ec_workers_num(base); i++)
		num += ec_load_relaxed(&base->workers[i]->has_thread);
	return num;
}

/* No worker gets new descriptors, then worker 0 a poller, then worker 0 both: each try makes all anew. */
static void reinit_without_descriptors(void)
{
	int first = base->zero.poller->kernel_fd;
	rlim_t before = limit_descriptors(0);

	check(ec_base_reinit(base) == -EMFILE);
	check(ec_base_reinit(base) == -EMFILE);
	check(base->zero.poller->kernel_fd == first);
	close(0);
	limit_descriptors(1);
	check(ec_base_reinit(base) == -EMFILE);
	check(base->zero.poller->kernel_fd == 0);
	limit_descriptors((rlim_t)first + 1);
	check(ec_base_reinit(base) == -EMFILE);
	check(base->zero.poller->kernel_fd == first);
	check(threads() == 0);
	limit_descriptors(before);
}

/* The child's events are its own: what it deletes and watches changes nothing in the parent. */
static void starved_child(void)
{
	unsigned num = descriptors();

	alarm(20);
	ran = 0;
	reinit_without_descriptors();
	check(ec_base_reinit(base) == 0);
	check(ec_base_reinit(base) == 0);
	check(descriptors() == num - 1);	/* without standard input */
	check(write(pipe_fd[1], "x", 1) == 1);
	check(ec_base_loop(base, EC_LOOP_ONCE) >= 0);
	check(ran == 1);
	check(threads() == WORKERS - 1);
	check(ec_event_del(&readable, EC_DEL_BLOCK) == 0);
	ec_base_free(base);
	child_end(0);
}

/* A base that a child frees after a failure is made anew first. */
static void starved_child_that_ends(void)
{
	rlim_t before = limit_descriptors(0);

	alarm(20);
	check(ec_base_reinit(base) == -EMFILE);
	limit_descriptors(before);
	check(ec_base_loop(base, EC_LOOP_NONBLOCK) >= 0);
	check(threads() == 0);
	check(ec_event_del(&readable, EC_DEL_BLOCK) == 0);
	ec_base_free(base);
	child_end(0);
}

static void starve(void (*in_child)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		in_child();
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* The loop continues, and has threads once the base is made anew. */
static void starved_child_in_callback(void)
{
	alarm(20);
	reinit_without_descriptors();
	check(ec_base_reinit(base) == 0);
	check(threads() == WORKERS - 1);
	child_end(0);
}

static void fork_here(void *arg)
{
	(void)arg;
	starve(starved_child_in_callback);
}

static void a_child_without_descriptors_may_try_again(void **state)
{
	struct ec_config cfg = { .max_callbacks = INT_MAX, .workers_num = WORKERS, .flags = EC_BASE_IGNORE_ENV };

	(void)state;
	if (HAS_TSAN)		/* it starts no thread in the child */
		skip();
	assert_int_equal(pipe(pipe_fd), 0);
	assert_int_equal(ec_base_new(&cfg, &base), 0);
	assert_int_equal(ec_event_init(&readable, base, pipe_fd[0], EC_READ | EC_PERSIST, take_byte, NULL), 0);
	assert_int_equal(ec_event_set_color(&readable, 7), 0);
	assert_int_equal(ec_event_add(&readable, NULL), 0);
	starve(starved_child);			/* no thread has started yet */
	assert_true(ec_base_loop(base, EC_LOOP_NONBLOCK) >= 0);
	starve(starved_child);
	assert_int_equal(ec_base_post(base, 0, fork_here, NULL), 0);
	assert_true(ec_base_loop(base, EC_LOOP_NONBLOCK) >= 0);
	ran = 0;
	assert_int_equal(write(pipe_fd[1], "x", 1), 1);
	assert_true(ec_base_loop(base, EC_LOOP_ONCE) >= 0);
	assert_int_equal(ran, 1);
	starve(starved_child_that_ends);
	assert_int_equal(ec_event_del(&readable, EC_DEL_BLOCK), 0);
	ec_base_free(base);
	close(pipe_fd[0]);
	close(pipe_fd[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_was_on_the_way_into_a_lock_is_not_in_the_child),
		cmocka_unit_test(who_holds_a_base_is_not_in_the_child),
		cmocka_unit_test(a_child_without_descriptors_may_try_again),
		cmocka_unit_test(a_clone_says_where_another_thread_was_changing_the_base),
	};

	/* Handlers that prepare run in the reverse order: before the engine's are there. */
	if (pthread_atfork(prepare, in_parent, NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
