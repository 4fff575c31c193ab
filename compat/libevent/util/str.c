/*
 * Strings: formatting, locale-free comparison, numbers, dates.
 */
#include <event2/util.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int evutil_vsnprintf(char *buf, size_t buflen, const char *format, va_list ap)
{
	int r;

	if (buflen == 0)
		return 0;
	r = vsnprintf(buf, buflen, format, ap);
	buf[buflen - 1] = '\0';
	return r;
}

int evutil_snprintf(char *buf, size_t buflen, const char *format, ...)
{
	va_list ap;
	int r;

	va_start(ap, format);
	r = evutil_vsnprintf(buf, buflen, format, ap);
	va_end(ap);
	return r;
}

/* Compares plain chars, so programs see stock's order: "\xe4" before "a" where char is signed. */
static int lower(char c)
{
	return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

int evutil_ascii_strcasecmp(const char *a, const char *b)
{
	return evutil_ascii_strncasecmp(a, b, (size_t)-1);
}

int evutil_ascii_strncasecmp(const char *a, const char *b, size_t n)
{
	int ca, cb;

	for (; n > 0; n--) {
		ca = lower(*a++);
		cb = lower(*b++);
		if (ca != cb)
			return ca < cb ? -1 : 1;
		if (ca == '\0')
			return 0;
	}
	return 0;
}

ev_int64_t evutil_strtoll(const char *s, char **endptr, int base)
{
	return (ev_int64_t)strtoll(s, endptr, base);
}

/* RFC 1123 (RFC 7231, 7.1.1.1): English names in every locale. */
int evutil_date_rfc1123(char *date, const size_t datelen, const struct tm *tm)
{
	static const char days[][4] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
	static const char months[][4] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
					  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
	struct tm now;
	time_t t;

	if (tm == NULL) {
		t = time(NULL);
		tm = gmtime_r(&t, &now);
	}
	if (tm == NULL || tm->tm_wday < 0 || tm->tm_wday > 6 || tm->tm_mon < 0 || tm->tm_mon > 11)
		return -1;
	return evutil_snprintf(date, datelen, "%s, %02d %s %4d %02d:%02d:%02d GMT",
			       days[tm->tm_wday], tm->tm_mday, months[tm->tm_mon],
			       1900 + tm->tm_year, tm->tm_hour, tm->tm_min, tm->tm_sec);
}
