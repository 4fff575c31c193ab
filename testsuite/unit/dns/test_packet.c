/*
 * compat/libevent/dns/packet.c, answer.c: names written and read again, every packet cut at each
 * byte, and what a pointer may point to.
 */
#include "table.h"

#include "compat/libevent/dns/answer.h"
#include "compat/libevent/dns/dns.h"

/* ---------------------------------------------------------------- names */

static const struct {
	const char *name;
	const char *wire;
	size_t len;
} names[] = {
	{ "", "\0", 1 },
	{ "a", "\1a\0", 3 },
	{ "a.b", "\1a\1b\0", 5 },
	{ "www.example.com", "\3www\7example\3com\0", 17 },
};

static void test_names(void **state)
{
	char text[DNS_NAME_SIZE];
	uint8_t data[300];
	size_t i;

	(void)state;
	for (i = 0; i < ROWS(names); i++) {
		struct dns_writer w = { .data = data, .size = sizeof(data) };
		struct dns_reader r = { .data = data };

		assert_row(le_dns_put_name(&w, names[i].name) == 0, names[i].name);
		assert_row(w.len == names[i].len && memcmp(data, names[i].wire, w.len) == 0, names[i].name);
		r.len = w.len;
		assert_row(le_dns_get_name(&r, text) == 0 && r.at == w.len, names[i].name);
		assert_row(strcmp(text, names[i].name) == 0, names[i].name);
	}
}

/* A name of labels of 63, and a last one of `last`. */
static void long_name(char *name, size_t last)
{
	memset(name, 'x', 3 * 64 + last);
	for (int i = 1; i <= 3; i++)
		name[i * 64 - 1] = '.';
	name[3 * 64 + last] = '\0';
}

static void test_lengths(void **state)
{
	char name[300], text[DNS_NAME_SIZE];
	uint8_t data[300];
	struct dns_writer w = { .data = data, .size = sizeof(data) };
	struct dns_reader r = { .data = data };

	(void)state;
	long_name(name, 61);
	assert_true(le_dns_name_is_valid(name));
	assert_int_equal(le_dns_put_name(&w, name), 0);
	assert_int_equal(w.len, 255);
	r.len = w.len;
	assert_int_equal(le_dns_get_name(&r, text), 0);
	assert_string_equal(text, name);
	long_name(name, 62);
	assert_false(le_dns_name_is_valid(name));
	assert_int_equal(le_dns_put_name(&w, name), -1);
	assert_int_equal(w.len, 255);

	/* The same on the wire: 4 labels of 63 are 257 bytes. */
	for (int i = 0; i < 4; i++)
		data[i * 64] = 63;
	data[4 * 64] = 0;
	r = (struct dns_reader){ .data = data, .len = 257 };
	assert_int_equal(le_dns_get_name(&r, text), -1);
}

static void test_no_names(void **state)
{
	static const char *const none[] = {
		".",
		"..",
		".a",
		"a..b",
		"a..",
		"1234567890123456789012345678901234567890123456789012345678901234",
	};
	uint8_t data[300];
	size_t i;

	(void)state;
	for (i = 0; i < ROWS(none); i++) {
		struct dns_writer w = { .data = data, .size = sizeof(data) };

		assert_row(!le_dns_name_is_valid(none[i]), none[i]);
		assert_row(le_dns_put_name(&w, none[i]) == -1 && w.len == 0, none[i]);
	}
	assert_true(le_dns_name_is_valid("a."));
}

/* Names on the wire that no text can stand for, or that do not end. */
static const struct {
	const char *what;
	const char *wire;
	size_t len;
	size_t at;
} bad_names[] = {
	{ "nothing", "", 0, 0 },
	{ "no end", "\1a", 2, 0 },
	{ "label cut", "\3ab", 3, 0 },
	{ "pointer cut", "\300", 1, 0 },
	{ "pointer to itself", "\300\0", 2, 0 },
	{ "pointer ahead", "\300\2\1a\0", 5, 0 },
	{ "pointer to its own name", "\1a\300\0", 4, 0 },
	{ "two that point at each other", "\300\2\300\0", 4, 0 },
	{ "two that point at each other, from the second", "\300\2\300\0", 4, 2 },
	{ "pointer to after the end", "\300\377", 2, 0 },
	{ "kind of label that is none", "\100a\0", 3, 0 },
	{ "another", "\200a\0", 3, 0 },
	{ "dot in a label", "\3a.b\0", 5, 0 },
	{ "NUL in a label", "\3a\0b\0", 5, 0 },
};

static void test_bad_names(void **state)
{
	char text[DNS_NAME_SIZE];
	size_t i;

	(void)state;
	for (i = 0; i < ROWS(bad_names); i++) {
		struct dns_reader r = {
			.data = (const uint8_t *)bad_names[i].wire, .len = bad_names[i].len, .at = bad_names[i].at
		};

		assert_row(le_dns_get_name(&r, text) == -1, bad_names[i].what);
	}
}

/* A chain of `num` pointers to "a". */
static size_t chain(uint8_t *data, size_t num)
{
	memcpy(data, "\1a", 3);
	for (size_t i = 0; i < num; i++) {
		size_t to = i == 0 ? 0 : 3 + (i - 1) * 2;

		data[3 + i * 2] = (uint8_t)(0xc0 | to >> 8);
		data[4 + i * 2] = (uint8_t)to;
	}
	return 3 + num * 2;
}

/* Who points to pointers has work to give, not names. */
static void test_chains(void **state)
{
	static uint8_t data[8192];
	char text[DNS_NAME_SIZE];
	struct dns_reader r = { .data = data };

	(void)state;
	r.len = chain(data, 32);
	r.at = r.len - 2;
	assert_int_equal(le_dns_get_name(&r, text), 0);
	assert_string_equal(text, "a");
	assert_int_equal(r.at, r.len);
	r.len = chain(data, 33);
	r.at = r.len - 2;
	assert_int_equal(le_dns_get_name(&r, text), -1);
	/* What is passed is not read. */
	r.len = chain(data, 4000);
	r.at = r.len - 2;
	assert_int_equal(le_dns_skip_name(&r), 0);
	assert_int_equal(r.at, r.len);
}

static void test_compression(void **state)
{
	uint8_t data[300];
	struct dns_writer w = { .data = data, .size = sizeof(data) };
	struct dns_reader r;
	char text[DNS_NAME_SIZE];
	size_t len;

	(void)state;
	assert_int_equal(le_dns_put_name(&w, "www.example.com"), 0);
	len = w.len;
	assert_int_equal(le_dns_put_name(&w, "ftp.example.com"), 0);
	assert_int_equal(w.len, len + 6);
	assert_memory_equal(data + len, "\3ftp\300\4", 6);
	assert_int_equal(le_dns_put_name(&w, "www.example.com"), 0);
	assert_memory_equal(data + len + 6, "\300\0", 2);
	/* Of another case: not the same, for an answer is to keep the question's. */
	assert_int_equal(le_dns_put_name(&w, "Example.com"), 0);
	assert_memory_equal(data + len + 8, "\7Example\300\14", 10);
	r = (struct dns_reader){ .data = data, .len = w.len, .at = len };
	assert_int_equal(le_dns_get_name(&r, text), 0);
	assert_string_equal(text, "ftp.example.com");
	assert_int_equal(r.at, len + 6);

	/* What is taken back is not pointed to. */
	le_dns_rewind(&w, 0);
	assert_int_equal(le_dns_put_name(&w, "com"), 0);
	assert_int_equal(w.len, 5);
}

/* Whatever room there is: a name is written whole or not at all. */
static void test_no_room(void **state)
{
	uint8_t data[300];
	size_t size;

	(void)state;
	for (size = 0; size < 17; size++) {
		struct dns_writer w = { .data = data, .size = size };

		assert_int_equal(le_dns_put_name(&w, "www.example.com"), -1);
		assert_int_equal(w.len, 0);
		assert_int_equal(w.names_num, 0);
	}
}

/* ---------------------------------------------------------------- matching */

static const char query[] = "\x12\x34\x01\0\0\1\0\0\0\0\0\0\3wWw\7eXample\0\0\1\0\1";
static const struct {
	const char *what;
	const char *data;
	size_t len;
	enum dns_match want;
} matches[] = {
#define ROW(what, data, want) \
	{ \
		what, data, sizeof(data) - 1, want \
	}
	ROW("exact", "\x12\x34\x81\x80\0\1\0\1\0\0\0\0\3wWw\7eXample\0\0\1\0\1rest", DNS_MATCH_EXACT),
	ROW("folded", "\x12\x34\x81\x80\0\1\0\1\0\0\0\0\3www\7example\0\0\1\0\1", DNS_MATCH_FOLDED),
	ROW("upper case", "\x12\x34\x81\x80\0\1\0\1\0\0\0\0\3WWW\7EXAMPLE\0\0\1\0\1", DNS_MATCH_NO),
	ROW("one letter's case", "\x12\x34\x81\x80\0\1\0\1\0\0\0\0\3wWw\7example\0\0\1\0\1", DNS_MATCH_NO),
	ROW("other name", "\x12\x34\x81\x80\0\1\0\1\0\0\0\0\3wWw\7eXbmple\0\0\1\0\1", DNS_MATCH_NO),
	ROW("other id", "\x12\x35\x81\x80\0\1\0\1\0\0\0\0\3wWw\7eXample\0\0\1\0\1", DNS_MATCH_NO),
	ROW("a query", "\x12\x34\x01\x80\0\1\0\1\0\0\0\0\3wWw\7eXample\0\0\1\0\1", DNS_MATCH_NO),
	ROW("other type", "\x12\x34\x81\x80\0\1\0\1\0\0\0\0\3wWw\7eXample\0\0\x1c\0\1", DNS_MATCH_NO),
	ROW("other class", "\x12\x34\x81\x80\0\1\0\1\0\0\0\0\3wWw\7eXample\0\0\1\0\3", DNS_MATCH_NO),
	ROW("no question", "\x12\x34\x81\x80\0\0\0\1\0\0\0\0\3wWw\7eXample\0\0\1\0\1", DNS_MATCH_NO),
	ROW("two questions", "\x12\x34\x81\x80\0\2\0\1\0\0\0\0\3wWw\7eXample\0\0\1\0\1", DNS_MATCH_NO),
	ROW("other labels", "\x12\x34\x81\x80\0\1\0\1\0\0\0\0\3wWw\6eXampl\1e\0\1\0\1", DNS_MATCH_NO),
	ROW("cut", "\x12\x34\x81\x80\0\1\0\1\0\0\0\0\3wWw\7eXample\0\0\1\0", DNS_MATCH_NO),
	ROW("head", "\x12\x34\x81\x80\0\1\0\1\0\0\0\0", DNS_MATCH_NO),
#undef ROW
};

static void test_matching(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ROWS(matches); i++)
		assert_row(le_dns_match((const uint8_t *)query, sizeof(query) - 1, (const uint8_t *)matches[i].data,
					matches[i].len) == matches[i].want,
			   matches[i].what);
}

/* ---------------------------------------------------------------- answers */

/* In a block of just that length, so that a sanitizer sees a read past its end. */
static void parse_exactly(struct dns_answer *answer, int type, const void *data, size_t len)
{
	uint8_t *copy = malloc(len + 1);

	assert_non_null(copy);
	memcpy(copy + 1, data, len);
	le_dns_answer_parse(answer, type, copy + 1, len);
	free(copy);
}

static const char two_addresses[] = "\x12\x34\x81\x80\0\1\0\3\0\0\0\0\1a\0\0\1\0\1"
				    "\300\14\0\5\0\1\0\0\0\5\0\3\1b\0"
				    "\300\14\0\1\0\1\0\0\0\7\0\4\1\2\3\4"
				    "\1b\0\0\1\0\1\0\0\0\6\0\4\5\6\7\10";

static void test_addresses(void **state)
{
	struct dns_answer answer;

	(void)state;
	parse_exactly(&answer, DNS_IPv4_A, two_addresses, sizeof(two_addresses) - 1);
	assert_int_equal(answer.result, DNS_ERR_NONE);
	assert_int_equal(answer.type, DNS_IPv4_A);
	assert_int_equal(answer.count, 2);
	assert_int_equal(answer.ttl, 6);
	assert_memory_equal(answer.of.a, "\1\2\3\4\5\6\7\10", 8);
	assert_string_equal(answer.cname, "b");
	parse_exactly(&answer, DNS_IPv6_AAAA, two_addresses, sizeof(two_addresses) - 1);
	assert_int_equal(answer.result, DNS_ERR_NODATA);
	assert_int_equal(answer.count, 0);
}

static void test_every_cut(void **state)
{
	struct dns_answer answer;
	size_t len;

	(void)state;
	for (len = 0; len < sizeof(two_addresses) - 1; len++) {
		parse_exactly(&answer, DNS_IPv4_A, two_addresses, len);
		assert_int_equal(answer.result, DNS_ERR_UNKNOWN);
		assert_int_equal(answer.count, 0);
		assert_int_equal(answer.type, 0);
	}
}

/* With each byte set to each value nothing is read or written outside, and a count is one. */
static void test_every_change(void **state)
{
	char data[sizeof(two_addresses) - 1];
	struct dns_answer answer;

	(void)state;
	for (size_t at = 0; at < sizeof(data); at++) {
		for (int value = 0; value < 256; value++) {
			memcpy(data, two_addresses, sizeof(data));
			data[at] = (char)value;
			parse_exactly(&answer, DNS_IPv4_A, data, sizeof(data));
			assert_in_range(answer.count, 0, DNS_ADDRS_MAX);
			assert_true(answer.ttl >= 0);
			parse_exactly(&answer, DNS_PTR, data, sizeof(data));
			assert_in_range(answer.count, 0, 1);
		}
	}
}

/* The largest there is: more records than are passed on. */
static void test_large(void **state)
{
	enum { NUM = 4000,
	       RECORD = 16 };
	static uint8_t data[DNS_HEADER_LEN + NUM * RECORD];
	struct dns_answer answer;

	(void)state;
	memcpy(data, "\x12\x34\x81\x80\0\0\x0f\xa0\0\0\0\0", DNS_HEADER_LEN);
	for (size_t i = 0; i < NUM; i++)
		memcpy(data + DNS_HEADER_LEN + i * RECORD, "\300\14\0\1\0\1\0\0\0\7\0\4\1\2\3\4", RECORD);
	/* The first record's name would point to itself. */
	memcpy(data + DNS_HEADER_LEN, "\0\0\1\0\1\0\0\0\7\0\5\1\2\3\4\5", RECORD);
	parse_exactly(&answer, DNS_IPv4_A, data, sizeof(data));
	assert_int_equal(answer.result, DNS_ERR_UNKNOWN);
	memcpy(data + DNS_HEADER_LEN, "\0\0\2\0\1\0\0\0\7\0\5\1\2\3\4\5", RECORD);
	parse_exactly(&answer, DNS_IPv4_A, data, sizeof(data));
	assert_int_equal(answer.result, DNS_ERR_NONE);
	assert_int_equal(answer.count, DNS_ADDRS_MAX);
}

/* Of a chain of names the first ones are read, and addresses behind them still are. */
static void test_cnames(void **state)
{
	enum { RECORD = 15,
	       NUM = 100 };
	static uint8_t data[DNS_HEADER_LEN + NUM * RECORD + 16];
	struct dns_answer answer;

	(void)state;
	memcpy(data, "\x12\x34\x81\x80\0\0\0\x65\0\0\0\0", DNS_HEADER_LEN);
	for (size_t i = 0; i < NUM; i++) {
		memcpy(data + DNS_HEADER_LEN + i * RECORD, "\0\0\5\0\1\0\0\0\7\0\4\2ab", RECORD);
		data[DNS_HEADER_LEN + i * RECORD + 12] = (uint8_t)('a' + i % 26);
		data[DNS_HEADER_LEN + i * RECORD + 13] = (uint8_t)('a' + i / 26);
	}
	memcpy(data + DNS_HEADER_LEN + NUM * RECORD, "\0\0\1\0\1\0\0\0\7\0\4\1\2\3\4", 15);
	parse_exactly(&answer, DNS_IPv4_A, data, sizeof(data) - 1);
	assert_int_equal(answer.result, DNS_ERR_NONE);
	assert_int_equal(answer.count, 1);
	assert_string_equal(answer.cname, "fb"); /* the 32nd */
}

/* Two names of 127 labels that differ in the last: none of 127 ends is one of 127 others. */
static void test_deep_names(void **state)
{
	uint8_t data[1024];
	struct dns_writer w = { .data = data, .size = sizeof(data) };
	struct dns_reader r = { .data = data };
	char name[DNS_NAME_SIZE], text[DNS_NAME_SIZE];
	size_t len;

	(void)state;
	for (size_t i = 0; i < 253; i++)
		name[i] = i % 2 == 0 ? 'a' : '.';
	name[253] = '\0';
	assert_int_equal(le_dns_put_name(&w, name), 0);
	assert_int_equal(w.len, 255);
	name[252] = 'b';
	assert_int_equal(le_dns_put_name(&w, name), 0);
	assert_int_equal(w.len, 510);
	len = w.len;
	/* With a dot at its end it is the same name. */
	memcpy(name + 250, "b.", 3);
	assert_int_equal(le_dns_put_name(&w, name), 0);
	assert_int_equal(le_dns_put_name(&w, "b."), 0);
	assert_int_equal(le_dns_put_name(&w, "a.b"), 0);
	r.len = w.len;
	r.at = len;
	assert_int_equal(le_dns_get_name(&r, text), 0);
	assert_int_equal(strlen(text), 251);
	assert_int_equal(le_dns_get_name(&r, text), 0);
	assert_string_equal(text, "b");
	assert_int_equal(le_dns_get_name(&r, text), 0);
	assert_string_equal(text, "a.b");
	assert_int_equal(r.at, r.len);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_no_names),
		cmocka_unit_test(test_bad_names),
		cmocka_unit_test(test_chains),
		cmocka_unit_test(test_compression),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_matching),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_every_cut),
		cmocka_unit_test(test_every_change),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_cnames),
		cmocka_unit_test(test_deep_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
