/*
 * compat/libevent/buffer/move.c: bytes that two buffers hold, or that are the program's.
 */
#include "help.h"
#include "failing_alloc.h"

static int cleanups_num;
static const void *cleanup_data;
static size_t cleanup_len;

static void cleanup(const void *data, size_t len, void *arg)
{
	cleanups_num += *(int *)arg;
	cleanup_data = data;
	cleanup_len = len;
}

static void a_reference_is_given_back_as_it_came(void **state)
{
	static const char text[] = "0123456789";
	struct evbuffer *buf = buf_new(), *other = buf_new();
	int one = 1;
	char c[4];

	(void)state;
	cleanups_num = 0;
	assert_int_equal(evbuffer_add_reference(buf, text, 10, cleanup, &one), 0);
	assert_int_equal(evbuffer_remove(buf, c, 4), 4);
	assert_int_equal(evbuffer_prepend(buf, "abcd", 4), 0);
	assert_holds(buf, "abcd456789");
	assert_string_equal(text, "0123456789");
	assert_int_equal(evbuffer_add_buffer(other, buf), 0);
	assert_int_equal(evbuffer_drain(other, 9), 0);
	assert_int_equal(cleanups_num, 0);
	evbuffer_free(other);
	assert_int_equal(cleanups_num, 1);
	assert_ptr_equal(cleanup_data, text);
	assert_int_equal(cleanup_len, 10);

	/* Nothing would ever be drained of it. */
	assert_int_equal(evbuffer_add_reference(buf, text, 0, cleanup, &one), 0);
	assert_int_equal(cleanups_num, 2);
	evbuffer_freeze(buf, 0);
	assert_int_equal(evbuffer_add_reference(buf, text, 10, cleanup, &one), -1);
	assert_int_equal(evbuffer_add_reference(buf, text, 0, cleanup, &one), -1);
	assert_int_equal(cleanups_num, 2);
	evbuffer_free(buf);
}

/* Whatever is done with one of the buffers, the other holds the same bytes. */
static void shared_bytes_do_not_change(void **state)
{
	struct evbuffer *from = buf_with("hello ", "world"), *to = buf_with("> ");
	struct evbuffer_iovec vec[2];

	(void)state;
	assert_int_equal(evbuffer_add_buffer_reference(to, from), 0);
	assert_holds(to, "> hello world");

	evbuffer_drain(from, 3);
	evbuffer_prepend(from, "HEL", 3);
	evbuffer_add(from, "!!!", 3);
	assert_int_equal(evbuffer_reserve_space(from, 10, vec, 1), 1);
	memset(vec[0].iov_base, '#', vec[0].iov_len);
	assert_int_equal(evbuffer_expand(from, 2000), 0);
	assert_holds(from, "HELlo world!!!");
	assert_holds(to, "> hello world");

	evbuffer_prepend(to, "-", 1);
	evbuffer_drain(to, 5);
	evbuffer_prepend(to, "JE", 2);
	evbuffer_add(to, "?", 1);
	assert_holds(to, "JEllo world?");
	assert_holds(from, "HELlo world!!!");
	assert_memory_equal(evbuffer_pullup(to, -1), "JEllo world?", 12);
	assert_memory_equal(evbuffer_pullup(from, -1), "HELlo world!!!", 14);
	evbuffer_free(from);
	evbuffer_free(to);
}

static void shared_bytes_outlive_each_of_the_buffers(void **state)
{
	int one = 1, first_to_go;
	struct evbuffer *bufs[3];

	(void)state;
	for (first_to_go = 0; first_to_go < 3; first_to_go++) {
		cleanups_num = 0;
		bufs[0] = buf_with("own ");
		assert_int_equal(evbuffer_add_reference(bufs[0], "lent", 4, cleanup, &one), 0);
		bufs[1] = buf_new();
		bufs[2] = buf_new();
		assert_int_equal(evbuffer_add_buffer_reference(bufs[1], bufs[0]), 0);
		assert_int_equal(evbuffer_add_buffer_reference(bufs[2], bufs[0]), 0);
		evbuffer_free(bufs[first_to_go]);
		assert_holds(bufs[(first_to_go + 1) % 3], "own lent");
		evbuffer_drain(bufs[(first_to_go + 1) % 3], 4);
		evbuffer_drain(bufs[(first_to_go + 1) % 3], 4);
		assert_holds(bufs[(first_to_go + 2) % 3], "own lent");
		assert_int_equal(cleanups_num, 0);
		evbuffer_free(bufs[(first_to_go + 2) % 3]);
		assert_int_equal(cleanups_num, 1);
		evbuffer_free(bufs[(first_to_go + 1) % 3]);
	}
}

static void what_is_shared_is_not_shared_again(void **state)
{
	struct evbuffer *a = buf_with("own"), *b = buf_with("b"), *c = buf_with("c"), *empty = buf_new();

	(void)state;
	assert_int_equal(evbuffer_add_buffer_reference(b, a), 0);
	assert_int_equal(evbuffer_add_buffer_reference(c, b), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(evbuffer_add_buffer_reference(a, a), -1);
	assert_int_equal(evbuffer_add_buffer_reference(c, empty), 0);
	assert_int_equal(evbuffer_add_buffer_reference(empty, a), 0);
	assert_holds(a, "own");
	assert_holds(b, "bown");
	assert_holds(c, "c");
	assert_holds(empty, "own");
	evbuffer_free(a);
	evbuffer_free(b);
	evbuffer_free(c);
	evbuffer_free(empty);
}

static void any_part_can_be_moved(void **state)
{
	static const char text[] = "abcdefghi";
	struct evbuffer *from, *to;
	char expected[16];
	size_t len;
	int to_has;

	(void)state;
	for (to_has = 0; to_has < 2; to_has++) {
		for (len = 0; len <= 11; len++) {
			size_t moved = len < 9 ? len : 9;

			from = buf_with("abc", "def", "ghi");
			to = to_has ? buf_with("xyz") : buf_new();
			assert_int_equal(evbuffer_remove_buffer(from, to, len), moved);
			snprintf(expected, sizeof(expected), "%s%.*s", to_has ? "xyz" : "", (int)moved, text);
			assert_holds(to, expected);
			assert_holds(from, text + moved);
			evbuffer_add(to, "!", 1);
			evbuffer_add(from, "!", 1);
			assert_int_equal(evbuffer_get_length(to), strlen(expected) + 1);
			assert_int_equal(evbuffer_get_length(from), 9 - moved + 1);
			evbuffer_free(from);
			evbuffer_free(to);
		}
	}
}

static void to_oneself_nothing_is_moved(void **state)
{
	struct evbuffer *buf = buf_with("abc", "def");

	(void)state;
	assert_int_equal(evbuffer_add_buffer(buf, buf), 0);
	assert_int_equal(evbuffer_prepend_buffer(buf, buf), 0);
	assert_int_equal(evbuffer_remove_buffer(buf, buf, 4), 0);
	assert_holds(buf, "abcdef");
	evbuffer_free(buf);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, failing_setup, failing_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_reference_is_given_back_as_it_came),
		TEST(shared_bytes_do_not_change),
		TEST(shared_bytes_outlive_each_of_the_buffers),
		TEST(what_is_shared_is_not_shared_again),
		TEST(any_part_can_be_moved),
		TEST(to_oneself_nothing_is_moved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
