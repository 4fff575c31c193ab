/*
 * compat/libevent/util/str.c. What stock does with each odd input is compared in
 * differ/util_str.c; here is the contract.
 */
#include "table.h"

#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <time.h>

#include <event2/util.h>

static void snprintf_always_ends_and_tells_the_whole_length(void **state)
{
	char buf[8];
	size_t len;
	int r;

	(void)state;
	for (len = 1; len <= sizeof(buf); len++) {
		memset(buf, '#', sizeof(buf));
		r = evutil_snprintf(buf, len, "%s", "abcdef");
		assert_int_equal(r, 6);
		assert_int_equal(strlen(buf), len <= 6 ? len - 1 : 6);
		assert_memory_equal(buf, "abcdef", strlen(buf));
		if (len < sizeof(buf))
			assert_int_equal(buf[len], '#');
	}
	memset(buf, '#', sizeof(buf));
	assert_int_equal(evutil_snprintf(buf, 0, "%s", "abcdef"), 0);
	assert_int_equal(buf[0], '#');
	assert_int_equal(evutil_snprintf(NULL, 0, "%s", "abcdef"), 0);
}

static int sign(int n)
{
	return n < 0 ? -1 : n > 0;
}

static void strings_compare_without_case(void **state)
{
	static const struct {
		const char *a, *b;
		size_t n;
		int whole, first_n;
	} rows[] = {
		{ "", "", 3, 0, 0 },
		{ "a", "A", 1, 0, 0 },
		{ "Host", "hOST", 4, 0, 0 },
		{ "Host", "hosts", 4, -1, 0 },
		{ "hosts", "Host", 4, 1, 0 },
		{ "hosts", "Host", 5, 1, 1 },
		{ "a", "b", 0, -1, 0 },
		{ "B", "a", 1, 1, 1 },
		{ "[", "a", 1, -1, -1 },
		{ "[", "A", 1, -1, -1 },
		{ "@", "`", 1, -1, -1 },
		{ "abc", "abd", 2, -1, 0 },
		{ "abc", "", 3, 1, 1 },
		{ "", "abc", 3, -1, -1 },
		{ "\xe4", "\xc4", 1, 1, 1 },
		{ "x\0y", "x\0z", 3, 0, 0 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ROWS(rows); i++) {
		assert_row(sign(evutil_ascii_strcasecmp(rows[i].a, rows[i].b)) == rows[i].whole,
			   rows[i].a);
		assert_row(sign(evutil_ascii_strncasecmp(rows[i].a, rows[i].b, rows[i].n)) ==
				   rows[i].first_n,
			   rows[i].a);
	}
}

static void strtoll_reads_as_strtol(void **state)
{
	static const struct {
		const char *text;
		int base, used, err;
		ev_int64_t value;
	} rows[] = {
		{ "42", 10, 2, 0, 42 },
		{ "-42x", 10, 3, 0, -42 },
		{ "  +7", 10, 4, 0, 7 },
		{ "0x1f", 16, 4, 0, 31 },
		{ "0x1f", 0, 4, 0, 31 },
		{ "010", 0, 3, 0, 8 },
		{ "zz", 36, 2, 0, 1295 },
		{ "", 10, 0, 0, 0 },
		{ "x", 10, 0, 0, 0 },
		{ "9223372036854775807", 10, 19, 0, EV_INT64_MAX },
		{ "9223372036854775808", 10, 19, ERANGE, EV_INT64_MAX },
		{ "-9223372036854775808", 10, 20, 0, EV_INT64_MIN },
		{ "-9223372036854775809", 10, 20, ERANGE, EV_INT64_MIN },
	};
	char *end;
	size_t i;

	(void)state;
	for (i = 0; i < ROWS(rows); i++) {
		errno = 0;
		assert_row(evutil_strtoll(rows[i].text, &end, rows[i].base) == rows[i].value,
			   rows[i].text);
		assert_row(end - rows[i].text == rows[i].used, rows[i].text);
		/* Where there is no number, some libcs say so by EINVAL. */
		assert_row(errno == rows[i].err || (errno == EINVAL && rows[i].used == 0), rows[i].text);
	}
}

static void dates_are_rfc_1123s(void **state)
{
	static const struct {
		int64_t at;
		const char *text;
	} rows[] = {
		{ 0, "Thu, 01 Jan 1970 00:00:00 GMT" },
		{ 784111777, "Sun, 06 Nov 1994 08:49:37 GMT" },
		{ 951782400, "Tue, 29 Feb 2000 00:00:00 GMT" },
		{ 1735689599, "Tue, 31 Dec 2024 23:59:59 GMT" },
		{ 4102444800, "Fri, 01 Jan 2100 00:00:00 GMT" },
	};
	char buf[64];
	struct tm tm;
	size_t i;

	(void)state;
	for (i = 0; i < ROWS(rows); i++) {
		time_t at = (time_t)rows[i].at;

		if (at != rows[i].at)
			continue;	/* not on this machine */
		assert_non_null(gmtime_r(&at, &tm));
		assert_int_equal(evutil_date_rfc1123(buf, sizeof(buf), &tm), 29);
		assert_string_equal(buf, rows[i].text);
	}
}

static void a_date_that_does_not_fit_is_cut_and_tells_so(void **state)
{
	const time_t at = 0;
	char buf[16];
	struct tm tm;

	(void)state;
	assert_non_null(gmtime_r(&at, &tm));
	assert_int_equal(evutil_date_rfc1123(buf, sizeof(buf), &tm), 29);
	assert_string_equal(buf, "Thu, 01 Jan 197");
}

static void a_date_that_is_none_is_refused(void **state)
{
	static const struct tm rows[] = {
		{ .tm_mday = 1, .tm_wday = 7 },
		{ .tm_mday = 1, .tm_wday = -1 },
		{ .tm_mday = 1, .tm_mon = 12 },
		{ .tm_mday = 1, .tm_mon = -1 },
	};
	char buf[64] = "as it was";
	size_t i;

	(void)state;
	for (i = 0; i < ROWS(rows); i++)
		assert_int_equal(evutil_date_rfc1123(buf, sizeof(buf), &rows[i]), -1);
	assert_string_equal(buf, "as it was");
}

/* The clock may step to the next second between the two readings; then the later one is right. */
static void no_date_is_now(void **state)
{
	char before[64], now[64], after[64];
	struct tm tm;
	time_t t;

	(void)state;
	t = time(NULL);
	assert_int_equal(evutil_date_rfc1123(before, sizeof(before), gmtime_r(&t, &tm)), 29);
	assert_int_equal(evutil_date_rfc1123(now, sizeof(now), NULL), 29);
	t = time(NULL);
	assert_int_equal(evutil_date_rfc1123(after, sizeof(after), gmtime_r(&t, &tm)), 29);
	assert_true(strcmp(now, before) == 0 || strcmp(now, after) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(snprintf_always_ends_and_tells_the_whole_length),
		cmocka_unit_test(strings_compare_without_case),
		cmocka_unit_test(strtoll_reads_as_strtol),
		cmocka_unit_test(dates_are_rfc_1123s),
		cmocka_unit_test(a_date_that_does_not_fit_is_cut_and_tells_so),
		cmocka_unit_test(a_date_that_is_none_is_refused),
		cmocka_unit_test(no_date_is_now),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
