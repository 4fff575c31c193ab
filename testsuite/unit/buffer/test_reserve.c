/*
 * compat/libevent/buffer/reserve.c: room that is lent out, filled in whole or part, and taken back.
 */
#include "help.h"
#include "failing_alloc.h"

#include "compat/libevent/buffer/buffer.h"

static void put_in(struct evbuffer_iovec *vec, const char *text)
{
	assert_true(strlen(text) <= vec->iov_len);
	memcpy(vec->iov_base, text, strlen(text));
	vec->iov_len = strlen(text);
}

static void assert_reserves(size_t asked, size_t got)
{
	struct evbuffer_iovec vec;
	struct evbuffer *buf = buf_new();

	assert_int_equal(evbuffer_reserve_space(buf, (ev_ssize_t)asked, &vec, 1), 1);
	assert_int_equal(vec.iov_len, got);
	evbuffer_free(buf);
}

/* As libevent's: their head is shorter, and so is the first one, where pointers are. */
static void blocks_are_powers_of_two_with_their_head(void **state)
{
	static const size_t blocks[] = { 1024, 2048, 4096, 8192, 16384, 1 << 17, 1 << 18 };
	const size_t head = sizeof(void *) == 8 ? 48 : 32, smallest = sizeof(void *) == 8 ? 1024 : 512;
	struct evbuffer_iovec vec;
	struct evbuffer *buf;
	size_t i;

	(void)state;
	assert_reserves(1, smallest - head);
	assert_reserves(20000, (1 << 15) - head);
	for (i = 0; i < ROWS(blocks); i++) {
		assert_reserves(blocks[i] - head, blocks[i] - head);
		assert_reserves(blocks[i] - head + 1, 2 * blocks[i] - head);
	}
	/* Larger than any block that is kept: as large as it must be. */
	buf = buf_new();
	assert_int_equal(evbuffer_reserve_space(buf, 3 << 20, &vec, 1), 1);
	assert_int_equal(vec.iov_len, 3 << 20);
	evbuffer_free(buf);
}

static void the_same_room_is_lent_until_it_is_filled(void **state)
{
	struct evbuffer *buf = buf_with("ab");
	struct evbuffer_iovec first[2], second[2];

	(void)state;
	assert_int_equal(evbuffer_reserve_space(buf, 2000, first, 2), 2);
	assert_int_equal(evbuffer_reserve_space(buf, 2000, second, 2), 2);
	assert_memory_equal(first, second, sizeof(first));
	evbuffer_free(buf);
}

static void a_part_may_be_left_out(void **state)
{
	static const struct {
		const char *first, *second;
		const char *holds;
		int pieces;
	} rows[] = {
		{ "cd", "ef", "abcdef", 2 },
		{ "cd", "", "abcd", 1 },
		{ "", "ef", "abef", 2 },
		{ "", "", "ab", 1 },
	};
	struct evbuffer_iovec vec[2];
	struct evbuffer *buf;
	size_t row;

	(void)state;
	for (row = 0; row < ROWS(rows); row++) {
		buf = buf_with("ab");
		assert_int_equal(evbuffer_reserve_space(buf, 2000, vec, 2), 2);
		put_in(&vec[0], rows[row].first);
		put_in(&vec[1], rows[row].second);
		assert_int_equal(evbuffer_commit_space(buf, vec, 2), 0);
		assert_holds(buf, rows[row].holds);
		assert_pieces(buf, rows[row].pieces);
		assert_int_equal(evbuffer_add(buf, "!", 1), 0);
		assert_int_equal(evbuffer_get_length(buf), strlen(rows[row].holds) + 1);
		evbuffer_free(buf);
	}
}

/* Of an empty buffer, too: there both pieces are chunks without bytes. */
static void a_chunk_that_stays_empty_does_not_lie_between(void **state)
{
	struct evbuffer_iovec vec[3];
	struct evbuffer *buf = buf_new();

	(void)state;
	assert_int_equal(evbuffer_reserve_space(buf, 100, vec, 3), 1);
	assert_int_equal(evbuffer_reserve_space(buf, 1000, vec, 3), 2);
	assert_int_equal(evbuffer_reserve_space(buf, 9000, vec, 3), 3);
	vec[0].iov_len = 0;
	vec[1].iov_len = 0;
	put_in(&vec[2], "third");
	assert_int_equal(evbuffer_commit_space(buf, vec, 3), 0);
	assert_holds(buf, "third");
	assert_pieces(buf, 1);
	assert_ptr_equal(evbuffer_pullup(buf, -1), vec[2].iov_base);
	evbuffer_free(buf);
}

static void what_was_not_lent_is_not_taken_back(void **state)
{
	struct evbuffer *buf = buf_with("ab");
	struct evbuffer_iovec vec[3], wrong[3];

	(void)state;
	assert_int_equal(evbuffer_reserve_space(buf, 2000, vec, 2), 2);
	vec[2] = vec[1];

	memcpy(wrong, vec, sizeof(wrong));
	wrong[0].iov_base = (char *)wrong[0].iov_base + 1;
	assert_int_equal(evbuffer_commit_space(buf, wrong, 1), -1);
	memcpy(wrong, vec, sizeof(wrong));
	wrong[0].iov_len++;
	assert_int_equal(evbuffer_commit_space(buf, wrong, 2), -1);
	memcpy(wrong, vec, sizeof(wrong));
	wrong[1].iov_len = SIZE_MAX;
	assert_int_equal(evbuffer_commit_space(buf, wrong, 2), -1);
	assert_int_equal(evbuffer_commit_space(buf, vec, 3), -1);
	wrong[0].iov_base = NULL;
	assert_int_equal(evbuffer_commit_space(buf, wrong, 1), -1);
	assert_int_equal(errno, EINVAL);
	assert_holds(buf, "ab");

	assert_int_equal(evbuffer_commit_space(buf, vec, 0), 0);
	put_in(&vec[0], "c");
	assert_int_equal(evbuffer_commit_space(buf, vec, 1), 0);
	assert_int_equal(evbuffer_commit_space(buf, vec, 1), -1);
	assert_holds(buf, "abc");
	evbuffer_free(buf);
}

static void a_reservation_needs_a_place(void **state)
{
	struct evbuffer *buf = buf_new();
	struct evbuffer_iovec vec[2];

	(void)state;
	assert_int_equal(evbuffer_reserve_space(buf, 10, vec, 0), -1);
	assert_int_equal(evbuffer_reserve_space(buf, 10, vec, -1), -1);
	assert_int_equal(evbuffer_reserve_space(buf, -1, vec, 2), -1);
	assert_int_equal(evbuffer_reserve_space(buf, 0, vec, 2), 0);
	evbuffer_free(buf);
}

/* ---------------------------------------------------------------- expanding */

static void expanded_room_is_used_without_allocation(void **state)
{
	static const size_t before[] = { 0, 1, 900, 976, 3000, 5000 };
	static char bytes[10000];
	struct evbuffer *buf;
	size_t i;

	(void)state;
	for (i = 0; i < ROWS(before); i++) {
		buf = buf_new();
		assert_int_equal(evbuffer_add(buf, bytes, before[i]), 0);
		assert_int_equal(evbuffer_expand(buf, 10000), 0);
		failing_from_now(0);
		assert_int_equal(evbuffer_add(buf, bytes, 10000), 0);
		assert_int_equal(failing.calls, 0);
		assert_int_equal(evbuffer_get_length(buf), before[i] + 10000);
		evbuffer_free(buf);
	}
}

static void bytes_move_to_the_front_where_that_makes_room(void **state)
{
	static char bytes[2000];
	struct evbuffer *buf = buf_new();

	(void)state;
	memset(bytes, 'x', sizeof(bytes));
	assert_int_equal(evbuffer_add(buf, bytes, 900), 0);
	assert_int_equal(evbuffer_drain(buf, 800), 0);
	failing_from_now(0);
	assert_int_equal(evbuffer_expand(buf, 800), 0);
	assert_int_equal(evbuffer_add(buf, bytes, 800), 0);
	assert_int_equal(failing.calls, 0);
	assert_pieces(buf, 1);
	assert_memory_equal(evbuffer_pullup(buf, -1), bytes, 900);
	evbuffer_free(buf);
}

static void a_vector_goes_into_one_chunk(void **state)
{
	static char bytes[3000];
	struct evbuffer_iovec vec[3] = { { bytes, 3000 }, { NULL, 0 }, { bytes, 2000 } };
	struct evbuffer *buf = buf_new();

	(void)state;
	assert_int_equal(evbuffer_add_iovec(buf, vec, 3), 5000);
	assert_pieces(buf, 1);
	assert_int_equal(evbuffer_add_iovec(buf, vec, 0), 0);
	assert_int_equal(evbuffer_add_iovec(buf, vec, -1), 0);
	assert_int_equal(evbuffer_get_length(buf), 5000);
	evbuffer_free(buf);
}

/* What was printed and then reserved lies behind it, wherever the room was. */
static void a_print_of_any_length_is_whole(void **state)
{
	static char expected[6000];
	struct evbuffer *buf;
	size_t before;
	int width;

	(void)state;
	for (before = 900; before <= 980; before++) {
		for (width = 1; width < 5000; width = width * 3 + 1) {
			buf = buf_new();
			memset(expected, ' ', sizeof(expected));
			assert_int_equal(evbuffer_add(buf, expected, before), 0);
			assert_int_equal(evbuffer_add_printf(buf, "%*d", width, 7), width);
			expected[before + (size_t)width - 1] = '7';
			assert_int_equal(evbuffer_get_length(buf), before + (size_t)width);
			assert_memory_equal(evbuffer_pullup(buf, -1), expected, before + (size_t)width);
			evbuffer_free(buf);
		}
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, failing_setup, failing_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(blocks_are_powers_of_two_with_their_head),
		TEST(the_same_room_is_lent_until_it_is_filled),
		TEST(a_part_may_be_left_out),
		TEST(a_chunk_that_stays_empty_does_not_lie_between),
		TEST(what_was_not_lent_is_not_taken_back),
		TEST(a_reservation_needs_a_place),
		TEST(expanded_room_is_used_without_allocation),
		TEST(bytes_move_to_the_front_where_that_makes_room),
		TEST(a_vector_goes_into_one_chunk),
		TEST(a_print_of_any_length_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
