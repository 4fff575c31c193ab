/* Assigning events, making them, asking them back. */
#include "mock.h"

#include <errno.h>

#include <event2/event.h>
#include <event2/event_compat.h>
#include <event2/event_struct.h>

static int some_base, other_base;

static struct event_base *base_of(int *it)
{
	return (struct event_base *)(void *)it;
}

static void callback(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
}

static void what_is_assigned_can_be_asked_back(void **state)
{
	struct event_base *base;
	event_callback_fn fn;
	evutil_socket_t fd;
	struct event ev;
	short events;
	int x;
	void *arg;

	(void)state;
	assert_int_equal(event_assign(&ev, base_of(&some_base), 7, EV_READ | EV_PERSIST, callback, &x), 0);
	event_get_assignment(&ev, &base, &fd, &events, &fn, &arg);
	assert_ptr_equal(base, &some_base);
	assert_int_equal(fd, 7);
	assert_int_equal(events, EV_READ | EV_PERSIST);
	assert_true(fn == callback);
	assert_ptr_equal(arg, &x);

	assert_ptr_equal(event_get_base(&ev), &some_base);
	assert_int_equal(event_get_fd(&ev), 7);
	assert_int_equal(event_get_events(&ev), EV_READ | EV_PERSIST);
	assert_true(event_get_callback(&ev) == callback);
	assert_ptr_equal(event_get_callback_arg(&ev), &x);
	assert_int_equal(event_get_priority(&ev), 0);
	event_get_assignment(&ev, NULL, NULL, NULL, NULL, NULL);
}

static void no_base_means_the_current_one(void **state)
{
	struct event ev;

	(void)state;
	mock.current = (struct ec_base *)(void *)&other_base;
	assert_int_equal(event_assign(&ev, NULL, -1, 0, callback, NULL), 0);
	assert_ptr_equal(event_get_base(&ev), &other_base);
	event_set(&ev, -1, 0, callback, NULL);
	assert_ptr_equal(event_get_base(&ev), &other_base);
	assert_int_equal(event_assign(&ev, base_of(&some_base), -1, 0, callback, NULL), 0);
	assert_ptr_equal(event_get_base(&ev), &some_base);
}

static void the_self_argument_is_the_event(void **state)
{
	struct event ev, *made;

	(void)state;
	assert_int_equal(event_assign(&ev, NULL, -1, 0, callback, event_self_cbarg()), 0);
	assert_ptr_equal(event_get_callback_arg(&ev), &ev);
	made = event_new(NULL, -1, 0, callback, event_self_cbarg());
	assert_non_null(made);
	assert_ptr_equal(event_get_callback_arg(made), made);
	ec_free(made);
}

static void what_the_engine_refuses_is_warned_of(void **state)
{
	struct event ev;

	(void)state;
	mock.result = -EINVAL;
	assert_int_equal(event_assign(&ev, NULL, 10, EV_SIGNAL | EV_READ, callback, NULL), -1);
	assert_int_equal(mock.severity, EVENT_LOG_WARN);
	assert_string_equal(mock.message,
			    "event_assign: EV_SIGNAL is not compatible with EV_READ, EV_WRITE or EV_CLOSED");
	assert_true(event_initialized(&ev));
}

static void an_event_that_is_refused_is_not_made(void **state)
{
	(void)state;
	mock.result = -EINVAL;
	assert_null(event_new(NULL, 10, EV_SIGNAL | EV_READ, callback, NULL));
	assert_int_equal(mock.allocs_out, 0);
}

static void an_event_needs_memory(void **state)
{
	(void)state;
	mock.allocs_left = 0;
	assert_null(event_new(NULL, -1, 0, callback, NULL));
	assert_calls("");
}

static void freeing_deletes_first(void **state)
{
	struct event *ev = event_new(base_of(&some_base), -1, 0, callback, NULL);

	(void)state;
	assert_non_null(ev);
	event_free(ev);
	assert_calls("event_init event_del");
	assert_int_equal(mock.number, EC_DEL_AUTOBLOCK);
	assert_int_equal(mock.allocs_out, 0);
}

static void debug_mode_looks_before_and_notes_after(void **state)
{
	struct event ev;

	(void)state;
	ec_watch = EC_WATCH_MISUSE;
	assert_int_equal(event_assign(&ev, NULL, 3, EV_READ, callback, NULL), 0);
	assert_calls("debug_assert_not_added debug_assert_socket_nonblocking event_init debug_note_setup");
}

static void debug_mode_lets_signals_be_any_number(void **state)
{
	struct event ev;

	(void)state;
	ec_watch = EC_WATCH_MISUSE;
	assert_int_equal(event_assign(&ev, NULL, 3, EV_SIGNAL, callback, NULL), 0);
	assert_calls("debug_assert_not_added event_init debug_note_setup");
}

static void debug_mode_notes_nothing_that_was_refused(void **state)
{
	struct event ev;

	(void)state;
	ec_watch = EC_WATCH_MISUSE;
	mock.result = -EINVAL;
	assert_int_equal(event_assign(&ev, NULL, 3, EV_SIGNAL | EV_READ, callback, NULL), -1);
	assert_calls("debug_assert_not_added event_init");
}

static void unassigned_is_not_initialized(void **state)
{
	struct event ev = { .ev_fd = 0 };

	(void)state;
	assert_false(event_initialized(&ev));
	assert_int_equal(event_assign(&ev, NULL, -1, 0, callback, NULL), 0);
	assert_true(event_initialized(&ev));
	event_debug_unassign(&ev);
	assert_false(event_initialized(&ev));
}

static void debug_mode_checks_what_is_asked(void **state)
{
	struct event ev = { .ev_fd = 0 };

	(void)state;
	ec_watch = EC_WATCH_MISUSE;
	(void)event_get_fd(&ev);
	(void)event_get_priority(&ev);
	(void)event_priority_set(&ev, 1);
	(void)event_base_set(base_of(&some_base), &ev);
	assert_calls("debug_assert_is_setup debug_assert_is_setup event_set_pri_checked event_set_base_checked");
	assert_ptr_equal(mock.base, &some_base);
	assert_int_equal(mock.number, 1);
}

static void the_size_is_the_headers(void **state)
{
	(void)state;
	assert_int_equal(event_get_struct_event_size(), sizeof(struct event));
}

#define TEST(name) cmocka_unit_test_setup(name, face_mock_reset)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_assigned_can_be_asked_back),
		TEST(no_base_means_the_current_one),
		TEST(the_self_argument_is_the_event),
		TEST(what_the_engine_refuses_is_warned_of),
		TEST(an_event_that_is_refused_is_not_made),
		TEST(an_event_needs_memory),
		TEST(freeing_deletes_first),
		TEST(debug_mode_looks_before_and_notes_after),
		TEST(debug_mode_lets_signals_be_any_number),
		TEST(debug_mode_notes_nothing_that_was_refused),
		TEST(unassigned_is_not_initialized),
		TEST(debug_mode_checks_what_is_asked),
		TEST(the_size_is_the_headers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
