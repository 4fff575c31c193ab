/*
 * Ports of the loopback address: one where a test listens, and one where nobody does.
 */
#ifndef LISTENER_H
#define LISTENER_H

#include "async.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test.h"

inline u_int16_t port_of(int fd)
{
	sockaddr_in sin = {};
	socklen_t len = sizeof(sin);

	getsockname(fd, reinterpret_cast<sockaddr *>(&sin), &len);
	return ntohs(sin.sin_port);
}

struct listener {
	int fd;
	u_int16_t port;

	listener() : fd(inetsocket(SOCK_STREAM, 0, INADDR_LOOPBACK)), port(port_of(fd)) { listen(fd, 5); }
	~listener() { close(fd); }
};

/* A port where nobody listens. A socket that does not listen holds it, so that no other process gets it. */
inline u_int16_t free_port()
{
	static const int held = inetsocket(SOCK_STREAM, 0, INADDR_LOOPBACK);
	sockaddr_in sin = {};
	socklen_t len = sizeof(sin);

	assert_int_equal(getsockname(held, reinterpret_cast<sockaddr *>(&sin), &len), 0);
	return ntohs(sin.sin_port);
}

#endif
