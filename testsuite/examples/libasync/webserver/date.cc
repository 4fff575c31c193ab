/*
 * Dates of HTTP. The present is formatted once a second for each thread, so threads share nothing.
 */
#include "date.h"

#include <stdio.h>
#include <string.h>

#include <limits>

#include "litetime.h"

static const char days[] = "SunMonTueWedThuFriSat";
static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

void format_date(time_t t, char *out)
{
	char text[DATE_LEN + 32];
	struct tm tm;

	gmtime_r(&t, &tm);
	snprintf(text, sizeof(text), "%.3s, %02d %.3s %04d %02d:%02d:%02d GMT", days + 3 * tm.tm_wday, tm.tm_mday,
		 months + 3 * tm.tm_mon, tm.tm_year + 1900, tm.tm_hour, tm.tm_min, tm.tm_sec);
	memcpy(out, text, DATE_LEN);
}

const char *date_now()
{
	static thread_local char text[DATE_LEN];
	static thread_local time_t of = -1;
	const time_t now = sfs_get_timenow();

	if (now != of) {
		of = now;
		format_date(now, text);
	}
	return text;
}

time_t parse_date(const char *p, size_t len)
{
	char text[DATE_LEN + 1], month[4], zone[4];
	const char *found;
	struct tm tm;
	time_t when;
	int end = 0;

	if (len != DATE_LEN)
		return -1;
	memcpy(text, p, len);
	text[len] = '\0';
	memset(&tm, 0, sizeof(tm));
	if (sscanf(text, "%*3[A-Za-z], %2d %3[A-Za-z] %4d %2d:%2d:%2d %3[A-Z]%n", &tm.tm_mday, month, &tm.tm_year,
		   &tm.tm_hour, &tm.tm_min, &tm.tm_sec, zone, &end) != 7 ||
	    end != DATE_LEN || strcmp(zone, "GMT") != 0)
		return -1;
	found = strstr(months, month);
	if (!found || (found - months) % 3 || tm.tm_year < 1970)
		return -1;
	tm.tm_mon = int(found - months) / 3;
	tm.tm_year -= 1900;
	when = timegm(&tm);
	return when == -1 ? std::numeric_limits<time_t>::max() : when;	/* 32 bits: it ends in 2038 */
}
