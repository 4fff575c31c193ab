/*
 * What the tests of this folder share. They hold the contract of color (README.md), with real
 * threads and the public API only.
 *
 * No test waits for a time: a thread that must wait does so on a latch, a pipe or a join, and
 * what would hang is ended by alarm(). Data that the contract says is safe to share between
 * callbacks is plain, so that ThreadSanitizer checks the promise; all else is atomic.
 * cmocka's assertions end a test by longjmp and so belong to the main thread outside of
 * callbacks; CHECK() is for everywhere else and ends the process.
 */
#ifndef STRESS_H
#define STRESS_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>

#include <event2/event.h>
#include <event2/event_struct.h>
#include <event2/smp.h>

#include "../sanitizers.h"

#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #cond);         \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/*
 * ThreadSanitizer dies when the child of a process with threads starts threads of its own: the ids of those
 * that are gone come again. What needs them is then left out of the child.
 */
#define CHILD_HAS_THREADS (!HAS_TSAN)

/*
 * AddressSanitizer's allocator is not made ready for a fork: when another thread is in it just then, the
 * child's threads wait for ever. What forks while others are busy is left out there.
 */
#define FORKS_UNDER_LOAD (!HAS_ASAN)

static inline bool is_full(void)
{
	const char *s = getenv("STRESS");

	return s != NULL && strcmp(s, "full") == 0;
}

/* So many rounds usually; more in the long soak, fewer where each costs twenty times as much. */
static inline unsigned rounds(unsigned num)
{
	if (is_full())
		return num * 20;
	return IS_SANITIZED && num > 40 ? num / 20 : num;
}

/* ---------------------------------------------------------------- waiting for each other */

/* Opens when it was counted down to 0; stays open. */
struct latch {
	pthread_mutex_t mu;
	pthread_cond_t opened;
	unsigned left;
};

static inline void latch_init(struct latch *l, unsigned num)
{
	CHECK(pthread_mutex_init(&l->mu, NULL) == 0);
	CHECK(pthread_cond_init(&l->opened, NULL) == 0);
	l->left = num;
}

static inline void latch_fini(struct latch *l)
{
	pthread_cond_destroy(&l->opened);
	pthread_mutex_destroy(&l->mu);
}

static inline void latch_down(struct latch *l)
{
	pthread_mutex_lock(&l->mu);
	CHECK(l->left > 0);
	if (--l->left == 0)
		pthread_cond_broadcast(&l->opened);
	pthread_mutex_unlock(&l->mu);
}

static inline void latch_wait(struct latch *l)
{
	pthread_mutex_lock(&l->mu);
	while (l->left > 0)
		pthread_cond_wait(&l->opened, &l->mu);
	pthread_mutex_unlock(&l->mu);
}

/* All must have come before any goes on. */
static inline void latch_meet(struct latch *l)
{
	latch_down(l);
	latch_wait(l);
}

/* A post that says that the loop runs: a loopbreak before would be lost. */
static inline void latch_down_cb(void *latch)
{
	latch_down(latch);
}

static inline void latch_meet_cb(void *latch)
{
	latch_meet(latch);
}

static inline pthread_t thread_start(void *(*fn)(void *), void *arg)
{
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, fn, arg) == 0);
	return thread;
}

static inline void thread_join(pthread_t thread)
{
	CHECK(pthread_join(thread, NULL) == 0);
}

/* ---------------------------------------------------------------- bases, events, pipes */

/* arg NULL: no callback for the workers' start. */
static inline struct event_base *base_new_start(unsigned workers, event_worker_start_fn start, void *arg)
{
	struct event_config *cfg = event_config_new();
	struct event_base *base;

	CHECK(cfg != NULL);
	CHECK(event_config_set_workers(cfg, workers, start, arg) == 0);
	base = event_base_new_with_config(cfg);
	CHECK(base != NULL);
	event_config_free(cfg);
	return base;
}

static inline struct event_base *base_new(unsigned workers)
{
	return base_new_start(workers, NULL, NULL);
}

static inline struct event *ev_new(struct event_base *base, int fd, int events, uint32_t color,
				   event_callback_fn fn, void *arg)
{
	struct event *ev = event_new(base, fd, (short)events, fn, arg);

	CHECK(ev != NULL);
	CHECK(event_set_color(ev, color) == 0);
	return ev;
}

static inline void post(struct event_base *base, uint32_t color, event_post_fn fn, void *arg)
{
	CHECK(event_base_post(base, color, fn, arg) == 0);
}

static inline uint32_t running_color(struct event_base *base)
{
	uint32_t color = 0;

	CHECK(event_base_get_running_color(base, &color) == 0);
	return color;
}

static inline void pipe_new(int fd[2])
{
	CHECK(pipe2(fd, O_NONBLOCK | O_CLOEXEC) == 0);
}

static inline void pipe_close(int fd[2])
{
	close(fd[0]);
	close(fd[1]);
}

static inline void put(int fd)
{
	CHECK(write(fd, "x", 1) == 1);
}

static inline bool take(int fd)
{
	char c;

	return read(fd, &c, 1) == 1;
}

static inline void drain(int fd)
{
	while (take(fd))
		;
}

static inline void nothing_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
}

/* Work that no compiler removes and that no clock measures. */
static inline void spin(unsigned num)
{
	for (volatile unsigned i = 0; i < num; i++)
		;
}

static const struct timeval zero_tv = { 0, 0 };
static const struct timeval hour_tv = { 3600, 0 };

/* ---------------------------------------------------------------- a plain object of one color */

/*
 * What a color protects: nothing but the color keeps two callbacks from meeting here.
 * `inside` tells of an overlap without ThreadSanitizer too, most of the time.
 */
struct guarded {
	unsigned inside;
	uint64_t runs;
};

static inline void guarded_enter(struct guarded *g)
{
	CHECK(g->inside == 0);
	g->inside = 1;
}

static inline void guarded_leave(struct guarded *g)
{
	g->runs++;
	CHECK(g->inside == 1);
	g->inside = 0;
}

/* ---------------------------------------------------------------- running a group */

/* Ends a test that hangs. With the lowest priority on a busy machine a good test takes minutes. */
static inline int watchdog(void **state)
{
	(void)state;
	alarm(is_full() ? 1800 : 500);
	return 0;
}

static inline int watchdog_off(void **state)
{
	(void)state;
	alarm(0);
	return 0;
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, watchdog, watchdog_off)

/* The number of workers is the tests' to choose. STRESS_ONLY=PATTERN runs those whose name matches. */
static inline void *no_work(void *arg)
{
	return arg;
}

static inline void group_begin(void)
{
	/* A sanitizer's own thread starts with the first: it is there before tests count threads. */
	thread_join(thread_start(no_work, NULL));
	unsetenv("EVENT_WORKERS");
	if (getenv("STRESS_ONLY") != NULL)
		cmocka_set_test_filter(getenv("STRESS_ONLY"));
}

#define RUN(tests) (group_begin(), cmocka_run_group_tests(tests, NULL, NULL))

#endif
