/*
 * The environment.
 */
#include "sysconf.h"

#undef xputenv

int xputenv(const char *s)
{
	const char *end = strchr(s, '=');
	char *name;
	int r;

	if (end == nullptr || end == s) {
		errno = EINVAL;
		return -1;
	}
	name = strndup(s, static_cast<size_t>(end - s));
	if (name == nullptr)
		return -1;
	r = setenv(name, end + 1, 1);
	free(name);
	return r;
}

char *safegetenv(const char *name)
{
	return secure_getenv(name);
}
