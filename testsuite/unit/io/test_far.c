/*
 * core/io/far.c: many timers with deadlines near and far, against a plain array. Time is the test's.
 */
#include "table.h"

#include <errno.h>
#include <limits.h>

#include "core/ec.h"
#include "core/io/common.h"
#include "core/io/far.h"
#include "core/os/clock.h"
#include "core/sched/base.h"
#include "core/sched/event.h"
#include "fault.h"

enum { EVENTS = 600, STEPS = 4000, HEAP_MAX = 64 };

static const int64_t second_ns = 1000000000, retry_ns = 10000000;

/* What the model knows of one event. Of equal deadlines the one armed first is first. */
struct model {
	struct ec_event ev;
	int64_t deadline_ns;
	uint64_t order;			/* 0: not armed */
};

static struct model models[EVENTS];
static struct ec_base *base;
static uint64_t orders;
static int64_t now_ns;
static int ran[EVENTS], ran_num;
static uint32_t seed;

static int64_t clock_now(void)
{
	return now_ns;
}

static void note(int fd, short what, void *arg)
{
	(void)fd;
	assert_int_equal(what, EC_TIMEOUT);
	assert_true(ran_num < EVENTS);
	ran[ran_num++] = (int)((struct model *)arg - models);
}

static int setup_with(unsigned workers)
{
	struct ec_config cfg = { .max_callbacks = INT_MAX, .flags = EC_BASE_IGNORE_ENV, .workers_num = workers };
	int i;

	now_ns = 1000 * second_ns;
	ec_clock_set_source(clock_now);
	ran_num = 0;
	orders = 0;
	seed = 1;
	if (ec_base_new(&cfg, &base) < 0)
		return -1;
	memset(models, 0, sizeof(models));
	for (i = 0; i < EVENTS; i++)
		(void)ec_event_init(&models[i].ev, base, -1, 0, note, &models[i]);
	return 0;
}

static int setup(void **state)
{
	(void)state;
	return setup_with(1);
}

static int setup_workers(void **state)
{
	(void)state;
	return setup_with(2);
}

static int teardown(void **state)
{
	(void)state;
	(void)fault_end();
	ec_base_free(base);
	ec_clock_set_source(NULL);
	return fault_alive() == 0 ? 0 : -1;
}

static uint32_t below(uint32_t end)
{
	seed = seed * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)(seed >> 8) * end >> 24);
}

/* From a millisecond to months, few of them equal to others. */
static struct timeval some_time(void)
{
	const uint32_t scale = below(8);
	uint32_t i;
	int64_t ms = 1 + below(100);

	for (i = 0; i < scale; i++)
		ms *= 10;
	return (struct timeval){ (time_t)(ms / 1000), (suseconds_t)(ms % 1000 * 1000) };
}

static int arm(struct model *m, struct timeval tv)
{
	int r = ec_event_add(&m->ev, &tv);

	if (r < 0)
		return r;
	m->deadline_ns = now_ns + tv.tv_sec * second_ns + tv.tv_usec * 1000;
	m->order = ++orders;
	return 0;
}

static void disarm(struct model *m)
{
	assert_int_equal(ec_event_del(&m->ev, EC_DEL_BLOCK), 0);
	m->order = 0;
}

static struct model *model_first(void)
{
	struct model *first = NULL, *m;

	for (m = models; m < models + EVENTS; m++) {
		if (m->order == 0)
			continue;
		if (first == NULL || m->deadline_ns < first->deadline_ns ||
		    (m->deadline_ns == first->deadline_ns && m->order < first->order))
			first = m;
	}
	return first;
}

static void run_once(void)
{
	ran_num = 0;
	assert_true(ec_base_loop(base, EC_LOOP_NONBLOCK) >= 0);
	assert_true(ec_timers_are_sound(&base->zero.timers));
}

/* What is due by the model runs, in that order, and nothing else. */
static void turn(int64_t passed_ns)
{
	struct model *m;
	int i = 0;

	now_ns += passed_ns;
	run_once();
	while ((m = model_first()) != NULL && m->deadline_ns <= now_ns) {
		assert_true(i < ran_num);
		assert_ptr_equal(&models[ran[i++]], m);
		m->order = 0;
	}
	assert_int_equal(i, ran_num);
}

static bool is_in_bucket(struct model *m)
{
	return (ec_load_relaxed(ec_event_state(&m->ev)) & EC_EV_FAR) != 0;
}

static int in_buckets(void)
{
	int i, num = 0;

	for (i = 0; i < EVENTS; i++)
		num += is_in_bucket(&models[i]);
	return num;
}

static int count(struct ec_base *of, struct ec_event *ev, void *arg)
{
	(void)of;
	(void)ev;
	++*(int *)arg;
	return 0;
}

static int visited(void)
{
	int num = 0;

	assert_int_equal(ec_base_foreach_event(base, count, &num), 0);
	return num;
}

/* ---------------------------------------------------------------- order */

static void random_calls_agree_with_the_model(void **state)
{
	bool was_far = false;
	struct model *m;
	int i;

	(void)state;
	for (i = 0; i < STEPS; i++) {
		m = &models[below(EVENTS)];
		if (below(4) != 0)
			assert_int_equal(arm(m, some_time()), 0);
		else if (m->order != 0)
			disarm(m);
		if (below(8) == 0)
			turn((int64_t)below(2000) * 1000000);
		was_far |= in_buckets() > EVENTS / 8;
	}
	assert_true(was_far);
	while ((m = model_first()) != NULL)
		turn(m->deadline_ns - now_ns);
	assert_int_equal(in_buckets(), 0);
}

/* Armed at different distances, so in different buckets, and one in the heap. */
static void equal_deadlines_run_in_the_order_of_arming(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 100; i++)
		assert_int_equal(arm(&models[i], (struct timeval){ 100000 + i, 0 }), 0);
	for (i = 0; i < 200; i++) {
		assert_int_equal(arm(&models[200 + (i * 7) % 200], (struct timeval){ 5000 - i * 25, 0 }), 0);
		turn(25 * second_ns);
	}
	assert_int_equal(ran_num, 200);
}

static void a_postponed_event_goes_to_another_bucket(void **state)
{
	int i, j;

	(void)state;
	for (i = 0; i < EVENTS; i++)
		assert_int_equal(arm(&models[i], (struct timeval){ 60, 0 }), 0);
	for (j = 0; j < 20; j++) {
		turn(10 * second_ns);
		for (i = 0; i < EVENTS; i++)
			assert_int_equal(arm(&models[i], (struct timeval){ 60, 0 }), 0);
	}
	assert_int_equal(ran_num, 0);
	turn(60 * second_ns);
	assert_int_equal(ran_num, EVENTS);
}

/* ---------------------------------------------------------------- memory */

static void the_heap_stays_small(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < EVENTS; i++)
		assert_int_equal(arm(&models[i], (struct timeval){ 1000 + i, 0 }), 0);
	assert_int_equal(in_buckets(), EVENTS - HEAP_MAX);
	assert_true(base->zero.timers.heap_num < 2 * HEAP_MAX);
	assert_int_equal(base->zero.timers.far->num, EVENTS - HEAP_MAX);
	assert_int_equal(visited(), EVENTS);
	turn(1300 * second_ns);
	assert_int_equal(ran_num, 301);
	assert_int_equal(visited(), EVENTS - 301);
}

static void near_events_make_the_heap_larger(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < EVENTS; i++)
		assert_int_equal(arm(&models[i], (struct timeval){ 0, 1000 * (1 + i) }), 0);
	assert_int_equal(in_buckets(), 0);
	turn(second_ns);
	assert_int_equal(ran_num, EVENTS);
}

static int add_all(void *arg)
{
	int i, r = 0;

	(void)arg;
	for (i = 0; i < EVENTS && r == 0; i++)
		r = arm(&models[i], (struct timeval){ 1000 + i, 0 });
	assert_true(ec_timers_are_sound(&base->zero.timers));
	while (i-- > 0) {
		if (models[i].order != 0)
			disarm(&models[i]);
	}
	assert_int_equal(visited(), 0);
	ec_far_fini(&base->zero.timers);
	ec_timers_fini(&base->zero.timers);
	ec_far_init(&base->zero.timers);
	return r;
}

static void an_event_that_finds_no_memory_is_not_added(void **state)
{
	(void)state;
	assert_true(fault_each_alloc(add_all, NULL, -ENOMEM) > 4);
}

static int due_num(void)
{
	struct model *m;
	int num = 0;

	for (m = models; m < models + EVENTS; m++) {
		if (m->order == 0 || m->deadline_ns > now_ns)
			continue;
		m->order = 0;
		num++;
	}
	return num;
}

/* Of a bucket that opens without memory, what is due runs, and the others wait for the next try. */
static void a_bucket_opens_without_memory(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < HEAP_MAX; i++)
		assert_int_equal(arm(&models[i], (struct timeval){ 1000000, 0 }), 0);
	for (; i < EVENTS; i++)
		assert_int_equal(arm(&models[i], (struct timeval){ 100000 + i % 300, 0 }), 0);
	fault_alloc_always();
	now_ns += 100064 * second_ns;
	run_once();
	assert_int_equal(ran_num, due_num());
	assert_true(in_buckets() > 0);
	fault_end();
	now_ns += second_ns + retry_ns;
	run_once();
	assert_int_equal(ran_num, due_num());
	now_ns += 400 * second_ns;
	run_once();
	assert_int_equal(visited(), HEAP_MAX);
}

/* ---------------------------------------------------------------- workers */

static void the_buckets_of_each_worker_end_with_the_base(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < EVENTS; i++) {
		assert_int_equal(ec_event_set_color(&models[i].ev, (uint32_t)i % 4 + 1), 0);
		assert_int_equal(arm(&models[i], (struct timeval){ 1000 + i, 0 }), 0);
	}
	assert_int_equal(visited(), EVENTS);
	assert_true(in_buckets() >= EVENTS - 2 * HEAP_MAX);
	for (i = 0; i < EVENTS; i += 2)
		disarm(&models[i]);
	assert_int_equal(visited(), EVENTS / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(random_calls_agree_with_the_model, setup, teardown),
		cmocka_unit_test_setup_teardown(equal_deadlines_run_in_the_order_of_arming, setup, teardown),
		cmocka_unit_test_setup_teardown(a_postponed_event_goes_to_another_bucket, setup, teardown),
		cmocka_unit_test_setup_teardown(the_heap_stays_small, setup, teardown),
		cmocka_unit_test_setup_teardown(near_events_make_the_heap_larger, setup, teardown),
		cmocka_unit_test_setup_teardown(an_event_that_finds_no_memory_is_not_added, setup, teardown),
		cmocka_unit_test_setup_teardown(a_bucket_opens_without_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(the_buckets_of_each_worker_end_with_the_base, setup_workers, teardown),
	};

	if (!EC_HAS_COMMON)
		return 77; /* no room in an event for the links */
	return cmocka_run_group_tests(tests, fault_init, fault_fini);
}
