/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/*
 * Clients that need little CPU themselves, so that two workers can be measured on two CPUs.
 *
 *	light echo PORT CONNECTIONS	sends 64 KB at a time and waits for them: neither is copied
 *	light chat PORT TALKERS LISTENERS
 *					a talker sends a line and waits until it comes back; a listener is woken
 *					for 32 KB only
 *	light tls PORT CONNECTIONS	a full handshake, 64 bytes there and back, and the next connection
 *
 * BENCH_MS=n		how long to measure (700), after a warm-up of 200 ms
 *
 * Reports rounds a second, and the client's CPU time for each.
 */
#include "../util.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <openssl/ssl.h>

enum { BATCH = 256, WARM_NS = 200000000, ECHO_LEN = 65536, TLS_LEN = 64, LISTENER_WAITS = 32768, ROOM = 1 << 18 };

struct client {
	int fd;
	unsigned number;	/* of a talker, from 1; 0: a listener */
	size_t got_len;		/* of the answer under way; of the own name in what came last */
	SSL *tls;
	bool has_sent;
};

static int epoll_fd, file_fd;
static uint16_t port;
static SSL_CTX *tls;
static uint64_t done;
static char room[ROOM];

static void wait_for(struct client *c, uint32_t events, int how)
{
	struct epoll_event ev = { .events = events, .data.ptr = c };

	if (epoll_ctl(epoll_fd, how, c->fd, &ev) != 0)
		bench_die("epoll_ctl: %s", strerror(errno));
}

static void connect_one(struct client *c)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(port) };
	int on = 1;

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&addr, sizeof(addr)) != 0)
		bench_die("connect: %s", strerror(errno));
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	fcntl(c->fd, F_SETFL, O_NONBLOCK);
	wait_for(c, EPOLLIN, EPOLL_CTL_ADD);
}

static void wake_for(struct client *c, int len)
{
	if (setsockopt(c->fd, SOL_SOCKET, SO_RCVLOWAT, &len, sizeof(len)) != 0)
		bench_die("SO_RCVLOWAT: %s", strerror(errno));
}

/* ---------------------------------------------------------------- echo */

static void echo_send(struct client *c)
{
	off_t from = 0;

	while (from < ECHO_LEN) {
		if (sendfile(c->fd, file_fd, &from, (size_t)(ECHO_LEN - from)) < 0 && errno != EAGAIN)
			bench_die("sendfile: %s", strerror(errno));
	}
}

static void echo_take(struct client *c)
{
	ssize_t num = recv(c->fd, NULL, ECHO_LEN, MSG_TRUNC);

	if (num < 0 && errno == EAGAIN)
		return;
	if (num <= 0)
		bench_die("a connection ended");
	c->got_len += (size_t)num;
	wake_for(c, (int)(ECHO_LEN - c->got_len % ECHO_LEN));
	if (c->got_len < ECHO_LEN)
		return;
	c->got_len = 0;
	done++;
	echo_send(c);
}

static void echo_start(struct client *c)
{
	int len = 4 * ECHO_LEN;

	setsockopt(c->fd, SOL_SOCKET, SO_SNDBUF, &len, sizeof(len));
	setsockopt(c->fd, SOL_SOCKET, SO_RCVBUF, &len, sizeof(len));
	wake_for(c, ECHO_LEN);
	echo_send(c);
}

/* ---------------------------------------------------------------- chat */

static void chat_send(const struct client *c)
{
	char line[32];
	int len = snprintf(line, sizeof(line), "a line of talker @%03u\n", c->number);

	if (send(c->fd, line, (size_t)len, MSG_NOSIGNAL) != len)
		bench_die("send: %s", strerror(errno));
}

/* `@NNN` may come in two parts; there is none in other texts of the server. */
static bool has_own_line(struct client *c, const char *text, size_t len)
{
	char name[16];
	bool is_here = false;
	size_t i;

	snprintf(name, sizeof(name), "@%03u", c->number);
	for (i = 0; i < len; i++) {
		c->got_len = text[i] == name[c->got_len] ? c->got_len + 1 : text[i] == name[0];
		if (c->got_len == 4) {
			c->got_len = 0;
			is_here = true;
		}
	}
	return is_here;
}

static void chat_take(struct client *c)
{
	ssize_t num = recv(c->fd, c->number == 0 ? NULL : room, ROOM, c->number == 0 ? MSG_TRUNC : 0);
	int on = 1;

	if (num < 0 && errno == EAGAIN)
		return;
	if (num <= 0)
		bench_die("a connection ended");
	if (c->number == 0)
		return;
	/* Else Nagle's algorithm keeps the next line at the server for as long as the acknowledgement is delayed. */
	setsockopt(c->fd, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof(on));
	if (!has_own_line(c, room, (size_t)num))
		return;
	done++;
	chat_send(c);
}

static void chat_start(struct client *c)
{
	if (c->number == 0)
		wake_for(c, LISTENER_WAITS);
	else
		chat_send(c);
}

/* ---------------------------------------------------------------- TLS */

static void tls_start(struct client *c)
{
	c->has_sent = false;
	c->got_len = 0;
	c->tls = SSL_new(tls);
	if (c->tls == NULL || SSL_set_fd(c->tls, c->fd) != 1)
		bench_die("no memory for TLS");
	SSL_set_connect_state(c->tls);
	SSL_do_handshake(c->tls);
}

static void tls_again(struct client *c)
{
	done++;
	SSL_free(c->tls);
	close(c->fd);
	connect_one(c);
	tls_start(c);
}

static void tls_take(struct client *c)
{
	int ret = SSL_do_handshake(c->tls);

	if (ret != 1 && SSL_get_error(c->tls, ret) != SSL_ERROR_WANT_READ)
		bench_die("a handshake failed");
	if (ret != 1)
		return;
	if (!c->has_sent && SSL_write(c->tls, room, TLS_LEN) != TLS_LEN)
		bench_die("SSL_write failed");
	c->has_sent = true;
	ret = SSL_read(c->tls, room, ROOM);
	if (ret <= 0 && SSL_get_error(c->tls, ret) != SSL_ERROR_WANT_READ)
		bench_die("SSL_read failed");
	if (ret > 0)
		c->got_len += (size_t)ret;
	if (c->got_len >= TLS_LEN)
		tls_again(c);
}

/* ---------------------------------------------------------------- all */

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void go(const char *mode, void (*take)(struct client *))
{
	uint64_t len_ns = (uint64_t)bench_setting("BENCH_MS", 700) * 1000000u, now = bench_now_ns();
	uint64_t begin = now + WARM_NS, first_done = 0, first_cpu = 0;
	struct epoll_event ready[BATCH];
	bool is_warm = false;

	for (; !is_warm || now < begin + len_ns || done == first_done; now = bench_now_ns()) {
		int num = epoll_wait(epoll_fd, ready, BATCH, 10000);

		if (num == 0)
			bench_die("no answer for ten seconds");
		for (int i = 0; i < num; i++)
			take(ready[i].data.ptr);
		if (is_warm || now < begin)
			continue;
		is_warm = true;
		begin = now;
		first_done = done;
		first_cpu = cpu_ns();
	}
	bench_report(mode, "light", "client's CPU per request",
		     (double)(cpu_ns() - first_cpu) / (double)(done - first_done), "ns");
	bench_report(mode, "light", "requests", 1e9 * (double)(done - first_done) / (double)(now - begin), "1/s");
}

static void run(const char *mode, unsigned num, unsigned talkers, void (*start)(struct client *),
		void (*take)(struct client *))
{
	struct client *clients = bench_alloc(num, sizeof(*clients));

	for (unsigned i = 0; i < num; i++) {
		clients[i].number = i < talkers ? i + 1 : 0;
		connect_one(&clients[i]);
	}
	for (unsigned i = num; i-- > 0;)
		start(&clients[i]);
	go(mode, take);
}

static void echo_run(char **args)
{
	file_fd = memfd_create("light", MFD_CLOEXEC);
	if (file_fd < 0 || ftruncate(file_fd, ECHO_LEN) != 0)
		bench_die("memfd_create: %s", strerror(errno));
	run("echo", (unsigned)bench_number(args[0]), 0, echo_start, echo_take);
}

static void chat_run(char **args)
{
	unsigned talkers = (unsigned)bench_number(args[0]);

	run("chat", talkers + (unsigned)bench_number(args[1]), talkers, chat_start, chat_take);
}

static void tls_run(char **args)
{
	tls = SSL_CTX_new(TLS_client_method());
	if (tls == NULL)
		bench_die("no memory for TLS");
	SSL_CTX_set_session_cache_mode(tls, SSL_SESS_CACHE_OFF);
	run("tls", (unsigned)bench_number(args[0]), 0, tls_start, tls_take);
}

static const struct bench_shape shapes[] = {
	{ "echo", 1, echo_run, "CONNECTIONS" },
	{ "chat", 2, chat_run, "TALKERS LISTENERS" },
	{ "tls", 1, tls_run, "CONNECTIONS" },
};

int main(int argc, char **argv)
{
	const struct bench_shape *shape;

	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	bench_raise_fd_limit();
	shape = bench_shape_of(argc, argv, shapes, sizeof(shapes) / sizeof(shapes[0]), "PORT");
	port = (uint16_t)bench_number(argv[2]);
	shape->run(argv + 3);
	return 0;
}
