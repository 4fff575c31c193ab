/*
 * Descriptors over Unix-domain sockets.
 */
#include "rwfd.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

namespace
{

enum { FDS_MAX = 8 };

/* Room for a few descriptors more than are wanted, so that those can be closed. */
union control {
	struct cmsghdr head;
	char room[CMSG_SPACE(FDS_MAX * sizeof(int))];
};

/* The first descriptor of one control message is kept in *ret if none was before; the others are closed. */
void take_descriptors(struct cmsghdr *c, int *ret)
{
	size_t num = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

	for (size_t i = 0; i < num; i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
		if (*ret < 0)
			*ret = fd;
		else
			close(fd);
	}
}

} // namespace

ssize_t writevfd(int fd, const struct iovec *iov, int iovcnt, int wfd)
{
	union control control;
	struct msghdr msg = {};

	msg.msg_iov = const_cast<struct iovec *>(iov);
	msg.msg_iovlen = static_cast<size_t>(iovcnt);
	if (wfd >= 0) {
		memset(&control, 0, sizeof(control));
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(sizeof(int));
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.head), &wfd, sizeof(wfd));
	}
	return sendmsg(fd, &msg, MSG_NOSIGNAL);
}

ssize_t writefd(int fd, const void *buf, size_t len, int wfd)
{
	struct iovec iov = { const_cast<void *>(buf), len };

	return writevfd(fd, &iov, 1, wfd);
}

ssize_t readvfd(int fd, const struct iovec *iov, int iovcnt, int *rfdp)
{
	union control control;
	struct msghdr msg = {};
	ssize_t n;

	*rfdp = -1;
	msg.msg_iov = const_cast<struct iovec *>(iov);
	msg.msg_iovlen = static_cast<size_t>(iovcnt);
	msg.msg_control = &control;
	msg.msg_controllen = sizeof(control);
	n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
	if (n < 0)
		return n;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c != nullptr; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			take_descriptors(c, rfdp);
	}
	return n;
}

ssize_t readfd(int fd, void *buf, size_t len, int *rfdp)
{
	struct iovec iov = { buf, len };

	return readvfd(fd, &iov, 1, rfdp);
}
