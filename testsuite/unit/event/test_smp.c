/*
 * compat/libevent/event/smp.c: <event2/smp.h> takes NULL for the base of event_init(). Where there is none, and
 * for what else cannot be, each function fails with a warning or an error, and touches nothing.
 */
#include "child.h"

#include <errno.h>
#include <stdbool.h>
#include <time.h>

#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/event_compat.h>
#include <event2/event_struct.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <event2/smp.h>
#include <event2/thread.h>

static unsigned warnings, ran;

static void count_log(int severity, const char *msg)
{
	if (severity >= EVENT_LOG_WARN)
		warnings++;
	fprintf(stderr, "%s\n", msg);
}

static void run(void *arg)
{
	uint32_t color = 0;

	(void)arg;
	check(event_base_get_running_worker(NULL) == 0);
	check(event_base_get_running_color(NULL, &color) == 0 && color == 7);
	check(event_base_get_running_color(NULL, NULL) == -1 && errno == EINVAL);
	ran++;
}

static void callback(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
}

/* Of each function that takes a base: it fails, and warns once. */
#define FAILS(call)                                                                                \
	do {                                                                                       \
		warnings = 0;                                                                      \
		check(call);                                                                       \
		check(warnings == 1);                                                              \
	} while (0)

static void no_base(void)
{
	struct event_worker_stats worker;
	struct event_color_stats stats;
	uint32_t color;

	event_set_log_callback(count_log);
	FAILS(event_base_post(NULL, 7, run, NULL) == -1);
	FAILS(event_base_post_priority(NULL, 7, 0, run, NULL) == -1);
	FAILS(event_base_post_reserve(NULL, 7) == NULL);
	FAILS(event_base_get_workers(NULL) == 0);
	FAILS(event_base_get_running_worker(NULL) == -1);
	FAILS(event_base_get_running_color(NULL, &color) == -1);
	FAILS(event_base_pause(NULL) == -1);
	FAILS(event_base_resume(NULL) == -1);
	FAILS(event_base_inherit_colors(NULL, 1) == -1);
	FAILS(event_color_new(NULL) == 0);
	FAILS(event_color_release(NULL, EVENT_COLOR_OWN_MAX + 1) == -1);
	FAILS(event_color_set_cost(NULL, 7, 1) == -1);
	FAILS(event_color_set_penalty(NULL, 7, 1) == -1);
	FAILS(event_base_get_stats(NULL, 0, &worker, sizeof(worker)) == -1);
	FAILS(event_base_get_color_stats(NULL, 7, &stats, sizeof(stats)) == -1);
	check(ran == 0);
}

static void without_a_base_each_function_fails_and_says_so(void **state)
{
	struct child child;

	(void)state;
	child_passes(&child, no_base);
	assert_non_null(strstr(child.text, "event_base_post: no event_base: event_init() was not called"));
	assert_non_null(strstr(child.text, "event_base_get_color_stats: no event_base"));
}

static void first_base(void)
{
	struct event_worker_stats worker;
	struct event_color_stats stats;
	struct event_base *base = event_init();
	struct event_post *post;
	uint32_t color;

	event_set_log_callback(count_log);
	check(base != NULL);
	check(event_base_post(NULL, 7, run, NULL) == 0);
	check(event_base_post_priority(NULL, 7, 0, run, NULL) == 0);
	post = event_base_post_reserve(NULL, 7);
	check(post != NULL && event_base_post_reserved(post, NULL, NULL) == -1 && errno == EINVAL);
	check(event_base_post_reserved(post, run, NULL) == 0);
	event_base_post_unreserve(event_base_post_reserve(base, 7));
	check(event_base_get_workers(NULL) == event_base_get_workers(base));
	color = event_color_new(NULL);
	check(color > EVENT_COLOR_OWN_MAX && event_color_new(base) != color);
	check(event_color_release(NULL, color) == 0);
	check(event_color_set_cost(NULL, 7, 1000) == 0);
	check(event_color_set_penalty(NULL, 7, 2) == 0);
	check(event_base_pause(NULL) == 0);
	check(event_base_resume(NULL) == 0);
	check(event_base_resume(NULL) == -1);
	check(event_base_get_running_worker(NULL) == -1);
	check(event_base_dispatch(base) == 1);
	check(ran == 3);
	check(event_base_get_stats(NULL, 0, &worker, sizeof(worker)) == 0 && worker.callbacks == 3);
	(void)event_base_get_color_stats(NULL, 7, &stats, sizeof(stats));
	check(warnings == 0);
	event_base_free(base);
	FAILS(event_base_post(NULL, 7, run, NULL) == -1);
}

static void with_one_worker(void)
{
	setenv("EVENT_WORKERS", "1", 1);
	first_base();
}

/* In the color that runs, where posts take a shorter way. */
static void post_none(void *arg)
{
	(void)arg;
	check(event_base_post(NULL, 7, run, NULL) == 0);
	check(event_base_post(event_base_new(), 7, NULL, NULL) == -1);
}

static void first_base_in_a_callback(void)
{
	struct event_base *base = event_init();

	check(event_base_post(base, 7, post_none, NULL) == 0);
	check(event_base_dispatch(base) == 1);
	check(ran == 1);
}

static void no_base_is_that_of_event_init(void **state)
{
	struct child child;

	(void)state;
	child_passes(&child, first_base_in_a_callback);
	child_passes(&child, first_base);
	child_passes(&child, with_one_worker);
}

static void absurd(void)
{
	struct event_worker_stats worker;
	struct event_color_stats stats;
	struct event_base *base = event_base_new();
	struct event *ev = event_new(base, -1, 0, callback, NULL);

	check(event_set_color(NULL, 1) == -1 && errno == EINVAL);
	check(event_set_color_shared(NULL, 1) == -1 && errno == EINVAL);
	check(event_get_color(NULL) == 0);
	check(event_base_post(base, 7, NULL, NULL) == -1);
	check(event_base_post_priority(base, 7, 0, NULL, NULL) == -1);
	check(event_base_post_reserved(NULL, run, NULL) == -1 && errno == EINVAL);
	event_base_post_unreserve(NULL);
	errno = 0;
	check(event_base_post_priority(base, 7, -1, run, NULL) == -1 && errno == EINVAL);
	errno = 0;
	check(event_base_post_priority(base, 7, 256, run, NULL) == -1 && errno == EINVAL);
	check(event_config_set_workers(NULL, 1, NULL, NULL) == -1);
	check(event_base_get_running_color(base, NULL) == -1);
	check(event_base_get_stats(base, 0, NULL, 0) == -1 && errno == EINVAL);
	check(event_base_get_stats(base, UINT32_MAX, &worker, sizeof(worker)) == -1);
	check(event_base_get_stats(base, 0, &worker, 0) == 0);
	check(event_base_get_color_stats(base, 7, NULL, 0) == -1 && errno == EINVAL);
	check(event_base_get_color_stats(base, 7, &stats, sizeof(stats)) == -1);
	check(event_color_release(base, 0) == -1 && errno == EINVAL);
	check(event_color_release(base, EVENT_COLOR_OWN_MAX) == -1 && errno == EINVAL);
	check(event_color_release(base, EVENT_COLOR_OWN_MAX + 1) == -1 && errno == EINVAL);
	check(event_color_set_cost(base, 0, 1) == -1);
	check(event_color_set_penalty(base, 7, UINT32_MAX) == -1);
	check(bufferevent_set_color(NULL, 1) == -1 && errno == EINVAL);
	check(bufferevent_get_color(NULL) == 0);
	check(bufferevent_post(NULL, NULL, NULL) == -1 && errno == EINVAL);
	check(evhttp_connection_get_color(NULL) == 0);
	check(evhttp_connection_set_color(NULL, 1) == -1 && errno == EINVAL);
	check(evconnlistener_set_color_policy(NULL, EVCONNLISTENER_COLOR_FRESH, NULL, NULL) == -1 && errno == EINVAL);
	check(evhttp_set_color_policy(NULL, EVCONNLISTENER_COLOR_FRESH, NULL, NULL) == -1 && errno == EINVAL);
	event_free(ev);
	event_base_free(base);
}

/* ---------------------------------------------------------------- busy time */

enum { SPIN_MS = 5 };

static int64_t now_ms(void)
{
	struct timespec ts;

	check(clock_gettime(CLOCK_MONOTONIC, &ts) == 0);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static uint64_t busy_ms(struct event_base *base)
{
	struct event_worker_stats s;
	uint64_t ns = 0;
	unsigned i;

	for (i = 0; i < event_base_get_workers(base); i++) {
		check(event_base_get_stats(base, i, &s, sizeof(s)) == 0);
		ns += s.busy_ns;
	}
	return ns / 1000000;
}

static void spins(evutil_socket_t fd, short what, void *arg)
{
	int64_t end = now_ms() + SPIN_MS + 2;

	(void)fd;
	(void)what;
	(void)arg;
	while (now_ms() < end)
		;
}

/* In the same turn of the loop, where there is one worker. */
static void looks(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	if (event_base_get_workers(arg) == 1)
		check(busy_ms(arg) >= SPIN_MS);
}

static void busy(uint32_t color, bool is_shared)
{
	struct event_base *base = event_base_new();
	struct event *first = event_new(base, -1, 0, spins, NULL), *second = event_new(base, -1, 0, looks, base);
	int64_t start = now_ms();

	check((is_shared ? event_set_color_shared(first, color) : event_set_color(first, color)) == 0);
	check(event_set_color(second, color) == 0);
	check(busy_ms(base) == 0);
	event_active(first, EV_READ, 1);
	event_active(second, EV_READ, 1);
	check(event_base_dispatch(base) == 1);
	check(busy_ms(base) >= SPIN_MS);
	check((int64_t)busy_ms(base) <= (now_ms() - start + 1) * 2);
	event_free(first);
	event_free(second);
	event_base_free(base);
}

static void busy_alone(void)
{
	setenv("EVENT_WORKERS", "1", 1);
	busy(0, false);
	busy(7, false);
	busy(7, true);
	check(evthread_use_pthreads() == 0);
	busy(0, false);
	busy(7, false);
}

static void busy_workers(void)
{
	setenv("EVENT_WORKERS", "2", 1);
	busy(0, false);
	busy(7, false);
	busy(7, true);
}

static void busy_time_counts_with_any_number_of_workers(void **state)
{
	struct child child;

	(void)state;
	child_passes(&child, busy_workers);
	child_passes(&child, busy_alone);
}

static void what_cannot_be_is_refused(void **state)
{
	struct child child;

	(void)state;
	child_passes(&child, absurd);
}

/* The second color that a thread sets takes the short way. It knows the base then, but the base may be gone. */
static void colors_after_base(unsigned workers)
{
	struct event_config *cfg = event_config_new();
	struct event zeros = { .ev_fd = -1 };
	struct event_base *base, *other;
	struct event *ev, *pending;

	check(cfg != NULL && event_config_set_workers(cfg, workers, NULL, NULL) == 0);
	base = event_base_new_with_config(cfg);
	ev = event_new(base, -1, 0, callback, NULL);
	pending = event_new(base, -1, EV_PERSIST, callback, NULL);
	for (uint32_t color = 1; color <= 3; color++) {
		check(event_set_color(ev, color) == 0 && event_get_color(ev) == color);
		check(event_add(ev, NULL) == 0 && event_del(ev) == 0);
		check(event_add(pending, &(struct timeval){ 60, 0 }) == 0);
		check(event_set_color(pending, color) == -1 && errno == EBUSY);
		zeros.ev_base = base;
		check(event_set_color(&zeros, color) == -1 && errno == EINVAL);
	}
	event_free(pending);
	event_base_free(base);
	check(event_set_color(ev, 4) == 0 && event_get_color(ev) == 4);
	other = event_base_new_with_config(cfg);
	check(event_set_color(ev, 5) == 0 && event_get_color(ev) == 5);
	check(event_base_set(other, ev) == 0 && event_set_color(ev, 6) == 0);
	event_active(ev, EV_READ, 1);
	check(event_base_dispatch(other) == 1);
	event_free(ev);
	event_base_free(other);
	event_config_free(cfg);
}

static void colors_after_their_base(void)
{
	colors_after_base(1);
	colors_after_base(2);
}

static void a_freed_base_is_not_asked_for_a_color(void **state)
{
	struct child child;

	(void)state;
	child_passes(&child, colors_after_their_base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_base_each_function_fails_and_says_so),
		cmocka_unit_test(no_base_is_that_of_event_init),
		cmocka_unit_test(what_cannot_be_is_refused),
		cmocka_unit_test(a_freed_base_is_not_asked_for_a_color),
		cmocka_unit_test(busy_time_counts_with_any_number_of_workers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
