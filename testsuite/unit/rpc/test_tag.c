/*
 * compat/libevent/rpc/tag.c: the format, byte by byte; records that end too early at each byte; and
 * no memory, where a record is written whole or not at all.
 */
#include "table.h"

#include <limits.h>

#include <event2/buffer.h>
#include <event2/tag.h>

#include "fault.h"

static const struct {
	const char *name;
	ev_uint64_t number;
	const char *bytes;
	size_t len;
} numbers[] = {
	{ "0", 0, "\x00", 1 },
	{ "15", 15, "\x0f", 1 },
	{ "16", 16, "\x10\x10", 2 },
	{ "0x1234", 0x1234, "\x34\x32\x10", 3 },
	{ "2^32 - 1", UINT32_MAX, "\x7f\xff\xff\xff\xf0", 5 },
	{ "2^64 - 1", UINT64_MAX, "\xff\xff\xff\xff\xff\xff\xff\xff\xf0", 9 },
};

static bool is_buffer(struct evbuffer *buf, const void *bytes, size_t len)
{
	return evbuffer_get_length(buf) == len && (len == 0 || memcmp(evbuffer_pullup(buf, -1), bytes, len) == 0);
}

static void test_numbers(void **state)
{
	struct evbuffer *buf = evbuffer_new();
	ev_uint64_t got;
	size_t i;

	(void)state;
	for (i = 0; i < ROWS(numbers); i++) {
		evtag_encode_int64(buf, numbers[i].number);
		assert_row(is_buffer(buf, numbers[i].bytes, numbers[i].len), numbers[i].name);
		evbuffer_drain(buf, numbers[i].len);
		evtag_marshal_int64(buf, 300, numbers[i].number);
		assert_row(evtag_unmarshal_int64(buf, 300, &got) == (int)numbers[i].len, numbers[i].name);
		assert_row(got == numbers[i].number, numbers[i].name);
		assert_row(evbuffer_get_length(buf) == 0, numbers[i].name);
	}
	evbuffer_free(buf);
}

/* What does not fit into 32 bits is no 32-bit number. */
static void test_narrow(void **state)
{
	struct evbuffer *buf = evbuffer_new();
	ev_uint32_t got = 77;

	(void)state;
	evtag_marshal_int64(buf, 1, UINT64_C(1) << 32);
	assert_int_equal(evtag_unmarshal_int(buf, 1, &got), -1);
	assert_int_equal(got, 77);
	evbuffer_free(buf);
}

/* The same record with its first `len` bytes there. */
static void test_truncated(void **state)
{
	static const char record[] = "\x85\x01\x03" "abc";
	struct evbuffer *buf = evbuffer_new(), *to = evbuffer_new();
	ev_uint32_t tag;
	size_t len;

	(void)state;
	evtag_marshal(buf, 133, "abc", 3);
	assert_true(is_buffer(buf, record, 6));
	for (len = 0; len < 6; len++) {
		evbuffer_drain(buf, evbuffer_get_length(buf));
		evbuffer_add(buf, record, len);
		assert_int_equal(evtag_unmarshal(buf, &tag, to), -1);
		assert_int_equal(evbuffer_get_length(to), 0);
	}
	evbuffer_free(to);
	evbuffer_free(buf);
}

/* A length that the sum with the head does not fit: libevent wraps there. */
static void test_length_overflow(void **state)
{
	struct evbuffer *buf = evbuffer_new();
	ev_uint32_t len = 77, tag = 0;

	(void)state;
	evbuffer_add(buf, "\x05\x7f\xff\xff\xff\xf0", 6);
	assert_int_equal(evtag_peek_length(buf, &len), -1);
	assert_int_equal(len, 77);
	assert_int_equal(evtag_payload_length(buf, &len), 0);
	assert_int_equal(len, UINT32_MAX);
	assert_int_equal(evtag_unmarshal_header(buf, &tag), -1);
	evbuffer_free(buf);
}

/* Neither time nor string is touched by what fails. */
static void test_untouched(void **state)
{
	struct evbuffer *buf = evbuffer_new();
	struct timeval tv = { 7, 8 };
	char *s = NULL;

	(void)state;
	evbuffer_add(buf, "\x05\x02\x28\xe0", 4);
	assert_int_equal(evtag_unmarshal_timeval(buf, 5, &tv), -1);
	assert_int_equal(tv.tv_sec, 7);
	assert_int_equal(tv.tv_usec, 8);
	evtag_marshal_string(buf, 5, "text");
	assert_int_equal(evtag_unmarshal_string(buf, 6, &s), -1);
	assert_null(s);
	evbuffer_free(buf);
}

static void test_no_memory(void **state)
{
	static char payload[10000];
	struct evbuffer *buf;
	unsigned nth;
	bool came = true;
	size_t len;

	(void)state;
	for (nth = 1; came; nth++) {
		buf = evbuffer_new();
		assert_non_null(buf);
		fault_alloc_at(nth);
		evtag_marshal(buf, 5, payload, sizeof(payload));
		came = fault_end();
		len = evbuffer_get_length(buf);
		assert_true(len == (came ? 0 : 1 + 3 + sizeof(payload)));
		evbuffer_free(buf);
	}
	assert_true(nth > 2);
}

static void test_string_no_memory(void **state)
{
	struct evbuffer *buf = evbuffer_new();
	char *s = NULL;

	(void)state;
	evtag_marshal_string(buf, 5, "text");
	fault_alloc_at(1);
	assert_int_equal(evtag_unmarshal_string(buf, 5, &s), -1);
	assert_true(fault_end());
	assert_null(s);
	evbuffer_free(buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_narrow),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_length_overflow),
		cmocka_unit_test(test_untouched),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_string_no_memory),
	};

	return cmocka_run_group_tests(tests, fault_init, fault_fini);
}
