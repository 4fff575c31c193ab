/*
 * What the tests of debug mode's warnings share: a base with `workers_num` workers in a child process, in which one
 * mistake is made, or something that looks like one.
 */
#ifndef MISUSE_H
#define MISUSE_H

#include "child.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>

#include <event2/event.h>
#include <event2/event_struct.h>
#include <event2/smp.h>

enum { FIRST = 1, SECOND, OTHER, DEADLINE_S = 60 };

static const struct timeval zero_tv = { 0, 0 }, hour_tv = { 3600, 0 };

static unsigned workers_num;
static struct event_base *base;
static struct event ev;
static sem_t began, may_end;
static _Atomic(unsigned) ran;	/* callbacks of two colors may write it */

static inline void log_to_stderr(int severity, const char *msg)
{
	if (severity >= EVENT_LOG_WARN)
		(void)fprintf(stderr, "%s\n", msg);
}

static inline struct event_base *base_new(void)
{
	struct event_config *cfg = event_config_new();
	struct event_base *b;

	check(cfg != NULL);
	check(event_config_set_workers(cfg, workers_num, NULL, NULL) == 0);
	b = event_base_new_with_config(cfg);
	check(b != NULL);
	event_config_free(cfg);
	return b;
}

static inline void begin(void)
{
	alarm(DEADLINE_S);
	event_enable_debug_mode();
	event_set_log_callback(log_to_stderr);
	base = base_new();
	check(sem_init(&began, 0, 0) == 0 && sem_init(&may_end, 0, 0) == 0);
}

static inline void end(void)
{
	event_base_free(base);
	libevent_global_shutdown();
}

static inline void loop(void)
{
	check(event_base_loop(base, 0) == 1);
}

static inline void nothing_cb(evutil_socket_t s, short what, void *arg)
{
	(void)s;
	(void)what;
	(void)arg;
}

static inline void count_post(void *arg)
{
	(void)arg;
	ran++;
}

static inline void assign(event_callback_fn fn, ev_uint32_t color)
{
	check(event_assign(&ev, base, -1, 0, fn, NULL) == 0);
	check(event_set_color(&ev, color) == 0);
}

static inline void wait_and_end_cb(evutil_socket_t s, short what, void *arg)
{
	(void)s;
	(void)what;
	(void)arg;
	sem_post(&began);
	sem_wait(&may_end);
	ran++;
}

struct mistake {
	void (*fn)(void);
	const char *said;
};

/* What a test program tries, with 1 and 2 workers. */
struct tries {
	const struct mistake *mistakes;
	size_t mistakes_num;
	void (*const *allowed)(void);
	size_t allowed_num;
};

static inline void a_mistake_is_reported(void **state)
{
	const struct tries *t = *state;
	struct child child;
	size_t i;

	for (workers_num = 1; workers_num <= 2; workers_num++) {
		for (i = 0; i < t->mistakes_num; i++) {
			print_message("%zu, %u workers\n", i, workers_num);
			child_exits(&child, t->mistakes[i].fn, 0, t->mistakes[i].said);
		}
	}
}

static inline void nothing_is_said_of_what_is_allowed(void **state)
{
	const struct tries *t = *state;
	struct child child;
	size_t i;

	for (workers_num = 1; workers_num <= 2; workers_num++) {
		for (i = 0; i < t->allowed_num; i++) {
			print_message("%zu, %u workers\n", i, workers_num);
			child_passes(&child, t->allowed[i]);
			assert_string_equal(child.text, "");
		}
	}
}

static inline int try_all(struct tries t)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(a_mistake_is_reported, &t),
		cmocka_unit_test_prestate(nothing_is_said_of_what_is_allowed, &t),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
