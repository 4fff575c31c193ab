/*
 * In its steady state a loop allocates nothing: what events, timers and posts need is there
 * after the first rounds; and it asks the kernel for no more than it must. Time is the test's.
 */
#include "table.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/sched/base.h"
#include "core/os/clock.h"
#include "core/ec.h"
#include "fault.h"

enum { WARM_UP = 3, ROUNDS = 50, EVENTS = 200, POSTS = 1000 };

struct shape {
	const char *method;
	uint32_t color;
};

static int64_t now_ns;
static struct ec_base *base;
static struct ec_event evs[EVENTS];
static int fds[EVENTS];
static unsigned ran;

static int64_t clock_now(void)
{
	return now_ns;
}

static int setup(void **state)
{
	static const char *const methods[] = { "epoll", "poll", "select" };
	const struct shape *shape = *state;
	const char *avoid[ROWS(methods) + 1] = { NULL };
	struct ec_config cfg = {
		.workers_num = 1, .avoid = avoid, .max_callbacks = INT32_MAX, .flags = EC_BASE_IGNORE_ENV
	};
	size_t i, n = 0;

	for (i = 0; i < ROWS(methods); i++) {
		if (strcmp(methods[i], shape->method) != 0)
			avoid[n++] = methods[i];
	}
	now_ns = 1000000000;
	ec_clock_set_source(clock_now);
	ran = 0;
	return ec_base_new(&cfg, &base);
}

static int teardown(void **state)
{
	(void)state;
	ec_base_free(base);
	ec_clock_set_source(NULL);
	return fault_alive() == 0 ? 0 : -1;
}

static void count(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	ran++;
}

static void init(int i, const struct shape *shape, int fd, short events, ec_event_fn fn)
{
	assert_int_equal(ec_event_init(&evs[i], base, fd, events, fn, &evs[i]), 0);
	assert_int_equal(ec_event_set_color(&evs[i], shape->color == 0 ? 0 : shape->color + (uint32_t)i % 8), 0);
}

/* Allocations of ROUNDS rounds, after a few to begin with. Each round is `expected` callbacks. */
static void steady(void (*round)(const struct shape *shape), const struct shape *shape, unsigned expected)
{
	int i;

	for (i = 0; i < WARM_UP; i++)
		round(shape);
	ran = 0;
	fault_alloc_at(0);
	for (i = 0; i < ROUNDS; i++)
		round(shape);
	assert_int_equal(fault_allocs(), 0);
	assert_int_equal(ran, expected * ROUNDS);
}

/* ---------------------------------------------------------------- rounds */

static void timers_round(const struct shape *shape)
{
	const struct timeval tv = { 0, 1000 }, later = { 0, 5000 }, sooner = { 0, 500 };
	int i;

	(void)shape;
	for (i = 0; i < EVENTS; i++)
		assert_int_equal(ec_event_add(&evs[i], &tv), 0);
	for (i = 0; i < EVENTS; i += 3)
		assert_int_equal(ec_event_add(&evs[i], &later), 0);
	for (i = 0; i < EVENTS; i += 4)
		assert_int_equal(ec_event_add(&evs[i], &sooner), 0);
	for (i = 0; i < EVENTS; i += 2)
		assert_int_equal(ec_event_del(&evs[i], EC_DEL_BLOCK), 0);
	now_ns += 10000000;
	assert_int_equal(ec_base_loop(base, 0), 1);
}

static void timers_allocate_nothing(void **state)
{
	int i;

	for (i = 0; i < EVENTS; i++)
		init(i, *state, -1, 0, count);
	steady(timers_round, *state, EVENTS / 2);
}

static void descriptors_round(const struct shape *shape)
{
	const struct timeval tv = { 100, 0 };
	int i;

	(void)shape;
	for (i = 0; i < EVENTS; i++)
		assert_int_equal(ec_event_add(&evs[i], i % 2 == 0 ? NULL : &tv), 0);
	for (i = 0; i < EVENTS; i += 2)
		assert_int_equal(ec_event_del(&evs[i], EC_DEL_BLOCK), 0);
	for (i = 0; i < EVENTS; i += 2)
		assert_int_equal(ec_event_add(&evs[i], NULL), 0);
	assert_int_equal(ec_base_loop(base, 0), 1);
}

static void descriptors_allocate_nothing(void **state)
{
	int pair[2], i;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	for (i = 0; i < EVENTS; i++) {
		fds[i] = fcntl(pair[0], F_DUPFD_CLOEXEC, 0);
		assert_true(fds[i] >= 0);
		init(i, *state, fds[i], EC_WRITE, count);
	}
	steady(descriptors_round, *state, EVENTS);
	for (i = 0; i < EVENTS; i++)
		close(fds[i]);
	close(pair[0]);
	close(pair[1]);
}

static void active_round(const struct shape *shape)
{
	int i;

	(void)shape;
	for (i = 0; i < EVENTS; i++)
		ec_event_active(&evs[i], EC_READ, 1);
	for (i = 0; i < EVENTS; i += 2)
		assert_int_equal(ec_event_del(&evs[i], EC_DEL_BLOCK), 0);
	assert_int_equal(ec_base_loop(base, EC_LOOP_NONBLOCK), 1);
}

static void activation_allocates_nothing(void **state)
{
	int i;

	for (i = 0; i < EVENTS; i++)
		init(i, *state, -1, 0, count);
	steady(active_round, *state, EVENTS / 2);
}

static const struct shape *posting;

static void post_fn(void *arg)
{
	uint32_t color = posting->color == 0 ? 0 : posting->color + ran % 8;

	(void)arg;
	if (++ran % POSTS != 0)
		assert_int_equal(ec_base_post(base, color, post_fn, NULL), 0);
}

static void post_first(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	post_fn(arg);
}

static void posts_round(const struct shape *shape)
{
	posting = shape;
	ec_event_active(&evs[0], EC_READ, 1);
	(void)ec_base_loop(base, EC_LOOP_NONBLOCK);
}

/* From callbacks: a thread that is no worker has no spare posts to take, and asks the allocator. */
static void posts_allocate_nothing(void **state)
{
	init(0, *state, -1, 0, post_first);
	steady(posts_round, *state, POSTS);
}

/* The persistent ones start anew by themselves, with a common timeout or their own. */
static void persistent_round(const struct shape *shape)
{
	(void)shape;
	now_ns += 1000000;
	assert_int_equal(ec_base_loop(base, EC_LOOP_NONBLOCK), 0);
}

static void persistent_timers_allocate_nothing(void **state)
{
	const struct timeval tv = { 0, 1000 };
	const struct timeval *common = ec_base_common_timeout(base, &tv);
	int i;

	assert_non_null(common);
	for (i = 0; i < EVENTS; i++) {
		init(i, *state, -1, EC_PERSIST, count);
		assert_int_equal(ec_event_add(&evs[i], i % 2 == 0 ? &tv : common), 0);
	}
	steady(persistent_round, *state, EVENTS);
	for (i = 0; i < EVENTS; i++)
		assert_int_equal(ec_event_del(&evs[i], EC_DEL_BLOCK), 0);
}

static void signal_round(const struct shape *shape)
{
	(void)shape;
	assert_int_equal(raise(SIGUSR1), 0);
	(void)ec_base_loop(base, EC_LOOP_ONCE);
}

static void signals_allocate_nothing(void **state)
{
	(void)state;
	assert_int_equal(ec_event_init(&evs[0], base, SIGUSR1, EC_SIGNAL | EC_PERSIST, count, NULL), 0);
	assert_int_equal(ec_event_add(&evs[0], NULL), 0);
	steady(signal_round, *state, 1);
	assert_int_equal(ec_event_del(&evs[0], EC_DEL_BLOCK), 0);
}

/* As programs do that were written for libevent 1: reading, then writing, by one event that is assigned anew. */
static void turning_round_is_one_call(void **state)
{
	const short ways[] = { EC_READ | EC_PERSIST, EC_WRITE | EC_PERSIST };
	int pair[2], i;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	init(0, *state, pair[0], ways[0], count);
	assert_int_equal(ec_event_add(&evs[0], NULL), 0);
	for (i = 1; i <= ROUNDS; i++) {
		fault_call_at(FAULT_epoll_ctl, 0, 0);
		assert_int_equal(ec_event_del(&evs[0], EC_DEL_BLOCK), 0);
		init(0, *state, pair[0], ways[i % 2], count);
		assert_int_equal(ec_event_add(&evs[0], NULL), 0);
		assert_int_equal(ec_base_loop(base, EC_LOOP_ONCE | EC_LOOP_NONBLOCK), 0);
		assert_int_equal(fault_calls(FAULT_epoll_ctl), 1);
	}
	assert_int_equal(ran, ROUNDS / 2);
	assert_int_equal(ec_event_del(&evs[0], EC_DEL_BLOCK), 0);
	close(pair[0]);
	close(pair[1]);
}

static const struct shape shapes[] = {
	{ "epoll", 0 },
	{ "poll", 0 },
	{ "select", 0 },
	{ "epoll", 1 },
};

int main(void)
{
	static struct CMUnitTest tests[ROWS(shapes) * 6 + 1];
	size_t i, n = 0;

	for (i = 0; i < ROWS(shapes); i++) {
		void *shape = (void *)(uintptr_t)&shapes[i];

#define TEST(test) tests[n++] = (struct CMUnitTest){ #test, test, setup, teardown, shape }
		TEST(timers_allocate_nothing);
		TEST(descriptors_allocate_nothing);
		TEST(activation_allocates_nothing);
		TEST(posts_allocate_nothing);
		TEST(persistent_timers_allocate_nothing);
		TEST(signals_allocate_nothing);
		if (i == 0)	/* with colors, a deletion tells the kernel at once */
			TEST(turning_round_is_one_call);
	}
	return cmocka_run_group_tests_name("steady", tests, fault_init, fault_fini);
}
