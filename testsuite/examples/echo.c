/*
 * An echo server that uses all cores. What differs from a libevent program is marked "color".
 * It runs on libevent too, there on one core.
 *
 *   echo [PORT]		(default 7007, on the loopback; 0: any, which is printed)
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>
#define EVENT_SMP_WEAK
#include <event2/smp.h>

#define STATS_COLOR 1u	/* color: any number will do; this one guards the totals below */

struct conn {
	struct event *ev;
	size_t bytes;
};

/* Only callbacks of STATS_COLOR touch these: no lock. */
static unsigned long conns_total, bytes_total;

static void add_to_totals(void *arg)
{
	struct conn *conn = arg;

	conns_total++;
	bytes_total += conn->bytes;
	printf("%lu connections, %lu bytes\n", conns_total, bytes_total);
	fflush(stdout);
	free(conn);
}

static void conn_close(struct conn *conn)
{
	evutil_socket_t fd = event_get_fd(conn->ev);
	struct event_base *base = event_get_base(conn->ev);

	/* color: the number is free for another connection once this callback has ended */
	if (event_color_release != NULL)
		event_color_release(base, event_get_color(conn->ev));
	event_free(conn->ev);
	close(fd);
	/* color: from whichever core this runs on, to the one callback at a time that counts */
	if (event_base_post == NULL || event_base_post(base, STATS_COLOR, add_to_totals, conn) < 0)
		add_to_totals(conn);
}

/* Runs on any core, but never twice at once for one connection. */
static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct conn *conn = arg;
	char buf[4096];
	ssize_t len = recv(fd, buf, sizeof(buf), 0);

	(void)what;
	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (len <= 0 || send(fd, buf, (size_t)len, MSG_NOSIGNAL) != len) {
		conn_close(conn);
		return;
	}
	conn->bytes += (size_t)len;
}

/* Has color 0: runs on the thread that called event_base_dispatch(). */
static void on_connection(evutil_socket_t listener, short what, void *arg)
{
	struct event_base *base = arg;
	evutil_socket_t fd = accept(listener, NULL, NULL);
	struct conn *conn;

	(void)what;
	if (fd < 0)
		return;
	conn = calloc(1, sizeof(*conn));
	if (conn == NULL || evutil_make_socket_nonblocking(fd) < 0)
		goto drop;
	conn->ev = event_new(base, fd, EV_READ | EV_PERSIST, on_readable, conn);
	if (conn->ev == NULL)
		goto drop;
	/* color: one for each connection, so connections run in parallel */
	if (event_color_new != NULL)
		event_set_color(conn->ev, event_color_new(base));
	if (event_add(conn->ev, NULL) == 0)
		return;
	event_free(conn->ev);
drop:
	free(conn);
	close(fd);
}

static evutil_socket_t listen_on(unsigned short port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(port) };
	socklen_t len = sizeof(addr);
	evutil_socket_t fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || evutil_make_listen_socket_reuseable(fd) < 0 || evutil_make_socket_nonblocking(fd) < 0 ||
	    bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 || listen(fd, 128) < 0 ||
	    getsockname(fd, (struct sockaddr *)&addr, &len) < 0) {
		perror("echo: cannot listen");
		exit(1);
	}
	printf("port %u\n", ntohs(addr.sin_port));
	fflush(stdout);
	return fd;
}

static void on_signal(evutil_socket_t sig, short what, void *arg)
{
	(void)sig;
	(void)what;
	event_base_loopbreak(arg);
}

int main(int argc, char **argv)
{
	struct event_base *base = event_base_new();
	evutil_socket_t listener = listen_on((unsigned short)(argc > 1 ? atoi(argv[1]) : 7007));
	struct event *accepting, *stopping;

	if (base == NULL)
		return 1;
	accepting = event_new(base, listener, EV_READ | EV_PERSIST, on_connection, base);
	stopping = evsignal_new(base, SIGTERM, on_signal, base);
	if (accepting == NULL || stopping == NULL || event_add(accepting, NULL) < 0 || event_add(stopping, NULL) < 0)
		return 1;

	event_base_dispatch(base);

	event_free(stopping);
	event_free(accepting);
	close(listener);
	event_base_free(base);
	return 0;
}
