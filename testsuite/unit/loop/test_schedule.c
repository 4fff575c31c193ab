/*
 * core/loop/schedule.c: schedules as text and as files. Memory and system calls may fail.
 */
#include "table.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/ec.h"
#include "core/loop/schedule.h"
#include "fault.h"

#define HEAD "libevent-smp schedule 1\n"

static char folder[] = "/tmp/test_schedule.XXXXXX";
static char path[sizeof(folder) + 8];

static int parse(const char *text, struct ec_switch **list, size_t *num, size_t *line)
{
	return ec_schedule_parse(text, strlen(text), list, num, line);
}

static void good_texts(void **state)
{
	static const struct {
		const char *text;
		size_t num;
		uint64_t first_step;
	} rows[] = {
		{ HEAD, 0, 0 },
		{ HEAD "# a comment\n#\n", 0, 0 },
		{ HEAD "17 3 5\n", 1, 17 },
		{ HEAD "17 3 5\n# later\n4 1 2\n", 2, 4 },
		{ HEAD "0 1 2\n9223372036854775807 4294967294 4294967295\n", 2, 0 },
		{ HEAD "007 01 02\n", 1, 7 },
	};
	struct ec_switch *list;
	size_t i, num, line;

	(void)state;
	for (i = 0; i < ROWS(rows); i++) {
		assert_row(parse(rows[i].text, &list, &num, &line) == 0, rows[i].text);
		assert_row(num == rows[i].num, rows[i].text);
		assert_row(num == 0 || list[0].step == rows[i].first_step, rows[i].text);
		ec_free(list);
	}
}

static void bad_texts(void **state)
{
	static const struct {
		const char *text;
		size_t line;
	} rows[] = {
		{ "", 1 },
		{ "\n", 1 },
		{ "libevent-smp schedule 1", 1 },
		{ "libevent-smp schedule 2\n", 1 },
		{ HEAD "17 3 5", 1 },		/* the last line has no end */
		{ HEAD "\n", 2 },
		{ HEAD "1 1 2\n17\n", 3 },
		{ HEAD "17 3\n", 2 },
		{ HEAD "17 3 5 7\n", 2 },
		{ HEAD "17  3 5\n", 2 },
		{ HEAD " 17 3 5\n", 2 },
		{ HEAD "-1 3 5\n", 2 },
		{ HEAD "x 3 5\n", 2 },
		{ HEAD "17 0 5\n", 2 },		/* the first one is no switch */
		{ HEAD "17 5 5\n", 2 },
		{ HEAD "9223372036854775808 3 5\n", 2 },
		{ HEAD "17 3 4294967296\n", 2 },
		{ HEAD "17 3 99999999999999999999\n", 2 },
		{ HEAD "17 3 5\n17 1 5\n", 3 },	/* twice */
	};
	struct ec_switch *list = NULL;
	size_t i, num, line;

	(void)state;
	for (i = 0; i < ROWS(rows); i++) {
		assert_row(parse(rows[i].text, &list, &num, &line) == -EINVAL, rows[i].text);
		assert_row(line == rows[i].line, rows[i].text);
		assert_null(list);
	}
	assert_int_equal(ec_schedule_parse(HEAD "1 1 2\n\0 1 2\n", strlen(HEAD) + 13, &list, &num, &line), -EINVAL);
}

/* ---------------------------------------------------------------- files */

static void what_is_written_is_read(void **state)
{
	static const struct ec_switch switches[] = { { 3, 1, 2 }, { 1, 4, 9 }, { 1000000, 2, 3 } };
	const struct ec_due due = { .color = 7, .fn = (const void *)(uintptr_t)&ec_malloc }, clock = { .fn = NULL };
	struct ec_switch *list;
	size_t i, num, line;
	struct stat st;
	char text[1024];
	ssize_t len;
	int fd;

	(void)state;
	fd = ec_schedule_create(path);
	assert_true(fd >= 0);
	for (i = 0; i < ROWS(switches); i++)
		assert_int_equal(ec_schedule_write(fd, &switches[i], i == 0 ? &clock : &due, &due), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
	assert_int_equal(ec_schedule_read(path, &list, &num, &line), 0);
	assert_int_equal(num, 3);
	assert_int_equal(list[0].step, 1);
	assert_int_equal(list[1].choice, 1);
	assert_int_equal(list[2].num, 3);
	ec_free(list);
	fd = open(path, O_RDONLY);
	len = read(fd, text, sizeof(text) - 1);
	assert_true(len > 0);
	text[len] = '\0';
	close(fd);
	assert_non_null(strstr(text, "# the clock before color 7 ("));
	unlink(path);
}

static void other_files_are_refused(void **state)
{
	struct ec_switch *list;
	char link_path[sizeof(path) + 8];
	size_t num, line;
	int fd;

	(void)state;
	assert_int_equal(ec_schedule_read(path, &list, &num, &line), -ENOENT);
	assert_int_equal(ec_schedule_read(folder, &list, &num, &line), -ENOTSUP);
	assert_int_equal(ec_schedule_read("/dev/zero", &list, &num, &line), -ENOTSUP);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(ec_schedule_read(path, &list, &num, &line), -ENOTSUP);
	assert_int_equal(ec_schedule_create(path), -EEXIST);
	unlink(path);
	snprintf(link_path, sizeof(link_path), "%s.link", path);
	assert_int_equal(symlink(path, link_path), 0);
	assert_int_equal(ec_schedule_create(link_path), -EEXIST);
	assert_int_equal(access(path, F_OK), -1);
	unlink(link_path);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	assert_int_equal(ftruncate(fd, EC_SCHEDULE_SIZE_MAX + 1), 0);
	close(fd);
	assert_int_equal(ec_schedule_read(path, &list, &num, &line), -EFBIG);
	unlink(path);
}

static int read_it(void *arg)
{
	struct ec_switch *list;
	size_t num, line;
	int r;

	(void)arg;
	r = ec_schedule_read(path, &list, &num, &line);
	if (r == 0)
		ec_free(list);
	return r;
}

static int create_it(void *arg)
{
	static const struct ec_due due = { .color = 1, .fn = folder };
	static const struct ec_switch one = { 1, 1, 2 };
	int fd, r;

	(void)arg;
	unlink(path);
	fd = ec_schedule_create(path);
	if (fd < 0)
		return fd;
	r = ec_schedule_write(fd, &one, &due, &due);
	close(fd);
	return r;
}

static void failures_leave_nothing(void **state)
{
	(void)state;
	assert_true(fault_each_call(FAULT_write, ENOSPC, create_it, NULL) >= 2);
	assert_true(fault_each_call_as(FAULT_write, EINTR, create_it, NULL, 0) >= 2);
	assert_true(fault_each_alloc(read_it, NULL, -ENOMEM) == 2);
	assert_true(fault_each_call(FAULT_read, EIO, read_it, NULL) >= 1);
	assert_true(fault_each_call_as(FAULT_read, EINTR, read_it, NULL, 0) >= 1);
	unlink(path);
}

static int group_begin(void **state)
{
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/file", folder);
	return fault_init(state);
}

static int group_end(void **state)
{
	rmdir(folder);
	return fault_fini(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_texts),
		cmocka_unit_test(bad_texts),
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(other_files_are_refused),
		cmocka_unit_test(failures_leave_nothing),
	};

	return cmocka_run_group_tests(tests, group_begin, group_end);
}
