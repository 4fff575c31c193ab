/*
 * evutil's strings: formatting, comparing, numbers, dates.
 */
#include "trace.h"

#include <locale.h>
#include <stdarg.h>

#include <event2/util.h>

static int v_format(char *buf, size_t len, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int v_format(char *buf, size_t len, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = evutil_vsnprintf(buf, len, fmt, ap);
	va_end(ap);
	return r;
}

/* What is in a buffer of 12 that began as all '#', ends of strings shown as '0'. */
static void show(const char *name, int r, const char *buf)
{
	char text[13];

	for (int i = 0; i < 12; i++)
		text[i] = buf[i] == '\0' ? '0' : buf[i];
	text[12] = '\0';
	say("%s: %d %s", name, r, text);
}

static void formatting(void)
{
	char buf[12];
	int r;

	section("snprintf");
	for (size_t len = 0; len <= sizeof(buf); len++) {
		memset(buf, '#', sizeof(buf));
		r = evutil_snprintf(buf, len, "%s-%d", "hello", 42);
		show("snprintf", r, buf);
		memset(buf, '#', sizeof(buf));
		r = v_format(buf, len, "%x%%", 255);
		show("vsnprintf", r, buf);
	}
	say("no buffer: %d", evutil_snprintf(NULL, 0, "%d", 12345));
	memset(buf, '#', sizeof(buf));
	r = evutil_snprintf(buf, sizeof(buf), "%s", "");
	show("empty", r, buf);
}

static int sign(int n)
{
	return n < 0 ? -1 : n > 0;
}

static void comparing(void)
{
	static const char *const words[] = {
		"",
		"a",
		"A",
		"b",
		"B",
		"ab",
		"AB",
		"aB",
		"abc",
		"ABCD",
		"[",
		"z",
		"Z",
		"`",
		"@",
		"\xe4",
		"\xc4",
		"a\xe4",
		"A\xc4",
		"\x7f",
		"1",
		"Host",
		"hOST",
		"host:",
	};
	const size_t num = sizeof(words) / sizeof(words[0]);

	section("strcasecmp");
	/* Where the C library's own would take more letters for the same. */
	(void)setlocale(LC_ALL, "");
	for (size_t i = 0; i < num; i++) {
		for (size_t j = 0; j < num; j++) {
			say("%zu %zu: %d, %d %d %d %d", i, j,
			    sign(evutil_ascii_strcasecmp(words[i], words[j])),
			    sign(evutil_ascii_strncasecmp(words[i], words[j], 0)),
			    sign(evutil_ascii_strncasecmp(words[i], words[j], 1)),
			    sign(evutil_ascii_strncasecmp(words[i], words[j], 2)),
			    sign(evutil_ascii_strncasecmp(words[i], words[j], 100)));
		}
	}
	(void)setlocale(LC_ALL, "C");
}

static void numbers(void)
{
	static const char *const texts[] = {
		"0",
		"1",
		"-1",
		"+1",
		"42",
		"  42",
		"\t42x",
		"x42",
		"",
		" ",
		"-",
		"+",
		"--1",
		"0x",
		"0x10",
		"0X1F",
		"-0x10",
		"010",
		"08",
		"0b11",
		"zz",
		"ZZ",
		"7fffffffffffffff",
		"9223372036854775807",
		"9223372036854775808",
		"-9223372036854775808",
		"-9223372036854775809",
		"99999999999999999999999",
		"-99999999999999999999999",
		"12 34",
		"1e3",
		"1.5",
		"2147483648",
		"4294967296",
		"\n5",
		"5\n",
		"-0",
		"1_000",
		"\v7",
		"\xa0"
		"7",
	};
	static const int bases[] = { 0, 2, 3, 8, 10, 16, 35, 36, 1, 37, -1 };
	long long n;
	char *end;

	section("strtoll");
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		for (size_t j = 0; j < sizeof(bases) / sizeof(bases[0]); j++) {
			end = (char *)(uintptr_t)texts[i];
			errno = 0;
			n = evutil_strtoll(texts[i], &end, bases[j]);
			say("%zu base %d: %lld, used %td, errno %d", i, bases[j], n, end - texts[i],
			    errno);
		}
		errno = 0;
		n = evutil_strtoll(texts[i], NULL, 10);
		say("%zu: %lld, errno %d", i, n, errno);
	}
}

static void dates(void)
{
	static const int64_t times[] = {
		0,
		1,
		59,
		86399,
		86400,
		951782400,
		951868799,
		1000000000,
		1234567890,
		2147483647,
		4102444800,
		-1,
		-86400,
		253402300799,
	};
	char buf[64], now_text[64];
	struct tm tm;
	int r;

	section("date_rfc1123");
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		time_t at = (time_t)times[i];

		must(gmtime_r(&at, &tm) != NULL, "break a time down");
		r = evutil_date_rfc1123(buf, sizeof(buf), &tm);
		say("%lld: %d <%s>", (long long)times[i], r, buf);
	}
	must(gmtime_r(&(time_t){ 1000000000 }, &tm) != NULL, "break a time down");
	for (size_t len = 0; len <= 32; len++) {
		memset(buf, '#', sizeof(buf));
		buf[40] = '\0';
		r = evutil_date_rfc1123(buf, len, &tm);
		say("in %zu bytes: %d <%s>", len, r, buf);
	}
	memset(now_text, 0, sizeof(now_text));
	r = evutil_date_rfc1123(now_text, sizeof(now_text), NULL);
	say("now: %d, %zu letters, GMT %d", r, strlen(now_text), strcmp(now_text + 26, "GMT") == 0);
}

int main(void)
{
	formatting();
	comparing();
	numbers();
	dates();
	return 0;
}
