/*
 * core/loop/loop.c, ec_base_turn: the calls of a signal's event whose callback runs a turn of the loop.
 */
#include "table.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include <event2/thread.h>

#include "core/ec.h"
#include "core/sched/base.h"

enum { CALLS = 3 };		/* of each signal */

enum deed { OUTER_DELETES, NESTED_DELETES, NESTED_DELETES_OUTER, THREAD_DELETES_OUTER, OUTER_ASSIGNS,
	    OUTER_ASSIGNS_NESTED_ADDS, DEEDS };

static const struct {
	const char *name;
	unsigned outer, nested;		/* calls */
} want[DEEDS] = {
	[OUTER_DELETES] = { "the outer callback deletes its event", 1, CALLS },
	[NESTED_DELETES] = { "the nested callback deletes its event", CALLS, 1 },
	[NESTED_DELETES_OUTER] = { "the nested callback deletes the outer event", 1, CALLS },
	[THREAD_DELETES_OUTER] = { "a thread deletes the outer event", 1, CALLS },
	[OUTER_ASSIGNS] = { "the outer callback assigns its event anew", CALLS, CALLS },
	[OUTER_ASSIGNS_NESTED_ADDS] = { "… and the nested one adds it", CALLS, CALLS },
};

static struct {
	struct ec_base *base;
	struct ec_event outer, nested;
	enum deed deed;
	unsigned outer_num, nested_num;
} t;

static void *delete_main(void *arg)
{
	assert_int_equal(ec_event_del(arg, EC_DEL_AUTOBLOCK), 0);
	return NULL;
}

static void delete_elsewhere(struct ec_event *ev)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, delete_main, ev), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void raise_all(int sig)
{
	int i;

	for (i = 0; i < CALLS; i++)
		assert_int_equal(raise(sig), 0);
}

static void outer_cb(int fd, short what, void *arg);

static void nested_cb(int fd, short what, void *arg)
{
	(void)what;
	(void)arg;
	assert_int_equal(fd, SIGUSR2);
	if (t.nested_num++ != 0)
		return;
	if (t.deed == NESTED_DELETES)
		assert_int_equal(ec_event_del(&t.nested, EC_DEL_AUTOBLOCK), 0);
	if (t.deed == NESTED_DELETES_OUTER) {
		assert_int_equal(ec_event_del(&t.outer, EC_DEL_AUTOBLOCK), 0);
		memset(&t.outer, 0xdb, sizeof(t.outer));
	}
	if (t.deed == THREAD_DELETES_OUTER)
		delete_elsewhere(&t.outer);
	if (t.deed == OUTER_ASSIGNS_NESTED_ADDS)
		assert_int_equal(ec_event_add(&t.outer, NULL), 0);
}

static void outer_cb(int fd, short what, void *arg)
{
	bool assigns = t.deed == OUTER_ASSIGNS || t.deed == OUTER_ASSIGNS_NESTED_ADDS;

	(void)what;
	(void)arg;
	assert_int_equal(fd, SIGUSR1);
	if (t.outer_num++ != 0)
		return;
	if (assigns || t.deed == OUTER_DELETES)
		assert_int_equal(ec_event_del(&t.outer, EC_DEL_AUTOBLOCK), 0);
	if (assigns)
		assert_int_equal(ec_event_init(&t.outer, t.base, SIGUSR1, EC_SIGNAL | EC_PERSIST, outer_cb, NULL), 0);
	raise_all(SIGUSR2);
	while (t.nested_num < want[t.deed].nested)
		assert_int_equal(ec_base_turn(t.base), 0);
	if (t.deed == OUTER_ASSIGNS)
		assert_int_equal(ec_event_add(&t.outer, NULL), 0);
}

static void run(enum deed deed, unsigned workers, bool is_colored)
{
	struct ec_config cfg = { .max_callbacks = INT_MAX, .flags = EC_BASE_IGNORE_ENV, .workers_num = workers };

	memset(&t, 0, sizeof(t));
	t.deed = deed;
	assert_int_equal(ec_base_new(&cfg, &t.base), 0);
	if (is_colored)
		assert_int_equal(ec_color_set_cost(t.base, 7, 1), 0);
	if (deed == THREAD_DELETES_OUTER && !ec_base_is_locked(t.base)) {
		ec_base_free(t.base);
		return;
	}
	assert_int_equal(ec_event_init(&t.outer, t.base, SIGUSR1, EC_SIGNAL | EC_PERSIST, outer_cb, NULL), 0);
	assert_int_equal(ec_event_init(&t.nested, t.base, SIGUSR2, EC_SIGNAL | EC_PERSIST, nested_cb, NULL), 0);
	assert_int_equal(ec_event_add(&t.outer, NULL), 0);
	assert_int_equal(ec_event_add(&t.nested, NULL), 0);
	raise_all(SIGUSR1);
	assert_true(ec_base_loop(t.base, EC_LOOP_NONBLOCK) >= 0);
	assert_true(ec_base_loop(t.base, EC_LOOP_NONBLOCK) >= 0);
	if (t.outer_num != want[deed].outer || t.nested_num != want[deed].nested)
		fail_msg("%s; %u workers%s: %u calls, %u of the nested event", want[deed].name, workers,
			 is_colored ? ", colors" : "", t.outer_num, t.nested_num);
	if (deed != NESTED_DELETES_OUTER)
		assert_int_equal(ec_event_del(&t.outer, EC_DEL_AUTOBLOCK), 0);
	assert_int_equal(ec_event_del(&t.nested, EC_DEL_AUTOBLOCK), 0);
	ec_base_free(t.base);
}

static void without_colors(void **state)
{
	enum deed deed;

	(void)state;
	for (deed = 0; deed < DEEDS; deed++)
		run(deed, 2, false);
}

static void with_one_worker(void **state)
{
	enum deed deed;

	(void)state;
	for (deed = 0; deed < DEEDS; deed++)
		run(deed, 1, true);
}

static void with_several_workers(void **state)
{
	enum deed deed;

	(void)state;
	for (deed = 0; deed < DEEDS; deed++)
		run(deed, 3, true);
}

/* evthread is on for the rest of the process. */
static void with_locks_and_without_colors(void **state)
{
	assert_int_equal(evthread_use_pthreads(), 0);
	without_colors(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_colors),
		cmocka_unit_test(with_one_worker),
		cmocka_unit_test(with_several_workers),
		cmocka_unit_test(with_locks_and_without_colors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
