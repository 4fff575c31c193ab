/*
 * compat/libevent/buffer/file.c: segments of files, how they get to memory and to descriptors.
 */
#include "help.h"
#include "failing_alloc.h"

enum { LEN = 10000 };

static unsigned char pattern[LEN];
static int file_fd;

static void assert_has_part(struct evbuffer *buf, size_t offset, size_t len)
{
	static unsigned char held[LEN + 1];

	assert_int_equal(evbuffer_copyout(buf, held, sizeof(held)), len);
	assert_memory_equal(held, pattern + offset, len);
}

static struct evbuffer_file_segment *segment(ev_off_t offset, ev_off_t len, unsigned flags)
{
	struct evbuffer_file_segment *seg = evbuffer_file_segment_new(file_fd, offset, len, flags);

	assert_non_null(seg);
	return seg;
}

static const unsigned ways[] = {
	0,
	EVBUF_FS_DISABLE_LOCKING,
	EVBUF_FS_DISABLE_MMAP,
	EVBUF_FS_DISABLE_SENDFILE,
	EVBUF_FS_DISABLE_SENDFILE | EVBUF_FS_DISABLE_MMAP,
};

static void parts_of_parts_are_the_files_bytes(void **state)
{
	static const struct {
		ev_off_t offset, len;		/* of the segment */
		ev_off_t from, num;		/* of the part */
		size_t first, bytes;		/* in the file */
	} rows[] = {
		{ 0, -1, 0, -1, 0, LEN },
		{ 1, -1, 0, -1, 1, LEN - 1 },
		{ 4095, 3, 1, 2, 4096, 2 },
		{ 4096, 5000, 904, 96, 5000, 96 },
		{ 4097, -1, 5902, -1, 9999, 1 },
		{ LEN, -1, 0, -1, LEN, 0 },
		{ 7, 0, 0, -1, 7, 0 },
		{ 7, 5, 5, -1, 12, 0 },
	};
	struct evbuffer_file_segment *seg;
	struct evbuffer *buf;
	size_t row, way;

	(void)state;
	for (row = 0; row < ROWS(rows); row++) {
		for (way = 0; way < ROWS(ways); way++) {
			seg = segment(rows[row].offset, rows[row].len, ways[way]);
			buf = buf_new();
			evbuffer_set_flags(buf, way % 2 == 0 ? EVBUFFER_FLAG_DRAINS_TO_FD : 0);
			assert_int_equal(evbuffer_add_file_segment(buf, seg, rows[row].from, rows[row].num), 0);
			evbuffer_file_segment_free(seg);
			assert_int_equal(evbuffer_get_length(buf), rows[row].bytes);
			assert_has_part(buf, rows[row].first, rows[row].bytes);
			evbuffer_free(buf);
		}
	}
}

static void what_is_outside_is_refused(void **state)
{
	struct evbuffer_file_segment *seg = segment(10, 100, 0);
	struct evbuffer *buf = buf_new();
	int fd = closed_fd();

	(void)state;
	assert_int_equal(evbuffer_add_file_segment(buf, seg, 101, -1), -1);
	assert_int_equal(evbuffer_add_file_segment(buf, seg, 101, 0), -1);
	assert_int_equal(evbuffer_add_file_segment(buf, seg, 50, 51), -1);
	assert_int_equal(evbuffer_add_file_segment(buf, seg, -1, 1), -1);
	assert_int_equal(evbuffer_add_file_segment(buf, seg, 0, -2), -1);
	assert_int_equal(evbuffer_add_file_segment(buf, seg, 1, INT64_MAX), -1);
	assert_int_equal(evbuffer_get_length(buf), 0);
	evbuffer_file_segment_free(seg);

	assert_null(evbuffer_file_segment_new(file_fd, -1, 10, 0));
	assert_null(evbuffer_file_segment_new(file_fd, 0, -2, 0));
	assert_null(evbuffer_file_segment_new(file_fd, LEN + 1, -1, 0));
	assert_null(evbuffer_file_segment_new(file_fd, 5, INT64_MAX, 0));
	assert_null(evbuffer_file_segment_new(fd, 0, -1, 0));
	assert_null(evbuffer_file_segment_new(fd, 0, 0, 0));
	assert_int_equal(errno, EBADF);
	assert_int_equal(evbuffer_add_file(buf, fd, 0, 10), -1);
	/* As stock: a descriptor that is none is found out where its bytes are needed. */
	seg = evbuffer_file_segment_new(fd, 0, 10, 0);
	assert_non_null(seg);
	errno = 0;
	assert_int_equal(evbuffer_add_file_segment(buf, seg, 0, -1), -1);
	assert_int_equal(errno, EBADF);
	evbuffer_file_segment_free(seg);
	assert_null(evbuffer_file_segment_new(fd, 0, 10, EVBUF_FS_DISABLE_SENDFILE));
	assert_int_equal(errno, EBADF);
	assert_int_equal(evbuffer_get_length(buf), 0);
	evbuffer_free(buf);
}

/* ---------------------------------------------------------------- ends */

static int cleanups_num, cleanup_flags, cleanup_fd;

static void cleanup(const struct evbuffer_file_segment *seg, int flags, void *arg)
{
	assert_ptr_equal(seg, *(struct evbuffer_file_segment **)arg);
	assert_int_equal(fcntl(cleanup_fd, F_GETFD), (flags & EVBUF_FS_CLOSE_ON_FREE) != 0 ? -1 : FD_CLOEXEC);
	cleanup_flags = flags;
	cleanups_num++;
}

static void a_segment_ends_with_its_last_user(void **state)
{
	struct evbuffer *a = buf_new(), *b = buf_new();
	struct evbuffer_file_segment *seg;
	size_t way;
	char byte;

	(void)state;
	for (way = 0; way < ROWS(ways); way++) {
		cleanups_num = 0;
		cleanup_fd = fcntl(file_fd, F_DUPFD_CLOEXEC, 0);
		assert_true(cleanup_fd >= 0);
		seg = evbuffer_file_segment_new(cleanup_fd, 0, -1,
						ways[way] | (way % 2 == 0 ? EVBUF_FS_CLOSE_ON_FREE : 0));
		evbuffer_file_segment_add_cleanup_cb(seg, cleanup, &seg);
		assert_int_equal(evbuffer_add_file_segment(a, seg, 0, 5), 0);
		assert_int_equal(evbuffer_add_file_segment(b, seg, 5, 5), 0);
		evbuffer_file_segment_free(seg);
		assert_int_equal(evbuffer_drain(a, 5), 0);
		assert_int_equal(evbuffer_drain(b, 4), 0);
		assert_int_equal(cleanups_num, 0);
		assert_int_equal(evbuffer_remove(b, &byte, 1), 1);
		assert_int_equal((unsigned char)byte, pattern[9]);
		assert_int_equal(cleanups_num, 1);
		assert_int_equal(cleanup_flags & EVBUF_FS_DISABLE_MMAP, ways[way] & EVBUF_FS_DISABLE_MMAP);
		if (way % 2 != 0)
			close(cleanup_fd);
	}
	evbuffer_free(a);
	evbuffer_free(b);
}

static void an_added_file_is_closed_when_drained(void **state)
{
	struct evbuffer *buf = buf_new();
	int fd = dup(file_fd), empty = file_with("", 0);

	(void)state;
	assert_int_equal(evbuffer_add_file(buf, fd, 5, 10), 0);
	assert_true(fcntl(fd, F_GETFD) >= 0);
	evbuffer_drain(buf, 10);
	assert_int_equal(fcntl(fd, F_GETFD), -1);

	/* Nothing of it will ever be drained. */
	assert_int_equal(evbuffer_add_file(buf, empty, 0, -1), 0);
	assert_int_equal(fcntl(empty, F_GETFD), -1);

	fd = dup(file_fd);
	evbuffer_freeze(buf, 0);
	assert_int_equal(evbuffer_add_file(buf, fd, 0, -1), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	evbuffer_free(buf);
}

/* ---------------------------------------------------------------- what can't be mapped or read */

static int ignore_log(void **state)
{
	ec_log_set_fn(NULL);
	return failing_setup(state);
}

static void a_pipe_is_read(void **state)
{
	struct evbuffer_file_segment *seg;
	struct evbuffer *buf = buf_new();
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "hello", 5), 5);
	seg = evbuffer_file_segment_new(fds[0], 0, 5, EVBUF_FS_DISABLE_SENDFILE);
	assert_non_null(seg);
	assert_int_equal(evbuffer_add_file_segment(buf, seg, 1, -1), 0);
	evbuffer_file_segment_free(seg);
	assert_holds(buf, "ello");
	evbuffer_free(buf);

	/* It ends before its range does. */
	assert_int_equal(write(fds[1], "hel", 3), 3);
	close(fds[1]);
	assert_null(evbuffer_file_segment_new(fds[0], 0, 5, EVBUF_FS_DISABLE_SENDFILE));
	assert_int_equal(errno, EIO);
	close(fds[0]);
}

static void log_nothing(int severity, const char *msg)
{
	(void)severity;
	(void)msg;
}

/* Written to only: neither mmap nor read can have it. */
static void what_cant_be_read_fails_and_stays(void **state)
{
	struct evbuffer_file_segment *seg;
	struct evbuffer *buf = buf_with("a"), *to = buf_new();
	int fd = open("/dev/null", O_WRONLY), fds[2];
	struct evbuffer_iovec vec[4];
	char bytes[20];
	size_t len;

	(void)state;
	ec_log_set_fn(log_nothing);
	assert_null(evbuffer_file_segment_new(fd, 0, 10, EVBUF_FS_DISABLE_SENDFILE));
	seg = evbuffer_file_segment_new(fd, 0, 10, 0);
	assert_non_null(seg);
	assert_int_equal(evbuffer_add_file_segment(buf, seg, 0, -1), -1);
	assert_holds(buf, "a");

	evbuffer_set_flags(buf, EVBUFFER_FLAG_DRAINS_TO_FD);
	assert_int_equal(evbuffer_add_file_segment(buf, seg, 0, -1), 0);
	evbuffer_file_segment_free(seg);
	assert_int_equal(evbuffer_add(buf, "\n", 1), 0);
	assert_int_equal(evbuffer_get_length(buf), 12);
	assert_int_equal(evbuffer_copyout(buf, bytes, 1), 1);
	assert_int_equal(evbuffer_copyout(buf, bytes, 2), -1);
	assert_int_equal(evbuffer_remove(buf, bytes, 12), -1);
	assert_null(evbuffer_pullup(buf, 2));
	assert_int_equal(evbuffer_peek(buf, -1, NULL, vec, 4), 1);
	assert_int_equal(evbuffer_search(buf, "\n", 1, NULL).pos, -1);
	assert_int_equal(evbuffer_search_eol(buf, NULL, &len, EVBUFFER_EOL_CRLF).pos, -1);
	assert_int_equal(evbuffer_search_eol(buf, NULL, &len, EVBUFFER_EOL_ANY).pos, -1);
	assert_null(evbuffer_readln(buf, NULL, EVBUFFER_EOL_LF));
	assert_int_equal(evbuffer_remove_buffer(buf, to, 3), -1);
	assert_int_equal(evbuffer_add_buffer_reference(to, buf), -1);
	assert_int_equal(evbuffer_get_length(to), 0);
	assert_int_equal(evbuffer_get_length(buf), 12);

	stream_pair(fds);
	assert_int_equal(evbuffer_drain(buf, 1), 0);
	assert_int_equal(evbuffer_write(buf, fds[0]), -1);
	assert_int_equal(evbuffer_drain(buf, 10), 0);
	assert_holds(buf, "\n");
	close(fds[0]);
	close(fds[1]);
	close(fd);
	ec_log_set_fn(NULL);
	evbuffer_free(buf);
	evbuffer_free(to);
}

/* ---------------------------------------------------------------- to descriptors */

/* Until the buffer is empty; the other end is emptied in between. */
static void pump(struct evbuffer *from, struct evbuffer *to, int fds[2])
{
	while (evbuffer_get_length(from) > 0) {
		assert_true(evbuffer_write_atmost(from, fds[0], 3000) > 0);
		while (evbuffer_read(to, fds[1], -1) > 0)
			;
	}
}

static void a_file_among_bytes_is_sent_in_order(void **state)
{
	struct evbuffer *from = buf_new(), *to = buf_new();
	struct evbuffer_file_segment *seg = segment(100, 9000, 0);
	unsigned char *bytes;
	int fds[2];

	(void)state;
	stream_pair(fds);
	evbuffer_set_flags(from, EVBUFFER_FLAG_DRAINS_TO_FD);
	evbuffer_add(from, "head", 4);
	assert_int_equal(evbuffer_add_file_segment(from, seg, 900, -1), 0);
	evbuffer_add(from, "tail", 4);
	evbuffer_file_segment_free(seg);
	pump(from, to, fds);
	assert_int_equal(evbuffer_get_length(to), 8108);
	bytes = evbuffer_pullup(to, -1);
	assert_memory_equal(bytes, "head", 4);
	assert_memory_equal(bytes + 4, pattern + 1000, 8100);
	assert_memory_equal(bytes + 8104, "tail", 4);
	close(fds[0]);
	close(fds[1]);
	evbuffer_free(from);
	evbuffer_free(to);
}

/* sendfile refuses what is opened to append. */
static void where_sendfile_cannot_bytes_are_written(void **state)
{
	struct evbuffer *from = buf_new();
	struct evbuffer_file_segment *seg = segment(0, -1, 0);
	int fd = file_with("", 0);
	unsigned char bytes[10];

	(void)state;
	assert_int_equal(fcntl(fd, F_SETFL, O_APPEND), 0);
	evbuffer_set_flags(from, EVBUFFER_FLAG_DRAINS_TO_FD);
	assert_int_equal(evbuffer_add_file_segment(from, seg, 20, 10), 0);
	evbuffer_file_segment_free(seg);
	assert_int_equal(evbuffer_write(from, fd), 10);
	assert_int_equal(pread(fd, bytes, 10, 0), 10);
	assert_memory_equal(bytes, pattern + 20, 10);
	close(fd);
	evbuffer_free(from);
}

/* Then nothing more will come; that is told apart from "not now". */
static void a_file_that_was_cut_sends_nothing(void **state)
{
	struct evbuffer *from = buf_new();
	int fd = file_with("hello", 5), fds[2];

	(void)state;
	stream_pair(fds);
	evbuffer_set_flags(from, EVBUFFER_FLAG_DRAINS_TO_FD);
	assert_int_equal(evbuffer_add_file(from, fd, 0, -1), 0);
	assert_int_equal(ftruncate(fd, 2), 0);
	assert_int_equal(evbuffer_write(from, fds[0]), 2);
	assert_int_equal(evbuffer_write(from, fds[0]), 0);
	assert_int_equal(evbuffer_get_length(from), 3);
	close(fds[0]);
	close(fds[1]);
	evbuffer_free(from);
}

static int open_file(void **state)
{
	(void)state;
	fill_pattern(pattern, LEN);
	file_fd = file_with(pattern, LEN);
	return 0;
}

static int close_file(void **state)
{
	(void)state;
	return close(file_fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, ignore_log, failing_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(parts_of_parts_are_the_files_bytes),
		TEST(what_is_outside_is_refused),
		TEST(a_segment_ends_with_its_last_user),
		TEST(an_added_file_is_closed_when_drained),
		TEST(a_pipe_is_read),
		TEST(what_cant_be_read_fails_and_stays),
		TEST(a_file_among_bytes_is_sent_in_order),
		TEST(where_sendfile_cannot_bytes_are_written),
		TEST(a_file_that_was_cut_sends_nothing),
	};

	return cmocka_run_group_tests(tests, open_file, close_file);
}
