/*
 * 11. Workers: their number from the configuration, EVENT_WORKERS or the CPUs this process may
 * use; their threads start with the first colored work, run `start` first, and block all
 * signals.
 */
#include "stress.h"
#include "../threads.h"

#include <sched.h>

static void test_contract_11_workers_number_is_configured(void **state)
{
	static const unsigned nums[] = { 1, 2, 3, 64, 1024 };
	struct event_config *cfg;

	(void)state;
	for (size_t i = 0; i < sizeof(nums) / sizeof(nums[0]); i++) {
		struct event_base *base = base_new(nums[i]);

		assert_int_equal(event_base_get_workers(base), nums[i]);
		event_base_free(base);
	}
	cfg = event_config_new();
	assert_int_equal(event_config_set_workers(cfg, 1025, NULL, NULL), -1);
	assert_int_equal(event_config_set_workers(cfg, UINT32_MAX, NULL, NULL), -1);
	event_config_free(cfg);
}

static void test_contract_11_workers_environment_overrides(void **state)
{
	struct event_base *base;

	(void)state;
	setenv("EVENT_WORKERS", "3", 1);
	base = base_new(7);
	assert_int_equal(event_base_get_workers(base), 3);
	event_base_free(base);
	base = event_base_new();
	assert_int_equal(event_base_get_workers(base), 3);
	event_base_free(base);
	setenv("EVENT_WORKERS", "1", 1);
	base = base_new(0);
	assert_int_equal(event_base_get_workers(base), 1);
	event_base_free(base);
	/* What is no number is as if it were not there. */
	setenv("EVENT_WORKERS", "many", 1);
	base = base_new(5);
	assert_int_equal(event_base_get_workers(base), 5);
	event_base_free(base);
	unsetenv("EVENT_WORKERS");
}

static void test_contract_11_workers_default_is_the_cpus_allowed(void **state)
{
	cpu_set_t before, one;
	struct event_base *base;
	size_t cpu = 0;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	base = base_new(0);
	assert_in_range(event_base_get_workers(base), 1, (unsigned)CPU_COUNT(&before));
	event_base_free(base);
	while (!CPU_ISSET(cpu, &before))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	base = base_new(0);
	assert_int_equal(event_base_get_workers(base), 1);
	event_base_free(base);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

/* ---------------------------------------------------------------- the start callback */

#define WORKERS_NUM 5

struct starts {
	struct event_base *base;
	pthread_t loop;
	atomic_uint started[WORKERS_NUM];
	atomic_uint num;
	struct latch all_in;
};

static _Thread_local struct starts *of_this_thread;
static _Thread_local unsigned id_of_this_thread;

static void start_cb(struct event_base *base, unsigned worker, void *arg)
{
	struct starts *s = arg;

	(void)base;
	CHECK(worker > 0 && worker < WORKERS_NUM);
	CHECK(!pthread_equal(pthread_self(), s->loop));
	CHECK(of_this_thread == NULL);
	of_this_thread = s;
	id_of_this_thread = worker;
	CHECK(atomic_fetch_add(&s->started[worker], 1) == 0);
	atomic_fetch_add(&s->num, 1);
}

/* So many at once that each worker has one: none of them leaves before all are in. */
static void all_in_fn(void *arg)
{
	struct starts *s = arg;
	int worker = event_base_get_running_worker(s->base);

	if (worker == 0) {
		CHECK(pthread_equal(pthread_self(), s->loop));
		CHECK(of_this_thread == NULL);
	} else {
		CHECK(of_this_thread == s);
		CHECK(id_of_this_thread == (unsigned)worker);
	}
	latch_meet(&s->all_in);
}

static void test_contract_11_workers_start_callback_is_first(void **state)
{
	struct starts s = { .loop = pthread_self() };

	(void)state;
	s.base = base_new_start(WORKERS_NUM, start_cb, &s);
	assert_int_equal(atomic_load(&s.num), 0);
	for (unsigned round = 0; round < 5; round++) {
		latch_init(&s.all_in, WORKERS_NUM);
		for (uint32_t i = 0; i < WORKERS_NUM; i++)
			post(s.base, i + 1, all_in_fn, &s);
		assert_int_equal(event_base_dispatch(s.base), 1);
		latch_fini(&s.all_in);
	}
	/* Once for each thread, not for the loop's own, however often the loop ran. */
	assert_int_equal(atomic_load(&s.num), WORKERS_NUM - 1);
	event_base_free(s.base);
}

/* ---------------------------------------------------------------- threads */

static void count_fn(void *arg)
{
	atomic_fetch_add((atomic_uint *)arg, 1);
}

static void test_contract_11_workers_threads_come_with_colors_and_go_with_the_base(void **state)
{
	unsigned before = threads_num();
	struct event_base *base = base_new(4);
	struct event *plain = event_new(base, -1, 0, nothing_cb, NULL);
	atomic_uint ran;

	(void)state;
	atomic_init(&ran, 0);
	event_active(plain, EV_READ, 1);
	assert_int_equal(event_base_dispatch(base), 1);
	assert_int_equal(threads_num(), before);
	/* A color that is set is not yet colored work. */
	assert_int_equal(event_set_color(plain, 9), 0);
	assert_int_equal(threads_num(), before);
	for (uint32_t i = 0; i < 100; i++)
		post(base, i + 1, count_fn, &ran);
	assert_int_equal(event_base_dispatch(base), 1);
	assert_int_equal(atomic_load(&ran), 100);
	assert_in_range(threads_num(), before, before + 3);
	event_free(plain);
	event_base_free(base);
	assert_int_equal(threads_num(), before);
}

/* One worker is no parallelism at all, whatever the colors. */
static void same_thread_fn(void *arg)
{
	CHECK(pthread_equal(pthread_self(), *(pthread_t *)arg));
}

static void test_contract_11_workers_one_has_no_thread(void **state)
{
	unsigned before = threads_num();
	struct event_base *base = base_new(1);
	pthread_t self = pthread_self();

	(void)state;
	for (uint32_t i = 0; i < 1000; i++)
		post(base, i, same_thread_fn, &self);
	assert_int_equal(event_base_dispatch(base), 1);
	assert_int_equal(threads_num(), before);
	event_base_free(base);
}

/* Signals are the loop's thread's; a worker's thread never runs a handler of the program. */
struct masks {
	struct event_base *base;
	struct latch all_in;
};

static void mask_fn(void *arg)
{
	struct masks *m = arg;
	sigset_t mask;

	latch_meet(&m->all_in);
	if (event_base_get_running_worker(m->base) == 0)
		return;
	CHECK(pthread_sigmask(SIG_SETMASK, NULL, &mask) == 0);
	for (int sig = 1; sig < 32; sig++)
		if (sig != SIGKILL && sig != SIGSTOP)
			CHECK(sigismember(&mask, sig) == 1);
}

static void test_contract_11_workers_block_signals(void **state)
{
	struct masks m = { .base = base_new(3) };
	sigset_t before, after;

	(void)state;
	assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &before), 0);
	latch_init(&m.all_in, 3);
	for (uint32_t i = 0; i < 3; i++)
		post(m.base, i + 1, mask_fn, &m);
	assert_int_equal(event_base_dispatch(m.base), 1);
	assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &after), 0);
	for (int sig = 1; sig < 32; sig++)
		assert_int_equal(sigismember(&before, sig), sigismember(&after, sig));
	latch_fini(&m.all_in);
	event_base_free(m.base);
}

static void test_contract_11_workers_who_is_running(void **state)
{
	struct event_base *base = base_new(2);
	uint32_t color = 77;

	(void)state;
	/* Outside of callbacks nobody is. */
	assert_int_equal(event_base_get_running_worker(base), -1);
	assert_int_equal(event_base_get_running_color(base, &color), -1);
	assert_int_equal(color, 77);
	event_base_free(base);
}

static void test_contract_11_workers_counters(void **state)
{
	struct event_base *base = base_new(3);
	struct event_worker_stats stats;
	struct event_color_stats color;
	atomic_uint ran;
	uint64_t callbacks = 0, posts = 0;

	(void)state;
	atomic_init(&ran, 0);
	for (uint32_t i = 0; i < 1000; i++)
		post(base, i % 10 + 1, count_fn, &ran);
	memset(&color, 0, sizeof(color));
	assert_int_equal(event_base_dispatch(base), 1);
	for (unsigned w = 0; w < 3; w++) {
		assert_int_equal(event_base_get_stats(base, w, &stats, sizeof(stats)), 0);
		callbacks += stats.callbacks;
		posts += stats.posts;
		assert_int_equal(stats.runnable_colors, 0);
	}
	assert_int_equal(callbacks, 1000);
	assert_int_equal(posts, 1000);
	assert_int_equal(event_base_get_stats(base, 3, &stats, sizeof(stats)), -1);
	assert_int_equal(event_base_get_color_stats(base, 12345, &color, sizeof(color)), -1);
	event_base_free(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_contract_11_workers_number_is_configured),
		TEST(test_contract_11_workers_environment_overrides),
		TEST(test_contract_11_workers_default_is_the_cpus_allowed),
		TEST(test_contract_11_workers_start_callback_is_first),
		TEST(test_contract_11_workers_threads_come_with_colors_and_go_with_the_base),
		TEST(test_contract_11_workers_one_has_no_thread),
		TEST(test_contract_11_workers_block_signals),
		TEST(test_contract_11_workers_who_is_running),
		TEST(test_contract_11_workers_counters),
	};

	return RUN(tests);
}
