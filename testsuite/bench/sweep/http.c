/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/* evhttp: a server with plain sockets as clients, and its own client with its own server. */
#include "stream.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/listener.h>

enum { CONNS_MAX = 16,
       BODY_LEN = 100,
       CHUNKS = 3 };

static const char get[] = "GET /index.html?a=1 HTTP/1.1\r\nHost: www.example.com\r\nUser-Agent: sweep/1.0\r\n"
			  "Accept: */*\r\nAccept-Encoding: gzip\r\n\r\n";
static const char get_close[] = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
static const char post[] = "POST /form HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\n01234567890123456789";
static const char post_chunked[] = "POST /form HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
				   "a\r\n0123456789\r\n5\r\n01234\r\n0\r\n\r\n";
static char body[BODY_LEN];

struct server {
	struct evhttp *http;
	struct sockaddr_in addr;
};

static void on_request(struct evhttp_request *req, void *arg)
{
	struct evbuffer *out = evhttp_request_get_output_buffer(req);

	(void)arg;
	evhttp_add_header(evhttp_request_get_output_headers(req), "Content-Type", "text/plain");
	evbuffer_add(out, body, BODY_LEN);
	evhttp_send_reply(req, HTTP_OK, "OK", NULL);
}

static void on_chunked(struct evhttp_request *req, void *arg)
{
	struct evbuffer *out = evbuffer_new();
	int i;

	(void)arg;
	evhttp_send_reply_start(req, HTTP_OK, "OK");
	for (i = 0; i < CHUNKS; i++) {
		evbuffer_add(out, body, BODY_LEN);
		evhttp_send_reply_chunk(req, out);
	}
	evhttp_send_reply_end(req);
	evbuffer_free(out);
}

static void on_error(struct evhttp_request *req, void *arg)
{
	(void)arg;
	evhttp_send_error(req, HTTP_NOTFOUND, NULL);
}

static void on_facts(struct evhttp_request *req, void *arg)
{
	struct sweep *s = arg;
	struct evhttp_connection *conn = evhttp_request_get_connection(req);
	char *peer;
	ev_uint16_t port;

	evhttp_connection_get_peer(conn, &peer, &port);
	s->calls += evhttp_request_get_host(req) != NULL;
	s->calls += evhttp_request_get_evhttp_uri(req) != NULL;
	s->calls += evhttp_request_get_command(req) == EVHTTP_REQ_GET;
	s->calls += evhttp_find_header(evhttp_request_get_input_headers(req), "User-Agent") != NULL;
	s->calls += evhttp_connection_get_bufferevent(conn) != NULL;
	s->calls += evhttp_connection_get_base(conn) == s->base;
	on_request(req, arg);
}

static void server_open(struct sweep *s, struct server *server, void (*fn)(struct evhttp_request *, void *))
{
	struct evhttp_bound_socket *bound;
	socklen_t len = sizeof(server->addr);

	sweep_base(s);
	server->http = evhttp_new(s->base);
	evhttp_set_gencb(server->http, fn, s);
	if (s->is_colored)
		sweep_check(evhttp_set_color_policy != NULL &&
			    evhttp_set_color_policy(server->http, EVCONNLISTENER_COLOR_FRESH, NULL, NULL) == 0);
	bound = evhttp_bind_socket_with_handle(server->http, "127.0.0.1", 0);
	sweep_check(bound != NULL);
	sweep_check(getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&server->addr, &len) == 0);
}

static void server_close(struct sweep *s, struct server *server)
{
	evhttp_free(server->http);
	sweep_poll(s->base);
	event_base_free(s->base);
}

static int client_open(const struct server *server)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;

	sweep_check(connect(fd, (const struct sockaddr *)&server->addr, sizeof(server->addr)) == 0);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	evutil_make_socket_nonblocking(fd);
	return fd;
}

/* The answer's length is found in the first exchange; later ones are as long, but for the date's constant length. */
static size_t answer_len(struct sweep *s, int fd)
{
	static char in[65536];
	size_t len = 0, idle = 0;
	ssize_t n;

	while (idle < 20) {
		sweep_poll(s->base);
		n = read(fd, in, sizeof(in));
		len += n > 0 ? (size_t)n : 0;
		idle = n > 0 ? 0 : idle + (len > 0);
	}
	return len;
}

static void exchange(struct sweep *s, const char *request, void (*fn)(struct evhttp_request *, void *))
{
	size_t request_len = strlen(request), len = 0;
	struct server server;
	int fds[CONNS_MAX];
	unsigned i;

	server_open(s, &server, fn);
	for (i = 0; i < s->num; i++) {
		fds[i] = client_open(&server);
		sweep_check(write(fds[i], request, request_len) == (ssize_t)request_len);
		len = answer_len(s, fds[i]);
	}
	while (sweep_next(s)) {
		for (i = 0; i < s->num; i++)
			sweep_check(write(fds[i], request, request_len) == (ssize_t)request_len);
		for (i = 0; i < s->num; i++)
			stream_await(s, fds[i], len);
	}
	for (i = 0; i < s->num; i++)
		close(fds[i]);
	sweep_poll(s->base);
	server_close(s, &server);
}

static void server_get(struct sweep *s)
{
	exchange(s, get, on_request);
}

static void server_get_facts(struct sweep *s)
{
	exchange(s, get, on_facts);
}

static void server_post(struct sweep *s)
{
	exchange(s, post, on_request);
}

static void server_post_chunked(struct sweep *s)
{
	exchange(s, post_chunked, on_request);
}

static void server_chunked(struct sweep *s)
{
	exchange(s, get, on_chunked);
}

/* A connection for each request. */
static void close_each(struct sweep *s, void (*fn)(struct evhttp_request *, void *))
{
	static char in[4096];
	struct server server;
	int fd;

	server_open(s, &server, fn);
	while (sweep_next(s)) {
		fd = client_open(&server);
		sweep_check(write(fd, get_close, sizeof(get_close) - 1) > 0);
		while (read(fd, in, sizeof(in)) != 0)
			sweep_poll(s->base);
		close(fd);
	}
	server_close(s, &server);
}

static void server_close_each(struct sweep *s)
{
	close_each(s, on_request);
}

/* An error's reply ends the connection. */
static void server_error(struct sweep *s)
{
	close_each(s, on_error);
}

static void on_answer(struct evhttp_request *req, void *arg)
{
	struct sweep *s = arg;

	sweep_check(req != NULL && evhttp_request_get_response_code(req) == HTTP_OK);
	s->calls++;
}

static void ask(struct sweep *s, struct evhttp_connection *conn, enum evhttp_cmd_type type)
{
	struct evhttp_request *req = evhttp_request_new(on_answer, s);
	int calls = s->calls;

	evhttp_add_header(evhttp_request_get_output_headers(req), "Host", "www.example.com");
	if (type == EVHTTP_REQ_POST)
		evbuffer_add(evhttp_request_get_output_buffer(req), body, BODY_LEN);
	sweep_check(evhttp_make_request(conn, req, type, "/index.html") == 0);
	while (s->calls == calls)
		sweep_poll(s->base);
}

static void both_ends(struct sweep *s, enum evhttp_cmd_type type, void (*fn)(struct evhttp_request *, void *))
{
	struct evhttp_connection *conn;
	struct server server;

	server_open(s, &server, fn);
	conn = evhttp_connection_base_new(s->base, NULL, "127.0.0.1", ntohs(server.addr.sin_port));
	while (sweep_next(s))
		ask(s, conn, type);
	evhttp_connection_free(conn);
	sweep_poll(s->base);
	server_close(s, &server);
}

static void client_get(struct sweep *s)
{
	both_ends(s, EVHTTP_REQ_GET, on_request);
}

static void client_post(struct sweep *s)
{
	both_ends(s, EVHTTP_REQ_POST, on_request);
}

static void client_chunked(struct sweep *s)
{
	both_ends(s, EVHTTP_REQ_GET, on_chunked);
}

static void client_connect_each(struct sweep *s)
{
	struct server server;

	server_open(s, &server, on_request);
	while (sweep_next(s)) {
		struct evhttp_connection *conn =
			evhttp_connection_base_new(s->base, NULL, "127.0.0.1", ntohs(server.addr.sin_port));

		ask(s, conn, EVHTTP_REQ_GET);
		evhttp_connection_free(conn);
		sweep_poll(s->base);
	}
	server_close(s, &server);
}

static void new_free(struct sweep *s)
{
	sweep_base(s);
	while (sweep_next(s)) {
		struct evhttp *http = evhttp_new(s->base);

		evhttp_set_gencb(http, on_request, s);
		evhttp_set_cb(http, "/a", on_request, s);
		evhttp_set_cb(http, "/b", on_request, s);
		evhttp_del_cb(http, "/b");
		evhttp_set_timeout(http, 10);
		evhttp_set_max_body_size(http, 10000);
		evhttp_set_max_headers_size(http, 10000);
		evhttp_set_allowed_methods(http, EVHTTP_REQ_GET | EVHTTP_REQ_POST);
		evhttp_set_default_content_type(http, "text/html");
		evhttp_add_server_alias(http, "alias");
		evhttp_remove_server_alias(http, "alias");
		evhttp_free(http);
	}
	event_base_free(s->base);
}

static void bind_free(struct sweep *s)
{
	sweep_base(s);
	while (sweep_next(s)) {
		struct evhttp *http = evhttp_new(s->base);
		struct evhttp_bound_socket *bound = evhttp_bind_socket_with_handle(http, "127.0.0.1", 0);

		sweep_check(bound != NULL && evhttp_bound_socket_get_listener(bound) != NULL);
		evhttp_del_accept_socket(http, bound);
		evhttp_free(http);
	}
	event_base_free(s->base);
}

static void virtual_hosts(struct sweep *s)
{
	sweep_base(s);
	while (sweep_next(s)) {
		struct evhttp *http = evhttp_new(s->base), *host = evhttp_new(s->base);

		evhttp_add_virtual_host(http, "*.example.com", host);
		evhttp_remove_virtual_host(http, host);
		evhttp_free(host);
		evhttp_free(http);
	}
	event_base_free(s->base);
}

static void conn_new_free(struct sweep *s)
{
	static const struct timeval tv = { 10, 0 };

	sweep_base(s);
	while (sweep_next(s)) {
		struct evhttp_connection *conn = evhttp_connection_base_new(s->base, NULL, "127.0.0.1", 80);

		evhttp_connection_set_timeout(conn, 10);
		evhttp_connection_set_timeout_tv(conn, &tv);
		evhttp_connection_set_initial_retry_tv(conn, &tv);
		evhttp_connection_set_retries(conn, 3);
		evhttp_connection_set_max_body_size(conn, 10000);
		evhttp_connection_set_max_headers_size(conn, 10000);
		evhttp_connection_set_local_address(conn, "127.0.0.1");
		evhttp_connection_set_family(conn, AF_INET);
		evhttp_connection_set_flags(conn, 0);
		evhttp_connection_free(conn);
		sweep_poll(s->base);
	}
	event_base_free(s->base);
}

const struct sweep_pattern sweep_http[] = {
	{ "http/new-free", new_free, .ops = 100 },
	{ "http/bind-free", bind_free, .ops = 50 },
	{ "http/virtual-hosts", virtual_hosts, .ops = 100 },
	{ "http/connection-new-free", conn_new_free, .ops = 100 },
	{ "http/server-get", server_get, .ops = 50, .flags = SWEEP_COLORS, .num = 1 },
	{ "http/server-get-16-connections", server_get, .ops = 10, .flags = SWEEP_COLORS, .num = 16 },
	{ "http/server-get-facts", server_get_facts, .ops = 50, .num = 1 },
	{ "http/server-post", server_post, .ops = 50, .num = 1 },
	{ "http/server-post-chunked", server_post_chunked, .ops = 50, .num = 1 },
	{ "http/server-chunked-reply", server_chunked, .ops = 50, .num = 1 },
	{ "http/server-error", server_error, .ops = 30 },
	{ "http/server-connection-each", server_close_each, .ops = 30, .flags = SWEEP_COLORS },
	{ "http/client-get", client_get, .ops = 50 },
	{ "http/client-post", client_post, .ops = 50 },
	{ "http/client-chunked-reply", client_chunked, .ops = 50 },
	{ "http/client-connection-each", client_connect_each, .ops = 30 },
	{ NULL, NULL, 0, 0, 0, NULL },
};
