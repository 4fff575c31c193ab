/*
 * Sockets: pairs, flags, options of listening sockets.
 */
#include <event2/util.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/ec.h"

int evutil_closesocket(evutil_socket_t sock)
{
	return close(sock);
}

static int set_flag(evutil_socket_t fd, int get, int set, int flag)
{
	int flags = fcntl(fd, get, NULL);

	if (flags < 0) {
		ec_log_errno(EC_LOG_WARN, errno, "fcntl(%d, %s)", fd,
			     get == F_GETFL ? "F_GETFL" : "F_GETFD");
		return -1;
	}
	if ((flags & flag) == 0 && fcntl(fd, set, flags | flag) < 0) {
		ec_log_errno(EC_LOG_WARN, errno, "fcntl(%d, %s)", fd,
			     set == F_SETFL ? "F_SETFL" : "F_SETFD");
		return -1;
	}
	return 0;
}

int evutil_make_socket_nonblocking(evutil_socket_t fd)
{
	return set_flag(fd, F_GETFL, F_SETFL, O_NONBLOCK);
}

int evutil_make_socket_closeonexec(evutil_socket_t fd)
{
	return set_flag(fd, F_GETFD, F_SETFD, FD_CLOEXEC);
}

static int option_on(evutil_socket_t fd, int level, int option)
{
	int one = 1;

	return setsockopt(fd, level, option, &one, sizeof(one));
}

int evutil_make_listen_socket_reuseable(evutil_socket_t fd)
{
	return option_on(fd, SOL_SOCKET, SO_REUSEADDR);
}

int evutil_make_listen_socket_reuseable_port(evutil_socket_t fd)
{
	return option_on(fd, SOL_SOCKET, SO_REUSEPORT);
}

int evutil_make_listen_socket_ipv6only(evutil_socket_t fd)
{
	return option_on(fd, IPPROTO_IPV6, IPV6_V6ONLY);
}

int evutil_make_tcp_listen_socket_deferred(evutil_socket_t fd)
{
	return option_on(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT);
}

int evutil_socketpair(int family, int type, int protocol, evutil_socket_t fds[2])
{
	return socketpair(family, type, protocol, fds);
}
