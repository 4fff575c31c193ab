/*
 * evbuffers without memory: whatever allocation of an operation fails, it says so, and both buffers
 * hold what they held; in the end all is given back.
 */
#include "help.h"
#include "failing_alloc.h"

#include <event2/event.h>

static unsigned char big[20000];
static int file_fd;
static struct event_base *base;

/* Each returns what the operation did, 0 for success. */
static int add_small(struct evbuffer *a, struct evbuffer *b)
{
	(void)b;
	return evbuffer_add(a, "abc", 3);
}

static int add_big(struct evbuffer *a, struct evbuffer *b)
{
	(void)b;
	return evbuffer_add(a, big, sizeof(big));
}

static int prepend_big(struct evbuffer *a, struct evbuffer *b)
{
	(void)b;
	return evbuffer_prepend(a, big, sizeof(big));
}

static int add_iovec(struct evbuffer *a, struct evbuffer *b)
{
	struct evbuffer_iovec vec[2] = { { big, 5000 }, { big, 6000 } };

	(void)b;
	return evbuffer_add_iovec(a, vec, 2) == 11000 ? 0 : -1;
}

static int add_printf(struct evbuffer *a, struct evbuffer *b)
{
	(void)b;
	return evbuffer_add_printf(a, "%5000d", 1) == 5000 ? 0 : -1;
}

static int add_reference(struct evbuffer *a, struct evbuffer *b)
{
	(void)b;
	return evbuffer_add_reference(a, big, 10, NULL, NULL);
}

static int share(struct evbuffer *a, struct evbuffer *b)
{
	return evbuffer_add_buffer_reference(a, b);
}

static int move_part(struct evbuffer *a, struct evbuffer *b)
{
	return evbuffer_remove_buffer(b, a, 9) == 9 ? 0 : -1;
}

static int move_part_of_first(struct evbuffer *a, struct evbuffer *b)
{
	evbuffer_drain(a, SIZE_MAX);
	return evbuffer_remove_buffer(b, a, 2) == 2 ? 0 : -1;
}

static int pull_up(struct evbuffer *a, struct evbuffer *b)
{
	(void)a;
	return evbuffer_pullup(b, -1) != NULL ? 0 : -1;
}

static int expand(struct evbuffer *a, struct evbuffer *b)
{
	(void)b;
	return evbuffer_expand(a, 30000);
}

static int reserve_one(struct evbuffer *a, struct evbuffer *b)
{
	struct evbuffer_iovec vec;

	(void)b;
	return evbuffer_reserve_space(a, 30000, &vec, 1) == 1 ? 0 : -1;
}

static int reserve_two(struct evbuffer *a, struct evbuffer *b)
{
	struct evbuffer_iovec vec[2];

	(void)b;
	return evbuffer_reserve_space(a, 30000, vec, 2) >= 1 ? 0 : -1;
}

static int read_line(struct evbuffer *a, struct evbuffer *b)
{
	char *line = evbuffer_readln(b, NULL, EVBUFFER_EOL_LF);

	(void)a;
	if (line == NULL)
		return -1;
	failing_free(line);
	return 0;
}

static int set_cb(struct evbuffer *a, struct evbuffer *b)
{
	(void)b;
	return evbuffer_setcb(a, (evbuffer_cb)abort, NULL) == 0 ? evbuffer_setcb(a, NULL, NULL) : -1;
}

static int add_segment(struct evbuffer *a, struct evbuffer *b)
{
	struct evbuffer_file_segment *seg = evbuffer_file_segment_new(file_fd, 0, -1, EVBUF_FS_DISABLE_MMAP);
	int r;

	(void)b;
	if (seg == NULL)
		return -1;
	r = evbuffer_add_file_segment(a, seg, 0, -1);
	evbuffer_file_segment_free(seg);
	return r;
}

static int add_segment_in_memory(struct evbuffer *a, struct evbuffer *b)
{
	struct evbuffer_file_segment *seg =
		evbuffer_file_segment_new(file_fd, 0, -1, EVBUF_FS_DISABLE_MMAP | EVBUF_FS_DISABLE_SENDFILE);
	int r;

	(void)b;
	if (seg == NULL)
		return -1;
	r = evbuffer_add_file_segment(a, seg, 0, -1);
	evbuffer_file_segment_free(seg);
	return r;
}

static int defer(struct evbuffer *a, struct evbuffer *b)
{
	(void)b;
	return evbuffer_defer_callbacks(a, base);
}

static int receive(struct evbuffer *a, struct evbuffer *b)
{
	int fd = file_with("hello", 5), r;

	(void)b;
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	r = evbuffer_read(a, fd, -1);
	close(fd);
	return r == 5 ? 0 : -1;
}

static const struct {
	const char *name;
	int (*run)(struct evbuffer *a, struct evbuffer *b);
} operations[] = {
	{ "add_small", add_small },
	{ "defer", defer },
	{ "add_big", add_big },
	{ "prepend_big", prepend_big },
	{ "add_iovec", add_iovec },
	{ "add_printf", add_printf },
	{ "add_reference", add_reference },
	{ "share", share },
	{ "move_part", move_part },
	{ "move_part_of_first", move_part_of_first },
	{ "pull_up", pull_up },
	{ "expand", expand },
	{ "reserve_one", reserve_one },
	{ "reserve_two", reserve_two },
	{ "read_line", read_line },
	{ "set_cb", set_cb },
	{ "add_segment", add_segment },
	{ "add_segment_in_memory", add_segment_in_memory },
	{ "receive", receive },
};

/* True: the operation succeeded. `a` is empty, or has a chunk. */
static bool run_failing(size_t row, bool is_empty, size_t nth)
{
	struct evbuffer *a = is_empty ? buf_new() : buf_with("start");
	struct evbuffer *b = buf_with("first", "sec\nond", "third");
	bool drains_first = operations[row].run == move_part_of_first;
	int r;

	errno = 0;
	failing_from_now(nth);
	r = operations[row].run(a, b);
	failing.fail_at = 0;
	if (r != 0) {
		assert_row(r == -1 && errno == ENOMEM, operations[row].name);
		assert_holds(a, is_empty || drains_first ? "" : "start");
		assert_holds(b, "firstsec\nondthird");
	}
	evbuffer_free(a);
	evbuffer_free(b);
	assert_row(failing.live == 0, operations[row].name);
	return r == 0;
}

/* Until the Nth allocation is one that the operation does not come to. It may make do without some. */
static void run_all(bool is_empty)
{
	size_t row, nth;

	for (row = 0; row < ROWS(operations); row++) {
		for (nth = 1; !run_failing(row, is_empty, nth) || failing.calls >= nth; nth++)
			assert_row(nth < 20, operations[row].name);
	}
}

static void each_allocation_of_each_operation_may_fail(void **state)
{
	(void)state;
	run_all(false);
	run_all(true);
}

static void a_buffer_may_not_come(void **state)
{
	(void)state;
	failing_from_now(1);
	errno = 0;
	assert_null(evbuffer_new());
	assert_int_equal(errno, ENOMEM);
	failing_from_now(0);
}

static void a_file_that_is_not_added_is_closed(void **state)
{
	struct evbuffer *buf = buf_new();
	int fd = dup(file_fd);

	(void)state;
	/* 1: the segment; after that the descriptor is the library's. */
	failing_from_now(2);
	assert_int_equal(evbuffer_add_file(buf, fd, 0, -1), -1);
	failing_from_now(0);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	evbuffer_free(buf);
}

static int open_file(void **state)
{
	(void)state;
	fill_pattern(big, sizeof(big));
	file_fd = file_with(big, 3000);
	base = event_base_new();
	return base != NULL ? 0 : -1;
}

static int close_file(void **state)
{
	(void)state;
	event_base_free(base);
	return close(file_fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, failing_setup, failing_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_allocation_of_each_operation_may_fail),
		TEST(a_buffer_may_not_come),
		TEST(a_file_that_is_not_added_is_closed),
	};

	return cmocka_run_group_tests(tests, open_file, close_file);
}
