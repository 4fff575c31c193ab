#include "settings.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ec.h"
#include "os/number.h"
#include "os/thread.h"

/* Of a value that is refused, a message has as many bytes at most. */
#define SHOWN "%.40s"
#define OFF "stalls are not reported"

/* Without a limit, the other variables are a mistake. */
static void tell_useless(const char *name)
{
	if (secure_getenv(name) != NULL)
		ec_log(EC_LOG_WARN, "%s has no effect without EVENT_SMP_STALL_MS: " OFF, name);
}

static bool read_limit(unsigned *ret)
{
	const char *value = secure_getenv("EVENT_SMP_STALL_MS");
	uint64_t n;

	*ret = 0;
	if (value == NULL) {
		tell_useless("EVENT_SMP_STALL_FILE");
		tell_useless("EVENT_SMP_STALL_FORMAT");
		return false;
	}
	if (!ec_number_is(value, EC_STALL_MS_MAX, &n)) {
		ec_log(EC_LOG_WARN, "EVENT_SMP_STALL_MS=" SHOWN " is not a number from 1 to %d: " OFF, value,
		       EC_STALL_MS_MAX);
		return false;
	}
	*ret = (unsigned)n;
	return n != 0;
}

static bool read_format(bool *is_json)
{
	const char *value = secure_getenv("EVENT_SMP_STALL_FORMAT");

	*is_json = value != NULL && strcmp(value, "json") == 0;
	if (value == NULL || *is_json || strcmp(value, "text") == 0)
		return true;
	ec_log(EC_LOG_WARN, "EVENT_SMP_STALL_FORMAT=" SHOWN " is neither text nor json: " OFF, value);
	return false;
}

/* The program may change its directory later. */
static int make_absolute(const char *value, char path[PATH_MAX])
{
	size_t len = 0;

	if (value[0] != '/') {
		if (getcwd(path, PATH_MAX) == NULL)
			return -errno;
		len = strlen(path);
		path[len++] = '/';
	}
	if (value[0] == '\0' || len + strlen(value) >= PATH_MAX)
		return value[0] == '\0' ? -ENOENT : -ENAMETOOLONG;
	memcpy(path + len, value, strlen(value) + 1);
	return 0;
}

int ec_stall_settings_open(const struct ec_stall_settings *s)
{
	enum { FLAGS = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY };
	struct stat st;
	int fd, r = 0;

	fd = open(s->path, FLAGS, 0600);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) != 0)
		r = -errno;
	else if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink != 1 ||
		 (st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		r = -EPERM;
	if (r == 0)
		return fd;
	ec_close(fd);
	return r;
}

/* A file that cannot be written is reported now, not when the first stall comes. */
static bool read_path(struct ec_stall_settings *s)
{
	const char *value = secure_getenv("EVENT_SMP_STALL_FILE");
	int r;

	if (value == NULL)
		return true;
	r = make_absolute(value, s->path);
	if (r == 0)
		r = ec_stall_settings_open(s);
	if (r >= 0) {
		ec_close(r);
		return true;
	}
	if (r == -EPERM)
		ec_log(EC_LOG_WARN, "EVENT_SMP_STALL_FILE=" SHOWN " is not a file that only this user may write: " OFF,
		       value);
	else
		ec_log_errno(EC_LOG_WARN, -r, "EVENT_SMP_STALL_FILE=" SHOWN ": " OFF, value);
	return false;
}

void ec_stall_settings_read(struct ec_stall_settings *ret)
{
	unsigned limit_ms;

	memset(ret, 0, sizeof(*ret));
	if (read_limit(&limit_ms) && read_format(&ret->is_json) && read_path(ret))
		ret->limit_ms = limit_ms;
}

/* const after the first call */
static struct ec_stall_settings own;

static void read_own(void)
{
	ec_stall_settings_read(&own);
}

const struct ec_stall_settings *ec_stall_settings(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, read_own);
	return &own;
}
