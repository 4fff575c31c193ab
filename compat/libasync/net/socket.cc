/*
 * Sockets and the flags of descriptors.
 */
#include "amisc.h"

#include <netinet/ip.h>
#include <poll.h>

#include "log/die.h"
#include "net/options.h"

namespace
{

/* A descriptor that is none is the program's mistake, and going on would hide it. */
[[noreturn]] void bad_descriptor(const char *function, int fd)
{
	libasync::die("%s: descriptor %d: %s", function, fd, strerror(errno));
}

void set_flag(const char *function, int fd, int flag, bool is_on)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, is_on ? flags | flag : flags & ~flag) < 0)
		bad_descriptor(function, fd);
}

bool is_stream(int fd)
{
	int type = 0;
	socklen_t len = sizeof(type);

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_STREAM;
}

/* The address to listen on when the program names none: $BINDADDR, or all. */
uint32_t default_address()
{
	const char *text = safegetenv("BINDADDR");
	struct in_addr addr;

	if (text != nullptr && inet_aton(text, &addr) != 0)
		return ntohl(addr.s_addr);
	return INADDR_ANY;
}

/* Close `fd` and keep errno, which says why. */
int give_up(int fd)
{
	int err = errno;

	close(fd);
	errno = err;
	return -1;
}

int unix_address(const char *path, struct sockaddr_un *ret)
{
	size_t len = strlen(path);

	memset(ret, 0, sizeof(*ret));
	ret->sun_family = AF_UNIX;
	if (len >= sizeof(ret->sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(ret->sun_path, path, len);
	return 0;
}

} // namespace

void make_async(int fd)
{
	int on = 1;

	set_flag("make_async", fd, O_NONBLOCK, true);
	if (is_stream(fd))
		setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

void make_sync(int fd)
{
	set_flag("make_sync", fd, O_NONBLOCK, false);
}

void close_on_exec(int fd, bool set)
{
	int flags = fcntl(fd, F_GETFD);

	if (flags < 0 || fcntl(fd, F_SETFD, set ? flags | FD_CLOEXEC : flags & ~FD_CLOEXEC) < 0)
		bad_descriptor("close_on_exec", fd);
}

void tcp_nodelay(int fd)
{
	int on = 1, tos = IPTOS_LOWDELAY;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof(tos));
}

void tcp_abort(int fd)
{
	struct linger none = { 1, 0 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	close(fd);
}

int inetsocket(int type, u_int16_t port, u_int32_t addr)
{
	struct sockaddr_in sin = {};
	int fd, on = 1;

	fd = socket(AF_INET, type | (libasync::option_is_set('b') ? 0 : SOCK_NONBLOCK), 0);
	if (fd < 0)
		return -1;
	sin.sin_family = AF_INET;
	sin.sin_port = htons(port);
	sin.sin_addr.s_addr = htonl(addr == INADDR_ANY ? default_address() : addr);
	if (port != 0 && type == SOCK_STREAM && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0)
		return give_up(fd);
	if (bind(fd, reinterpret_cast<struct sockaddr *>(&sin), sizeof(sin)) < 0)
		return give_up(fd);
	return fd;
}

/* A stream socket, with `call` made on it and on the address of `path`. */
static int unix_open(const char *path, int (*call)(int fd, const struct sockaddr *sa, socklen_t len))
{
	struct sockaddr_un sun;
	int fd;

	if (unix_address(path, &sun) < 0)
		return -1;
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	if (fd < 0)
		return -1;
	if (call(fd, reinterpret_cast<struct sockaddr *>(&sun), sizeof(sun)) < 0)
		return give_up(fd);
	return fd;
}

int unixsocket(const char *path)
{
	return unix_open(path, bind);
}

int unixsocket_connect(const char *path)
{
	return unix_open(path, connect);
}

bool isunixsocket(int fd)
{
	struct sockaddr_storage sa = {};
	socklen_t len = sizeof(sa);

	return getsockname(fd, reinterpret_cast<struct sockaddr *>(&sa), &len) == 0 && sa.ss_family == AF_UNIX;
}

int fdwait(int rfd, int wfd, bool r, bool w, timeval *tvp)
{
	struct pollfd fds[2] = { { r ? rfd : -1, POLLIN, 0 }, { w ? wfd : -1, POLLOUT, 0 } };
	struct timespec ts;

	if (tvp != nullptr)
		ts = { tvp->tv_sec, tvp->tv_usec * 1000 };
	return ppoll(fds, 2, tvp != nullptr ? &ts : nullptr, nullptr);
}

int fdwait(int fd, bool r, bool w, timeval *tvp)
{
	return fdwait(fd, fd, r, w, tvp);
}

int fdwait(int fd, selop op, timeval *tvp)
{
	return fdwait(fd, op == selread, op == selwrite, tvp);
}

void v_write(int fd, const void *buf, size_t sz)
{
	const char *at = static_cast<const char *>(buf);

	while (sz > 0) {
		ssize_t n = write(fd, at, sz);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		at += n;
		sz -= static_cast<size_t>(n);
	}
}
