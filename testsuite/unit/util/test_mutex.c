/*
 * compat/libevent/util/mutex.h: one thread at a time, and whoever waits is woken.
 */
#include "table.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

#include "util/mutex.h"

enum { THREADS = 4, TURNS = 20000 };

struct shared {
	struct le_mutex mu;
	unsigned long count;
	bool is_inside;
};

static void *count_up(void *arg)
{
	struct shared *s = arg;
	int i;

	for (i = 0; i < TURNS; i++) {
		le_mutex_lock(&s->mu);
		assert_false(s->is_inside);
		s->is_inside = true;
		s->count++;
		if (i % 64 == 0)
			(void)sched_yield(); /* so that others come to sleep */
		s->is_inside = false;
		le_mutex_unlock(&s->mu);
	}
	return NULL;
}

static void one_thread_at_a_time(void **state)
{
	struct shared s = { .count = 0 };
	pthread_t threads[THREADS];
	int i;

	(void)state;
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, count_up, &s), 0);
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(s.count, (unsigned long)THREADS * TURNS);
	assert_int_equal(s.mu.word, LE_MUTEX_UNLOCKED);
}

static void *lock_once(void *arg)
{
	struct shared *s = arg;

	le_mutex_lock(&s->mu);
	s->count++;
	le_mutex_unlock(&s->mu);
	return NULL;
}

/* Both come while it is locked; each wakes the next one. */
static void every_waiting_thread_is_woken(void **state)
{
	struct shared s = { .count = 0 };
	pthread_t threads[2];
	int i;

	(void)state;
	le_mutex_lock(&s.mu);
	assert_int_equal(s.mu.word, LE_MUTEX_LOCKED);
	for (i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, lock_once, &s), 0);
	while (__atomic_load_n(&s.mu.word, __ATOMIC_RELAXED) != LE_MUTEX_CONTENDED)
		(void)sched_yield();
	assert_int_equal(s.count, 0);
	le_mutex_unlock(&s.mu);
	for (i = 0; i < 2; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(s.count, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_thread_at_a_time),
		cmocka_unit_test(every_waiting_thread_is_woken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
