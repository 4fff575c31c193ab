#include "status.h"

#include <stddef.h>
#include <string.h>

static const char *const informational[] = { "Continue", "Switching Protocols" };

static const char *const success[] = {
	"OK",         "Created",       "Accepted",        "Non-Authoritative Information",
	"No Content", "Reset Content", "Partial Content",
};

static const char *const redirection[] = {
	"Multiple Choices", "Moved Permanently", "Found",        "See Other",
	"Not Modified",     "Use Proxy",         "Switch Proxy", "Temporary Redirect",
};

static const char *const client_error[] = {
	"Bad Request",	      "Unauthorized",
	"Payment Required",   "Forbidden",
	"Not Found",	      "Method Not Allowed",
	"Not Acceptable",     "Proxy Authentication Required",
	"Request Time-out",   "Conflict",
	"Gone",		      "Length Required",
	"Precondition Failed", "Request Entity Too Large",
	"Request-URI Too Large", "Unsupported Media Type",
	"Requested range not satisfiable", "Expectation Failed",
};

static const char *const server_error[] = {
	"Internal Server Error", "Not Implemented",  "Bad Gateway",
	"Service Unavailable",	 "Gateway Time-out", "HTTP Version not supported",
};

#define CLASS(reasons, name) { (reasons), sizeof(reasons) / sizeof((reasons)[0]), (name) }

static const struct {
	const char *const *reasons;
	size_t num;
	const char *name;		/* the reason of other codes of the class */
} classes[] = {
	CLASS(informational, "Informational"), CLASS(success, "Success"),
	CLASS(redirection, "Redirection"),     CLASS(client_error, "Client Error"),
	CLASS(server_error, "Server Error"),
};

const char *le_status_reason(int code)
{
	size_t class, i;

	if (code < 100 || code >= 600)
		return "Unknown Status Class";
	class = (size_t)code / 100 - 1;
	i = (size_t)code % 100;
	return i < classes[class].num ? classes[class].reasons[i] : classes[class].name;
}

static char *two_digits(char *to, int n)
{
	to[0] = (char)('0' + n / 10 % 10);
	to[1] = (char)('0' + n % 10);
	return to + 2;
}

/* Not strftime(), whose names depend on the locale. */
void le_status_date(time_t when, char *ret)
{
	static const char days[][4] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
	static const char months[][4] = {
		"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
	};
	struct tm tm;
	char *to = ret;

	gmtime_r(&when, &tm);
	memcpy(to, days[tm.tm_wday], 3);
	to[3] = ',';
	to[4] = ' ';
	to = two_digits(to + 5, tm.tm_mday);
	*to++ = ' ';
	memcpy(to, months[tm.tm_mon], 3);
	to[3] = ' ';
	to = two_digits(to + 4, (tm.tm_year + 1900) / 100);
	to = two_digits(to, tm.tm_year % 100);
	*to++ = ' ';
	to = two_digits(to, tm.tm_hour);
	*to++ = ':';
	to = two_digits(to, tm.tm_min);
	*to++ = ':';
	to = two_digits(to, tm.tm_sec);
	memcpy(to, " GMT", 5);
}
