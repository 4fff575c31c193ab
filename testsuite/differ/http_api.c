/*
 * evhttp's calls one by one, by a server and a client in one loop: what they return, what handlers and
 * callbacks see, which of them run. Dates and ports are left out. One request at a time is under way, so that the
 * lines of both sides have one order.
 */
#include "trace.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/queue.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event_compat.h>
#include <event2/http.h>
#include <event2/http_compat.h>
#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>
#include <event2/listener.h>

static struct event_base *base;
static struct evhttp *http;
static struct evhttp_connection *conn;
static bool is_done;

static unsigned port_of(int fd)
{
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);

	must(getsockname(fd, (struct sockaddr *)&addr, &len) == 0, "get a socket's name");
	return ntohs(addr.sin_port);
}

static int listening_socket(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	must(fd >= 0 && bind(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0 && listen(fd, 5) == 0, "listen");
	return fd;
}

static void say_headers(const char *name, struct evkeyvalq *headers)
{
	struct evkeyval *kv;

	TAILQ_FOREACH(kv, headers, next)
		say("    %s %s: %s", name, kv->key, strcmp(kv->key, "Date") == 0 ? "…" : kv->value);
}

static void done_cb(struct evhttp_request *req, void *arg)
{
	struct evbuffer *body;

	is_done = true;
	if (req == NULL) {
		say("  %s: failed", (const char *)arg);
		return;
	}
	body = evhttp_request_get_input_buffer(req);
	say("  %s: code %d line %s owned %d, %zu bytes: %.*s", (const char *)arg, evhttp_request_get_response_code(req),
	    evhttp_request_get_response_code_line(req), evhttp_request_is_owned(req), evbuffer_get_length(body),
	    (int)(evbuffer_get_length(body) < 60 ? evbuffer_get_length(body) : 60), (char *)evbuffer_pullup(body, -1));
	say_headers("got", evhttp_request_get_input_headers(req));
}

static void error_cb(enum evhttp_request_error error, void *arg)
{
	say("  %s: error %d", (const char *)arg, (int)error);
}

static struct evhttp_request *request(const char *uri, const char *host)
{
	struct evhttp_request *req = evhttp_request_new(done_cb, (void *)(uintptr_t)uri);

	must(req != NULL, "make a request");
	evhttp_request_set_error_cb(req, error_cb);
	if (host != NULL)
		evhttp_add_header(evhttp_request_get_output_headers(req), "Host", host);
	return req;
}

static void run(struct evhttp_request *req, const char *uri)
{
	is_done = false;
	say("get %s: %d", uri, evhttp_make_request(conn, req, EVHTTP_REQ_GET, uri));
	while (!is_done)
		event_base_loop(base, EVLOOP_ONCE);
}

static void get(const char *uri, const char *host)
{
	run(request(uri, host), uri);
}

/* One for each request, which says Connection: close, so that none is left over. */
static void connect_to(unsigned port)
{
	if (conn != NULL)
		evhttp_connection_free(conn);
	conn = evhttp_connection_base_new(base, NULL, "127.0.0.1", (ev_uint16_t)port);
	must(conn != NULL, "make a connection");
}

/* arg: whose handler it is. */
static void handler(struct evhttp_request *req, void *arg)
{
	const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(req);
	struct evhttp_connection *from = evhttp_request_get_connection(req);
	const char *host = evhttp_request_get_host(req);
	struct evbuffer *body = evbuffer_new();
	const struct sockaddr *addr;
	ev_uint16_t port = 0;
	char *address = NULL;

	evhttp_connection_get_peer(from, &address, &port);
	addr = evhttp_connection_get_addr(from);
	say("  [%s] %s host %s peer %s port %d addr %d owned %d", (const char *)arg, evhttp_request_get_uri(req),
	    host != NULL ? host : "NULL", address, port != 0, addr != NULL ? addr->sa_family : -1,
	    evhttp_request_is_owned(req));
	say("    uri %s %s %s, server %d base %d bev %d",
	    evhttp_uri_get_host(uri) != NULL ? evhttp_uri_get_host(uri) : "NULL", evhttp_uri_get_path(uri),
	    evhttp_uri_get_query(uri) != NULL ? evhttp_uri_get_query(uri) : "NULL",
	    evhttp_connection_get_server(from) == http, evhttp_connection_get_base(from) == base,
	    evhttp_connection_get_bufferevent(from) != NULL);
	evbuffer_add_printf(body, "by %s", (const char *)arg);
	evhttp_send_reply(req, HTTP_OK, "Fine", body);
	say("    left %zu", evbuffer_get_length(body));
	evbuffer_free(body);
}

/* ---------------------------------------------------------------- sockets */

static void count_cb(struct evhttp_bound_socket *bound, void *arg)
{
	(void)bound;
	++*(int *)arg;
}

static int sockets_num(void)
{
	int num = 0;

	evhttp_foreach_bound_socket(http, count_cb, &num);
	return num;
}

static void test_sockets(void)
{
	struct evhttp_bound_socket *bound[3];
	struct evconnlistener *listener;
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	unsigned port;
	int fd;

	section("sockets");
	say("%d sockets", sockets_num());
	fd = listening_socket();
	say("accept_socket: %d", evhttp_accept_socket(http, fd));
	connect_to(port_of(fd));
	get("/a", "h");
	fd = listening_socket();
	bound[0] = evhttp_accept_socket_with_handle(http, fd);
	say("accept_socket_with_handle: %d, its fd %d", bound[0] != NULL, evhttp_bound_socket_get_fd(bound[0]) == fd);
	connect_to(port_of(fd));
	get("/b", "h");
	listener = evconnlistener_new_bind(base, NULL, NULL, LEV_OPT_CLOSE_ON_FREE, 5, (struct sockaddr *)&any,
					   sizeof(any));
	must(listener != NULL, "make a listener");
	bound[1] = evhttp_bind_listener(http, listener);
	say("bind_listener: %d, its listener %d", bound[1] != NULL,
	    evhttp_bound_socket_get_listener(bound[1]) == listener);
	connect_to(port_of(evconnlistener_get_fd(listener)));
	get("/c", "h");
	bound[2] = evhttp_bind_socket_with_handle(http, "127.0.0.1", 0);
	say("bind_socket_with_handle: %d", bound[2] != NULL);
	port = port_of(evhttp_bound_socket_get_fd(bound[2]));
	connect_to(port);
	get("/d", "h");
	say("%d sockets", sockets_num());
	say("bind_socket, taken port: %d", evhttp_bind_socket(http, "127.0.0.1", (ev_uint16_t)port));
	say("bind_socket, no address: %d", evhttp_bind_socket(http, "not.an.address.invalid", 0));
	evhttp_del_accept_socket(http, bound[0]);
	evhttp_del_accept_socket(http, bound[1]);
	say("%d sockets", sockets_num());
	get("/e", "h");
}

/* ---------------------------------------------------------------- hosts */

static void test_hosts(unsigned port)
{
	struct evhttp *vhost = evhttp_new(NULL), *inner = evhttp_new(NULL), *other = evhttp_new(NULL);

	section("hosts");
	evhttp_set_gencb(vhost, handler, (void *)(uintptr_t)"vhost");
	evhttp_set_gencb(inner, handler, (void *)(uintptr_t)"inner");
	say("add: %d %d", evhttp_add_virtual_host(http, "*.example.org", vhost),
	    evhttp_add_virtual_host(vhost, "in.*.org", inner));
	say("add again: %d", evhttp_add_virtual_host(http, "*.example.com", vhost));
	say("alias: %d %d", evhttp_add_server_alias(vhost, "alias.net"), evhttp_add_server_alias(http, "main.net"));
	connect_to(port);
	get("/", "a.example.org");
	get("/", "A.Example.ORG:8080");
	get("/", "in.example.org");
	get("/", "example.org");
	get("/", "alias.net");
	get("/", "ALIAS.net:1");
	get("/", "main.net");
	get("/", NULL);
	say("remove alias: %d %d", evhttp_remove_server_alias(vhost, "alias.net"),
	    evhttp_remove_server_alias(vhost, "alias.net"));
	get("/", "alias.net");
	say("remove host: %d %d", evhttp_remove_virtual_host(http, vhost), evhttp_remove_virtual_host(http, other));
	get("/", "a.example.org");
	evhttp_free(vhost);
	evhttp_free(other);
}

/* ---------------------------------------------------------------- replies */

static void reply_error(struct evhttp_request *req, void *arg)
{
	evhttp_add_header(evhttp_request_get_output_headers(req), "X-Lost", "1");
	evhttp_send_error(req, 503, arg);
}

static void chunk_sent(struct evhttp_connection *from, void *arg)
{
	struct evhttp_request *req = arg;
	static int left = 3;
	struct evbuffer *buf;

	say("  chunk sent, connection %d", from == evhttp_request_get_connection(req));
	if (--left == 0) {
		evhttp_send_reply_end(req);
		return;
	}
	buf = evbuffer_new();
	evbuffer_add_printf(buf, "chunk %d;", left);
	evhttp_send_reply_chunk_with_cb(req, buf, chunk_sent, req);
	say("  left %zu", evbuffer_get_length(buf));
	evbuffer_free(buf);
}

static void reply_chunks(struct evhttp_request *req, void *arg)
{
	struct evbuffer *buf = evbuffer_new();

	(void)arg;
	evhttp_send_reply_start(req, HTTP_OK, "Streamed");
	evbuffer_add_printf(buf, "first;");
	evhttp_send_reply_chunk_with_cb(req, buf, chunk_sent, req);
	evbuffer_free(buf);
}

static int header_cb(struct evhttp_request *req, void *arg)
{
	say("  header_cb: code %d, %d headers", evhttp_request_get_response_code(req),
	    !TAILQ_EMPTY(evhttp_request_get_input_headers(req)));
	return strcmp(arg, "/refused") == 0 ? -1 : 0;
}

static void test_replies(unsigned port)
{
	struct evhttp_request *req;

	section("replies");
	evhttp_set_cb(http, "/error", reply_error, NULL);
	evhttp_set_cb(http, "/reason", reply_error, (void *)(uintptr_t)"Because");
	evhttp_set_cb(http, "/chunks", reply_chunks, NULL);
	connect_to(port);
	get("/error", "h");
	get("/reason", "h");
	get("/chunks", "h");
	evhttp_set_default_content_type(http, "text/plain");
	get("/plain", "h");
	evhttp_set_default_content_type(http, NULL);
	get("/none", "h");
	req = request("/taken", "h");
	evhttp_request_set_header_cb(req, header_cb);
	run(req, "/taken");
	req = request("/refused", "h");
	evhttp_request_set_header_cb(req, header_cb);
	run(req, "/refused");
	req = request("/owned", "h");
	evhttp_request_own(req);
	run(req, "/owned");
	say("owned %d, code %d, connection %d", evhttp_request_is_owned(req), evhttp_request_get_response_code(req),
	    evhttp_request_get_connection(req) == NULL);
	evhttp_request_free(req);
}

/* ---------------------------------------------------------------- connections */

static void test_connections(unsigned port)
{
	ev_uint16_t peer_port = 0;
	char *address = NULL;
	unsigned local;
	int fd;

	section("connections");
	connect_to(port);
	evhttp_connection_get_peer(conn, &address, &peer_port);
	say("peer %s port %d", address, peer_port == port);
	evhttp_connection_set_max_body_size(conn, 3);
	get("/too-long", "h");
	evhttp_connection_set_max_body_size(conn, -1);
	evhttp_connection_set_max_headers_size(conn, 20);
	get("/too-many", "h");
	connect_to(port);
	fd = listening_socket();
	local = port_of(fd);
	close(fd);
	evhttp_connection_set_local_address(conn, "127.0.0.1");
	evhttp_connection_set_local_port(conn, (ev_uint16_t)local);
	get("/local", "h");
	say("from that port: %d", port_of(bufferevent_getfd(evhttp_connection_get_bufferevent(conn))) == local);
	say("flags: %d %d", evhttp_connection_set_flags(conn, EVHTTP_CON_READ_ON_WRITE_ERROR) != 0,
	    evhttp_connection_set_flags(conn, 0x40000) != 0);
	say("server flags: %d %d", evhttp_set_flags(http, EVHTTP_SERVER_LINGERING_CLOSE) != 0,
	    evhttp_set_flags(http, 2) != 0);
	evhttp_set_flags(http, 0);
	evhttp_connection_free(conn);
	conn = evhttp_connection_new("127.0.0.1", (ev_uint16_t)port);
	evhttp_connection_set_base(conn, base);
	get("/based", "h");
	say("base %d", evhttp_connection_get_base(conn) == base);
}

static void test_start(void)
{
	struct evhttp *old;

	section("evhttp_start");
	old = evhttp_start("127.0.0.1", 0);
	say("start: %d", old != NULL);
	evhttp_free(old);
	say("start, bad address: %d", evhttp_start("not.an.address.invalid", 0) != NULL);
}

static void test_headers(void)
{
	static const struct {
		const char *key, *value;
	} rows[] = {
		{ "A", "b" },   { "A", "" },    { "", "b" },       { "A:", "b" },
		{ "A b", "c" }, { "A", "b\r" }, { "A", "b\n" },    { "A", "\r\n b" },
		{ "A\r", "b" }, { "A\n", "b" }, { "a", "second" }, { "\x80", "\x80" },
	};
	struct evkeyvalq q;

	section("headers");
	TAILQ_INIT(&q);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		say("add: %d", evhttp_add_header(&q, rows[i].key, rows[i].value));
	say("find %s, none %d", evhttp_find_header(&q, "a"), evhttp_find_header(&q, "b") == NULL);
	say("remove %d %d %d", evhttp_remove_header(&q, "A"), evhttp_remove_header(&q, "a"),
	    evhttp_remove_header(&q, "x"));
	say("then %s", evhttp_find_header(&q, "A"));
	evhttp_clear_headers(&q);
	say("empty %d", TAILQ_EMPTY(&q));
}

static void ignore_log(int severity, const char *msg)
{
	(void)severity;
	(void)msg;
}

int main(void)
{
	struct evhttp_bound_socket *bound;
	unsigned port;

	/* What is logged names stock's files and lines. */
	event_set_log_callback(ignore_log);
	/* The current base too, which calls of old take. */
	base = event_init();
	must(base != NULL, "make a base");
	http = evhttp_new(base);
	must(http != NULL, "make a server");
	evhttp_set_gencb(http, handler, (void *)(uintptr_t)"main");
	test_headers();
	test_sockets();
	bound = evhttp_bind_socket_with_handle(http, "127.0.0.1", 0);
	must(bound != NULL, "bind");
	port = port_of(evhttp_bound_socket_get_fd(bound));
	test_hosts(port);
	test_replies(port);
	test_connections(port);
	evhttp_connection_free(conn);
	evhttp_free(http);
	test_start();
	event_base_free(base);
	return 0;
}
