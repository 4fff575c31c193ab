/*
 * How a server closes a connection after its last reply: the client gets the whole reply, though it sent bytes that
 * nobody reads. close() with unread input would reset the connection, and the client would lose what it has not read.
 */
#include "peer.h"

#include <sys/ioctl.h>

#include <event2/smp.h>

#define CLOSE "GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
#define KEEP "GET /a HTTP/1.1\r\nHost: h\r\n\r\n"

enum { BIG = 8 * 1024 * 1024, AHEAD = 60000 };

static char ahead[AHEAD];		/* bytes that the client sends ahead */

static void reply_big(struct evhttp_request *req, void *arg)
{
	struct evbuffer *body = evbuffer_new();
	char *data = calloc(1, BIG);

	((struct peer *)arg)->handled++;
	assert_non_null(body);
	assert_non_null(data);
	evbuffer_add(body, data, BIG);
	evhttp_send_reply(req, HTTP_OK, "OK", body);
	evbuffer_free(body);
	free(data);
}

/* All that comes until the end; -1: the connection was reset. */
static ssize_t count_until_end(struct peer *p)
{
	static char data[64 * 1024];
	ssize_t n, sum = 0;

	for (int i = 0; i < PEER_TURNS_MAX; i++) {
		event_base_loop(p->base, EVLOOP_NONBLOCK);
		n = recv(p->fd, data, sizeof(data), 0);
		if (n == 0)
			return sum;
		if (n > 0)
			sum += n;
		else if (errno != EAGAIN)
			return -1;
	}
	fail_msg("no end after %zd bytes", sum);
	return -1;
}

static void start(struct peer *p, bool has_colors)
{
	peer_init(p);
	if (has_colors)
		assert_int_equal(evhttp_set_color_policy(p->http, EVCONNLISTENER_COLOR_FRESH, NULL, NULL), 0);
	peer_connect(p);
}

/* The client has asked for the end, but goes on. */
static void reply_is_whole_though_input_lies_unread(void **state)
{
	struct peer p;

	(void)state;
	for (int i = 0; i < 4; i++) {
		start(&p, i % 2 != 0);
		evhttp_set_gencb(p.http, reply_big, &p);
		peer_send(&p, i / 2 == 0 ? CLOSE : "GET /a HTTP/1.0\r\n\r\n", i / 2 == 0 ? strlen(CLOSE) : 19);
		peer_send(&p, ahead, sizeof(ahead));
		assert_true(count_until_end(&p) > BIG);
		assert_int_equal(p.handled, 1);
		peer_fini(&p);
	}
}

static void close_big(struct evhttp_request *req, void *arg)
{
	evhttp_add_header(evhttp_request_get_output_headers(req), "Connection", "close");
	reply_big(req, arg);
}

/* Until the server is done with it: it has said its end, which is still unread. */
static void run_until_end_is_near(struct peer *p)
{
	int num = 0;

	for (int i = 0; i < 1000 && num == 0; i++) {
		event_base_loop(p->base, EVLOOP_NONBLOCK);
		assert_int_equal(ioctl(p->fd, FIONREAD, &num), 0);
	}
	assert_true(num > 0);
	for (int i = 0; i < 50; i++)
		event_base_loop(p->base, EVLOOP_NONBLOCK);
}

/* A client that did not know is still sending when the server has closed. */
static void client_may_send_after_an_end_it_did_not_ask_for(void **state)
{
	static const char *const requests[] = {
		"GET /a HTTP/1.1\r\nno colon\r\n",
		"POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n",
		KEEP,
	};
	struct peer p;

	(void)state;
	for (size_t i = 0; i < 2 * ROWS(requests); i++) {
		start(&p, i % 2 != 0);
		evhttp_set_max_body_size(p.http, 1000);
		evhttp_set_gencb(p.http, NULL, NULL);
		peer_send(&p, requests[i / 2], strlen(requests[i / 2]));
		run_until_end_is_near(&p);
		for (int n = 0; n < 10; n++) {
			assert_int_equal(send(p.fd, ahead, sizeof(ahead), MSG_NOSIGNAL), sizeof(ahead));
			event_base_loop(p.base, EVLOOP_NONBLOCK);
		}
		assert_true(count_until_end(&p) > 100);
		peer_fini(&p);
	}
	start(&p, false);
	evhttp_set_gencb(p.http, close_big, &p);
	peer_send(&p, KEEP, strlen(KEEP));
	run_until_end_is_near(&p);
	peer_send(&p, KEEP, strlen(KEEP));
	assert_true(count_until_end(&p) > BIG);
	assert_int_equal(p.handled, 1);
	peer_fini(&p);
}

/* libevent takes a list for no option at all. */
static void close_may_be_one_option_of_several(void **state)
{
	static const char *const values[] = { "close", "foo, close", "close,foo", "foo", "keep-alive, CLOSE" };
	char text[100];
	struct peer p;

	(void)state;
	start(&p, false);
	for (size_t i = 0; i < ROWS(values); i++) {
		bool is_kept = strcmp(values[i], "foo") == 0;

		peer_connect(&p);
		snprintf(text, sizeof(text), "GET /a HTTP/1.1\r\nHost: h\r\nConnection: %s\r\n\r\n", values[i]);
		peer_send(&p, text, strlen(text));
		if (is_kept) {
			peer_run_until(&p, "<0>");
			peer_send(&p, KEEP, strlen(KEEP));
			while (p.handled < 2)
				peer_turn(&p);
		} else {
			peer_run_until_closed(&p);
		}
		assert_row((strstr(p.text, "Connection: close\r\n") == NULL) == is_kept, values[i]);
	}
	peer_fini(&p);
}

/* ---------------------------------------------------------------- limits */

static void linger(struct peer *p, bool has_colors)
{
	start(p, has_colors);
	evhttp_set_gencb(p->http, NULL, NULL);
	peer_send(p, KEEP, strlen(KEEP));
	peer_run_until_closed(p);
	assert_memory_equal(p->text, "HTTP/1.1 404 ", 13);
}

static void server_reads_so_many_bytes_and_no_more(void **state)
{
	enum { MAX = 64 * 1024 * 1024 };
	struct peer p;
	ssize_t n = 0;
	size_t sum;

	(void)state;
	linger(&p, false);
	for (sum = 0; sum < MAX; sum += n > 0 ? (size_t)n : 0) {
		n = send(p.fd, ahead, sizeof(ahead), MSG_NOSIGNAL);
		if (n < 0 && errno != EAGAIN)
			break;
		event_base_loop(p.base, EVLOOP_NONBLOCK);
	}
	assert_true(sum > 1024 * 1024);
	assert_true(sum < MAX);
	peer_fini(&p);
}

static void lose_patience(struct evhttp_request *req, void *arg)
{
	struct timeval tv = { 0, 50000 };

	(void)arg;
	evhttp_connection_set_timeout_tv(evhttp_request_get_connection(req), &tv);
	evhttp_send_error(req, HTTP_NOTFOUND, NULL);
}

struct del {
	struct evhttp *http;
	struct evhttp_bound_socket *bound;
};

static void find_bound(struct evhttp_bound_socket *bound, void *arg)
{
	((struct del *)arg)->bound = bound;
}

/* Without its listener the loop ends when the last connection has. */
static void server_waits_so_long_and_no_longer(void **state)
{
	struct peer p;
	struct del del;

	(void)state;
	for (int has_colors = 0; has_colors < 2; has_colors++) {
		start(&p, has_colors != 0);
		evhttp_set_gencb(p.http, lose_patience, &p);
		peer_send(&p, KEEP, strlen(KEEP));
		peer_run_until_closed(&p);
		evhttp_foreach_bound_socket(p.http, find_bound, &del);
		evhttp_del_accept_socket(p.http, del.bound);
		assert_int_equal(event_base_dispatch(p.base), 1);
		peer_fini(&p);
	}
}

/* ---------------------------------------------------------------- ends */

static void client_may_close_first(void **state)
{
	struct peer p;

	(void)state;
	for (int has_colors = 0; has_colors < 2; has_colors++) {
		linger(&p, has_colors != 0);
		close(p.fd);
		p.fd = -1;
		for (int i = 0; i < 50; i++)
			event_base_loop(p.base, EVLOOP_NONBLOCK);
		peer_fini(&p);
	}
}

static void server_that_is_freed_waits_no_more(void **state)
{
	struct peer p;

	(void)state;
	for (int has_colors = 0; has_colors < 2; has_colors++) {
		linger(&p, has_colors != 0);
		evhttp_free(p.http);
		/* No event is left. */
		assert_int_equal(event_base_dispatch(p.base), 1);
		p.http = evhttp_new(p.base);
		assert_non_null(p.http);
		peer_fini(&p);
	}
}

static void free_it(struct evhttp_connection *conn, void *arg)
{
	((struct peer *)arg)->handled++;
	evhttp_connection_free(conn);
}

static void refuse_and_free_on_close(struct evhttp_request *req, void *arg)
{
	evhttp_connection_set_closecb(evhttp_request_get_connection(req), free_it, arg);
	evhttp_send_error(req, HTTP_NOTFOUND, NULL);
}

/* The program that frees the connection closes it at once: the next bytes reset it. */
static void close_callback_may_free_the_connection(void **state)
{
	struct peer p;
	ssize_t n = 1;

	(void)state;
	start(&p, false);
	evhttp_set_gencb(p.http, refuse_and_free_on_close, &p);
	peer_send(&p, KEEP, strlen(KEEP));
	peer_run_until_closed(&p);
	assert_int_equal(p.handled, 1);
	for (int i = 0; i < 1000 && n > 0; i++)
		n = send(p.fd, ahead, 1, MSG_NOSIGNAL);
	assert_int_equal(n, -1);
	peer_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reply_is_whole_though_input_lies_unread),
		cmocka_unit_test(client_may_send_after_an_end_it_did_not_ask_for),
		cmocka_unit_test(close_may_be_one_option_of_several),
		cmocka_unit_test(server_reads_so_many_bytes_and_no_more),
		cmocka_unit_test(server_waits_so_long_and_no_longer),
		cmocka_unit_test(client_may_close_first),
		cmocka_unit_test(server_that_is_freed_waits_no_more),
		cmocka_unit_test(close_callback_may_free_the_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
