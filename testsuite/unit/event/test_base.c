/* The loop's calls, listing, dumping, and the color API: what passes through the face. */
#include "mock.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>
#include <event2/event_struct.h>
#include <event2/smp.h>
#include <event2/thread.h>

static int some_base;
#define BASE ((struct event_base *)(void *)&some_base)

static void calls_on_no_base_fail_where_libevents_do(void **state)
{
	struct timeval tv;

	(void)state;
	assert_int_equal(event_base_loopexit(NULL, NULL), -1);
	assert_int_equal(event_base_loopbreak(NULL), -1);
	assert_int_equal(event_base_loopcontinue(NULL), -1);
	assert_int_equal(event_base_foreach_event(NULL, NULL, NULL), -1);
	assert_int_equal(event_gettime_monotonic(NULL, &tv), -1);
	assert_int_equal(event_gettime_monotonic(BASE, NULL), -1);
	assert_int_equal(evthread_make_base_notifiable(NULL), -1);
	assert_calls("");
}

static void the_loops_result_passes_through(void **state)
{
	(void)state;
	mock.result = 1;
	assert_int_equal(event_base_dispatch(BASE), 1);
	mock.result = 0;
	assert_int_equal(event_base_loop(BASE, EVLOOP_ONCE), 0);
	mock.result = -EBADF;
	assert_int_equal(event_base_loop(BASE, 0), -1);
	assert_int_equal(errno, EBADF);
}

static void the_monotonic_clock_is_cut_to_microseconds(void **state)
{
	struct timeval tv;

	(void)state;
	assert_int_equal(event_gettime_monotonic(BASE, &tv), 0);
	assert_int_equal(tv.tv_sec, 3);
	assert_int_equal(tv.tv_usec, 4);
}

static void no_memory_for_priorities_is_warned_of(void **state)
{
	char said[100];

	(void)state;
	mock.result = -EBUSY;
	assert_int_equal(event_base_priority_init(BASE, 3), -1);
	assert_string_equal(mock.message, "");
	mock.result = -ENOMEM;
	assert_int_equal(event_base_priority_init(BASE, 3), -1);
	snprintf(said, sizeof(said), "event_base_priority_init: %s", strerror(ENOMEM));
	assert_string_equal(mock.message, said);
}

static void the_version_is_the_headers(void **state)
{
	(void)state;
	assert_string_equal(event_get_version(), LIBEVENT_VERSION);
	assert_int_equal(event_get_version_number(), LIBEVENT_VERSION_NUMBER);
}

/* ---------------------------------------------------------------- listing */

static int stop_at_signals(const struct event_base *base, const struct event *ev, void *arg)
{
	int *seen = arg;

	assert_ptr_equal(base, BASE);
	++*seen;
	return (event_get_events(ev) & EV_SIGNAL) != 0 ? 42 : 0;
}

static void a_visitor_that_is_content_stops_the_visit(void **state)
{
	struct ec_event events[] = { { .fd = 1 }, { .events = EC_SIGNAL }, { .fd = 2 } };
	int seen = 0;

	(void)state;
	mock.events = events;
	mock.events_num = 3;
	assert_int_equal(event_base_foreach_event(BASE, stop_at_signals, &seen), 42);
	assert_int_equal(seen, 2);
	assert_int_equal(event_base_foreach_event(BASE, NULL, NULL), -1);
}

static void dump_is_in_libevents_format(void **state)
{
	struct ec_event events[] = {
		{ .fd = 5, .events = EC_READ | EC_WRITE | EC_CLOSED | EC_PERSIST | EC_ET },
		{ .fd = 10, .events = EC_SIGNAL, .res = EC_SIGNAL, .task.pri = 3 },
		{ .fd = -1, .deadline_ns = INT64_C(7000008000), .task.flags = EC_IN_TIMEOUT | EC_IN_INTERNAL },
		{ .fd = 6, .res = EC_READ | EC_TIMEOUT, .task.flags = EC_IN_ACTIVE_LATER },
	};
	char *text, expected[512];
	size_t size;
	FILE *f;

	(void)state;
	events[0].task.flags = EC_IN_INSERTED;
	events[1].task.flags = EC_IN_INSERTED | EC_IN_ACTIVE;
	mock.events = events;
	mock.events_num = 4;
	f = open_memstream(&text, &size);
	assert_non_null(f);
	event_base_dump_events(BASE, f);
	assert_int_equal(fclose(f), 0);
	(void)snprintf(expected, sizeof(expected),
		       "Inserted events:\n"
		       "  %p [fd  5] Read Write EOF Persist ET\n"
		       "  %p [sig 10] Signal\n"
		       "  %p [fd  -1] Internal Timeout=7.000008\n"
		       "Active events:\n"
		       "  %p [sig 10, priority=3] Signal active\n"
		       "  %p [fd  6, priority=0] Read Timeout active [NextTime]\n",
		       (void *)&events[0], (void *)&events[1], (void *)&events[2], (void *)&events[1],
		       (void *)&events[3]);
	assert_string_equal(text, expected);
	free(text);
}

/* ---------------------------------------------------------------- colors */

static void post(void *arg)
{
	(void)arg;
}

static void a_post_has_the_priority_asked_for(void **state)
{
	(void)state;
	assert_int_equal(event_base_post(BASE, 1, post, NULL), 0);
	assert_calls("base_post");
	assert_int_equal(event_base_post_priority(BASE, 1, 2, post, NULL), 0);
	assert_int_equal(mock.number, 2);
	assert_calls("base_post base_post_priority");
	mock.result = -1;
	assert_int_equal(event_base_post_priority(BASE, 1, -1, post, NULL), -1);
	assert_int_equal(mock.number, -1);
}

static void a_callback_of_no_base_runs_nowhere(void **state)
{
	ev_uint32_t color = 5;

	(void)state;
	mock.result = -1; /* UINT_MAX */
	assert_int_equal(event_base_get_running_worker(BASE), -1);
	mock.result = -ENOENT;
	assert_int_equal(event_base_get_running_color(BASE, &color), -1);
	assert_int_equal(color, 5);
	mock.result = 0;
	assert_int_equal(event_base_get_running_worker(BASE), 0);
	assert_int_equal(event_base_get_running_color(BASE, &color), 0);
	assert_int_equal(color, 77);
}

static void a_program_with_an_older_struct_gets_what_it_knows(void **state)
{
	struct event_worker_stats stats;

	(void)state;
	memset(&stats, 0xff, sizeof(stats));
	assert_int_equal(event_base_get_stats(BASE, 0, &stats, offsetof(struct event_worker_stats, posts)), 0);
	assert_int_equal(stats.callbacks, 1);
	assert_int_equal(stats.posts, UINT64_MAX);
}

static void a_program_with_a_newer_struct_gets_zeros(void **state)
{
	struct {
		struct event_color_stats stats;
		ev_uint64_t newer;
	} s;

	(void)state;
	memset(&s, 0xff, sizeof(s));
	assert_int_equal(event_base_get_color_stats(BASE, 4, &s.stats, sizeof(s)), 0);
	assert_int_equal(s.stats.color, 4);
	assert_int_equal(s.stats.callbacks, 9);
	assert_int_equal(s.newer, 0);
}

static void counters_of_what_is_not_there_are_left_alone(void **state)
{
	struct event_worker_stats worker = { .callbacks = 6 };
	struct event_color_stats color = { .callbacks = 7 };

	(void)state;
	mock.result = -ENOENT;
	assert_int_equal(event_base_get_stats(BASE, 99, &worker, sizeof(worker)), -1);
	assert_int_equal(worker.callbacks, 6);
	assert_int_equal(event_base_get_color_stats(BASE, 99, &color, sizeof(color)), -1);
	assert_int_equal(color.callbacks, 7);
	assert_int_equal(errno, ENOENT);
}

#define TEST(name) cmocka_unit_test_setup(name, face_mock_reset)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(calls_on_no_base_fail_where_libevents_do),
		TEST(the_loops_result_passes_through),
		TEST(the_monotonic_clock_is_cut_to_microseconds),
		TEST(no_memory_for_priorities_is_warned_of),
		TEST(the_version_is_the_headers),
		TEST(a_visitor_that_is_content_stops_the_visit),
		TEST(dump_is_in_libevents_format),
		TEST(a_post_has_the_priority_asked_for),
		TEST(a_callback_of_no_base_runs_nowhere),
		TEST(a_program_with_an_older_struct_gets_what_it_knows),
		TEST(a_program_with_a_newer_struct_gets_zeros),
		TEST(counters_of_what_is_not_there_are_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
