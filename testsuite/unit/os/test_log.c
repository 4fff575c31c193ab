/*
 * core/os/log.c: where messages go, how they are cut, and how the process ends.
 */
#include "child.h"

#include <errno.h>
#include <pthread.h>

#include "core/ec.h"
#include "core/os/log.h"

enum { MESSAGE_MAX = 1024 };

static int last_severity, calls_num;
static char last_text[2 * MESSAGE_MAX];

static void keep(int severity, const char *msg)
{
	last_severity = severity;
	calls_num++;
	assert_true(strlen(msg) < MESSAGE_MAX);
	strcpy(last_text, msg);
}

static int setup(void **state)
{
	(void)state;
	calls_num = 0;
	last_text[0] = '\0';
	ec_log_set_fn(keep);
	ec_log_set_debug(0);
	return 0;
}

static void a_callback_gets_severity_and_text(void **state)
{
	(void)state;
	ec_log(EC_LOG_MSG, "%s %d", "one", 1);
	assert_int_equal(last_severity, EC_LOG_MSG);
	assert_string_equal(last_text, "one 1");
	ec_log(EC_LOG_WARN, "two");
	assert_int_equal(last_severity, EC_LOG_WARN);
	ec_log(EC_LOG_ERR, "three");
	assert_int_equal(last_severity, EC_LOG_ERR);
	assert_int_equal(calls_num, 3);
}

/* ---------------------------------------------------------------- messages that wait */

static EC_PRINTF(1, 2) void late(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	ec_vlog_late(EC_LOG_WARN, EC_NO_ERRNO, fmt, ap);
	va_end(ap);
}

static void late_messages_keep_their_order(void **state)
{
	(void)state;
	errno = 77;
	late("one");
	late("two");
	assert_int_equal(calls_num, 0);
	assert_true(ec_log_is_late());
	ec_log(EC_LOG_MSG, "three");
	assert_int_equal(calls_num, 3);
	assert_string_equal(last_text, "three");
	assert_false(ec_log_is_late());
	assert_false(ec_log_flush(false));
	late("four");
	assert_true(ec_log_flush(false));
	assert_int_equal(last_severity, EC_LOG_WARN);
	assert_string_equal(last_text, "four");
	assert_int_equal(errno, 77);
}

static void late_messages_that_find_no_place_are_counted(void **state)
{
	enum { PLACES = 16, LOST = 5 };
	int i;

	(void)state;
	for (i = 0; i < PLACES + LOST; i++)
		late("%d", i);
	assert_true(ec_log_flush(false));
	assert_int_equal(calls_num, PLACES + 1);
	assert_non_null(strstr(last_text, ": 5"));
	late("%0600d", 1);
	assert_true(ec_log_flush(false));
	assert_int_equal(strlen(last_text), 511);
}

static void *late_main(void *arg)
{
	late("of another thread");
	return arg;
}

/* A thread that has ended without it: the second look finds the message. */
static void late_messages_of_others_are_told_in_the_end(void **state)
{
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, late_main, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_false(ec_log_flush(false));
	assert_false(ec_log_flush(true));
	assert_true(ec_log_flush(true));
	assert_string_equal(last_text, "of another thread");
	assert_false(ec_log_is_late());
}

static void debug_is_silent_until_asked_for(void **state)
{
	(void)state;
	assert_false(ec_log_debug_on());
	ec_log(EC_LOG_DEBUG, "unheard");
	assert_int_equal(calls_num, 0);
	ec_log_set_debug(1);
	assert_true(ec_log_debug_on());
	ec_log(EC_LOG_DEBUG, "heard");
	assert_int_equal(calls_num, 1);
	assert_int_equal(last_severity, EC_LOG_DEBUG);
	ec_log_set_debug(0);
	ec_log(EC_LOG_DEBUG, "unheard");
	assert_int_equal(calls_num, 1);
}

static void an_error_number_becomes_its_words(void **state)
{
	(void)state;
	ec_log_errno(EC_LOG_WARN, ENOENT, "open %s", "x");
	assert_string_equal(last_text, "open x: No such file or directory");
	ec_log_errno(EC_LOG_WARN, 0, "fine");
	assert_string_equal(last_text, "fine");
}

static void long_messages_are_cut(void **state)
{
	char text[2 * MESSAGE_MAX];

	(void)state;
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	ec_log(EC_LOG_WARN, "%s", text);
	assert_int_equal(strlen(last_text), MESSAGE_MAX - 1);
}

/* The words of an error are cut too; where not even one letter of them fits, they are left out. */
static void errors_words_take_what_room_there_is(void **state)
{
	char text[MESSAGE_MAX];
	size_t len;

	(void)state;
	for (len = MESSAGE_MAX - 8; len < MESSAGE_MAX; len++) {
		memset(text, 'x', len);
		text[len] = '\0';
		ec_log_errno(EC_LOG_WARN, ENOENT, "%s", text);
		if (len < MESSAGE_MAX - 3) {
			assert_int_equal(strlen(last_text), MESSAGE_MAX - 1);
			assert_memory_equal(last_text + len, ": No such", MESSAGE_MAX - 1 - len);
		} else {
			assert_int_equal(strlen(last_text), len);
		}
	}
}

static void errno_survives(void **state)
{
	(void)state;
	errno = EPIPE;
	ec_log_errno(EC_LOG_WARN, ENOENT, "x");
	assert_int_equal(errno, EPIPE);
}

static void say_all(void)
{
	ec_log_set_fn(keep);
	ec_log_set_fn(NULL);
	ec_log_set_debug(~0U);
	ec_log(EC_LOG_DEBUG, "a");
	ec_log(EC_LOG_MSG, "b");
	ec_log(EC_LOG_WARN, "c");
	ec_log(EC_LOG_ERR, "d");
}

static void without_a_callback_they_go_to_standard_error(void **state)
{
	struct child child;

	(void)state;
	child_passes(&child, say_all);
	assert_string_equal(child.text, "[debug] a\n[msg] b\n[warn] c\n[err] d\n");
}

static void die_plainly(void)
{
	ec_log_set_fn(NULL);
	ec_die(3, "the end of %s", "it");
}

static void die_aborting(void)
{
	ec_log_set_fn(NULL);
	ec_die(EC_EXIT_ABORT, "broken");
}

static void tell(int err)
{
	fprintf(stderr, "fatal %d\n", err);
}

static void tell_and_leave(int err)
{
	fprintf(stderr, "left with %d\n", err);
	_exit(21);
}

static void die_telling(void)
{
	ec_log_set_fn(NULL);
	ec_log_set_fatal_fn(tell);
	ec_die(4, "last words");
}

static void die_telling_of_abort(void)
{
	ec_log_set_fn(NULL);
	ec_log_set_fatal_fn(tell);
	ec_die(EC_EXIT_ABORT, "broken");
}

static void die_leaving(void)
{
	ec_log_set_fn(NULL);
	ec_log_set_fatal_fn(tell_and_leave);
	ec_die(5, "last words");
}

static void death_has_its_exit_code(void **state)
{
	struct child child;

	(void)state;
	child_exits(&child, die_plainly, 3, "[err] the end of it\n");
	child_aborts(&child, die_aborting, "[err] broken\n");
}

static void the_fatal_callback_comes_after_the_message(void **state)
{
	struct child child;

	(void)state;
	child_exits(&child, die_telling, 4, "[err] last words\nfatal 4\n");
	child_exits(&child, die_leaving, 21, "[err] last words\nleft with 5\n");
}

/* Who has a callback gets no core dump on top of it. */
static void with_a_callback_a_broken_promise_exits(void **state)
{
	struct child child;

	(void)state;
	child_exits(&child, die_telling_of_abort, EC_EXIT_ABORT & 0xff, "fatal -559030611\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_callback_gets_severity_and_text, setup),
		cmocka_unit_test_setup(debug_is_silent_until_asked_for, setup),
		cmocka_unit_test_setup(an_error_number_becomes_its_words, setup),
		cmocka_unit_test_setup(long_messages_are_cut, setup),
		cmocka_unit_test_setup(errors_words_take_what_room_there_is, setup),
		cmocka_unit_test_setup(errno_survives, setup),
		cmocka_unit_test_setup(late_messages_keep_their_order, setup),
		cmocka_unit_test_setup(late_messages_that_find_no_place_are_counted, setup),
		cmocka_unit_test_setup(late_messages_of_others_are_told_in_the_end, setup),
		cmocka_unit_test(without_a_callback_they_go_to_standard_error),
		cmocka_unit_test(death_has_its_exit_code),
		cmocka_unit_test(the_fatal_callback_comes_after_the_message),
		cmocka_unit_test(with_a_callback_a_broken_promise_exits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
