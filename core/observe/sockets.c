#include "sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "lock/sync.h"
#include "os/tsan.h"

enum { FDS = 4096 };			/* those above are parted each time */

/* atomic: the sockets that were parted, by descriptor. Two threads that part one descriptor do no harm. */
static _Atomic(uint64_t) parted[FDS];

static bool has_name(int fd, int (*get)(int fd, struct sockaddr *addr, socklen_t *len))
{
	struct sockaddr_un addr;
	socklen_t len = sizeof(addr);

	return get(fd, (struct sockaddr *)(void *)&addr, &len) == 0 && len > offsetof(struct sockaddr_un, sun_path);
}

static bool is_pair(int fd)
{
	int domain = -1;
	socklen_t len = sizeof(domain);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 && domain == AF_UNIX &&
	       !has_name(fd, getsockname) && !has_name(fd, getpeername);
}

/*
 * ThreadSanitizer sees dup3 and gives the copy what it knows of the original. The original is a copy itself, made by a
 * call that it does not see: it knows nothing of that. The kernel exchanges one for the other at once, and both are the
 * same open socket, so nobody else sees anything of it, pollers included.
 */
static void part(int fd)
{
	int flags = fcntl(fd, F_GETFD), copy = (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 0);

	if (copy < 0)
		return;
	(void)dup3(copy, fd, flags >= 0 && (flags & FD_CLOEXEC) == 0 ? 0 : O_CLOEXEC);
	(void)syscall(SYS_close, copy);
}

static bool is_parted(int fd, const struct stat *st)
{
	return fd < FDS && ec_load_relaxed(&parted[fd]) == (uint64_t)st->st_ino;
}

void ec_sockets_part(int fd)
{
	int err = errno;
	struct stat st;

	ec_tsan_ignore_begin();
	if (fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode) && !is_parted(fd, &st) && !is_pair(fd)) {
		part(fd);
		if (fd < FDS)
			ec_store_relaxed(&parted[fd], (uint64_t)st.st_ino);
	}
	ec_tsan_ignore_end();
	errno = err;
}
