/* Adding, deleting, activating, finalizing: what the face makes of it before the engine has it. */
#include "mock.h"

#include <errno.h>
#include <string.h>

#include <event2/event.h>
#include <event2/event_struct.h>

static int some_base;
static const struct timeval second = { 1, 0 };

static void callback(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
}

static void finalizer(struct event *ev, void *arg)
{
	(void)ev;
	(void)arg;
}

static struct event event_of_a_base(void)
{
	struct event ev = { .ev_base = (struct event_base *)(void *)&some_base, .ev_fd = 5, .ev_events = EV_READ };

	ev.ev_evcallback.evcb_cb_union.evcb_callback = callback;
	return ev;
}

static void assert_warned(const char *caller)
{
	char expected[128];

	(void)snprintf(expected, sizeof(expected), "%s: event has no event_base set.", caller);
	assert_string_equal(mock.message, expected);
	assert_int_equal(mock.severity, EVENT_LOG_WARN);
	assert_calls("");
	mock.message[0] = '\0';
}

static void an_event_without_a_base_is_told_so_and_never_reaches_the_engine(void **state)
{
	struct event ev = { .ev_fd = 5 };

	(void)state;
	assert_int_equal(event_add(&ev, NULL), -1);
	assert_warned("event_add");
	assert_int_equal(event_del(&ev), -1);
	assert_warned("event_del_");
	assert_int_equal(event_del_block(&ev), -1);
	assert_warned("event_del_");
	assert_int_equal(event_del_noblock(&ev), -1);
	assert_warned("event_del_");
	assert_int_equal(event_remove_timer(&ev), -1);
	assert_warned("event_remove_timer");
	assert_int_equal(event_pending(&ev, EV_READ, NULL), 0);
	assert_warned("event_pending");
	assert_int_equal(event_finalize(0, &ev, finalizer), -1);
	assert_warned("event_finalize_impl_");
	assert_int_equal(event_free_finalize(0, &ev, finalizer), -1);
	assert_warned("event_finalize_impl_");
}

static void without_debug_mode_only_the_engine_is_asked(void **state)
{
	struct event ev = event_of_a_base();

	(void)state;
	assert_int_equal(event_add(&ev, &second), 0);
	assert_int_equal(event_remove_timer(&ev), 0);
	assert_int_equal(event_pending(&ev, EV_READ, NULL), 0);
	event_active(&ev, EV_WRITE, 1);
	assert_int_equal(mock.number, EV_WRITE);
	assert_int_equal(event_del(&ev), 0);
	assert_int_equal(event_finalize(0, &ev, finalizer), 0);
	assert_calls("event_add event_remove_timer event_pending event_active event_del event_finalize");
	assert_string_equal(mock.message, "");
}

static void each_way_to_delete_has_its_own_rule_of_waiting(void **state)
{
	struct event ev = event_of_a_base();

	(void)state;
	(void)event_del(&ev);
	assert_int_equal(mock.number, EC_DEL_AUTOBLOCK);
	(void)event_del_block(&ev);
	assert_int_equal(mock.number, EC_DEL_BLOCK);
	(void)event_del_noblock(&ev);
	assert_int_equal(mock.number, EC_DEL_NOBLOCK);
}

static void a_failure_becomes_minus_one_and_errno(void **state)
{
	struct event ev = event_of_a_base();

	(void)state;
	mock.result = -EPERM;
	errno = 0;
	assert_int_equal(event_add(&ev, NULL), -1);
	assert_int_equal(errno, EPERM);
	mock.result = -ENOMEM;
	assert_int_equal(event_free_finalize(0, &ev, finalizer), -1);
	assert_int_equal(errno, ENOMEM);
}

static void success_keeps_errno(void **state)
{
	struct event ev = event_of_a_base();

	(void)state;
	errno = EXDEV;
	assert_int_equal(event_add(&ev, NULL), 0);
	assert_int_equal(event_del(&ev), 0);
	assert_int_equal(errno, EXDEV);
}

static void debug_mode_checks_the_event_first(void **state)
{
	struct event ev = event_of_a_base();

	(void)state;
	ec_watch = EC_WATCH_MISUSE;
	(void)event_add(&ev, NULL);
	(void)event_del(&ev);
	assert_calls("debug_assert_is_setup debug_note_add event_add debug_note_del event_del");
	mock.calls[0] = '\0';
	(void)event_pending(&ev, EV_READ, NULL);
	(void)event_remove_timer(&ev);
	assert_calls("debug_assert_is_setup event_pending debug_assert_is_setup event_remove_timer");
}

static void debug_mode_is_told_of_an_event_that_is_finalized(void **state)
{
	struct event ev = event_of_a_base();

	(void)state;
	ec_watch = EC_WATCH_MISUSE;
	(void)event_finalize(0, &ev, finalizer);
	assert_calls("debug_note_del event_finalize");
}

static void a_finalizer_may_delete_what_debug_mode_has_forgotten(void **state)
{
	struct event ev = event_of_a_base();

	(void)state;
	ec_watch = EC_WATCH_MISUSE;
	ev.ev_evcallback.evcb_flags = EVLIST_INIT | EVLIST_FINALIZING;
	(void)event_del(&ev);
	(void)event_finalize(0, &ev, finalizer);
	assert_calls("event_del event_finalize");
}

static void a_trace_is_told_which_events_are_added_and_deleted(void **state)
{
	struct event ev = event_of_a_base();

	(void)state;
	ec_watch = EC_WATCH_TOUCH;
	(void)event_add(&ev, NULL);
	(void)event_del(&ev);
	assert_ptr_equal(mock.touched, &ev);
	assert_non_null(strstr(mock.calls, "trace_touch event_add"));
	assert_non_null(strstr(mock.calls, "trace_touch event_del"));
}

static void debug_messages_name_the_call_and_the_event(void **state)
{
	struct event ev = event_of_a_base();
	char expected[128];

	(void)state;
	ec_watch = EC_WATCH_LOG;
	(void)event_add(&ev, &second);
	(void)snprintf(expected, sizeof(expected), "event_add: event: %p (fd 5), EV_READ   EV_TIMEOUT call %p",
		       (void *)&ev, (void *)(uintptr_t)callback);
	assert_string_equal(mock.message, expected);
	assert_int_equal(mock.severity, EVENT_LOG_DEBUG);
	(void)event_del(&ev);
	assert_non_null(strstr(mock.message, "event_del: "));
	assert_calls("event_add event_del");
}

static void once_needs_a_base(void **state)
{
	struct event_base *base = (struct event_base *)(void *)&some_base;

	(void)state;
	assert_int_equal(event_base_once(NULL, -1, EV_TIMEOUT, callback, NULL, NULL), -1);
	assert_calls("");
	assert_int_equal(event_base_once(base, 4, EV_READ, callback, NULL, NULL), 0);
	assert_calls("base_once");
	assert_int_equal(mock.number, 4);
	mock.result = -EINVAL;
	assert_int_equal(event_base_once(base, 4, EV_SIGNAL, callback, NULL, NULL), -1);
	assert_int_equal(errno, EINVAL);
}

#define TEST(name) cmocka_unit_test_setup(name, face_mock_reset)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_event_without_a_base_is_told_so_and_never_reaches_the_engine),
		TEST(without_debug_mode_only_the_engine_is_asked),
		TEST(each_way_to_delete_has_its_own_rule_of_waiting),
		TEST(a_failure_becomes_minus_one_and_errno),
		TEST(success_keeps_errno),
		TEST(debug_mode_checks_the_event_first),
		TEST(debug_mode_is_told_of_an_event_that_is_finalized),
		TEST(a_finalizer_may_delete_what_debug_mode_has_forgotten),
		TEST(a_trace_is_told_which_events_are_added_and_deleted),
		TEST(debug_messages_name_the_call_and_the_event),
		TEST(once_needs_a_base),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
