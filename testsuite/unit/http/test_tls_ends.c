/*
 * How evhttp's connections end if their bufferevent is TLS, or is over another bufferevent: each descriptor is closed
 * once, and the client gets the whole reply.
 */
#include "table.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <event2/http.h>

#include "testsuite/tls_ctx.h"

#define GET "GET /1 HTTP/1.1\r\nHost: h\r\n\r\n"
#define GET_CLOSE "GET /1 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"

enum { BODY = 3000000, TURNS_MAX = 2000000 };

/* Closes of numbers that are not open. */
static unsigned bad_closes;

int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
	int r = __real_close(fd);

	if (r < 0 && errno == EBADF)
		bad_closes++;
	return r;
}

/* What a connection's bufferevent is: SOCKET_TLS is TLS on a socket, the others are over another bufferevent. */
enum kind { SOCKET_TLS, OVER_TLS, OVER_FILTER, KINDS_NUM };

struct talk {
	struct tls_ctx ctx;
	enum kind kind;
	struct event_base *base;
	struct evhttp *http;
	struct sockaddr_in addr;
	size_t body_len;
	unsigned handled;
	struct bufferevent *bev;	/* of the request that was handled last */

	/* the other side, which is no part of the library; ssl is NULL for OVER_FILTER */
	int fd;
	SSL *ssl;
	size_t len;
	char text[2 * BODY + 1000];
};

static struct talk talk;

static struct bufferevent *new_bev(struct event_base *base, struct talk *t, bool is_server)
{
	enum bufferevent_ssl_state state = is_server ? BUFFEREVENT_SSL_ACCEPTING : BUFFEREVENT_SSL_CONNECTING;
	struct bufferevent *below = NULL;
	SSL *ssl;

	if (t->kind != SOCKET_TLS)
		below = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
	if (t->kind == OVER_FILTER)
		return bufferevent_filter_new(below, NULL, NULL, BEV_OPT_CLOSE_ON_FREE, NULL, NULL);
	ssl = SSL_new(is_server ? t->ctx.server : t->ctx.client);
	if (t->kind == OVER_TLS)
		return bufferevent_openssl_filter_new(base, below, ssl, state, BEV_OPT_CLOSE_ON_FREE);
	return bufferevent_openssl_socket_new(base, -1, ssl, state, BEV_OPT_CLOSE_ON_FREE);
}

static struct bufferevent *accept_bev(struct event_base *base, void *arg)
{
	return new_bev(base, arg, true);
}

static void handle(struct evhttp_request *req, void *arg)
{
	static const char block[BODY];
	struct evbuffer *body = evbuffer_new();
	struct talk *t = arg;

	t->handled++;
	assert_non_null(body);
	assert_int_equal(evbuffer_add(body, block, t->body_len), 0);
	evhttp_send_reply(req, HTTP_OK, "OK", body);
	evbuffer_free(body);
}

static void talk_init(enum kind kind, int version)
{
	struct evhttp_bound_socket *bound;
	socklen_t len = sizeof(talk.addr);

	memset(&talk, 0, sizeof(talk));
	bad_closes = 0;
	talk.kind = kind;
	talk.fd = -1;
	assert_true(tls_ctx_init(&talk.ctx, version));
	talk.base = event_base_new();
	talk.http = evhttp_new(talk.base);
	evhttp_set_gencb(talk.http, handle, &talk);
	evhttp_set_bevcb(talk.http, accept_bev, &talk);
	bound = evhttp_bind_socket_with_handle(talk.http, "127.0.0.1", 0);
	assert_non_null(bound);
	assert_int_equal(getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&talk.addr, &len), 0);
}

static void hang_up(void)
{
	SSL_free(talk.ssl);
	talk.ssl = NULL;
	if (talk.fd >= 0)
		assert_int_equal(close(talk.fd), 0);
	talk.fd = -1;
}

static void turns(int num)
{
	for (int i = 0; i < num; i++)
		assert_true(event_base_loop(talk.base, EVLOOP_NONBLOCK) >= 0);
}

static void talk_fini(void)
{
	hang_up();
	turns(50);
	evhttp_free(talk.http);
	turns(2);
	event_base_free(talk.base);
	tls_ctx_fini(&talk.ctx);
	assert_int_equal(bad_closes, 0);
}

/* ---------------------------------------------------------------- the other side */

static void shake_hands(bool is_client)
{
	assert_int_equal(evutil_make_socket_nonblocking(talk.fd), 0);
	if (talk.kind == OVER_FILTER)
		return;
	talk.ssl = SSL_new(is_client ? talk.ctx.client : talk.ctx.server);
	assert_int_equal(SSL_set_fd(talk.ssl, talk.fd), 1);
	while ((is_client ? SSL_connect(talk.ssl) : SSL_accept(talk.ssl)) != 1)
		turns(1);
}

static void call(void)
{
	talk.len = 0;
	talk.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(talk.fd, (struct sockaddr *)&talk.addr, sizeof(talk.addr)), 0);
	shake_hands(true);
}

static void put(const char *text)
{
	int len = (int)strlen(text), n;

	n = talk.ssl != NULL ? SSL_write(talk.ssl, text, len) : (int)send(talk.fd, text, (size_t)len, 0);
	assert_int_equal(n, len);
}

static void stop_sending(void)
{
	if (talk.ssl != NULL)
		assert_int_equal(SSL_shutdown(talk.ssl), 0);
	else
		assert_int_equal(shutdown(talk.fd, SHUT_WR), 0);
}

/* False: it has ended. */
static bool get(void)
{
	int room = (int)(sizeof(talk.text) - 1 - talk.len), n;
	bool is_more;

	if (talk.ssl != NULL) {
		n = SSL_read(talk.ssl, talk.text + talk.len, room);
		is_more = n > 0 || SSL_get_error(talk.ssl, n) == SSL_ERROR_WANT_READ;
	} else {
		n = (int)recv(talk.fd, talk.text + talk.len, (size_t)room, 0);
		is_more = n > 0 || (n < 0 && errno == EAGAIN);
	}
	if (n > 0)
		talk.len += (size_t)n;
	talk.text[talk.len] = '\0';
	return is_more;
}

static void get_until(const char *text)
{
	for (int i = 0; i < TURNS_MAX && strstr(talk.text, text) == NULL && get(); i++)
		turns(1);
	assert_non_null(strstr(talk.text, text));
}

static void get_all(void)
{
	int i = 0;

	for (; i < TURNS_MAX && get(); i++)
		turns(1);
	assert_true(i < TURNS_MAX);
}

/* ---------------------------------------------------------------- descriptors */

static void server_closes_its_descriptor_once(void **state)
{
	static const char *const requests[] = { GET, GET_CLOSE, "no request\r\n\r\n", NULL };

	(void)state;
	for (int i = 0; i < KINDS_NUM * (int)ROWS(requests); i++) {
		const char *request = requests[i / KINDS_NUM];

		talk_init((enum kind)(i % KINDS_NUM), TLS1_2_VERSION);
		call();
		if (request != NULL) {
			put(request);
			get_until("HTTP/1.1 ");
		}
		turns(50);
		assert_int_equal(bad_closes, 0);
		/* Nobody else's connection may be hit. */
		hang_up();
		turns(50);
		call();
		put(GET);
		get_until("HTTP/1.1 200 OK");
		talk_fini();
	}
}

static void done_cb(struct evhttp_request *req, void *arg)
{
	(void)arg;
	talk.handled++;
	assert_non_null(req);
	assert_int_equal(evhttp_request_get_response_code(req), 200);
}

static void client_closes_its_descriptor_once(void **state)
{
	static const char *const answers[] = {
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi",
	};
	socklen_t len = sizeof(talk.addr);
	struct evhttp_connection *conn;
	int listen_fd;

	(void)state;
	for (int i = 0; i < KINDS_NUM * (int)ROWS(answers); i++) {
		talk_init((enum kind)(i % KINDS_NUM), TLS1_2_VERSION);
		listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		talk.addr.sin_port = 0;
		assert_int_equal(bind(listen_fd, (struct sockaddr *)&talk.addr, sizeof(talk.addr)), 0);
		assert_int_equal(listen(listen_fd, 5), 0);
		assert_int_equal(getsockname(listen_fd, (struct sockaddr *)&talk.addr, &len), 0);
		conn = evhttp_connection_base_bufferevent_new(talk.base, NULL, new_bev(talk.base, &talk, false),
							      "127.0.0.1", ntohs(talk.addr.sin_port));
		evhttp_make_request(conn, evhttp_request_new(done_cb, NULL), EVHTTP_REQ_GET, "/");
		turns(1);
		talk.fd = accept(listen_fd, NULL, NULL);
		shake_hands(false);
		get_until("GET / HTTP/1.1\r\n\r\n");
		put(answers[i / KINDS_NUM]);
		while (talk.handled == 0)
			turns(1);
		evhttp_connection_free(conn);
		turns(5);
		assert_int_equal(close(listen_fd), 0);
		talk_fini();
	}
}

/* ---------------------------------------------------------------- the last reply */

static void assert_reply_is_whole(void)
{
	const char *body = strstr(talk.text, "\r\n\r\n");

	assert_memory_equal(talk.text, "HTTP/1.1 200 OK\r\n", 17);
	assert_non_null(body);
	assert_int_equal((size_t)(talk.text + talk.len - body), 4 + talk.body_len);
}

static void last_reply_comes_whole(void **state)
{
	static const size_t lens[] = { 3, BODY };

	(void)state;
	for (int i = 0; i < 2 * KINDS_NUM * (int)ROWS(lens); i++) {
		talk_init((enum kind)(i / 2 % KINDS_NUM), i % 2 == 0 ? TLS1_2_VERSION : TLS1_3_VERSION);
		talk.body_len = lens[i / 2 / KINDS_NUM];
		call();
		put(GET_CLOSE);
		get_all();
		assert_reply_is_whole();
		talk_fini();
	}
}

/* ---------------------------------------------------------------- a client that sends no more */

static unsigned count(const char *text)
{
	const char *end = talk.text + talk.len;
	unsigned num = 0;

	/* The bodies are zeros. */
	for (const char *at = talk.text; (at = memmem(at, (size_t)(end - at), text, strlen(text))) != NULL; at++)
		num++;
	return num;
}

/*
 * Whatever it has asked for before is answered. Then the server closes: it would learn nothing more from the client,
 * and could keep the connection for ever.
 */
static void client_that_sends_no_more_gets_its_replies_and_the_end(void **state)
{
	static const char *const requests[] = { GET, GET GET, GET GET "GET /3 HTT", GET "\r\n\r\n" };
	static const size_t lens[] = { 3, BODY };
	const int num = KINDS_NUM * (int)ROWS(lens);
	unsigned replies;

	(void)state;
	for (int i = 0; i < 2 * num * (int)ROWS(requests); i++) {
		talk_init((enum kind)(i / 2 % KINDS_NUM), i % 2 == 0 ? TLS1_2_VERSION : TLS1_3_VERSION);
		talk.body_len = lens[i / 2 / KINDS_NUM % (int)ROWS(lens)];
		call();
		put(requests[i / 2 / num]);
		stop_sending();
		get_all();
		replies = i / 2 / num == 1 || i / 2 / num == 2 ? 2 : 1;
		assert_int_equal(count("HTTP/1.1 200 OK\r\n"), replies);
		assert_true(talk.len > replies * talk.body_len);
		talk_fini();
	}
}

static void take_bev(struct evhttp_request *req, void *arg)
{
	talk.bev = evhttp_connection_get_bufferevent(evhttp_request_get_connection(req));
	handle(req, arg);
}

/* As if the client had sent nothing for long, while it receives a reply. */
static void timeout_of_reading_is_no_end(void **state)
{
	(void)state;
	for (int i = 0; i < KINDS_NUM; i++) {
		talk_init((enum kind)i, TLS1_3_VERSION);
		talk.body_len = BODY;
		evhttp_set_gencb(talk.http, take_bev, &talk);
		call();
		put(GET);
		while (talk.handled == 0)
			turns(1);
		assert_int_equal(bufferevent_disable(talk.bev, EV_READ), 0);
		bufferevent_trigger_event(talk.bev, BEV_EVENT_READING | BEV_EVENT_TIMEOUT, 0);
		while (talk.len < BODY + 50 && get())
			turns(1);
		put(GET);
		while (talk.handled < 2)
			turns(1);
		talk_fini();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(server_closes_its_descriptor_once),
		cmocka_unit_test(client_closes_its_descriptor_once),
		cmocka_unit_test(last_reply_comes_whole),
		cmocka_unit_test(client_that_sends_no_more_gets_its_replies_and_the_end),
		cmocka_unit_test(timeout_of_reading_is_no_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
