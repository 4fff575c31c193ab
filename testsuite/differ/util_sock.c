/*
 * evutil's sockets: pairs, flags, options of listeners; what each call leaves, and what it says.
 */
#include "trace.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <event2/util.h>

static void log_line(int severity, const char *msg)
{
	say_log(severity, msg);
}

static int option(int fd, int level, int name)
{
	socklen_t len = sizeof(int);
	int value = -1;

	return getsockopt(fd, level, name, &value, &len) < 0 ? -errno : value;
}

/* Nothing is open at this number. */
enum { CLOSED_FD = 900 };

static void say_socket(const char *name, int fd)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);

	must(getsockname(fd, (struct sockaddr *)&ss, &len) == 0, "name a socket");
	say("%s: family %d type %d nonblock %d cloexec %d", name, ss.ss_family,
	    option(fd, SOL_SOCKET, SO_TYPE), (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0,
	    (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
	if (ss.ss_family == AF_INET)
		say("  at %s", inet_ntoa(((struct sockaddr_in *)&ss)->sin_addr));
}

static void say_pair(int family, int type, int protocol)
{
	int fd[2] = { -7, -7 }, r;
	char buf[8] = "";

	errno = 0;
	r = evutil_socketpair(family, type, protocol, fd);
	say("pair %d %#x %d: %d, errno %d, made %d", family, (unsigned)type, protocol, r,
	    r == 0 ? 0 : errno, fd[0] >= 0 && fd[1] >= 0);
	if (r != 0)
		return;
	say_socket("first", fd[0]);
	say_socket("second", fd[1]);
	say("there %zd", write(fd[0], "there", 5));
	say("back %zd", write(fd[1], "back", 4));
	say("read %zd", read(fd[1], buf, sizeof(buf)));
	say("read %zd <%.4s>", read(fd[0], buf, sizeof(buf)), buf);
	pair_close(fd);
}

static void pairs(void)
{
	section("socketpair");
	say_pair(AF_UNIX, SOCK_STREAM, 0);
	say_pair(AF_UNIX, SOCK_DGRAM, 0);
	say_pair(AF_UNIX, SOCK_SEQPACKET, 0);
	say_pair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	say_pair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	say_pair(AF_INET, SOCK_STREAM, 0);
	say_pair(AF_INET, SOCK_STREAM, IPPROTO_TCP);
	say_pair(AF_INET, SOCK_DGRAM, 0);
	say_pair(AF_INET6, SOCK_STREAM, 0);
	say_pair(AF_UNSPEC, SOCK_STREAM, 0);
	say_pair(-1, SOCK_STREAM, 0);
	say_pair(AF_UNIX, 99, 0);
	say_pair(AF_UNIX, SOCK_STREAM, 99);
}

static void flags(void)
{
	int fd[2], r;

	section("flags");
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0, "make a pair");
	say_socket("new", fd[0]);
	r = evutil_make_socket_nonblocking(fd[0]);
	say("nonblocking: %d", r);
	r = evutil_make_socket_nonblocking(fd[0]);
	say("again: %d", r);
	say_socket("then", fd[0]);
	r = evutil_make_socket_closeonexec(fd[0]);
	say("closeonexec: %d", r);
	r = evutil_make_socket_closeonexec(fd[0]);
	say("again: %d", r);
	say_socket("then", fd[0]);
	say_socket("the other", fd[1]);
	pair_close(fd);

	errno = 0;
	r = evutil_make_socket_nonblocking(CLOSED_FD);
	say("nonblocking, closed: %d", r);
	r = evutil_make_socket_closeonexec(CLOSED_FD);
	say("closeonexec, closed: %d", r);
	r = evutil_make_socket_nonblocking(-1);
	say("nonblocking, -1: %d", r);
	r = evutil_make_socket_closeonexec(-1);
	say("closeonexec, -1: %d", r);
	errno = 0;
	r = evutil_closesocket(CLOSED_FD);
	say("close, closed: %d errno %d", r, errno);
}

static void options_of(const char *name, int family, int type)
{
	int fd = socket(family, type, 0), r;

	must(fd >= 0, "make a socket");
	say("%s", name);
	errno = 0;
	r = evutil_make_listen_socket_reuseable(fd);
	say("reuseable: %d errno %d, REUSEADDR %d", r, r == 0 ? 0 : errno,
	    option(fd, SOL_SOCKET, SO_REUSEADDR));
	errno = 0;
	r = evutil_make_listen_socket_reuseable_port(fd);
	say("reuseable_port: %d errno %d, REUSEPORT %d", r, r == 0 ? 0 : errno,
	    option(fd, SOL_SOCKET, SO_REUSEPORT));
	errno = 0;
	r = evutil_make_listen_socket_ipv6only(fd);
	say("ipv6only: %d errno %d, V6ONLY %d", r, r == 0 ? 0 : errno,
	    option(fd, IPPROTO_IPV6, IPV6_V6ONLY));
	errno = 0;
	r = evutil_make_tcp_listen_socket_deferred(fd);
	say("deferred: %d errno %d, DEFER_ACCEPT %d", r, r == 0 ? 0 : errno,
	    option(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT));
	say("close: %d", evutil_closesocket(fd));
}

static void options(void)
{
	int r;

	section("options");
	options_of("IPv4 stream", AF_INET, SOCK_STREAM);
	options_of("IPv6 stream", AF_INET6, SOCK_STREAM);
	options_of("IPv4 datagram", AF_INET, SOCK_DGRAM);
	options_of("unix stream", AF_UNIX, SOCK_STREAM);
	errno = 0;
	r = evutil_make_listen_socket_reuseable(CLOSED_FD);
	say("reuseable, closed: %d errno %d", r, errno);
	errno = 0;
	r = evutil_make_listen_socket_reuseable_port(CLOSED_FD);
	say("reuseable_port, closed: %d errno %d", r, errno);
	errno = 0;
	r = evutil_make_listen_socket_ipv6only(CLOSED_FD);
	say("ipv6only, closed: %d errno %d", r, errno);
	errno = 0;
	r = evutil_make_tcp_listen_socket_deferred(CLOSED_FD);
	say("deferred, closed: %d errno %d", r, errno);
}

int main(void)
{
	event_set_log_callback(log_line);
	pairs();
	flags();
	options();
	return 0;
}
