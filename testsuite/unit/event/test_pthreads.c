/*
 * compat/libevent/event/pthreads.c, as programs get it from evthread_get_lock_callbacks(). The library's own locks are
 * the engine's instead (test_program.c).
 */
#include "child.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>

#include <event2/thread.h>

#include "core/ec.h"

static bool is_attr_failing;

static void *lock_new(unsigned locktype)
{
	return ec_thread_lock_callbacks()->alloc(locktype);
}

static void lock_free(void *lock, unsigned locktype)
{
	ec_thread_lock_callbacks()->free(lock, locktype);
}

static int lock_take(void *lock, unsigned mode)
{
	return ec_thread_lock_callbacks()->lock(mode, lock);
}

static int lock_leave(void *lock)
{
	return ec_thread_lock_callbacks()->unlock(0, lock);
}

/* In place of the C library's, for this program. */
int pthread_mutexattr_init(pthread_mutexattr_t *attr)
{
	int (*real)(pthread_mutexattr_t *) =
		(int (*)(pthread_mutexattr_t *))dlsym(RTLD_NEXT, "pthread_mutexattr_init");

	return is_attr_failing ? ENOMEM : real(attr);
}

int pthread_condattr_init(pthread_condattr_t *attr)
{
	int (*real)(pthread_condattr_t *) =
		(int (*)(pthread_condattr_t *))dlsym(RTLD_NEXT, "pthread_condattr_init");

	return is_attr_failing ? ENOMEM : real(attr);
}

static int setup(void **state)
{
	(void)state;
	assert_int_equal(evthread_use_pthreads(), 0);
	assert_int_equal(evthread_use_pthreads(), 0);
	return 0;
}

static void *try_lock(void *lock)
{
	int r = lock_take(lock, EVTHREAD_TRY);

	if (r == 0)
		lock_leave(lock);
	return r == 0 ? NULL : lock;
}

static bool is_free_for_others(void *lock)
{
	pthread_t thread;
	void *busy;

	assert_int_equal(pthread_create(&thread, NULL, try_lock, lock), 0);
	assert_int_equal(pthread_join(thread, &busy), 0);
	return busy == NULL;
}

static void a_plain_lock_excludes(void **state)
{
	void *lock = lock_new(0);

	(void)state;
	assert_non_null(lock);
	assert_int_equal(lock_take(lock, 0), 0);
	assert_int_not_equal(lock_take(lock, EVTHREAD_TRY), 0);
	assert_false(is_free_for_others(lock));
	assert_int_equal(lock_leave(lock), 0);
	assert_true(is_free_for_others(lock));
	lock_free(lock, 0);
}

static void a_recursive_lock_excludes_others_only(void **state)
{
	void *lock = lock_new(EVTHREAD_LOCKTYPE_RECURSIVE);

	(void)state;
	assert_non_null(lock);
	assert_int_equal(lock_take(lock, 0), 0);
	assert_int_equal(lock_take(lock, EVTHREAD_TRY), 0);
	assert_int_equal(lock_leave(lock), 0);
	assert_false(is_free_for_others(lock));
	assert_int_equal(lock_leave(lock), 0);
	assert_true(is_free_for_others(lock));
	lock_free(lock, EVTHREAD_LOCKTYPE_RECURSIVE);
}

static void *ask_id(void *ret)
{
	*(unsigned long *)ret = ec_thread_id();
	return NULL;
}

static void threads_have_ids(void **state)
{
	unsigned long other = 0;
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, ask_id, &other), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(ec_thread_id() == ec_thread_id());
	assert_true(ec_thread_id() != other);
}

struct gate {
	void *lock, *cond;
	bool is_waiting, is_open;
	int result;
};

static void *wait_at_gate(void *arg)
{
	struct gate *gate = arg;

	lock_take(gate->lock, 0);
	gate->is_waiting = true;
	ec_thread_cond_signal(gate->cond, 1);
	while (!gate->is_open && gate->result == 0)
		gate->result = ec_thread_cond_wait(gate->cond, gate->lock, NULL);
	lock_leave(gate->lock);
	return NULL;
}

static void a_signal_ends_a_wait(void **state)
{
	struct gate gate = { .lock = lock_new(0), .cond = ec_thread_cond_new() };
	const struct timeval long_tv = { 600, 999999 };
	pthread_t thread;

	(void)state;
	assert_non_null(gate.lock);
	assert_non_null(gate.cond);
	assert_int_equal(pthread_create(&thread, NULL, wait_at_gate, &gate), 0);
	lock_take(gate.lock, 0);
	while (!gate.is_waiting)
		assert_int_equal(ec_thread_cond_wait(gate.cond, gate.lock, &long_tv), 0);
	gate.is_open = true;
	assert_int_equal(ec_thread_cond_signal(gate.cond, 0), 0);
	lock_leave(gate.lock);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(gate.result, 0);
	ec_thread_cond_free(gate.cond);
	lock_free(gate.lock, 0);
}

static void a_wait_ends_after_its_time(void **state)
{
	static const struct timeval rows[] = { { 0, 0 }, { 0, 1 }, { -1, 0 } };
	void *lock = lock_new(0), *cond = ec_thread_cond_new();
	size_t i;

	(void)state;
	lock_take(lock, 0);
	for (i = 0; i < 3; i++)
		assert_int_equal(ec_thread_cond_wait(cond, lock, &rows[i]), 1);
	lock_leave(lock);
	ec_thread_cond_free(cond);
	lock_free(lock, 0);
}

static void *no_memory(size_t size)
{
	(void)size;
	return NULL;
}

static void without_memory_there_is_none(void **state)
{
	(void)state;
	ec_mem_set_fns(no_memory, NULL, NULL);
	assert_null(lock_new(0));
	assert_null(lock_new(EVTHREAD_LOCKTYPE_RECURSIVE));
	assert_null(ec_thread_cond_new());
	ec_mem_set_fns(NULL, NULL, NULL);
}

static size_t live_num;

static void *counting_malloc(size_t size)
{
	live_num++;
	return malloc(size);
}

static void counting_free(void *p)
{
	live_num--;
	free(p);
}

static void what_fails_leaves_nothing(void **state)
{
	(void)state;
	ec_mem_set_fns(counting_malloc, NULL, counting_free);
	is_attr_failing = true;
	assert_null(lock_new(EVTHREAD_LOCKTYPE_RECURSIVE));
	assert_null(ec_thread_cond_new());
	is_attr_failing = false;
	assert_int_equal(live_num, 0);
	ec_mem_set_fns(NULL, NULL, NULL);
}

static void taken_back(void)
{
	check(evthread_use_pthreads() == 0);
	check(ec_thread_is_on());
	check(evthread_set_lock_callbacks(NULL) == 0);
	check(evthread_set_condition_callbacks(NULL) == 0);
	check(!ec_thread_is_on());
	check(ec_thread_cond_new() == NULL);
	check(evthread_use_pthreads() == 0);
	check(ec_thread_is_on());
}

static void they_can_be_taken_back_with_a_warning(void **state)
{
	struct child child;

	(void)state;
	child_passes(&child, taken_back);
	assert_non_null(strstr(child.text, "[warn] Trying to disable lock functions"));
	assert_non_null(strstr(child.text, "[warn] Trying to disable condition functions"));
}

static void debugged(void)
{
	void *lock, *cond;
	const struct timeval tv = { 0, 1 };

	evthread_enable_lock_debugging();
	check(evthread_use_pthreads() == 0);
	lock = ec_thread_lock_new(EVTHREAD_LOCKTYPE_RECURSIVE);
	cond = ec_thread_cond_new();
	ec_thread_lock(lock, 0);
	check(ec_thread_cond_wait(cond, lock, &tv) == 1);
	ec_thread_unlock(lock, 0);
	ec_thread_cond_free(cond);
	ec_thread_lock_free(lock, EVTHREAD_LOCKTYPE_RECURSIVE);
}

static void lock_debugging_goes_around_them(void **state)
{
	struct child child;

	(void)state;
	child_passes(&child, debugged);
	assert_string_equal(child.text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(they_can_be_taken_back_with_a_warning),
		cmocka_unit_test(lock_debugging_goes_around_them),
		cmocka_unit_test_setup(a_plain_lock_excludes, setup),
		cmocka_unit_test_setup(a_recursive_lock_excludes_others_only, setup),
		cmocka_unit_test_setup(threads_have_ids, setup),
		cmocka_unit_test_setup(a_signal_ends_a_wait, setup),
		cmocka_unit_test_setup(a_wait_ends_after_its_time, setup),
		cmocka_unit_test_setup(without_memory_there_is_none, setup),
		cmocka_unit_test_setup(what_fails_leaves_nothing, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
