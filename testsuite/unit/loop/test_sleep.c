/*
 * How long the loop sleeps, on a clock that only its sleeps move (core/io/polling.c). A timeout that was postponed may
 * end a long sleep early, once; the loop then sleeps on, and does not return.
 */
#include "table.h"
#include "heap.h"

#include <sys/epoll.h>

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/smp.h>
#include <event2/thread.h>

#include "core/os/chunk.h"
#include "core/os/clock.h"

static int64_t now_ns = INT64_C(1000000000000), start_ns;
static unsigned sleeps_num;

static int64_t virtual_clock(void)
{
	return now_ns;
}

/* In place of the C library's, for this program: time passes at once. */
int epoll_wait(int fd, struct epoll_event *events, int max, int ms)
{
	(void)fd;
	(void)events;
	(void)max;
	assert_true(ms >= 0);		/* else nothing would end this sleep */
	sleeps_num += ms > 0;
	now_ns += (int64_t)ms * 1000000;
	return 0;
}

enum kind { UNCOLORED, SINGLE, KINDS };

struct scene {
	struct event_base *base;
	struct event *ev;
	unsigned ran;
};

static void timer_cb(evutil_socket_t fd, short what, void *arg)
{
	struct scene *s = arg;

	(void)fd;
	assert_int_equal(what, EV_TIMEOUT);
	s->ran++;
}

static void setup(struct scene *s, enum kind kind)
{
	struct event_config *cfg = event_config_new();

	assert_non_null(cfg);
	assert_int_equal(event_config_set_workers(cfg, 1, NULL, NULL), 0);
	*s = (struct scene){ .base = event_base_new_with_config(cfg) };
	event_config_free(cfg);
	assert_non_null(s->base);
	s->ev = event_new(s->base, -1, 0, timer_cb, s);
	assert_non_null(s->ev);
	if (kind == SINGLE)
		assert_int_equal(event_set_color(s->ev, 7), 0);
	start_ns = now_ns;
	sleeps_num = 0;
}

static void teardown(struct scene *s)
{
	event_free(s->ev);
	event_base_free(s->base);
}

static void set_timeout(struct scene *s, int64_t ms)
{
	struct timeval tv = { .tv_sec = (time_t)(ms / 1000), .tv_usec = (suseconds_t)(ms % 1000 * 1000) };

	assert_int_equal(event_add(s->ev, &tv), 0);
}

static const struct {
	const char *what;
	int64_t first_ms, then_ms;	/* the timeout, and what it is postponed to */
	unsigned sleeps_max;
} rows[] = {
	{ "as it was set", 1500, 1500, 1 },
	{ "postponed", 1500, 3000, 2 },
	{ "postponed by little", 1500, 1501, 2 },
	{ "postponed, and the sleep is short", 500, 900, 1 },
	{ "a short one, postponed for long", 100, 60000, 2 },
	{ "earlier", 60000, 100, 1 },
};

static void run_all(int flags)
{
	struct scene s;
	enum kind kind;
	size_t i;

	for (kind = UNCOLORED; kind < KINDS; kind++) {
		for (i = 0; i < ROWS(rows); i++) {
			setup(&s, kind);
			set_timeout(&s, rows[i].first_ms);
			set_timeout(&s, rows[i].then_ms);
			assert_row(event_base_loop(s.base, flags) >= 0, rows[i].what);
			assert_row(s.ran == 1, rows[i].what);
			assert_row((now_ns - start_ns) / 1000000 == rows[i].then_ms, rows[i].what);
			assert_row(sleeps_num <= rows[i].sleeps_max, rows[i].what);
			teardown(&s);
		}
	}
}

static void until_nothing_is_left(void **state)
{
	(void)state;
	run_all(0);
}

static void once(void **state)
{
	(void)state;
	run_all(EVLOOP_ONCE);
}

/* ---------------------------------------------------------------- memory after a burst */

enum { BUFFERS = 1000, BUFFER_SIZE = 100000, KEPT_MAX = 1 << 20, WAKE_UPS_MAX = 16 };

static void burst(void)
{
	static struct evbuffer *buffers[BUFFERS];
	static const char data[BUFFER_SIZE];
	unsigned i;

	for (i = 0; i < BUFFERS; i++) {
		buffers[i] = evbuffer_new();
		assert_non_null(buffers[i]);
		assert_int_equal(evbuffer_add(buffers[i], data, sizeof(data)), 0);
	}
	for (i = 0; i < BUFFERS; i++)
		evbuffer_free(buffers[i]);
}

/* By the loop's own time, and the loop wakes up for it no longer than needed. */
static void a_burst_is_given_back(void **state)
{
	struct scene s;
	enum kind kind;
	size_t before;

	(void)state;
	if (!EC_CHUNK_RECYCLES || heap_in_use() == 0)
		skip();		/* a sanitizer's malloc; ThreadSanitizer's counts nothing */
	for (kind = UNCOLORED; kind < KINDS; kind++) {
		setup(&s, kind);
		set_timeout(&s, 60000);
		before = heap_in_use();
		burst();
		assert_true(heap_in_use() > before + KEPT_MAX);
		assert_int_equal(event_base_loop(s.base, EVLOOP_ONCE), 0);
		assert_int_equal(s.ran, 1);
		assert_true(heap_in_use() <= before + KEPT_MAX);
		assert_in_range(sleeps_num, 2, WAKE_UPS_MAX);

		sleeps_num = 0;
		set_timeout(&s, 60000);
		assert_int_equal(event_base_loop(s.base, EVLOOP_ONCE), 0);
		assert_int_equal(sleeps_num, 1);
		teardown(&s);
	}
}

static int begin(void **state)
{
	(void)state;
	ec_clock_set_source(virtual_clock);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(until_nothing_is_left),
		cmocka_unit_test(once),
		cmocka_unit_test(a_burst_is_given_back),
	};

	return cmocka_run_group_tests_name("how long the loop sleeps", tests, begin, NULL);
}
