/*
 * core/lock/bias.c and core/loop/threads.c: a thread that waits for the owner of a biased lock, or for the start lock,
 * does not only spin. It yields and sleeps, so that the other thread gets to run, even if the waiter has a real-time
 * priority and both have one CPU. Here the other thread goes on only after that.
 */
#include "table.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include "core/ec.h"
#include "core/lock/bias.h"
#include "core/loop/threads.h"

static sem_t has_slept;
static _Atomic(bool) has_yielded;

/* These stand before the C library's. */
int sched_yield(void)
{
	ec_store_release(&has_yielded, true);
	return 0;
}

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
	(void)wanted;
	(void)left;
	(void)sem_post(&has_slept);
	return 0;
}

static int setup(void **state)
{
	(void)state;
	alarm(60);
	ec_store_release(&has_yielded, false);
	return sem_init(&has_slept, 0, 0);
}

static int teardown(void **state)
{
	(void)state;
	alarm(0);
	return sem_destroy(&has_slept);
}

static void wait_until_it_sleeps(void)
{
	while (sem_wait(&has_slept) < 0)
		;
	assert_true(ec_load_acquire(&has_yielded));
}

/* ---------------------------------------------------------------- a biased lock, whose owner is inside */

static struct ec_bias bias;
static struct ec_spin src, run;

static void *visitor_main(void *arg)
{
	ec_bias_lock(&bias, &run);
	ec_bias_unlock(&bias, &run);
	return arg;
}

static void a_visitor_sleeps(void **state)
{
	static const _Atomic(uint32_t) veto;
	bool is_both = *state != NULL, is_inside;
	pthread_t visitor;

	ec_spin_init(&src, EC_RANK_SOURCE);
	ec_spin_init(&run, EC_RANK_RUNQ);
	ec_bias_init(&bias, &veto, &veto);
	ec_bias_allow(&bias);
	ec_bias_claim(&bias, &src, &run, EC_CLAIM_LOOP);
	is_inside = is_both ? ec_bias_enter_both(&bias, &src, &run, EC_FIRST_LOOP) :
			      ec_bias_enter(&bias, &run, EC_FIRST_LOOP);
	if (!is_inside)
		skip();			/* the system has no membarrier */
	assert_int_equal(pthread_create(&visitor, NULL, visitor_main, NULL), 0);
	wait_until_it_sleeps();
	if (is_both)
		ec_bias_leave_both(&bias, &src, &run, EC_FIRST_LOOP);
	else
		ec_bias_leave(&run, EC_FIRST_LOOP);
	assert_int_equal(pthread_join(visitor, NULL), 0);
}

/* ---------------------------------------------------------------- the start lock */

static void *starter_main(void *arg)
{
	ec_start_lock(arg);
	ec_start_unlock(arg);
	return NULL;
}

static void who_waits_for_a_start_sleeps(void **state)
{
	struct ec_config cfg = { .max_callbacks = INT_MAX, .flags = EC_BASE_IGNORE_ENV };
	struct ec_base *base;
	pthread_t starter;

	(void)state;
	assert_int_equal(ec_base_new(&cfg, &base), 0);
	ec_start_lock(base);
	assert_int_equal(pthread_create(&starter, NULL, starter_main, base), 0);
	wait_until_it_sleeps();
	ec_start_unlock(base);
	assert_int_equal(pthread_join(starter, NULL), 0);
	ec_base_free(base);
}

#define TEST(test, both) \
	{ \
		.name = #test " " #both, .test_func = test, .setup_func = setup, .teardown_func = teardown, \
		.initial_state = (void *)(uintptr_t)(both) \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_visitor_sleeps, 0),
		TEST(a_visitor_sleeps, 1),
		TEST(who_waits_for_a_start_sleeps, 0),
	};

	return cmocka_run_group_tests_name("waits", tests, NULL, NULL);
}
