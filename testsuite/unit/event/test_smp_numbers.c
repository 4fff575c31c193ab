/*
 * <event2/smp.h> with numbers at the ends of their types, and colored events with such times. The rest of the
 * API is walked by differ/extremes_*.c. Under UBSan no step may overflow.
 */
#include "table.h"

#include <limits.h>
#include <stdbool.h>

#include <event2/event.h>
#include <event2/event_struct.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <event2/smp.h>

static const ev_uint32_t colors[] = { 0, 1, 2, INT32_MAX, UINT32_C(0x80000000), UINT32_MAX - 1, UINT32_MAX };

static const struct {
	const char *name;
	struct timeval tv;
	bool is_due;
} times[] = {
	{ "0", { 0, 0 }, true },
	{ "-1 us", { 0, -1 }, true },
	{ "-1 s", { -1, 0 }, true },
	{ "-1 s and 999999 us", { -1, 999999 }, true },
	{ "-1 year", { -3600 * 24 * 365, 0 }, true },
	{ "LONG_MIN s", { LONG_MIN, 0 }, true },
	{ "LONG_MIN us", { 0, LONG_MIN }, true },
	{ "LONG_MIN s, LONG_MIN us", { LONG_MIN, LONG_MIN }, true },
	{ "1 year", { 3600 * 24 * 365, 0 }, false },
	{ "INT_MAX s", { INT_MAX, 999999 }, false },
	{ "2^33 s", { (time_t)(sizeof(time_t) == 8 ? INT64_C(1) << 33 : INT32_MAX), 0 }, false },
	{ "INT_MAX us", { 0, INT_MAX }, false },
	{ "LONG_MAX us", { 0, LONG_MAX }, false },
	{ "LONG_MAX s", { LONG_MAX, 0 }, false },
	{ "LONG_MAX s, LONG_MAX us", { LONG_MAX, LONG_MAX }, false },
};

static struct event_base *base_new_as(unsigned workers_num, int flags)
{
	struct event_config *cfg = event_config_new();
	struct event_base *base;

	assert_non_null(cfg);
	assert_int_equal(event_config_set_workers(cfg, workers_num, NULL, NULL), 0);
	assert_int_equal(event_config_set_flag(cfg, flags), 0);
	base = event_base_new_with_config(cfg);
	assert_non_null(base);
	event_config_free(cfg);
	return base;
}

static struct event_base *base_new(unsigned workers_num)
{
	return base_new_as(workers_num, EVENT_BASE_FLAG_IGNORE_ENV);
}

static void fired_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	__atomic_fetch_or((int *)arg, what, __ATOMIC_RELAXED);
}

static void posted_cb(void *arg)
{
	__atomic_fetch_add((int *)arg, 1, __ATOMIC_RELAXED);
}

/* ---------------------------------------------------------------- times */

/* What is due fires in one run of the loop, whatever else there is. */
static void run_times(unsigned workers_num, ev_uint32_t color, short events)
{
	struct event_base *base = base_new(workers_num);
	struct event *ev;
	struct timeval at;
	int fired;
	size_t i;

	for (i = 0; i < ROWS(times); i++) {
		fired = 0;
		ev = event_new(base, -1, events, fired_cb, &fired);
		assert_non_null(ev);
		assert_int_equal(event_set_color(ev, color), 0);
		assert_row(event_add(ev, &times[i].tv) == 0, times[i].name);
		assert_row(event_pending(ev, EV_TIMEOUT, &at) == EV_TIMEOUT, times[i].name);
		assert_row(at.tv_usec >= 0 && at.tv_usec < 1000000, times[i].name);
		/* A second activation: the rest of a persistent one's times is counted from there. */
		event_active(ev, EV_TIMEOUT, 1);
		event_base_loop(base, EVLOOP_ONCE);
		fired = 0;
		assert_row(event_add(ev, &times[i].tv) == 0, times[i].name);
		event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
		assert_row((__atomic_load_n(&fired, __ATOMIC_RELAXED) != 0) == times[i].is_due, times[i].name);
		event_free(ev);
	}
	event_base_free(base);
}

static void times_of_color_0(void **state)
{
	(void)state;
	run_times(1, 0, 0);
	run_times(1, 0, EV_PERSIST);
	run_times(4, 0, EV_PERSIST);
}

static void times_of_colors(void **state)
{
	(void)state;
	run_times(1, 7, 0);
	run_times(4, 7, 0);
	run_times(4, UINT32_MAX, EV_PERSIST);
}

/* ---------------------------------------------------------------- colors, priorities */

static void run_colors(unsigned workers_num)
{
	static const ev_uint32_t costs[] = { 1, 1000000, INT32_MAX, UINT32_MAX, 0 };
	static const int priorities[] = { INT_MIN, -1, 0, 1, 2, INT_MAX };
	struct event_base *base = base_new(workers_num);
	struct event_color_stats stats;
	int posted = 0, wanted = 0, r;
	size_t i, j, k;

	assert_int_equal(event_base_priority_init(base, 2), 0);
	for (i = 0; i < ROWS(colors); i++) {
		for (j = 0; j < ROWS(costs); j++) {
			(void)event_color_set_cost(base, colors[i], costs[j]);
			(void)event_color_set_penalty(base, colors[i], costs[ROWS(costs) - 1 - j]);
			for (k = 0; k < ROWS(priorities); k++) {
				r = event_base_post_priority(base, colors[i], priorities[k], posted_cb, &posted);
				assert_int_equal(r, priorities[k] == 0 || priorities[k] == 1 ? 0 : -1);
				wanted += r == 0;
			}
			wanted++;
			assert_int_equal(event_base_post(base, colors[i], posted_cb, &posted), 0);
			(void)event_base_get_color_stats(base, colors[i], &stats, sizeof(stats));
		}
	}
	assert_true(event_base_dispatch(base) >= 0);
	assert_int_equal(__atomic_load_n(&posted, __ATOMIC_RELAXED), wanted);
	event_base_free(base);
}

static void colors_and_priorities(void **state)
{
	(void)state;
	run_colors(1);
	run_colors(4);
}

/* ---------------------------------------------------------------- workers, statistics */

static void numbers_of_workers(void **state)
{
	static const struct {
		unsigned num;
		int result;
	} rows[] = { { 0, 0 }, { 1, 0 }, { 1024, 0 }, { 1025, -1 }, { INT_MAX, -1 }, { UINT_MAX, -1 } };
	struct event_config *cfg = event_config_new();
	size_t i;

	(void)state;
	assert_non_null(cfg);
	for (i = 0; i < ROWS(rows); i++)
		assert_int_equal(event_config_set_workers(cfg, rows[i].num, NULL, NULL), rows[i].result);
	event_config_free(cfg);
}

static int warnings;

static void count_warning(int severity, const char *text)
{
	(void)text;
	warnings += severity == EVENT_LOG_WARN;
}

/* One rule: decimal digits, from 0 to 1024. What is no such number is told and ignored. */
static void numbers_of_the_environment(void **state)
{
	enum { CONFIGURED = 3 };
	static const struct {
		const char *value;
		unsigned workers;	/* 0: ignored, with a warning */
	} rows[] = {
		{ "1", 1 }, { "2", 2 }, { "007", 7 }, { "1024", 1024 }, { "1025", 0 }, { "", 0 }, { " ", 0 },
		{ " 3", 0 }, { "3 ", 0 }, { "+3", 0 }, { "-1", 0 }, { "-0", 0 }, { "-18446744073709551615", 0 },
		{ "2x", 0 }, { "0x2", 0 }, { "many", 0 }, { "4294967297", 0 }, { "99999999999", 0 },
		{ "99999999999999999999", 0 },
	};
	struct event_base *base;
	unsigned num;
	size_t i;

	(void)state;
	event_set_log_callback(count_warning);
	for (i = 0; i < ROWS(rows); i++) {
		warnings = 0;
		assert_int_equal(setenv("EVENT_WORKERS", rows[i].value, 1), 0);
		base = base_new_as(CONFIGURED, 0);
		num = event_base_get_workers(base);
		assert_row(num == (rows[i].workers != 0 ? rows[i].workers : CONFIGURED), rows[i].value);
		assert_row(warnings == (rows[i].workers == 0), rows[i].value);
		event_base_free(base);
	}
	/* One for each CPU, whatever the configuration says. */
	warnings = 0;
	assert_int_equal(setenv("EVENT_WORKERS", "0", 1), 0);
	base = base_new_as(CONFIGURED, 0);
	num = event_base_get_workers(base);
	event_base_free(base);
	assert_int_equal(unsetenv("EVENT_WORKERS"), 0);
	base = base_new(0);
	assert_int_equal(event_base_get_workers(base), num);
	event_base_free(base);
	assert_int_equal(warnings, 0);
	event_set_log_callback(NULL);
}

/* No byte behind `size` is written, and none before it stays as it was. */
static void sizes_of_statistics(void **state)
{
	static const unsigned workers[] = { 0, 1, 2, INT_MAX, UINT_MAX };
	struct event_base *base = base_new(2);
	struct {
		struct event_worker_stats stats;
		char behind[64];
	} room;
	static const size_t sizes[] = { 0, 1, sizeof(struct event_worker_stats) - 1,
					sizeof(struct event_worker_stats), sizeof(struct event_worker_stats) + 32 };
	size_t i, j, k;

	(void)state;
	for (i = 0; i < ROWS(workers); i++) {
		for (j = 0; j < ROWS(sizes); j++) {
			memset(&room, 0x5a, sizeof(room));
			assert_int_equal(event_base_get_stats(base, workers[i], &room.stats, sizes[j]),
					 workers[i] < 2 ? 0 : -1);
			for (k = workers[i] < 2 ? sizes[j] : 0; k < sizeof(room); k++)
				assert_int_equal(((char *)&room)[k], 0x5a);
		}
	}
	event_base_free(base);
}

static void policies(void **state)
{
	static const int numbers[] = { INT_MIN, -1, 3, INT_MAX };
	struct event_base *base = base_new(1);
	struct evhttp *http = evhttp_new(base);
	size_t i;

	(void)state;
	assert_non_null(http);
	for (i = 0; i < ROWS(numbers); i++)
		assert_int_equal(
			evhttp_set_color_policy(http, (enum evconnlistener_color_policy)numbers[i], NULL, NULL), -1);
	assert_int_equal(evhttp_set_color_policy(http, EVCONNLISTENER_COLOR_ASK, NULL, NULL), -1);
	evhttp_free(http);
	assert_int_equal(event_base_resume(base), -1);
	assert_int_equal(event_base_get_running_worker(base), -1);
	event_base_free(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_of_color_0),
		cmocka_unit_test(times_of_colors),
		cmocka_unit_test(colors_and_priorities),
		cmocka_unit_test(numbers_of_workers),
		cmocka_unit_test(numbers_of_the_environment),
		cmocka_unit_test(sizes_of_statistics),
		cmocka_unit_test(policies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
