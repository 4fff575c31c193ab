/*
 * Included first in every file of the ThreadSanitizer builds of memcached.
 *
 * Memcached keeps a connection's memory by its descriptor's number: one thread uses it until
 * close(), another from the accept4() that returns the number again. The kernel orders the
 * two, which ThreadSanitizer cannot know unless it is told.
 */
#if !defined(TSAN_FD_H) && defined(HAVE_CONFIG_H)	/* not in what configure tries */
#define TSAN_FD_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1	/* as in its config.h */
#endif
#include <sanitizer/tsan_interface.h>
#include <sys/socket.h>
#include <unistd.h>

#define TSAN_FDS 65536

__attribute__((weak)) char tsan_fd_order[TSAN_FDS];

static inline int tsan_close(int fd)
{
	if (fd >= 0 && fd < TSAN_FDS)
		__tsan_release(&tsan_fd_order[fd]);
	return close(fd);
}

static inline int tsan_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags)
{
	int r = accept4(fd, addr, len, flags);

	if (r >= 0 && r < TSAN_FDS)
		__tsan_acquire(&tsan_fd_order[r]);
	return r;
}

#define close(fd) tsan_close(fd)
#define accept4(fd, addr, len, flags) tsan_accept4(fd, addr, len, flags)

#endif
