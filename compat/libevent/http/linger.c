/*
 * Lingering close (RFC 9112, 9.6). close() resets the connection if input is unread or still comes.
 * After a reset, the client may lose the end of the reply. So the server shuts down its sending
 * side, drops further input, and closes when the client does. Bytes and time are limited.
 *
 * The connection object is closed before. Only its socket stays, in a small object that has the
 * connection's color.
 */
#include "http.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <event2/util.h>

#include "event/le.h"

enum {
	LINGER_BYTES_MAX = 16 * 1024 * 1024,
	LINGER_TIME_S = 10,
	READ_SIZE = 4096,
	READS_MAX = 16,			/* in one call */
};

struct le_linger {
	/* const */
	struct evhttp *server;
	int fd;

	/* own: the color of the connection */
	struct event read_ev, timer_ev;
	uint32_t left;			/* bytes to drop until it closes */

	/* server->lock */
	struct ec_list link;
};

bool le_linger_has_input(int fd)
{
	int num;

	return ioctl(fd, FIONREAD, &num) < 0 || num > 0;
}

/* False: the client has closed, or the limit is reached. */
static bool drop_input(struct le_linger *linger)
{
	char data[READ_SIZE];
	ssize_t n;

	for (int i = 0; i < READS_MAX; i++) {
		n = recv(linger->fd, data, sizeof(data), MSG_DONTWAIT);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		if (n == 0 || (uint32_t)n > linger->left)
			return false;
		linger->left -= (uint32_t)n;
		if ((size_t)n < sizeof(data))
			break;
	}
	return true;
}

/* It is not in the server's list. */
static void free_linger(struct le_linger *linger)
{
	event_del(&linger->read_ev);
	event_del(&linger->timer_ev);
	evutil_closesocket(linger->fd);
	ec_free(linger);
}

static void leave_and_free(struct le_linger *linger)
{
	bool was_taken = le_http_lock(linger->server);

	ec_list_remove(&linger->link);
	le_http_unlock(linger->server, was_taken);
	free_linger(linger);
}

static void linger_cb(evutil_socket_t fd, short what, void *arg)
{
	struct le_linger *linger = arg;

	(void)fd;
	if ((what & EV_TIMEOUT) != 0 || !drop_input(linger))
		leave_and_free(linger);
}

static struct timeval linger_time(const struct timeval *timeout)
{
	struct timeval max = { LINGER_TIME_S, 0 };

	return evutil_timerisset(timeout) && evutil_timercmp(timeout, &max, <) ? *timeout : max;
}

int le_linger_start(struct evhttp_connection *conn, struct evhttp *server, int fd)
{
	struct timeval tv = linger_time(&conn->timeout);
	struct le_linger *linger;
	bool was_taken;

	if (shutdown(fd, SHUT_WR) < 0)
		return -errno;
	linger = ec_malloc(sizeof(*linger));
	if (linger == NULL)
		return -ENOMEM;
	linger->server = server;
	linger->fd = fd;
	linger->left = LINGER_BYTES_MAX;
	le_event_assign(&linger->read_ev, conn->base, fd, EV_READ | EV_PERSIST, linger_cb, linger);
	le_event_assign(&linger->timer_ev, conn->base, -1, 0, linger_cb, linger);
	event_set_color(&linger->read_ev, conn->color);
	event_set_color(&linger->timer_ev, conn->color);
	/* The client may have closed first. */
	if (!drop_input(linger) || event_add(&linger->read_ev, NULL) < 0 ||
	    event_add(&linger->timer_ev, &tv) < 0) {
		free_linger(linger);
		return 0;
	}
	was_taken = le_http_lock(server);
	ec_list_push_back(&server->lingers, &linger->link);
	le_http_unlock(server, was_taken);
	return 0;
}

void le_linger_free_all(struct evhttp *http)
{
	struct ec_list *node;

	while (!ec_list_is_empty(&http->lingers)) {
		node = http->lingers.next;
		ec_list_remove(node);
		free_linger(ec_container_of(node, struct le_linger, link));
	}
}
