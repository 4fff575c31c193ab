/*
 * Ports of the loopback address: one where a test listens, and one where nobody does.
 */
#ifndef LISTENER_H
#define LISTENER_H

#include "async.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

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

/* A port that answers nobody, because its queue of connections is full, until one is accepted. */
struct silent_listener : listener {
	std::vector<int> fillers;

	silent_listener()
	{
		assert_int_equal(listen(fd, 0), 0);
		while (is_filled_further())
			assert_true(fillers.size() < 100);
	}
	~silent_listener()
	{
		for (int filler : fillers)
			close(filler);
	}

	/* The system then answers the next attempt that it sees, also one that it had not answered. */
	void accept_all()
	{
		for (size_t i = 0; i < fillers.size(); i++)
			close(accept(fd, nullptr, nullptr));
	}

private:
	bool is_filled_further()
	{
		int s = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		sockaddr_in sin = {};
		pollfd p = { s, POLLOUT, 0 };

		sin.sin_family = AF_INET;
		sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		sin.sin_port = htons(port);
		if (connect(s, reinterpret_cast<sockaddr *>(&sin), sizeof(sin)) == 0 || poll(&p, 1, 0) == 1) {
			fillers.push_back(s);
			return true;
		}
		close(s);
		return false;
	}
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
