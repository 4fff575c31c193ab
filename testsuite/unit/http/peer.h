/*
 * An evhttp server in this process and a client that writes bytes to it. Both ends are driven by one
 * loop until the client has what it waits for, so nothing here takes time.
 */
#ifndef HTTP_PEER_H
#define HTTP_PEER_H

#include "table.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>

enum { PEER_TURNS_MAX = 2000000, PEER_TEXT_MAX = 64 * 1024 };

struct peer {
	struct event_base *base;
	struct evhttp *http;
	struct sockaddr_in addr;
	int fd;				/* the client's */
	bool is_closed;			/* the server has closed */
	size_t len;
	char text[PEER_TEXT_MAX];	/* what the server said */

	/* what the handler saw last, and how often */
	unsigned handled;
	char uri[256], body[256], headers[1024];
	size_t body_len;
};

static inline void peer_handle(struct evhttp_request *req, void *arg)
{
	struct evbuffer *in = evhttp_request_get_input_buffer(req), *reply = evbuffer_new();
	struct peer *p = arg;
	struct evkeyval *header;
	size_t at = 0;

	p->handled++;
	snprintf(p->uri, sizeof(p->uri), "%s", evhttp_request_get_uri(req));
	p->body_len = evbuffer_get_length(in);
	memset(p->body, 0, sizeof(p->body));
	evbuffer_copyout(in, p->body, sizeof(p->body) - 1);
	p->headers[0] = '\0';
	TAILQ_FOREACH(header, evhttp_request_get_input_headers(req), next) {
		at += (size_t)snprintf(p->headers + at, sizeof(p->headers) - at, "%s=%s|", header->key, header->value);
		if (at >= sizeof(p->headers))
			break;
	}
	assert_non_null(reply);
	evbuffer_add_printf(reply, "<%zu>", p->body_len);
	evhttp_send_reply(req, HTTP_OK, "OK", reply);
	evbuffer_free(reply);
}

static inline void peer_init(struct peer *p)
{
	struct evhttp_bound_socket *bound;
	socklen_t len = sizeof(p->addr);

	memset(p, 0, sizeof(*p));
	p->fd = -1;
	p->base = event_base_new();
	assert_non_null(p->base);
	p->http = evhttp_new(p->base);
	assert_non_null(p->http);
	bound = evhttp_bind_socket_with_handle(p->http, "127.0.0.1", 0);
	assert_non_null(bound);
	assert_int_equal(getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&p->addr, &len), 0);
	evhttp_set_gencb(p->http, peer_handle, p);
}

static inline void peer_fini(struct peer *p)
{
	if (p->fd >= 0)
		close(p->fd);
	evhttp_free(p->http);
	event_base_free(p->base);
}

static inline void peer_connect(struct peer *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(p->fd >= 0);
	assert_int_equal(connect(p->fd, (struct sockaddr *)&p->addr, sizeof(p->addr)), 0);
	assert_int_equal(fcntl(p->fd, F_SETFL, O_NONBLOCK), 0);
	p->is_closed = false;
	p->len = 0;
	p->text[0] = '\0';
	p->handled = 0;
}

static inline void peer_send(struct peer *p, const char *s, size_t len)
{
	/* A server that has refused already takes no more. */
	ssize_t n = send(p->fd, s, len, MSG_NOSIGNAL);

	assert_true(n == (ssize_t)len || (n < 0 && (errno == EPIPE || errno == ECONNRESET)));
}

/* One look by each side. */
static inline void peer_turn(struct peer *p)
{
	ssize_t n;

	event_base_loop(p->base, EVLOOP_NONBLOCK);
	n = recv(p->fd, p->text + p->len, sizeof(p->text) - 1 - p->len, 0);
	if (n > 0)
		p->len += (size_t)n;
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		p->is_closed = true;
	p->text[p->len] = '\0';
}

static inline void peer_run_until_closed(struct peer *p)
{
	for (int i = 0; i < PEER_TURNS_MAX && !p->is_closed; i++)
		peer_turn(p);
	assert_true(p->is_closed);
}

/* Until the server has said `text`. */
static inline void peer_run_until(struct peer *p, const char *text)
{
	for (int i = 0; i < PEER_TURNS_MAX && !p->is_closed && strstr(p->text, text) == NULL; i++)
		peer_turn(p);
	if (strstr(p->text, text) == NULL)
		fail_msg("no \"%s\" in \"%s\"", text, p->text);
}

#endif
