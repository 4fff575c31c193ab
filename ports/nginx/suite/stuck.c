/*
 * Preloaded into nginx: reading a file whose name ends in /stuck, and opening one whose name ends in /late, waits
 * for a lock on the file that STUCK_GATE names. That is looked at once, for nginx clears its environment.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static ssize_t (*next_pread)(int fd, void *buf, size_t size, off64_t offset);
static int (*next_open)(const char *path, int flags, ...);
static char gate[PATH_MAX];

__attribute__((constructor)) static void find_gate(void)
{
	const char *path = getenv("STUCK_GATE");

	next_pread = (ssize_t(*)(int, void *, size_t, off64_t))dlsym(RTLD_NEXT, "pread64");
	next_open = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open64");
	if (path != NULL)
		(void)snprintf(gate, sizeof(gate), "%s", path);
}

static int ends_in(const char *name, size_t len, const char *suffix)
{
	const size_t n = strlen(suffix);

	return len >= n && memcmp(name + len - n, suffix, n) == 0;
}

static int is_stuck(int fd)
{
	char link[64], name[PATH_MAX];
	ssize_t len;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, name, sizeof(name));
	return len >= 0 && ends_in(name, (size_t)len, "/stuck");
}

static void wait_at_gate(void)
{
	const int fd = next_open(gate, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || flock(fd, LOCK_SH) < 0)
		abort();
	(void)close(fd);
}

ssize_t pread64(int fd, void *buf, size_t size, off64_t offset)
{
	if (gate[0] != '\0' && is_stuck(fd))
		wait_at_gate();
	return next_pread(fd, buf, size, offset);
}

int open64(const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = (flags & O_CREAT) ? va_arg(args, mode_t) : 0;
	va_end(args);
	if (gate[0] != '\0' && ends_in(path, strlen(path), "/late"))
		wait_at_gate();
	return next_open(path, flags, mode);
}
