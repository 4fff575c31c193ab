/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_RWFD_H
#define LIBASYNC_RWFD_H

/*
 * Descriptors that travel over a Unix-domain socket, with the bytes of one read or write.
 *
 * writefd and writevfd send the bytes and, unless `wfd` is -1, a copy of the descriptor `wfd`, which stays the
 * caller's. At least one byte must be sent. readfd and readvfd receive bytes and store in *rfdp a new descriptor that
 * the caller owns and that is close-on-exec, or -1 if none came. More than one that came at once are closed.
 *
 * The result is that of read and write: a number of bytes, 0 at the end of the stream, -1 with errno. *rfdp is written
 * in all cases. Any thread, but bytes and descriptors of two threads mix.
 */
#include <sys/types.h>
#include <sys/uio.h>

#include "libasync_config.h"
#include "sysconf.h"

LIBASYNC_EXPORT ssize_t writevfd(int fd, const struct iovec *iov, int iovcnt, int wfd);
LIBASYNC_EXPORT ssize_t writefd(int fd, const void *buf, size_t len, int wfd);
LIBASYNC_EXPORT ssize_t readvfd(int fd, const struct iovec *iov, int iovcnt, int *rfdp);
LIBASYNC_EXPORT ssize_t readfd(int fd, void *buf, size_t len, int *rfdp);

/* The same under other names. */
inline ssize_t sendfd(int fd, const void *buf, size_t len, int wfd)
{
	return writefd(fd, buf, len, wfd);
}

inline ssize_t recvfd(int fd, void *buf, size_t len, int *rfdp)
{
	return readfd(fd, buf, len, rfdp);
}

#endif
