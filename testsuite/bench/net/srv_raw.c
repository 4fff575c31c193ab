/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/*
 * What a server cannot avoid: epoll_wait, recv and send; no buffers, no timers, no library. The
 * answer to HTTP is always the same text, and what does not look like a whole GET request ends the
 * connection.
 *
 *	srv_raw PORT echo|http
 */
#include "../util.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BATCH = 1024 };

static const char answer[] = "HTTP/1.1 200 OK\r\n"
			     "Date: Thu, 20 Nov 2025 20:00:00 GMT\r\n"
			     "Content-Length: 12\r\n"
			     "Content-Type: text/plain\r\n\r\n"
			     "hello world\n";
static int epoll_fd;
static bool is_http;

static void watch(int fd)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = fd };

	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &ev) != 0)
		bench_die("epoll_ctl: %s", strerror(errno));
}

static int listen_on(uint16_t port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), on = 1;

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) != 0 || listen(fd, 4096) != 0)
		bench_die("port %u: %s", port, strerror(errno));
	return fd;
}

static void accept_one(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK), on = 1;

	if (fd < 0)
		return;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	watch(fd);
}

static bool is_request(const char *text, size_t len)
{
	return len >= 18 && memcmp(text, "GET ", 4) == 0 &&
	       memcmp(text + len - 4, "\r\n\r\n", 4) == 0;
}

static void serve(int fd)
{
	static char room[65536];
	ssize_t len = recv(fd, room, sizeof(room), 0);

	if (len < 0 && errno == EAGAIN)
		return;
	if (len <= 0 || (is_http && !is_request(room, (size_t)len))) {
		close(fd);
		return;
	}
	if (is_http)
		send(fd, answer, sizeof(answer) - 1, 0);
	else
		send(fd, room, (size_t)len, 0);
}

int main(int argc, char **argv)
{
	static struct epoll_event ready[BATCH];
	int listener;

	if (argc != 3)
		bench_die("srv_raw PORT echo|http");
	bench_raise_fd_limit();
	signal(SIGPIPE, SIG_IGN);
	is_http = strcmp(argv[2], "http") == 0;
	epoll_fd = epoll_create1(0);
	listener = listen_on((uint16_t)bench_number(argv[1]));
	watch(listener);
	for (;;) {
		int num = epoll_wait(epoll_fd, ready, BATCH, -1);

		for (int i = 0; i < num; i++) {
			if (ready[i].data.fd == listener)
				accept_one(listener);
			else
				serve(ready[i].data.fd);
		}
	}
}
