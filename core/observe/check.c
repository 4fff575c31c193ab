#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ec.h"
#include "os/mem.h"
#include "os/stack.h"
#include "os/tsan.h"

static const char *const values[] = {
	[EC_CHECK_OFF] = "0",
	[EC_CHECK_COLORS] = "1",
	[EC_CHECK_DESCRIPTOR] = "descriptor",
	[EC_CHECK_CONNECTION] = "connection",
	[EC_CHECK_CALLBACK] = "callback",
};

enum { VALUES = sizeof(values) / sizeof(values[0]) };

/* const: set before main, but the last */
static enum ec_check mode;
static const char *unknown;		/* the value, if it is none of the above */
static bool is_blind;			/* there is no ThreadSanitizer that could see anything */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static struct ec_check_counts own_counts;
struct ec_check_counts *ec_check_counts = &own_counts;

/* A file that is not what evsmp makes is left alone. */
static void counts_open(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	void *at;

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_size == sizeof(own_counts)) {
		at = mmap(NULL, sizeof(own_counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (at != MAP_FAILED)
			ec_check_counts = at;
	}
	(void)close(fd);
}

/* From now on ThreadSanitizer does not see our own memory. */
static bool can_see(void)
{
	const char *counts;

	if (!ec_stack_is_supported() || !ec_tsan_fibers_prepare())
		return false;
	ec_mem_use(NULL, NULL, NULL);
	counts = secure_getenv("EVENT_CHECK_COLORS_COUNTS");
	if (counts != NULL)
		counts_open(counts);
	return true;
}

/* The fibers are prepared before the program runs: see tsan.c. */
static __attribute__((constructor)) void read_env(void)
{
	const char *value = secure_getenv("EVENT_CHECK_COLORS");
	unsigned i;

	if (value == NULL || *value == '\0')
		return;
	for (i = 0; i < VALUES && strcmp(value, values[i]) != 0; i++)
		;
	if (i == VALUES)
		unknown = value;
	else if (i != EC_CHECK_OFF && !can_see())
		is_blind = true;
	else
		mode = (enum ec_check)i;
}

static void refuse(void)
{
	if (unknown != NULL)
		ec_log(EC_LOG_WARN,
		       "EVENT_CHECK_COLORS=%.100s is not 1, descriptor, connection or callback: no color is checked",
		       unknown);
#ifdef EC_TSAN_SEES_ALL
	else
		ec_log(EC_LOG_WARN, "EVENT_CHECK_COLORS: libevent-smp itself is compiled with -fsanitize=thread: no "
				    "color is checked. Use libraries that are not");
#else
	else
		ec_log(EC_LOG_WARN, "EVENT_CHECK_COLORS: the program is not compiled with -fsanitize=thread: no "
				    "color is checked");
#endif
}

enum ec_check ec_check_mode(void)
{
	if (__builtin_expect(unknown != NULL || is_blind, 0))
		(void)pthread_once(&once, refuse);
	return mode;
}
