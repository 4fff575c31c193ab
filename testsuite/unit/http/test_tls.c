/*
 * evhttp's client over TLS, whose connection brings bytes that are no data: they are neither an answer nor a
 * reason to leave the connection. What is data and unasked is not the next answer there, either.
 */
#include "table.h"

#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <event2/http.h>

#include "testsuite/tls_ctx.h"

struct talk {
	struct tls_ctx ctx;
	struct event_base *base;
	struct evhttp *http;
	struct evhttp_connection *conn;
	struct bufferevent *server_bev;	/* of what was accepted last */
	unsigned accepted, done, closes;
	int code;
	char body[64];
};

static void handle(struct evhttp_request *req, void *arg)
{
	struct evbuffer *body = evbuffer_new();

	(void)arg;
	assert_non_null(body);
	evbuffer_add_printf(body, "%s", evhttp_request_get_uri(req));
	evhttp_send_reply(req, 200, NULL, body);
	evbuffer_free(body);
}

static struct bufferevent *accept_tls(struct event_base *base, void *arg)
{
	struct talk *t = arg;

	t->accepted++;
	t->server_bev = bufferevent_openssl_socket_new(base, -1, SSL_new(t->ctx.server), BUFFEREVENT_SSL_ACCEPTING,
						       BEV_OPT_CLOSE_ON_FREE);
	return t->server_bev;
}

static void done_cb(struct evhttp_request *req, void *arg)
{
	struct talk *t = arg;

	t->done++;
	memset(t->body, 0, sizeof(t->body));
	t->code = req != NULL ? evhttp_request_get_response_code(req) : -1;
	if (req != NULL)
		evbuffer_copyout(evhttp_request_get_input_buffer(req), t->body, sizeof(t->body) - 1);
}

static void close_cb(struct evhttp_connection *conn, void *arg)
{
	(void)conn;
	((struct talk *)arg)->closes++;
}

static void talk_init(struct talk *t, int version)
{
	struct evhttp_bound_socket *bound;
	struct bufferevent *bev;
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);

	memset(t, 0, sizeof(*t));
	assert_true(tls_ctx_init(&t->ctx, version));
	t->base = event_base_new();
	t->http = evhttp_new(t->base);
	evhttp_set_gencb(t->http, handle, NULL);
	evhttp_set_bevcb(t->http, accept_tls, t);
	bound = evhttp_bind_socket_with_handle(t->http, "127.0.0.1", 0);
	assert_non_null(bound);
	assert_int_equal(getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&addr, &len), 0);
	bev = bufferevent_openssl_socket_new(t->base, -1, SSL_new(t->ctx.client), BUFFEREVENT_SSL_CONNECTING,
					     BEV_OPT_CLOSE_ON_FREE);
	t->conn = evhttp_connection_base_bufferevent_new(t->base, NULL, bev, "127.0.0.1", ntohs(addr.sin_port));
	assert_non_null(t->conn);
	evhttp_connection_set_closecb(t->conn, close_cb, t);
}

static void talk_fini(struct talk *t)
{
	evhttp_connection_set_closecb(t->conn, NULL, NULL);
	evhttp_connection_free(t->conn);
	evhttp_free(t->http);
	event_base_loop(t->base, EVLOOP_NONBLOCK);
	event_base_free(t->base);
	tls_ctx_fini(&t->ctx);
}

static void ask(struct talk *t, const char *uri)
{
	assert_int_equal(evhttp_make_request(t->conn, evhttp_request_new(done_cb, t), EVHTTP_REQ_GET, uri), 0);
}

static void run_until_done(struct talk *t, unsigned done)
{
	while (t->done < done)
		assert_int_equal(event_base_loop(t->base, EVLOOP_ONCE), 0);
}

/* The kernel may take its time. */
static void wait_until_readable(struct evhttp_connection *conn)
{
	struct pollfd pfd = { .fd = bufferevent_getfd(evhttp_connection_get_bufferevent(conn)), .events = POLLIN };

	assert_int_equal(poll(&pfd, 1, -1), 1);
}

/* Sent behind the back of the bufferevent, so it is in the client's socket at once. */
static void send_ticket(struct talk *t)
{
	SSL *ssl = bufferevent_openssl_get_ssl(t->server_bev);

	assert_int_equal(SSL_new_session_ticket(ssl), 1);
	assert_int_equal(SSL_do_handshake(ssl), 1);
}

static void ticket_is_no_answer_and_no_reason_to_leave(void **state)
{
	struct talk t;

	(void)state;
	talk_init(&t, TLS1_3_VERSION);
	ask(&t, "/1");
	run_until_done(&t, 1);
	assert_string_equal(t.body, "/1");
	for (unsigned i = 2; i < 6; i++) {
		for (unsigned n = 1; n < i; n++)
			send_ticket(&t);
		wait_until_readable(t.conn);
		ask(&t, "/next");
		run_until_done(&t, i);
		assert_int_equal(t.code, 200);
		assert_string_equal(t.body, "/next");
	}
	assert_int_equal(t.accepted, 1);
	assert_int_equal(t.closes, 0);
	talk_fini(&t);
}

static void unasked_data_is_no_answer(void **state)
{
	static const int versions[] = { TLS1_2_VERSION, TLS1_3_VERSION };
	static const char evil[] = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil";
	struct talk t;

	(void)state;
	for (size_t i = 0; i < ROWS(versions); i++) {
		talk_init(&t, versions[i]);
		ask(&t, "/1");
		run_until_done(&t, 1);
		assert_int_equal(SSL_write(bufferevent_openssl_get_ssl(t.server_bev), evil, sizeof(evil) - 1),
				 sizeof(evil) - 1);
		wait_until_readable(t.conn);
		ask(&t, "/2");
		run_until_done(&t, 2);
		assert_int_equal(t.closes, 1);
		assert_string_not_equal(t.body, "evil");
		talk_fini(&t);
	}
}

/* ---------------------------------------------------------------- a client that sends no more */

enum { BODY = 3000000, BELOW_MAX = 65536 };

static struct bufferevent *accept_filter(struct event_base *base, void *arg)
{
	struct bufferevent *below = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
	struct talk *t = arg;

	bufferevent_setwatermark(below, EV_WRITE, 0, BELOW_MAX);
	return bufferevent_openssl_filter_new(base, below, SSL_new(t->ctx.server), BUFFEREVENT_SSL_ACCEPTING,
					      BEV_OPT_CLOSE_ON_FREE);
}

static void reply_much(struct evhttp_request *req, void *arg)
{
	static const char block[BODY];
	struct evbuffer *body = evbuffer_new();

	(void)arg;
	assert_non_null(body);
	assert_int_equal(evbuffer_add(body, block, BODY), 0);
	evhttp_send_reply(req, 200, NULL, body);
	evbuffer_free(body);
}

static SSL *client_new(struct talk *t)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	SSL *ssl = SSL_new(t->ctx.client);
	ev_uint16_t port;
	char *address;

	evhttp_connection_get_peer(t->conn, &address, &port);
	to.sin_port = htons(port);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(evutil_make_socket_nonblocking(fd), 0);
	assert_int_equal(SSL_set_fd(ssl, fd), 1);
	while (SSL_connect(ssl) != 1)
		assert_int_equal(event_base_loop(t->base, EVLOOP_NONBLOCK), 0);
	return ssl;
}

/* Until the server closes; the number of bytes. */
static size_t client_read_all(struct talk *t, SSL *ssl)
{
	static char got[65536];
	size_t len = 0;
	int r;

	for (;;) {
		assert_int_equal(event_base_loop(t->base, EVLOOP_NONBLOCK), 0);
		r = SSL_read(ssl, got, sizeof(got));
		if (r > 0)
			len += (size_t)r;
		else if (SSL_get_error(ssl, r) != SSL_ERROR_WANT_READ)
			return len;
	}
}

/*
 * Its close_notify is one end, that of its socket another one. Neither ends the reply.
 */
static void client_that_sends_no_more_gets_its_reply(void **state)
{
	static const char request[] = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
	static const int version[] = { TLS1_2_VERSION, TLS1_3_VERSION };
	struct talk t;
	SSL *ssl;
	int fd;

	(void)state;
	for (int i = 0; i < 2; i++) {
		talk_init(&t, version[i]);
		evhttp_set_bevcb(t.http, accept_filter, &t);
		evhttp_set_gencb(t.http, reply_much, NULL);
		ssl = client_new(&t);
		fd = SSL_get_fd(ssl);
		assert_int_equal(SSL_write(ssl, request, sizeof(request) - 1), sizeof(request) - 1);
		assert_int_equal(SSL_shutdown(ssl), 0);
		assert_int_equal(shutdown(fd, SHUT_WR), 0);
		assert_true(client_read_all(&t, ssl) > BODY - 2 * BELOW_MAX);
		SSL_free(ssl);
		close(fd);
		talk_fini(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ticket_is_no_answer_and_no_reason_to_leave),
		cmocka_unit_test(unasked_data_is_no_answer),
		cmocka_unit_test(client_that_sends_no_more_gets_its_reply),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
