/*
 * compat/libevent/buffer/io.c: what one call reads and writes, and what is kept when it fails.
 */
#include "help.h"
#include "failing_alloc.h"

#include <limits.h>
#include <sys/uio.h>

#include "compat/libevent/buffer/buffer.h"

enum { PLENTY = 100000 };

static unsigned char pattern[PLENTY];

static int file_at_start(const void *bytes, size_t len)
{
	int fd = file_with(bytes, len);

	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static void a_read_takes_what_is_asked_or_4096(void **state)
{
	static const struct {
		int ask, taken;
	} rows[] = { { -1, 4096 }, { 4096, 4096 }, { 4097, 4096 }, { INT_MAX, 4096 }, { 10, 10 }, { 1, 1 }, { 0, 0 } };
	struct evbuffer *buf;
	size_t row;
	int fd;

	(void)state;
	for (row = 0; row < ROWS(rows); row++) {
		buf = buf_new();
		fd = file_at_start(pattern, PLENTY);
		assert_int_equal(evbuffer_read(buf, fd, rows[row].ask), rows[row].taken);
		assert_int_equal(lseek(fd, 0, SEEK_CUR), rows[row].taken);
		assert_int_equal(evbuffer_get_length(buf), rows[row].taken);
		if (rows[row].taken > 0)
			assert_memory_equal(evbuffer_pullup(buf, -1), pattern, (size_t)rows[row].taken);
		close(fd);
		evbuffer_free(buf);
	}
}

/* Nothing is lost between a chunk that is filled up and the one behind it. */
static void reads_of_all_sizes_are_in_order(void **state)
{
	struct evbuffer *buf = buf_new();
	int fd = file_at_start(pattern, PLENTY), num;
	size_t max = 1, sum = 0;

	(void)state;
	while ((num = (int)le_buffer_read(buf, fd, max)) > 0) {
		sum += (size_t)num;
		max = max * 3 % 20011;
	}
	assert_int_equal(num, 0);
	assert_int_equal(sum, PLENTY);
	assert_int_equal(evbuffer_get_length(buf), PLENTY);
	assert_memory_equal(evbuffer_pullup(buf, -1), pattern, PLENTY);
	close(fd);
	evbuffer_free(buf);
}

/* A thousand connections that wait with a few bytes each must not hold a thousand large chunks. */
static void few_bytes_keep_little_memory(void **state)
{
	struct evbuffer *buf = buf_new();
	int fd = file_at_start(pattern, 10);

	(void)state;
	assert_int_equal(le_buffer_read(buf, fd, 16384), 10);
	assert_in_range(buf->first->cap, 10, 1024);
	close(fd);
	evbuffer_free(buf);
}

static void what_was_reserved_and_not_committed_is_given_back(void **state)
{
	struct evbuffer *buf = buf_with("ab");
	struct evbuffer_iovec vec[2];
	int fd = file_at_start("cde", 3);

	(void)state;
	assert_int_equal(evbuffer_reserve_space(buf, 5000, vec, 2), 2);
	assert_int_equal(evbuffer_read(buf, fd, -1), 3);
	assert_holds(buf, "abcde");
	close(fd);
	evbuffer_free(buf);
}

static void a_read_that_fails_changes_nothing(void **state)
{
	struct evbuffer *buf = buf_with("ab");
	int fds[2];

	(void)state;
	stream_pair(fds);
	errno = 0;
	assert_int_equal(evbuffer_read(buf, fds[0], -1), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(evbuffer_read(buf, closed_fd(), -1), -1);
	assert_int_equal(errno, EBADF);
	close(fds[1]);
	assert_int_equal(evbuffer_read(buf, fds[0], -1), 0);
	assert_int_equal(evbuffer_freeze(buf, 0), 0);
	assert_int_equal(evbuffer_read(buf, fds[0], -1), -1);
	assert_int_equal(errno, EPERM);
	assert_holds(buf, "ab");
	close(fds[0]);
	evbuffer_free(buf);
}

/* Memory for a smaller chunk is not needed to keep what was read. */
static void bytes_that_were_read_are_not_lost(void **state)
{
	struct evbuffer *buf = buf_new();
	int fd = file_at_start("cde", 3);

	(void)state;
	failing_from_now(2);
	assert_int_equal(le_buffer_read(buf, fd, 16384), 3);
	assert_true(failing.calls >= 2);
	failing_from_now(0);
	assert_holds(buf, "cde");
	close(fd);
	evbuffer_free(buf);
}

static void a_frozen_end_is_no_matter_to_an_owner(void **state)
{
	struct evbuffer *buf = buf_with("ab");
	int fds[2];

	(void)state;
	stream_pair(fds);
	assert_int_equal(evbuffer_freeze(buf, 0), 0);
	assert_int_equal(evbuffer_freeze(buf, 1), 0);
	assert_int_equal(le_buffer_write(buf, fds[0], 1), 1);
	assert_int_equal(le_buffer_read(buf, fds[1], 16), 1);
	assert_int_equal(le_buffer_write(buf, fds[0], 0), -1);
	assert_int_equal(errno, EINVAL);
	evbuffer_unfreeze(buf, 1);
	assert_holds(buf, "ba");
	close(fds[0]);
	close(fds[1]);
	evbuffer_free(buf);
}

/* ---------------------------------------------------------------- writing */

static void many_pieces_go_out_in_order(void **state)
{
	struct evbuffer *buf = buf_new(), *to = buf_new();
	int fd = file_with("", 0), i, num, calls = 0;
	size_t sum = 0;

	(void)state;
	for (i = 0; i < 300; i++)
		assert_int_equal(evbuffer_add_reference(buf, pattern + 10 * i, 10, NULL, NULL), 0);
	while (evbuffer_get_length(buf) > 0) {
		num = evbuffer_write(buf, fd);
		assert_true(num > 0);
		sum += (size_t)num;
		calls++;
	}
	assert_int_equal(sum, 3000);
	assert_in_range(calls, 1, 3);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(evbuffer_read(to, fd, 4000), 3000);
	assert_memory_equal(evbuffer_pullup(to, -1), pattern, 3000);
	close(fd);
	evbuffer_free(buf);
	evbuffer_free(to);
}

static void no_more_is_written_than_is_told(void **state)
{
	struct evbuffer *buf = buf_with("abc", "def", "ghi");
	int fd = file_with("", 0);
	char bytes[16];

	(void)state;
	assert_int_equal(evbuffer_write_atmost(buf, fd, 2), 2);
	assert_int_equal(evbuffer_write_atmost(buf, fd, 3), 3);
	assert_holds(buf, "fghi");
	assert_int_equal(evbuffer_write_atmost(buf, fd, 0), -1);
	assert_int_equal(evbuffer_write_atmost(buf, fd, 100), 4);
	assert_int_equal(evbuffer_write_atmost(buf, fd, -1), -1);
	assert_int_equal(pread(fd, bytes, sizeof(bytes), 0), 9);
	assert_memory_equal(bytes, "abcdefghi", 9);
	close(fd);
	evbuffer_free(buf);
}

static void a_write_that_fails_changes_nothing(void **state)
{
	struct evbuffer *buf = buf_with("abc", "def");
	int full = open("/dev/full", O_WRONLY);

	(void)state;
	assert_true(full >= 0);
	assert_int_equal(evbuffer_write(buf, full), -1);
	assert_int_equal(errno, ENOSPC);
	assert_int_equal(evbuffer_write_atmost(buf, closed_fd(), 2), -1);
	assert_int_equal(errno, EBADF);
	evbuffer_freeze(buf, 1);
	assert_int_equal(evbuffer_write(buf, full), -1);
	assert_int_equal(errno, EPERM);
	evbuffer_unfreeze(buf, 1);
	assert_holds(buf, "abcdef");
	close(full);
	evbuffer_free(buf);
}

static void a_full_socket_takes_a_part_and_then_nothing(void **state)
{
	struct evbuffer *buf = buf_new();
	int fds[2], num, i;
	size_t sum = 0;

	(void)state;
	stream_pair(fds);
	for (i = 0; i < 20; i++)
		assert_int_equal(evbuffer_add_reference(buf, pattern, PLENTY, NULL, NULL), 0);
	while ((num = evbuffer_write(buf, fds[0])) > 0)
		sum += (size_t)num;
	assert_int_equal(num, -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(evbuffer_get_length(buf), 20 * (size_t)PLENTY - sum);
	close(fds[0]);
	close(fds[1]);
	evbuffer_free(buf);
}

static int fill(void **state)
{
	(void)state;
	fill_pattern(pattern, PLENTY);
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, failing_setup, failing_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_read_takes_what_is_asked_or_4096),
		TEST(reads_of_all_sizes_are_in_order),
		TEST(few_bytes_keep_little_memory),
		TEST(what_was_reserved_and_not_committed_is_given_back),
		TEST(a_read_that_fails_changes_nothing),
		TEST(bytes_that_were_read_are_not_lost),
		TEST(a_frozen_end_is_no_matter_to_an_owner),
		TEST(many_pieces_go_out_in_order),
		TEST(no_more_is_written_than_is_told),
		TEST(a_write_that_fails_changes_nothing),
		TEST(a_full_socket_takes_a_part_and_then_nothing),
	};

	return cmocka_run_group_tests(tests, fill, NULL);
}
