/*
 * The names of facilities and levels, as logger(1) and syslog.conf(5) have them.
 */
#include "proc/priority.h"

#include <cstddef>
#include <cstring>
#include <strings.h>
#include <syslog.h>

namespace
{

struct code {
	const char *name;
	int number;
};

const code facilities[] = {
	{ "auth", LOG_AUTH },	  { "authpriv", LOG_AUTHPRIV }, { "cron", LOG_CRON },	  { "daemon", LOG_DAEMON },
	{ "ftp", LOG_FTP },	  { "kern", LOG_KERN },		{ "lpr", LOG_LPR },	  { "mail", LOG_MAIL },
	{ "news", LOG_NEWS },	  { "syslog", LOG_SYSLOG },	{ "user", LOG_USER },	  { "uucp", LOG_UUCP },
	{ "local0", LOG_LOCAL0 }, { "local1", LOG_LOCAL1 },	{ "local2", LOG_LOCAL2 }, { "local3", LOG_LOCAL3 },
	{ "local4", LOG_LOCAL4 }, { "local5", LOG_LOCAL5 },	{ "local6", LOG_LOCAL6 }, { "local7", LOG_LOCAL7 },
	{ "security", LOG_AUTH },
};

const code levels[] = {
	{ "emerg", LOG_EMERG },	  { "panic", LOG_EMERG },     { "alert", LOG_ALERT },  { "crit", LOG_CRIT },
	{ "err", LOG_ERR },	  { "error", LOG_ERR },	      { "warning", LOG_WARNING }, { "warn", LOG_WARNING },
	{ "notice", LOG_NOTICE }, { "info", LOG_INFO },	      { "debug", LOG_DEBUG },
};

template <size_t N> int number_of(const code (&codes)[N], const char *name, size_t len)
{
	for (const code &c : codes) {
		if (strlen(c.name) == len && strncasecmp(c.name, name, len) == 0)
			return c.number;
	}
	return -1;
}

} // namespace

namespace libasync
{

int syslog_number(const char *text)
{
	const char *dot = strchr(text, '.');

	if (dot == nullptr)
		return -1;

	const int facility = number_of(facilities, text, static_cast<size_t>(dot - text));
	const int level = number_of(levels, dot + 1, strlen(dot + 1));

	return facility < 0 || level < 0 ? -1 : facility | level;
}

} // namespace libasync
