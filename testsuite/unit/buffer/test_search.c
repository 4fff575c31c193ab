/*
 * compat/libevent/buffer/search.c: whatever is found is found however the bytes are cut into chunks.
 */
#include "help.h"
#include "failing_alloc.h"

/* One chunk for each part that the bits of `cuts` make of the text. */
static struct evbuffer *buf_cut(const char *text, size_t len, unsigned cuts)
{
	struct evbuffer *buf = buf_new();
	size_t from = 0, i;

	for (i = 1; i <= len; i++) {
		if (i < len && (cuts >> (i - 1) & 1) == 0)
			continue;
		assert_int_equal(evbuffer_add_reference(buf, text + from, i - from, NULL, NULL), 0);
		from = i;
	}
	return buf;
}

static void ends_of_lines_are_found_across_chunks(void **state)
{
	static const struct {
		const char *text;
		size_t len;
		enum evbuffer_eol_style style;
		ssize_t at;
		size_t eol;
	} rows[] = {
		{ "ab\r\n\ncd", 7, EVBUFFER_EOL_ANY, 2, 3 },
		{ "ab\r\n\ncd", 7, EVBUFFER_EOL_CRLF, 2, 2 },
		{ "ab\r\n\ncd", 7, EVBUFFER_EOL_CRLF_STRICT, 2, 2 },
		{ "ab\r\n\ncd", 7, EVBUFFER_EOL_LF, 3, 1 },
		{ "ab\ncd\r\n", 7, EVBUFFER_EOL_CRLF, 2, 1 },
		{ "ab\ncd\r\n", 7, EVBUFFER_EOL_CRLF_STRICT, 5, 2 },
		{ "a\rb\r\r\nc", 7, EVBUFFER_EOL_CRLF, 4, 2 },
		{ "a\rb\r\r\nc", 7, EVBUFFER_EOL_CRLF_STRICT, 4, 2 },
		{ "a\rb\r\r\nc", 7, EVBUFFER_EOL_ANY, 1, 1 },
		{ "\r\n", 2, EVBUFFER_EOL_CRLF, 0, 2 },
		{ "\n", 1, EVBUFFER_EOL_CRLF, 0, 1 },
		{ "abc\r", 4, EVBUFFER_EOL_CRLF, -1, 0 },
		{ "abc\r", 4, EVBUFFER_EOL_CRLF_STRICT, -1, 0 },
		{ "abc\r", 4, EVBUFFER_EOL_ANY, 3, 1 },
		{ "ab\0c\0", 5, EVBUFFER_EOL_NUL, 2, 1 },
		{ "abc", 3, EVBUFFER_EOL_NUL, -1, 0 },
		{ "", 0, EVBUFFER_EOL_ANY, -1, 0 },
		{ "abc", 3, (enum evbuffer_eol_style)99, -1, 0 },
	};
	struct evbuffer *buf;
	unsigned cuts;
	size_t row, eol, len;
	char *line;

	(void)state;
	for (row = 0; row < ROWS(rows); row++) {
		for (cuts = 0; cuts < 64; cuts++) {
			buf = buf_cut(rows[row].text, rows[row].len, cuts);
			assert_int_equal(evbuffer_search_eol(buf, NULL, &eol, rows[row].style).pos, rows[row].at);
			assert_int_equal(eol, rows[row].eol);
			line = evbuffer_readln(buf, &len, rows[row].style);
			assert_int_equal(line != NULL, rows[row].at >= 0);
			assert_int_equal(len, line != NULL ? rows[row].at : 0);
			if (line != NULL)
				assert_memory_equal(line, rows[row].text, len);
			assert_int_equal(evbuffer_get_length(buf), rows[row].len - len - eol);
			if (line != NULL)
				failing_free(line);
			evbuffer_free(buf);
		}
	}
}

/* A CR before the place where the search begins is not part of what is found. */
static void a_search_for_a_lines_end_begins_where_told(void **state)
{
	struct evbuffer *buf;
	struct evbuffer_ptr ptr;
	unsigned cuts;
	size_t eol;

	(void)state;
	for (cuts = 0; cuts < 16; cuts++) {
		buf = buf_cut("ab\r\nc", 5, cuts);
		assert_int_equal(evbuffer_ptr_set(buf, &ptr, 3, EVBUFFER_PTR_SET), 0);
		assert_int_equal(evbuffer_search_eol(buf, &ptr, &eol, EVBUFFER_EOL_CRLF).pos, 3);
		assert_int_equal(eol, 1);
		assert_int_equal(evbuffer_search_eol(buf, &ptr, NULL, EVBUFFER_EOL_CRLF_STRICT).pos, -1);
		assert_int_equal(evbuffer_ptr_set(buf, &ptr, 5, EVBUFFER_PTR_SET), 0);
		assert_int_equal(evbuffer_search_eol(buf, &ptr, &eol, EVBUFFER_EOL_ANY).pos, -1);
		assert_int_equal(eol, 0);
		evbuffer_free(buf);
	}
}

static void strings_are_found_across_chunks(void **state)
{
	static const struct {
		const char *what;
		size_t from, end;
		ssize_t at;
	} rows[] = {
		{ "abab", 0, 8, 0 },
		{ "abab", 1, 8, 2 },
		{ "ababc", 0, 8, 2 },
		{ "abc", 0, 8, 4 },
		{ "abc", 0, 6, -1 },
		{ "abc", 5, 8, -1 },
		{ "d", 0, 8, 7 },
		{ "d", 0, 7, -1 },
		{ "ababcdd", 0, 8, -1 },
		{ "a", 8, 8, -1 },
		{ "x", 0, 8, -1 },
		{ "ababababababab", 0, 8, -1 },
	};
	static const char text[] = "abababcd";
	struct evbuffer_ptr from, end, found;
	struct evbuffer *buf;
	unsigned cuts;
	size_t row;

	(void)state;
	for (row = 0; row < ROWS(rows); row++) {
		for (cuts = 0; cuts < 128; cuts++) {
			buf = buf_cut(text, 8, cuts);
			assert_int_equal(evbuffer_ptr_set(buf, &from, rows[row].from, EVBUFFER_PTR_SET), 0);
			assert_int_equal(evbuffer_ptr_set(buf, &end, rows[row].end, EVBUFFER_PTR_SET), 0);
			found = evbuffer_search_range(buf, rows[row].what, strlen(rows[row].what), &from, &end);
			assert_int_equal(found.pos, rows[row].at);
			evbuffer_free(buf);
		}
	}
}

static void nothing_is_found_at_once(void **state)
{
	struct evbuffer *buf = buf_with("ab", "cd");
	struct evbuffer_ptr ptr = { .pos = -1 };

	(void)state;
	assert_int_equal(evbuffer_search(buf, "", 0, NULL).pos, 0);
	assert_int_equal(evbuffer_search(buf, "", 0, &ptr).pos, -1);
	assert_int_equal(evbuffer_search(buf, "a", 1, &ptr).pos, -1);
	assert_int_equal(evbuffer_search(buf, "ab", SIZE_MAX, NULL).pos, -1);
	assert_null(evbuffer_find(buf, (const unsigned char *)"ac", 2));
	assert_memory_equal(evbuffer_find(buf, (const unsigned char *)"bc", 2), "bcd", 2);
	evbuffer_free(buf);
}

static void a_place_is_where_the_byte_is(void **state)
{
	static const char text[] = "abcdefgh";
	struct evbuffer_ptr ptr;
	struct evbuffer *buf;
	unsigned cuts, pair;

	(void)state;
	for (cuts = 0; cuts < 128; cuts++) {
		buf = buf_cut(text, 8, cuts);
		for (pair = 0; pair < 100; pair++) {
			size_t at = pair / 10, by = pair % 10;
			bool is_there = at + by <= 8;
			char c = '\0';

			assert_int_equal(evbuffer_ptr_set(buf, &ptr, at, EVBUFFER_PTR_SET), at <= 8 ? 0 : -1);
			assert_int_equal(evbuffer_ptr_set(buf, &ptr, by, EVBUFFER_PTR_ADD), is_there ? 0 : -1);
			assert_int_equal(ptr.pos, is_there ? (ev_ssize_t)(at + by) : -1);
			assert_int_equal(evbuffer_copyout_from(buf, &ptr, &c, 1), is_there ? at + by < 8 : -1);
			assert_int_equal(c, is_there ? text[at + by] : '\0');
		}
		evbuffer_free(buf);
	}
}

static void no_place_is_too_far_to_say(void **state)
{
	struct evbuffer *buf = buf_with("abc");
	struct evbuffer_ptr ptr;

	(void)state;
	assert_int_equal(evbuffer_ptr_set(buf, &ptr, SIZE_MAX, EVBUFFER_PTR_SET), -1);
	assert_int_equal(evbuffer_ptr_set(buf, &ptr, 2, EVBUFFER_PTR_SET), 0);
	assert_int_equal(evbuffer_ptr_set(buf, &ptr, SIZE_MAX, EVBUFFER_PTR_ADD), -1);
	assert_int_equal(ptr.pos, 2); /* as stock: the sum is no size */
	evbuffer_free(buf);
}

static void readline_takes_any_end(void **state)
{
	struct evbuffer *buf = buf_with("one\r\n\r\n", "two\n", "three");
	char *line;

	(void)state;
	line = evbuffer_readline(buf);
	assert_string_equal(line, "one");
	failing_free(line);
	line = evbuffer_readline(buf);
	assert_string_equal(line, "two");
	failing_free(line);
	assert_null(evbuffer_readline(buf));
	assert_holds(buf, "three");
	evbuffer_free(buf);
}

/* Long lines: the search for CR and LF goes piece by piece. */
static void any_end_of_a_long_line_is_found(void **state)
{
	enum { LONG = 3000, STEP = 7 };
	static char text[LONG + 3];
	struct evbuffer *buf;
	size_t at, cut, eol;

	(void)state;
	for (at = 1000; at < 2100; at += at % 1024 < 3 || at % 1024 > 1020 ? 1 : STEP) {
		memset(text, 'x', sizeof(text));
		text[at] = at % 2 == 0 ? '\r' : '\n';
		text[at + 1] = '\n';
		text[LONG] = '\r';
		for (cut = at - 1; cut <= at + 2; cut++) {
			buf = buf_new();
			assert_int_equal(evbuffer_add_reference(buf, text, cut, NULL, NULL), 0);
			assert_int_equal(evbuffer_add_reference(buf, text + cut, sizeof(text) - cut, NULL, NULL), 0);
			assert_int_equal(evbuffer_search_eol(buf, NULL, &eol, EVBUFFER_EOL_ANY).pos, at);
			assert_int_equal(eol, 2);
			assert_int_equal(evbuffer_drain(buf, at + 2), 0);
			assert_int_equal(evbuffer_search_eol(buf, NULL, &eol, EVBUFFER_EOL_ANY).pos, LONG - at - 2);
			assert_int_equal(eol, 1);
			evbuffer_free(buf);
		}
	}
}

/* Spare chunks behind the bytes, which a reservation leaves, are nowhere. */
static void spare_chunks_hold_nothing(void **state)
{
	struct evbuffer *buf = buf_with("ab", "c\r");
	struct evbuffer_iovec vec[4];
	struct evbuffer_ptr ptr;
	size_t eol;
	char c;

	(void)state;
	assert_true(evbuffer_reserve_space(buf, 5000, vec, 2) > 0);
	assert_int_equal(evbuffer_ptr_set(buf, &ptr, 4, EVBUFFER_PTR_SET), 0);
	assert_int_equal(evbuffer_copyout_from(buf, &ptr, &c, 1), 0);
	assert_int_equal(evbuffer_peek(buf, 1, &ptr, vec, 4), 0);
	assert_int_equal(evbuffer_search(buf, "b", 1, &ptr).pos, -1);
	assert_int_equal(evbuffer_ptr_set(buf, &ptr, 5, EVBUFFER_PTR_SET), -1);
	assert_int_equal(evbuffer_search(buf, "\r\n", 2, NULL).pos, -1);
	assert_int_equal(evbuffer_search(buf, "", 1, NULL).pos, -1);
	assert_int_equal(evbuffer_search_eol(buf, NULL, &eol, EVBUFFER_EOL_ANY).pos, 3);
	assert_int_equal(eol, 1);
	assert_int_equal(evbuffer_search_eol(buf, NULL, &eol, EVBUFFER_EOL_NUL).pos, -1);
	assert_int_equal(evbuffer_peek(buf, -1, NULL, vec, 4), 2);
	assert_int_equal(evbuffer_drain(buf, 4), 0);
	assert_int_equal(evbuffer_peek(buf, -1, NULL, vec, 4), 0);
	assert_int_equal(evbuffer_copyout(buf, &c, 1), 0);
	evbuffer_free(buf);
}

/* Frozen at the front, every byte can be seen, and none copied. */
static void assert_reads_as(struct evbuffer *buf, const char *text, size_t len, size_t at, size_t num, bool is_frozen)
{
	size_t left = len - at, expected = num < left ? num : left, sum = 0, i;
	struct evbuffer_iovec vec[10];
	struct evbuffer_ptr ptr;
	char out[10] = "";
	int n, needed;

	assert_int_equal(evbuffer_ptr_set(buf, &ptr, at, EVBUFFER_PTR_SET), 0);
	assert_int_equal(evbuffer_copyout_from(buf, &ptr, out, num), is_frozen && expected > 0 ? -1 : (int)expected);
	if (!is_frozen)
		assert_memory_equal(out, text + at, expected);
	n = evbuffer_peek(buf, (ev_ssize_t)num, &ptr, vec, 10);
	for (i = 0; i < (size_t)n; i++) {
		assert_memory_equal(vec[i].iov_base, text + at + sum, vec[i].iov_len);
		assert_true(i == 0 || sum < num);	/* the first counts in any case */
		sum += vec[i].iov_len;
	}
	assert_true(sum >= expected);
	needed = evbuffer_peek(buf, (ev_ssize_t)num, &ptr, vec, 1);
	assert_int_equal(needed, n);
	assert_int_equal(evbuffer_peek(buf, (ev_ssize_t)num, &ptr, NULL, 0), n);
	n = evbuffer_peek(buf, -1, &ptr, vec, 10);
	for (sum = 0, i = 0; i < (size_t)n; sum += vec[i++].iov_len)
		assert_memory_equal(vec[i].iov_base, text + at + sum, vec[i].iov_len);
	assert_int_equal(sum, left);
	assert_int_equal(evbuffer_peek(buf, -1, &ptr, vec, 1), n > 0);
	assert_int_equal(evbuffer_peek(buf, -1, &ptr, NULL, 0), n);
}

static void bytes_read_in_place_are_those_copied(void **state)
{
	static const char text[] = "abcdef";
	unsigned cuts, is_frozen;
	struct evbuffer *buf;
	size_t at, num;

	(void)state;
	for (cuts = 0; cuts < 32; cuts++) {
		buf = buf_cut(text, 6, cuts);
		for (is_frozen = 0; is_frozen < 2; is_frozen++) {
			for (at = 0; at <= 6; at++)
				for (num = 0; num <= 8; num++)
					assert_reads_as(buf, text, 6, at, num, is_frozen != 0);
			assert_int_equal(evbuffer_freeze(buf, 1), 0);
		}
		evbuffer_free(buf);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, failing_setup, failing_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ends_of_lines_are_found_across_chunks),
		TEST(a_search_for_a_lines_end_begins_where_told),
		TEST(strings_are_found_across_chunks),
		TEST(nothing_is_found_at_once),
		TEST(a_place_is_where_the_byte_is),
		TEST(no_place_is_too_far_to_say),
		TEST(readline_takes_any_end),
		TEST(any_end_of_a_long_line_is_found),
		TEST(spare_chunks_hold_nothing),
		TEST(bytes_read_in_place_are_those_copied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
