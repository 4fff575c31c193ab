/*
 * core/observe/control.c: what is wanted, by whom, for how long; and the environment.
 */
#include "table.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "core/ec.h"
#include "core/observe/control.h"

static uint32_t now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint32_t)now.tv_sec;
}

static void want(unsigned bits, uint32_t lease_s)
{
	unsigned i;

	for (i = 0; i < EC_CONTROL_BITS; i++)
		ec_control_own.lease_s[i] = lease_s;
	ec_control_own.wanted = (uint8_t)bits;
}

static void nothing_is_wanted_at_first(void **state)
{
	(void)state;
	assert_ptr_equal(&ec_control, &ec_control_own);
	assert_string_equal(ec_control.magic, EC_CONTROL_MAGIC);
	assert_int_equal(ec_control.size, sizeof(ec_control));
	assert_int_equal(ec_control.attention, 0);
	assert_int_equal(ec_control_wanted(), 0);
}

static void what_is_wanted_calls_for_attention(void **state)
{
	(void)state;
	want(EC_OBSERVE_TRACE, 0);
	assert_int_not_equal(ec_control.attention, 0);
	assert_int_equal(ec_control_wanted(), EC_OBSERVE_TRACE);
	want(0xff, 0);
	assert_int_equal(ec_control_wanted(), EC_OBSERVE_ALL);		/* of bits without a meaning nothing comes */
	want(0, 0);
	assert_int_equal(ec_control.attention, 0);
}

static void a_lease_that_has_run_out_ends_the_wish(void **state)
{
	(void)state;
	want(EC_OBSERVE_COUNT | EC_OBSERVE_TRACE, now_s() + 1000);
	assert_int_equal(ec_control_wanted(), EC_OBSERVE_COUNT | EC_OBSERVE_TRACE);
	ec_control_own.lease_s[0] = now_s() - 10;
	assert_int_equal(ec_control_wanted(), EC_OBSERVE_TRACE);
	assert_int_equal(ec_control.wanted, EC_OBSERVE_TRACE);
	want(0, 0);
}

static void objects_go_with_the_lease_of_the_trace(void **state)
{
	(void)state;
	ec_control_own.trace[1] = EC_CONTROL_TRACE_OBJECTS | EC_CONTROL_TRACE_OBJECTS_HERE;
	want(EC_OBSERVE_TRACE, now_s() + 1000);
	assert_int_equal(ec_control_wanted(), EC_OBSERVE_TRACE);
	assert_int_equal(ec_control_own.trace[1], EC_CONTROL_TRACE_OBJECTS | EC_CONTROL_TRACE_OBJECTS_HERE);
	ec_control_own.lease_s[1] = now_s() - 10;
	assert_int_equal(ec_control_wanted(), 0);
	assert_int_equal(ec_control_own.trace[1], EC_CONTROL_TRACE_OBJECTS_HERE);
	ec_control_own.trace[1] = 0;
	want(0, 0);
}

static void the_table_has_room_for_so_many_files(void **state)
{
	int fds[EC_CONTROL_FILES + 1], at[EC_CONTROL_FILES], i;
	struct stat st;

	(void)state;
	for (i = 0; i <= EC_CONTROL_FILES; i++) {
		fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		assert_true(fds[i] >= 0);
	}
	for (i = 0; i < EC_CONTROL_FILES; i++) {
		at[i] = ec_control_add_file(EC_OBSERVE_COUNT, fds[i], (uint32_t)i);
		assert_int_equal(at[i], i);
		assert_int_equal(ec_control.files[i].kind, EC_OBSERVE_COUNT);
	}
	assert_int_equal(ec_control_add_file(EC_OBSERVE_COUNT, fds[i], 1), -1);
	/* The program may have closed it, and opened another file: that one stays open. */
	close(fds[3]);
	assert_int_equal(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), fds[3]);
	for (i = 0; i < EC_CONTROL_FILES; i++) {
		ec_control_remove_file(at[i]);
		assert_int_equal(ec_control.files[i].kind, 0);
		assert_int_equal(fstat(fds[i], &st) == 0, i == 3);
	}
	assert_int_equal(ec_control_add_file(EC_OBSERVE_COUNT, -1, 1), -1);
	close(fds[3]);
	close(fds[EC_CONTROL_FILES]);
}

/* ---------------------------------------------------------------- the environment */

static const char *stats;

static void read_environment(void)
{
	setenv("EVENT_SMP_STATS", stats, 1);
	ec_control_read_environment();
	if (ec_control_stats_path() != NULL)
		fprintf(stderr, "wanted %u path %s\n", ec_control_wanted(), ec_control_stats_path());
	else
		fprintf(stderr, "wanted %u no path\n", ec_control_wanted());
}

static void bases_are_counted(void **state)
{
	(void)state;
	assert_int_equal(ec_control.bases_num, 0);
	ec_control_base_begins();
	ec_control_base_begins();
	assert_int_equal(ec_control.bases_num, 2);
	ec_control_base_ends();
	assert_int_equal(ec_control.bases_num, 1);
	ec_control_base_ends();
}

static void hostile_values_are_refused_with_a_message(void **state)
{
	static char long_value[5000];
	const struct {
		const char *value, *says;
		bool is_refused;
	} rows[] = {
		{ "1", "wanted 1 path 1\n", false },
		{ "/run/x", "wanted 1 path /run/x\n", false },
		{ "0", "wanted 0 no path\n", false },
		{ "", "wanted 0 no path\n", true },
		{ "yes", "wanted 0 no path\n", true },
		{ "2", "wanted 0 no path\n", true },
		{ "-1", "wanted 0 no path\n", true },
		{ "./x", "wanted 1 path ./x\n", false },
		{ "a\nb", "wanted 0 no path\n", true },
		{ "\033[2J", "wanted 0 no path\n", true },
		{ long_value, "wanted 0 no path\n", true },
	};
	struct child child;
	size_t i;

	(void)state;
	memset(long_value, 'x', sizeof(long_value) - 1);
	for (i = 0; i < ROWS(rows); i++) {
		stats = rows[i].value;
		child_passes(&child, read_environment);
		assert_row(strstr(child.text, rows[i].says) != NULL, rows[i].value);
		assert_row((strstr(child.text, "EVENT_SMP_STATS is neither") != NULL) == rows[i].is_refused,
			   rows[i].value);
		assert_row(strchr(child.text, '\033') == NULL, rows[i].value);
	}
}

/* ---------------------------------------------------------------- a tool takes over from the environment */

static char taken_path[] = "/tmp/ec-control-XXXXXX";

static void take_over(uint32_t lease_s)
{
	setenv("EVENT_SMP_TRACE", taken_path, 1);
	setenv("EVENT_SMP_TRACE_OBJECTS", "1", 1);
	ec_control_read_environment();
	check(ec_control_own.wanted_here == EC_OBSERVE_TRACE);
	check(ec_control_own.trace[1] == EC_CONTROL_TRACE_OBJECTS_HERE);
	want(EC_OBSERVE_TRACE, lease_s);
	ec_control_own.trace[1] = EC_CONTROL_TRACE_OBJECTS;
	ec_control_own.wanted_here = 0;
}

static void make_another_base(void)
{
	take_over(now_s() + 1000);
	ec_control_read_environment();
	check(ec_control_own.wanted_here == 0);
	check(ec_control_wanted() == EC_OBSERVE_TRACE);
}

/* The tool finds a child by its file, so that has a name until the child is taken over in turn. */
static void look_as_a_child(void)
{
	take_over(now_s() - 10);
	ec_control_own.pid = getppid();
	ec_control_note_process();
	check(ec_control_own.wanted_here == EC_OBSERVE_TRACE);
	check(ec_control_wanted() == EC_OBSERVE_TRACE);
	check(ec_control_own.trace[1] == EC_CONTROL_TRACE_OBJECTS_HERE);
}

static void look_as_a_child_without_a_tool(void)
{
	take_over(now_s() - 10);
	check(ec_control_wanted() == 0);
	ec_control_own.pid = getppid();
	ec_control_note_process();
	check(ec_control_wanted() == 0);
}

static void look_as_a_child_after_the_end(void)
{
	take_over(now_s() + 1000);
	unlink(taken_path);
	ec_control_own.pid = getppid();
	ec_control_note_process();
	check(ec_control_own.wanted_here == 0);
}

static void the_environment_can_be_taken_over(void **state)
{
	struct child child;

	(void)state;
	close(mkstemp(taken_path));
	child_passes(&child, make_another_base);
	child_passes(&child, look_as_a_child);
	child_passes(&child, look_as_a_child_without_a_tool);
	child_passes(&child, look_as_a_child_after_the_end);
	assert_int_not_equal(access(taken_path, F_OK), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_wanted_at_first),
		cmocka_unit_test(what_is_wanted_calls_for_attention),
		cmocka_unit_test(a_lease_that_has_run_out_ends_the_wish),
		cmocka_unit_test(objects_go_with_the_lease_of_the_trace),
		cmocka_unit_test(the_table_has_room_for_so_many_files),
		cmocka_unit_test(bases_are_counted),
		cmocka_unit_test(hostile_values_are_refused_with_a_message),
		cmocka_unit_test(the_environment_can_be_taken_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
