/*
 * Each allocation of a conversation over evhttp fails once. Nothing may crash or leak, and with the failure
 * behind it the server answers the next client. Programs that step over a failure are simple ones here: who
 * cannot make a request frees what it has.
 */
#include "bytes_server.h"
#include "peer.h"

#include <signal.h>

#include <event2/smp.h>

static long fail_at, allocations, blocks;

static void *count_malloc(size_t size)
{
	void *p;

	if (++allocations == fail_at)
		return NULL;
	p = malloc(size);
	if (p != NULL)
		blocks++;
	return p;
}

static void *count_realloc(void *old, size_t size)
{
	void *p;

	if (++allocations == fail_at)
		return NULL;
	p = realloc(old, size);
	if (p != NULL && old == NULL)
		blocks++;
	return p;
}

static void count_free(void *p)
{
	if (p != NULL)
		blocks--;
	free(p);
}

struct talk {
	struct event_base *base;
	struct evhttp *http;
	struct evhttp_connection *conn;
	unsigned done;
};

static void handle(struct evhttp_request *req, void *arg)
{
	struct evbuffer *body = evbuffer_new();

	(void)arg;
	evhttp_request_get_host(req);
	evhttp_add_header(evhttp_request_get_output_headers(req), "X", "y");
	if (body != NULL)
		evbuffer_add_printf(body, "%05000d", 1);
	evhttp_send_reply(req, 200, "As it were", body);
	if (body != NULL)
		evbuffer_free(body);
}

static void stream(struct evhttp_request *req, void *arg)
{
	struct evbuffer *body = evbuffer_new();

	(void)arg;
	evhttp_send_reply_start(req, 200, NULL);
	if (body != NULL) {
		evbuffer_add(body, "chunk", 5);
		evhttp_send_reply_chunk(req, body);
		evbuffer_free(body);
	}
	evhttp_send_reply_end(req);
}

static void talk_done_cb(struct evhttp_request *req, void *arg)
{
	(void)req;
	((struct talk *)arg)->done++;
}

static unsigned talk_ask(struct talk *t, const char *uri, const char *body)
{
	struct evhttp_request *req = evhttp_request_new(talk_done_cb, t);

	if (req == NULL)
		return 0;
	evhttp_add_header(evhttp_request_get_output_headers(req), "Host", "vhost.example:80");
	if (body != NULL)
		evbuffer_add(evhttp_request_get_output_buffer(req), body, strlen(body));
	return evhttp_make_request(t->conn, req, body != NULL ? EVHTTP_REQ_POST : EVHTTP_REQ_GET, uri) == 0;
}

static void set_up_vhost(struct evhttp *http)
{
	struct evhttp *vhost = evhttp_new(NULL);

	if (vhost == NULL)
		return;
	evhttp_set_gencb(vhost, handle, NULL);
	evhttp_set_cb(vhost, "/stream", stream, NULL);
	evhttp_add_server_alias(vhost, "other.example");
	if (evhttp_add_virtual_host(http, "*.example", vhost) < 0)
		evhttp_free(vhost);
}

/* With what there is memory for; the number of requests that were made. */
static unsigned talk(struct talk *t)
{
	struct evhttp_bound_socket *bound;
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);
	unsigned asked = 0;

	t->http = evhttp_new(t->base);
	if (t->http == NULL)
		return 0;
	set_up_vhost(t->http);
	bound = evhttp_bind_socket_with_handle(t->http, "127.0.0.1", 0);
	if (bound == NULL)
		return 0;
	assert_int_equal(getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&addr, &len), 0);
	t->conn = evhttp_connection_base_new(t->base, NULL, "127.0.0.1", ntohs(addr.sin_port));
	if (t->conn == NULL)
		return 0;
	asked += talk_ask(t, "/a%20b?c=d#e", NULL);
	asked += talk_ask(t, "/stream", "body");
	asked += talk_ask(t, "http://none.invalid/", NULL);
	for (int i = 0; i < 300 && t->done < asked; i++)
		event_base_loop(t->base, EVLOOP_NONBLOCK);
	return asked;
}

static void nth_allocation_fails(void **state)
{
	struct talk t;
	unsigned asked;
	long before;

	(void)state;
	for (long n = 1;; n++) {
		memset(&t, 0, sizeof(t));
		fail_at = 0;
		before = blocks;
		t.base = event_base_new();
		assert_non_null(t.base);
		allocations = 0;
		fail_at = n;
		asked = talk(&t);
		if (t.conn != NULL)
			evhttp_connection_free(t.conn);
		if (t.http != NULL)
			evhttp_free(t.http);
		event_base_loop(t.base, EVLOOP_NONBLOCK);
		fail_at = 0;
		event_base_free(t.base);
		assert_int_equal(blocks, before);
		if (allocations < n) {
			assert_int_equal(asked, 3);
			assert_int_equal(t.done, 3);
			assert_true(n > 50);
			return;
		}
	}
}

/* ---------------------------------------------------------------- bytes */

/* Where nothing failed all must come, however long that takes. */
static int turns_max(void)
{
	return allocations < fail_at ? PEER_TURNS_MAX : 300000;
}

/* Whatever of it is refused for want of memory: the connection ends, or all of it is answered, and it ends then. */
static void peer_says(struct peer *p, const char *text)
{
	peer_connect(p);
	for (size_t at = 0; at < strlen(text) && !p->is_closed; at += 50) {
		peer_send(p, text + at, strlen(text) - at < 50 ? strlen(text) - at : 50);
		peer_turn(p);
	}
	/* It is the end that the last request asks for, or that of a failure. */
	for (int i = 0; i < turns_max() && !p->is_closed; i++)
		peer_turn(p);
	if (!p->is_closed)
		fail_msg("allocation %ld: the connection is lost", fail_at);
}

static void count_and_handle(struct evhttp_request *req, void *arg)
{
	((struct peer *)arg)->handled++;
	handle(req, NULL);
}

static void nth_allocation_of_a_server_fails(void **state)
{
	static const char text[] =
		"POST /a HTTP/1.1\r\nHost: [::1]:80\r\nX: 0\r\n 1\r\n 2\r\nTransfer-Encoding: chunked\r\n\r\n"
		"3;x=y\r\nabc\r\n1\r\nd\r\n0\r\nT: x\r\n\r\n"
		"CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\nHEAD //x/%20 HTTP/1.1\r\nHost: h\r\n\r\n"
		"PUT /a?b#c HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc"
		"GET /none HTTP/1.0\r\n\r\n";
	char *line = malloc(20000), *all;
	struct peer p;
	long before;

	(void)state;
	memset(line, 'x', 19999);
	line[19999] = '\0';
	all = malloc(sizeof(text) + 40000);
	sprintf(all, "GET /%.3000s HTTP/1.1\r\nHost: h\r\nY: %s\r\n %.9000s\r\n\r\n%s", line, line, line, text);
	for (long n = 1;; n++) {
		fail_at = 0;
		before = blocks;
		peer_init(&p);
		evhttp_set_allowed_methods(p.http, 0xffff);
		evhttp_set_gencb(p.http, count_and_handle, &p);
		allocations = 0;
		fail_at = n;
		peer_says(&p, all);
		fail_at = 0;
		if (allocations < n) {
			assert_int_equal(p.handled, 6);
			peer_fini(&p);
			break;
		}
		/* With the failure behind it the server answers the next client. */
		peer_connect(&p);
		peer_send(&p, "GET / HTTP/1.0\r\n\r\n", 18);
		peer_run_until_closed(&p);
		assert_memory_equal(p.text, "HTTP/1.0 200 As it were\r\n", 25);
		peer_fini(&p);
		assert_int_equal(blocks, before);
	}
	free(line);
	free(all);
}

static struct evhttp_bound_socket *bind_new(struct evhttp *http)
{
	return evhttp_bind_socket_with_handle(http, "127.0.0.1", 0);
}

/* As libevent's, it leaves a descriptor to the caller only if there is no listener yet. */
static struct evhttp_bound_socket *accept_new(struct evhttp *http)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	struct evhttp_bound_socket *bound;

	assert_int_equal(bind(fd, (struct sockaddr *)&any, sizeof(any)), 0);
	assert_int_equal(listen(fd, 5), 0);
	bound = evhttp_accept_socket_with_handle(http, fd);
	if (bound == NULL)
		(void)close(fd);
	return bound;
}

/* False: no allocation failed. A socket that a server has is a socket that it serves. */
static bool socket_is_served(struct evhttp_bound_socket *(*make)(struct evhttp *http), long nth)
{
	struct evhttp_bound_socket *bound;
	socklen_t len = sizeof(struct sockaddr_in);
	struct peer p;
	bool came;

	peer_init(&p);
	evhttp_set_gencb(p.http, count_and_handle, &p);
	allocations = 0;
	fail_at = nth;
	bound = make(p.http);
	fail_at = 0;
	came = allocations >= nth;
	if (bound != NULL) {
		assert_int_equal(getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&p.addr, &len), 0);
		peer_connect(&p);
		peer_send(&p, "GET / HTTP/1.0\r\n\r\n", 18);
		peer_run_until_closed(&p);
		assert_int_equal(p.handled, 1);
	} else {
		assert_true(came);
	}
	peer_fini(&p);
	return came;
}

static int next_fd(void)
{
	int fd = dup(0);

	(void)close(fd);
	return fd;
}

static void nth_allocation_of_a_socket_fails(void **state)
{
	struct evhttp_bound_socket *(*const make[])(struct evhttp *) = { bind_new, accept_new };
	const int fd = next_fd();
	const long before = blocks;

	(void)state;
	for (int i = 0; i < 2; i++) {
		for (long n = 1; socket_is_served(make[i], n); n++) {
			assert_int_equal(blocks, before);
			assert_int_equal(next_fd(), fd);
		}
	}
}

static void answered_cb(struct evhttp_request *req, void *arg)
{
	(void)req;
	((struct server *)arg)->done++;
}

static int header_cb(struct evhttp_request *req, void *arg)
{
	(void)req;
	(void)arg;
	return 0;
}

static void chunk_cb(struct evhttp_request *req, void *arg)
{
	(void)req;
	(void)arg;
}

static unsigned post(struct server *s)
{
	struct evhttp_request *req = evhttp_request_new(answered_cb, s);

	if (req == NULL)
		return 0;
	evhttp_request_set_header_cb(req, header_cb);
	evhttp_request_set_chunked_cb(req, chunk_cb);
	evhttp_add_header(evhttp_request_get_output_headers(req), "Expect", "100-continue");
	evbuffer_add(evhttp_request_get_output_buffer(req), "body", 4);
	return evhttp_make_request(s->conn, req, EVHTTP_REQ_POST, "/") == 0;
}

/* Every request is told of once. */
static void nth_allocation_of_a_client_fails(void **state)
{
	static const char text[] = "HTTP/1.1 103 Early\r\nX: 0\r\n 1\r\n 2\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
				   "HTTP/1.1 200 OK\r\nX: 0\r\n 1\r\nTransfer-Encoding: chunked\r\n\r\n"
				   "3\r\nabc\r\n0\r\n\r\n";
	const long first = blocks;
	unsigned asked;
	struct server s;

	(void)state;
	for (long n = 1;; n++) {
		fail_at = 0;
		server_init(&s);
		allocations = 0;
		fail_at = n;
		asked = post(&s);
		asked += post(&s);
		for (int i = 0; i < turns_max() && s.done < asked; i++) {
			turn(&s);
			if (strstr(s.text, "\r\n\r\n") != NULL) {
				s.len = 0;
				s.text[0] = '\0';
				say(&s, text, strlen(text), 30);
			}
		}
		fail_at = 0;
		/* An allocation of the engine may have cost an event: the timeout would tell of that. */
		assert_true(s.done <= asked);
		server_fini(&s);
		assert_int_equal(blocks, first);
		if (allocations < n) {
			assert_int_equal(s.done, 2);
			return;
		}
	}
}

static void parts_fail_alone(void **state)
{
	struct evkeyvalq headers;
	long before = blocks;

	(void)state;
	for (long n = 1;; n++) {
		struct evhttp_uri *uri;
		char *text[3];
		int r;

		allocations = 0;
		fail_at = n;
		uri = evhttp_uri_parse("s://u@h:1/p?q#f");
		if (uri != NULL) {
			evhttp_uri_set_path(uri, "/other");
			assert_true(evhttp_uri_get_path(uri) != NULL);
			evhttp_uri_free(uri);
		}
		text[0] = evhttp_uriencode("a b", -1, 0);
		text[1] = evhttp_uridecode("a%20b", 0, NULL);
		text[2] = evhttp_htmlescape("<a>");
		for (int i = 0; i < 3; i++)
			count_free(text[i]);
		r = evhttp_parse_query_str("a=b&c=d", &headers);
		assert_true(r == 0 || TAILQ_EMPTY(&headers));
		evhttp_clear_headers(&headers);
		fail_at = 0;
		assert_int_equal(blocks, before);
		if (allocations < n)
			return;
	}
}

/* What was asked for from outside of its color waits for the loop, or else for the base's end. */
static void calls_that_never_ran_go_with_the_base(void **state)
{
	const long before = blocks;
	struct event_config *config = event_config_new();
	struct evhttp_connection *conn;
	struct evhttp_request *req;
	struct event_base *base;
	struct bufferevent *bev;
	struct talk t = { 0 };

	(void)state;
	assert_int_equal(event_config_set_workers(config, 2, NULL, NULL), 0);
	base = event_base_new_with_config(config);
	event_config_free(config);
	bev = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
	assert_int_equal(bufferevent_set_color(bev, 9), 0);
	conn = evhttp_connection_base_bufferevent_new(base, NULL, bev, "127.0.0.1", 1);
	req = evhttp_request_new(talk_done_cb, &t);
	assert_int_equal(evhttp_make_request(conn, req, EVHTTP_REQ_GET, "/"), 0);
	evhttp_connection_free(conn);
	event_base_free(base);
	assert_int_equal(blocks, before);
}

static void ignore_log(int severity, const char *msg)
{
	(void)severity;
	(void)msg;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_fail_alone),
		cmocka_unit_test(calls_that_never_ran_go_with_the_base),
		cmocka_unit_test(nth_allocation_fails),
		cmocka_unit_test(nth_allocation_of_a_server_fails),
		cmocka_unit_test(nth_allocation_of_a_socket_fails),
		cmocka_unit_test(nth_allocation_of_a_client_fails),
	};

	/* Clients leave before they are answered. */
	signal(SIGPIPE, SIG_IGN);
	event_set_mem_functions(count_malloc, count_realloc, count_free);
	event_set_log_callback(ignore_log);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
