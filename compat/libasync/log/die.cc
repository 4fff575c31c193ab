#include "log/die.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace libasync
{

void die(const char *fmt, ...)
{
	char text[512];
	va_list ap;
	int len = snprintf(text, sizeof(text), "libasync: ");

	va_start(ap, fmt);
	len += vsnprintf(text + len, sizeof(text) - size_t(len) - 1, fmt, ap);
	va_end(ap);
	if (len > int(sizeof(text)) - 2)
		len = int(sizeof(text)) - 2;
	text[len] = '\n';
	/* One write: lines of several threads do not mix. */
	(void)!write(STDERR_FILENO, text, size_t(len) + 1);
	abort();
}

} // namespace libasync
