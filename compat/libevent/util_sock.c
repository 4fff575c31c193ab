/*
 * Sockets: pairs, flags, options of listeners.
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
		ec_log_errno(EC_LOG_WARN, errno, "fcntl(%d, %s)", fd, get == F_GETFL ? "F_GETFL" : "F_GETFD");
		return -1;
	}
	if ((flags & flag) == 0 && fcntl(fd, set, flags | flag) < 0) {
		ec_log_errno(EC_LOG_WARN, errno, "fcntl(%d, %s)", fd, set == F_SETFL ? "F_SETFL" : "F_SETFD");
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

/* Without AF_UNIX: a connection of the loopback interface to itself. */
static int inet_pair(int type, evutil_socket_t fds[2])
{
	struct sockaddr_in listen_addr = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in connect_addr, accept_addr;
	socklen_t size = sizeof(listen_addr);
	int listener, connector, acceptor, err;

	listener = socket(AF_INET, type | SOCK_CLOEXEC, 0);
	if (listener < 0)
		return -1;
	connector = socket(AF_INET, type | SOCK_CLOEXEC, 0);
	if (connector < 0)
		goto close_listener;
	if (bind(listener, (struct sockaddr *)&listen_addr, sizeof(listen_addr)) < 0 || listen(listener, 1) < 0 ||
	    getsockname(listener, (struct sockaddr *)&listen_addr, &size) < 0 ||
	    connect(connector, (struct sockaddr *)&listen_addr, sizeof(listen_addr)) < 0)
		goto close_connector;
	size = sizeof(accept_addr);
	acceptor = accept(listener, (struct sockaddr *)&accept_addr, &size);
	if (acceptor < 0)
		goto close_connector;
	/* Anyone on this machine could have connected first. */
	size = sizeof(connect_addr);
	if (getsockname(connector, (struct sockaddr *)&connect_addr, &size) < 0 ||
	    connect_addr.sin_port != accept_addr.sin_port ||
	    connect_addr.sin_addr.s_addr != accept_addr.sin_addr.s_addr) {
		errno = ECONNABORTED;
		goto close_acceptor;
	}
	close(listener);
	fds[0] = connector;
	fds[1] = acceptor;
	return 0;

close_acceptor:
	err = errno;
	close(acceptor);
	errno = err;
close_connector:
	err = errno;
	close(connector);
	errno = err;
close_listener:
	err = errno;
	close(listener);
	errno = err;
	return -1;
}

int evutil_socketpair(int family, int type, int protocol, evutil_socket_t fds[2])
{
	if (fds == NULL) {
		errno = EINVAL;
		return -1;
	}
	if (family == AF_INET && protocol == 0)
		return inet_pair(type, fds);
	return socketpair(family, type, protocol, fds);
}
