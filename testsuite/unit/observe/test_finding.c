/*
 * core/observe/finding.c, site.c: reports as text and as JSON, where they go, and what may fail.
 */
#include "table.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/ec.h"
#include "core/observe/finding.h"
#include "core/observe/site.h"
#include "core/observe/text.h"
#include "fault.h"

static struct ec_stall_settings settings;
static char said[1 << 16], folder[64], path[80];
static int said_num;

static void keep(int severity, const char *msg)
{
	size_t len = strlen(said);

	assert_int_equal(severity, EC_LOG_WARN);
	said_num++;
	snprintf(said + len, sizeof(said) - len, "%s\n", msg);
}

static int setup(void **state)
{
	(void)state;
	said[0] = '\0';
	said_num = 0;
	settings = (struct ec_stall_settings){ .limit_ms = 100 };
	ec_log_set_fn(keep);
	strcpy(folder, "/tmp/finding.XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/file", folder);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	(void)fault_end();
	ec_log_set_fn(NULL);
	(void)unlink(path);
	return rmdir(folder);
}

/* Of several bytes: frames point behind its beginning. */
__attribute__((noinline)) static void slow_callback(void)
{
	__asm__ volatile("nop\n\tnop\n\tnop\n\tnop");
}

static struct ec_stall_party party(uint32_t color)
{
	struct ec_stall_party p = {
		.base = 7,
		.worker = 3,
		.color = color,
		.fn = (const void *)(uintptr_t)slow_callback,
		.waits_for = "\"it\"",
		.site_frame = -1,
	};

	p.trace.num = 3;
	p.trace.frames[0] = (char *)(uintptr_t)keep + 2;
	p.trace.frames[1] = (char *)(uintptr_t)slow_callback + 2;
	p.trace.frames[2] = (char *)(uintptr_t)keep + 2;
	return p;
}

static struct ec_finding finding(enum ec_finding_kind kind)
{
	struct ec_finding f = { .kind = kind, .ms = 120, .began = 4, .from = 10, .to = 3000, .parties_num = 1 };

	f.parties[0] = party(42);
	f.queue = (struct ec_stall_queue){
		.callbacks = 5,
		.has_colors = true,
		.colors = 1,
		.most_color = 9,
		.most = 2,
	};
	if (kind == EC_FINDING_CYCLE) {
		f.parties_num = 2;
		f.parties[1] = party(43);
	}
	return f;
}

static const char *read_file(void)
{
	static char text[1 << 16];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	assert_true(fd >= 0);
	n = read(fd, text, sizeof(text) - 1);
	assert_true(n >= 0);
	close(fd);
	text[n] = '\0';
	return text;
}

/* ---------------------------------------------------------------- text */

static void the_log_gets_a_message_for_each_line(void **state)
{
	static const struct {
		enum ec_finding_kind kind;
		int said_num;
		const char *text;
	} rows[] = {
		{ EC_FINDING_CALLBACK, 3,
		  ") of color 42 has run for 120 ms on worker 3 of base 7; "
		  "1 color waits behind it, and 0 callbacks of its own color\n" },
		{ EC_FINDING_TURN, 3,
		  "stall: worker 3 of base 7 has not turned for 120 ms; "
		  "4 callbacks began meanwhile, and 5 wait; it is in slow_callback (" },
		{ EC_FINDING_CYCLE, 7,
		  ") of color 43 on worker 3 of base 7 waits for \"it\"\nstall:   #0 keep+0x2 (" },
		{ EC_FINDING_POSTS, 1,
		  "stall: the callbacks that wait at worker 3 of base 7 grew from 10 to 3000 within 120 ms, "
		  "and never shrank; 2 are of color 9\n" },
	};
	struct ec_finding f;
	size_t i;

	(void)state;
	for (i = 0; i < ROWS(rows); i++) {
		said[0] = '\0';
		said_num = 0;
		f = finding(rows[i].kind);
		ec_finding_tell(&f, &settings);
		assert_row(said_num == rows[i].said_num, rows[i].text);
		assert_row(strstr(said, rows[i].text) != NULL, rows[i].text);
		if (rows[i].kind != EC_FINDING_POSTS)
			assert_row(strstr(said, "stall:   #1 slow_callback+0x2 (") != NULL, rows[i].text);
	}
}

/* Without the callback's name it is not known where the loop begins. */
static void a_stack_without_the_callback_is_whole(void **state)
{
	struct ec_finding f = finding(EC_FINDING_CALLBACK);

	(void)state;
	f.parties[0].trace.frames[1] = f.parties[0].trace.frames[0];
	ec_finding_tell(&f, &settings);
	assert_int_equal(said_num, 4);
	assert_non_null(strstr(said, "stall:   #2 keep+0x2 ("));
}

/* The callback is one of a library, which calls one of the program. */
static void a_callback_of_a_bufferevent(void **state)
{
	struct ec_finding f = finding(EC_FINDING_CALLBACK);

	(void)state;
	f.parties[0].site = (const void *)(uintptr_t)keep;
	f.parties[0].site_frame = 0;
	ec_finding_tell(&f, &settings);
	assert_int_equal(said_num, 2);
	assert_non_null(strstr(said, "stall: keep ("));
	assert_non_null(strstr(said, "), called by slow_callback ("));
	strcpy(settings.path, path);
	settings.is_json = true;
	ec_finding_tell(&f, &settings);
	assert_non_null(strstr(read_file(), "},\"called\":{\"address\":\"0x"));
}

static void the_program_is_what_our_libraries_call(void **state)
{
	static const struct {
		const char *objects[6];
		int num, frame;
	} rows[] = {
		{ { "libc.so.6", "cb", "/usr/lib/libevent-2.1.so.7", "libevent_smp.so.1", "main", "libc.so.6" }, 6, 1 },
		{ { "server", "libevent_core-2.1.so.7", "libevent_smp.so.1", "libc.so.6" }, 4, 0 },
		{ { "libc.so.6", "libevent_smp.so.1", "libevent_core-2.1.so.7", "cb", "libasync_smp.so.1" }, 5, 3 },
		{ { "libevent_core-2.1.so.7", "libevent_smp.so.1", "server" }, 3, -1 },
		{ { "server", "main" }, 2, -1 },
		{ { "" }, 0, -1 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ROWS(rows); i++)
		assert_row(ec_site_choose(rows[i].objects, rows[i].num) == rows[i].frame, rows[i].objects[0]);
}

static void a_worker_between_two_callbacks(void **state)
{
	struct ec_finding f = finding(EC_FINDING_TURN);

	(void)state;
	f.parties[0].is_between = true;
	ec_finding_tell(&f, &settings);
	assert_non_null(strstr(said, "; it is in no callback, after slow_callback ("));
	f.parties[0].fn = NULL;
	ec_finding_tell(&f, &settings);
	assert_non_null(strstr(said, "; it is in no callback\n"));
}

static void the_reason_for_no_stack_is_told(void **state)
{
	static const struct {
		int no_trace;
		const char *text;
	} rows[] = {
		{ 0, "no backtrace: this C library has no unwinder\n" },
		{ -ESRCH, "no backtrace: the thread has ended\n" },
		{ -ETIMEDOUT, "no backtrace: the thread blocks signals, waits in the kernel, or has no CPU\n" },
		{ -ECANCELED, "no backtrace: it went on meanwhile\n" },
		{ -ENOSPC, "no backtrace: the program handles every real-time signal\n" },
		{ -EAGAIN, "no backtrace: the signal could not be sent\n" },
	};
	struct ec_finding f = finding(EC_FINDING_CALLBACK);
	size_t i;

	(void)state;
	f.parties[0].trace.num = 0;
	for (i = 0; i < ROWS(rows); i++) {
		said[0] = '\0';
		f.parties[0].no_trace = rows[i].no_trace;
		ec_finding_tell(&f, &settings);
		assert_row(strstr(said, rows[i].text) != NULL, rows[i].text);
	}
}

static void a_file_gets_lines(void **state)
{
	struct ec_finding f = finding(EC_FINDING_CALLBACK);
	struct stat st;

	(void)state;
	strcpy(settings.path, path);
	ec_finding_tell(&f, &settings);
	ec_finding_tell(&f, &settings);
	assert_int_equal(said_num, 0);
	assert_non_null(strstr(strstr(read_file(), "stall: slow_callback (") + 1, "stall: slow_callback ("));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
}

/* ---------------------------------------------------------------- JSON */

static void json_is_one_line(void **state)
{
	static const struct {
		enum ec_finding_kind kind;
		const char *begin, *part;
	} rows[] = {
		{ EC_FINDING_CALLBACK, "{\"stall\":\"callback\",\"time\":",
		  ",\"ms\":120,\"callbacks_waiting\":5,\"colors_waiting\":1,\"own_callbacks_waiting\":0,"
		  "\"workers\":[{\"base\":7,\"worker\":3,\"color\":42,\"callback\":{\"address\":\"0x" },
		{ EC_FINDING_TURN, "{\"stall\":\"turn\",", ",\"callbacks_begun\":4,\"workers\":[" },
		{ EC_FINDING_CYCLE, "{\"stall\":\"cycle\",", "},\"waits_for\":\"\\\"it\\\"\",\"backtrace\":[{" },
		{ EC_FINDING_POSTS, "{\"stall\":\"posts\",",
		  ",\"from\":10,\"to\":3000,\"most_color\":9,\"most\":2,\"workers\":[{\"base\":7,\"worker\":3," },
	};
	struct ec_finding f;
	const char *text;
	size_t i;

	(void)state;
	strcpy(settings.path, path);
	settings.is_json = true;
	for (i = 0; i < ROWS(rows); i++) {
		f = finding(rows[i].kind);
		ec_finding_tell(&f, &settings);
		text = read_file();
		assert_row(strncmp(text, rows[i].begin, strlen(rows[i].begin)) == 0, rows[i].begin);
		assert_row(strstr(text, rows[i].part) != NULL, rows[i].part);
		assert_row(strchr(text, '\n') == text + strlen(text) - 1, rows[i].begin);
		assert_int_equal(unlink(path), 0);
	}
}

static void json_tells_the_time_on_a_cpu(void **state)
{
	struct ec_finding f = finding(EC_FINDING_CALLBACK);

	(void)state;
	strcpy(settings.path, path);
	settings.is_json = true;
	f.cpu_of_ns = 75000000;
	f.cpu_ns = 2000000;
	f.cpu_missed_ns = 73000000;
	ec_finding_tell(&f, &settings);
	assert_non_null(strstr(read_file(), ",\"cpu_ms\":2,\"cpu_of_ms\":75,\"short_of_cpu\":true,"));
	f.cpu_missed_ns = 1000000;
	ec_finding_tell(&f, &settings);
	assert_non_null(strstr(read_file(), ",\"short_of_cpu\":false,"));
}

static void json_tells_why_there_is_no_stack(void **state)
{
	struct ec_finding f = finding(EC_FINDING_CALLBACK);

	(void)state;
	strcpy(settings.path, path);
	settings.is_json = true;
	f.parties[0].trace.num = 0;
	f.parties[0].fn = NULL;
	f.parties[0].no_trace = -ESRCH;
	ec_finding_tell(&f, &settings);
	assert_non_null(strstr(read_file(), "\"worker\":3,\"no_backtrace\":\"the thread has ended\"}]}\n"));
}

static void strings_of_json_are_escaped(void **state)
{
	char buf[100];
	struct ec_text t;

	(void)state;
	ec_text_init(&t, buf, sizeof(buf));
	ec_text_add_json(&t, "a\"b\\c\n\x7f\xff~ ");
	assert_string_equal(buf, "\"a\\\"b\\\\c\\u000a\\u007f\\u00ff~ \"");
}

static void a_text_without_room_is_cut(void **state)
{
	struct ec_text t;
	char buf[8];
	int i;

	(void)state;
	ec_text_init(&t, buf, sizeof(buf));
	ec_text_add(&t, "%s", "123");
	for (i = 0; i < 3; i++)
		ec_text_add(&t, "%s", "45678901");
	assert_string_equal(buf, "1234567");
	assert_int_equal(t.len, 7);
}

/* ---------------------------------------------------------------- failures */

static void a_file_that_cannot_be_written_is_told_once(void **state)
{
	struct ec_finding f = finding(EC_FINDING_CALLBACK);

	(void)state;
	strcpy(settings.path, path);
	assert_int_equal(symlink("/dev/full", path), 0);
	ec_finding_tell(&f, &settings);
	ec_finding_tell(&f, &settings);
	assert_int_equal(said_num, 1);
	assert_non_null(strstr(said, "/file cannot be written: "));
}

static void a_write_that_is_interrupted_goes_on(void **state)
{
	struct ec_finding f = finding(EC_FINDING_CALLBACK);

	(void)state;
	strcpy(settings.path, path);
	fault_call_at(FAULT_write, 1, EINTR);
	ec_finding_tell(&f, &settings);
	assert_true(fault_end());
	assert_non_null(strstr(read_file(), "stall:   #1 slow_callback"));
}

static void without_memory_a_report_is_short(void **state)
{
	struct ec_finding f = finding(EC_FINDING_CALLBACK);

	(void)state;
	fault_call_at(FAULT_mmap, 1, ENOMEM);
	ec_finding_tell(&f, &settings);
	assert_true(fault_end());
	assert_int_equal(said_num, 1);
	assert_non_null(strstr(said, " of color 42 on worker 3 of base 7; no memory for more\n"));
}

static void without_proc_there_are_addresses(void **state)
{
	struct ec_finding f = finding(EC_FINDING_CALLBACK);
	char text[64];

	(void)state;
	fault_call_always(FAULT_fopen, ENOENT);
	ec_finding_tell(&f, &settings);
	assert_true(fault_end());
	snprintf(text, sizeof(text), "stall: %p (", f.parties[0].fn);
	assert_non_null(strstr(said, text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_log_gets_a_message_for_each_line, setup, teardown),
		cmocka_unit_test_setup_teardown(a_stack_without_the_callback_is_whole, setup, teardown),
		cmocka_unit_test_setup_teardown(a_callback_of_a_bufferevent, setup, teardown),
		cmocka_unit_test_setup_teardown(the_program_is_what_our_libraries_call, setup, teardown),
		cmocka_unit_test_setup_teardown(a_worker_between_two_callbacks, setup, teardown),
		cmocka_unit_test_setup_teardown(the_reason_for_no_stack_is_told, setup, teardown),
		cmocka_unit_test_setup_teardown(a_file_gets_lines, setup, teardown),
		cmocka_unit_test_setup_teardown(json_is_one_line, setup, teardown),
		cmocka_unit_test_setup_teardown(json_tells_the_time_on_a_cpu, setup, teardown),
		cmocka_unit_test_setup_teardown(json_tells_why_there_is_no_stack, setup, teardown),
		cmocka_unit_test_setup_teardown(strings_of_json_are_escaped, setup, teardown),
		cmocka_unit_test_setup_teardown(a_text_without_room_is_cut, setup, teardown),
		cmocka_unit_test_setup_teardown(a_file_that_cannot_be_written_is_told_once, setup, teardown),
		cmocka_unit_test_setup_teardown(a_write_that_is_interrupted_goes_on, setup, teardown),
		cmocka_unit_test_setup_teardown(without_memory_a_report_is_short, setup, teardown),
		cmocka_unit_test_setup_teardown(without_proc_there_are_addresses, setup, teardown),
	};

	return cmocka_run_group_tests(tests, fault_init, fault_fini);
}
