/*
 * The parts of evhttp that know no connection: characters, lists of headers in an arena, bodies, and the lines of
 * messages. What whole messages do is in test_security.c and test_client.c.
 */
#include "table.h"

#include <errno.h>
#include <sys/queue.h>

#include <event2/buffer.h>
#include <event2/http.h>

#include "compat/libevent/http/body.h"
#include "compat/libevent/http/chars.h"
#include "compat/libevent/http/header.h"
#include "compat/libevent/http/status.h"

static bool is_text_byte(unsigned c)
{
	return c == '\t' || (c >= 0x20 && c != 0x7f);
}

static void text_is_found_at_every_place(void **state)
{
	char s[32];

	(void)state;
	for (unsigned c = 0; c < 256; c++) {
		for (size_t len = 1; len <= 20; len++) {
			for (size_t at = 0; at < len; at++) {
				/* Neighbours that a borrow could come from, or go to. */
				memset(s, at % 2 ? 0x80 : '\t', sizeof(s));
				s[at] = (char)c;
				assert_int_equal(le_is_text(s, len), is_text_byte(c));
			}
		}
	}
	assert_true(le_is_text("", 0));
}

static void classes_hold_what_the_standards_list(void **state)
{
	(void)state;
	for (unsigned c = 0; c < 256; c++) {
		bool is_alnum = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

		assert_int_equal(le_char_is((char)c, LE_CHAR_TOKEN),
				 is_alnum || (c != 0 && strchr("!#$%&'*+-.^_`|~", (int)c) != NULL));
		assert_int_equal(le_char_is((char)c, LE_CHAR_UNRESERVED),
				 is_alnum || (c != 0 && strchr("-._~", (int)c) != NULL));
		assert_int_equal(le_char_is((char)c, LE_CHAR_SUB_DELIM),
				 c != 0 && strchr("!$&'()*+,;=", (int)c) != NULL);
		assert_int_equal(le_char_is((char)c, LE_CHAR_SCHEME),
				 is_alnum || (c != 0 && strchr("+-.", (int)c) != NULL));
		assert_int_equal(le_char_is((char)c, LE_CHAR_DIGIT), c >= '0' && c <= '9');
		assert_int_equal(le_char_is((char)c, LE_CHAR_TEXT), is_text_byte(c));
	}
}

/* ---------------------------------------------------------------- headers */

static struct evkeyval *first(struct evkeyvalq *q)
{
	return TAILQ_FIRST(q);
}

static void headers_of_all_owners_share_a_list(void **state)
{
	struct evkeyval *foreign = malloc(sizeof(*foreign));
	struct evkeyvalq q;
	struct le_arena arena;
	char room[256], long_key[600];

	(void)state;
	TAILQ_INIT(&q);
	le_arena_init(&arena, room, sizeof(room));
	memset(long_key, 'k', sizeof(long_key) - 1);
	long_key[sizeof(long_key) - 1] = '\0';
	foreign->key = strdup("Foreign");
	foreign->value = strdup("1");
	TAILQ_INSERT_TAIL(&q, foreign, next);
	assert_int_equal(le_header_append_in(&arena, &q, "Arena", 5, "22", 2), 0);
	assert_int_equal(le_header_append_in(&arena, &q, long_key, sizeof(long_key) - 1, "333", 3), 0);
	assert_int_equal(evhttp_add_header(&q, "Heap", "4444"), 0);
	assert_string_equal(evhttp_find_header(&q, "FOREIGN"), "1");
	assert_string_equal(evhttp_find_header(&q, "arena"), "22");
	assert_string_equal(evhttp_find_header(&q, long_key), "333");
	assert_string_equal(evhttp_find_header(&q, "heap"), "4444");
	assert_int_equal(le_header_lens(first(&q)).value, 1);
	assert_int_equal(evhttp_remove_header(&q, "Foreign"), 0);
	assert_int_equal(le_header_lens(first(&q)).value, 2);
	/* A program may give any of them a value of its own; ASan sees whether it is freed. */
	first(&q)->value = strdup("mine");
	assert_int_equal(le_header_lens(first(&q)).value, 4);
	assert_int_equal(evhttp_remove_header(&q, "Arena"), 0);
	TAILQ_LAST(&q, evkeyvalq)->value = strdup("mine too");
	evhttp_clear_headers(&q);
	assert_true(TAILQ_EMPTY(&q));
	le_arena_fini(&arena);
}

static void folded_lines_are_joined_by_one_space(void **state)
{
	struct evkeyvalq q;
	struct le_arena arena;
	char room[64];

	(void)state;
	TAILQ_INIT(&q);
	le_arena_init(&arena, room, sizeof(room));
	assert_int_equal(le_header_append_in(&arena, &q, "K", 1, "a", 1), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(le_header_extend_last(&arena, &q, "bc", 2), 0);
	assert_string_equal(evhttp_find_header(&q, "k"), "a bc bc bc");
	evhttp_clear_headers(&q);
	le_arena_fini(&arena);
}

/* ---------------------------------------------------------------- bodies */

struct body_row {
	const char *text;
	enum le_framing framing;
	uint64_t length, max;
	enum le_body_result result;	/* MORE also for what is not over */
	const char *content, *left;
};

static const struct body_row body_rows[] = {
	{ "abcdef", LE_FRAMING_LENGTH, 3, 10, LE_BODY_END, "abc", "def" },
	{ "ab", LE_FRAMING_LENGTH, 3, 10, LE_BODY_MORE, "ab", "" },
	{ "abcdef", LE_FRAMING_UNTIL_CLOSE, 0, 10, LE_BODY_MORE, "abcdef", "" },
	{ "", LE_FRAMING_NO_BODY, 0, 10, LE_BODY_END, "", "" },
	{ "3\r\nabc\r\n0\r\n\r\nrest", LE_FRAMING_CHUNKED, 0, 10, LE_BODY_END, "abc", "rest" },
	{ "1\r\na\r\n2 ;x\r\nbc\r\n00\r\nA: b\r\n\r\nrest", LE_FRAMING_CHUNKED, 0, 10, LE_BODY_END, "abc", "rest" },
	{ "a\r\n0123456789\r\n0\r\n\r\n", LE_FRAMING_CHUNKED, 0, 10, LE_BODY_END, "0123456789", "" },
	{ "A\r\n0123", LE_FRAMING_CHUNKED, 0, 10, LE_BODY_MORE, "0123", "" },
	{ "b\r\n", LE_FRAMING_CHUNKED, 0, 10, LE_BODY_TOO_LONG, "", NULL },
	{ "9\r\n012345678\r\n2\r\n", LE_FRAMING_CHUNKED, 0, 10, LE_BODY_TOO_LONG, "012345678", NULL },
	{ "7fffffffffffffff\r\n", LE_FRAMING_CHUNKED, 0, UINT64_MAX, LE_BODY_MORE, "", "" },
	{ "8000000000000000\r\n", LE_FRAMING_CHUNKED, 0, UINT64_MAX, LE_BODY_MALFORMED, "", NULL },
	{ "1\r\nab", LE_FRAMING_CHUNKED, 0, 10, LE_BODY_MALFORMED, "a", NULL },
	{ "g\r\n", LE_FRAMING_CHUNKED, 0, 10, LE_BODY_MALFORMED, "", NULL },
	{ "\r\n", LE_FRAMING_CHUNKED, 0, 10, LE_BODY_MALFORMED, "", NULL },
	{ "0\r\n: b\r\n\r\n", LE_FRAMING_CHUNKED, 0, 10, LE_BODY_MALFORMED, "", NULL },
	/* Lines are bounded: 64 bytes here. */
	{ "0\r\nA: 0123456789012345678901234567890123456789012345678901234567890123456789\r\n\r\n",
	  LE_FRAMING_CHUNKED, 0, 10, LE_BODY_MALFORMED, "", NULL },
};

static enum le_body_result read_all(struct le_body *body, struct evbuffer *in, struct evbuffer *out)
{
	enum le_body_result result;

	do
		result = le_body_read(body, in, out);
	while (result == LE_BODY_CHUNK);
	return result;
}

static void check_body(const struct body_row *row, size_t step)
{
	struct evbuffer *in = evbuffer_new(), *out = evbuffer_new();
	enum le_body_result result = LE_BODY_MORE;
	size_t len = strlen(row->text), at = 0;
	struct le_body body;

	le_body_init(&body, row->framing, row->length, row->max, 64);
	if (len == 0)
		result = read_all(&body, in, out);
	for (; at < len && result == LE_BODY_MORE; at += step) {
		evbuffer_add(in, row->text + at, len - at < step ? len - at : step);
		result = read_all(&body, in, out);
	}
	evbuffer_add(in, row->text + (at < len ? at : len), at < len ? len - at : 0);
	assert_row(result == row->result, row->text);
	evbuffer_add(out, "", 1);
	assert_row(strcmp((char *)evbuffer_pullup(out, -1), row->content) == 0, row->text);
	if (row->left != NULL) {
		evbuffer_add(in, "", 1);
		assert_row(strcmp((char *)evbuffer_pullup(in, -1), row->left) == 0, row->text);
	}
	evbuffer_free(in);
	evbuffer_free(out);
}

static void bodies_end_where_they_end_whole_and_byte_by_byte(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(body_rows); i++) {
		check_body(&body_rows[i], SIZE_MAX / 2);
		for (size_t step = 1; step < 5; step++)
			check_body(&body_rows[i], step);
	}
}

/* ---------------------------------------------------------------- text */

static void dates_are_those_of_gmtime(void **state)
{
	static const int64_t times[] = { 0, 951782400, 1700000000, 1795262726, 4102444799, 253402300799 };
	char ours[30], libcs[64];
	struct tm tm;

	(void)state;
	for (size_t i = 0; i < ROWS(times); i++) {
		time_t at = (time_t)times[i];

		if (at != times[i])
			continue;	/* not on this machine */
		le_status_date(at, ours);
		strftime(libcs, sizeof(libcs), "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&at, &tm));
		assert_string_equal(ours, libcs);
	}
}

static void every_code_has_a_reason(void **state)
{
	(void)state;
	assert_string_equal(le_status_reason(200), "OK");
	assert_string_equal(le_status_reason(299), "Success");
	assert_string_equal(le_status_reason(307), "Temporary Redirect");
	assert_string_equal(le_status_reason(404), "Not Found");
	assert_string_equal(le_status_reason(505), "HTTP Version not supported");
	for (int code = -1000; code < 2000; code++)
		assert_true(le_status_reason(code)[0] != '\0');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_found_at_every_place),
		cmocka_unit_test(classes_hold_what_the_standards_list),
		cmocka_unit_test(headers_of_all_owners_share_a_list),
		cmocka_unit_test(folded_lines_are_joined_by_one_space),
		cmocka_unit_test(bodies_end_where_they_end_whole_and_byte_by_byte),
		cmocka_unit_test(dates_are_those_of_gmtime),
		cmocka_unit_test(every_code_has_a_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
