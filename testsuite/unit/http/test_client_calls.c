/*
 * Which callbacks the client makes, how often and in which order: as libevent 2.1 makes them.
 */
#include "bytes_server.h"

#include <stdarg.h>
#include <stdio.h>

static struct {
	size_t len;
	char text[4096];
	int header_result;
} calls;

__attribute__((format(printf, 1, 2))) static void note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	calls.len += (size_t)vsnprintf(calls.text + calls.len, sizeof(calls.text) - calls.len, fmt, ap);
	va_end(ap);
	assert_true(calls.len < sizeof(calls.text));
}

static int note_header(struct evhttp_request *req, void *arg)
{
	const char *value = evhttp_find_header(evhttp_request_get_input_headers(req), "X");

	(void)arg;
	note("header(%d%s%s) ", evhttp_request_get_response_code(req), value != NULL ? " " : "",
	     value != NULL ? value : "");
	return evhttp_request_get_response_code(req) == 100 ? calls.header_result : 0;
}

static void note_chunk(struct evhttp_request *req, void *arg)
{
	((struct server *)arg)->chunks++;
	note("chunk(%zu) ", evbuffer_get_length(evhttp_request_get_input_buffer(req)));
}

static void note_done(struct evhttp_request *req, void *arg)
{
	done_cb(req, arg);
	note("done(%d) ", ((struct server *)arg)->code);
}

static void note_close(struct evhttp_connection *conn, void *arg)
{
	close_cb(conn, arg);
	note("close ");
}

static struct evhttp_request *new_request(struct server *s)
{
	struct evhttp_request *req = evhttp_request_new(note_done, s);

	assert_non_null(req);
	memset(&calls, 0, sizeof(calls));
	evhttp_connection_set_closecb(s->conn, note_close, s);
	evhttp_request_set_header_cb(req, note_header);
	evhttp_request_set_chunked_cb(req, note_chunk);
	evhttp_request_set_error_cb(req, error_cb);
	return req;
}

static void ask_and_note(struct server *s)
{
	server_init(s);
	assert_int_equal(evhttp_make_request(s->conn, new_request(s), EVHTTP_REQ_GET, "/"), 0);
	run_until_asked(s, "GET / HTTP/1.1\r\n\r\n");
}

/* The server closes behind its answer. */
struct answer {
	const char *text, *calls;
};

#define HEAD "HTTP/1.1 200 OK\r\n"
#define CLOSING "Connection: close\r\n"
#define CHUNKED "Transfer-Encoding: chunked\r\n\r\n"

static const struct answer answers[] = {
	{ HEAD "Content-Length: 0\r\n\r\n", "header(200) done(200) close " },
	{ HEAD CLOSING "Content-Length: 0\r\n\r\n", "header(200) close done(200) " },
	{ HEAD "\r\n", "header(200) done(200) close " },
	{ HEAD CLOSING "\r\n", "header(200) close done(200) " },
	{ "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", "header(200) done(200) close " },
	/* a 100 is told of; others are no answers, as libevent takes them for */
	{ "HTTP/1.1 100 Continue\r\nX: y\r\n\r\n" HEAD "Content-Length: 0\r\n\r\n",
	  "header(100 y) header(200) done(200) close " },
	{ "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 100 C\r\n\r\n" HEAD "Content-Length: 0\r\n\r\n",
	  "header(100) header(100) header(200) done(200) close " },
	{ "HTTP/1.1 103 Early\r\n\r\n" HEAD "Content-Length: 0\r\n\r\n", "header(200) done(200) close " },
	/* one call for a chunk, however it comes */
	{ HEAD CHUNKED "5\r\nabcde\r\n3\r\nabc\r\n0\r\n\r\n", "header(200) chunk(5) chunk(3) done(200) close " },
	{ HEAD CLOSING CHUNKED "5\r\nabcde\r\n3\r\nabc\r\n0\r\n\r\n",
	  "header(200) chunk(5) chunk(3) close done(200) " },
};

static void calls_come_in_libevents_order(void **state)
{
	struct server s;

	(void)state;
	for (size_t i = 0; i < 2 * ROWS(answers); i++) {
		const struct answer *answer = &answers[i / 2];

		ask_and_note(&s);
		say(&s, answer->text, strlen(answer->text), i % 2 == 0 ? SIZE_MAX / 2 : 1);
		shutdown(s.fd, SHUT_WR);
		for (int n = 0; n < TURNS_MAX && (s.done == 0 || s.closes == 0); n++)
			turn(&s);
		if (strcmp(calls.text, answer->calls) != 0)
			fail_msg("<%s>: %s, not %s", answer->text, calls.text, answer->calls);
		server_fini(&s);
	}
}

/* The last byte before the line's end completes it. */
static void chunk_is_told_of_when_its_data_is_complete(void **state)
{
	static const char text[] = HEAD CHUNKED "5\r\nabcd";
	struct server s;

	(void)state;
	ask_and_note(&s);
	say(&s, text, strlen(text), SIZE_MAX / 2);
	turns(&s, 5);
	assert_string_equal(calls.text, "header(200) ");
	say(&s, "e", 1, 1);
	turns(&s, 5);
	assert_string_equal(calls.text, "header(200) chunk(5) ");
	say(&s, "\r\n0\r\n\r\n", 7, 1);
	run_until_done(&s, 1);
	assert_string_equal(calls.text, "header(200) chunk(5) done(200) ");
	server_fini(&s);
}

static void long_chunk_comes_in_pieces(void **state)
{
	static char data[64 * 1024];
	static const char *const heads[] = { HEAD CHUNKED "100000\r\n", HEAD CHUNKED "100001\r\n" };
	struct server s;
	size_t sent, len;

	(void)state;
	for (size_t i = 0; i < ROWS(heads); i++) {
		ask_and_note(&s);
		say(&s, heads[i], strlen(heads[i]), SIZE_MAX / 2);
		len = 1024 * 1024 + i;
		for (sent = 0; sent < len;) {
			size_t step = len - sent < sizeof(data) ? len - sent : sizeof(data);
			ssize_t n = send(s.fd, data, step, MSG_NOSIGNAL);

			turns(&s, 1);
			sent += n > 0 ? (size_t)n : 0;
		}
		say(&s, "\r\n0\r\n\r\n", 7, SIZE_MAX / 2);
		run_until_done(&s, 1);
		assert_int_equal(s.code, 200);
		if (i == 0)
			assert_int_equal(s.chunks, 1);
		else
			assert_true(s.chunks > 1);
		server_fini(&s);
	}
}

static void header_callback_may_end_the_request_at_a_100(void **state)
{
	static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n" OK;
	struct server s;

	(void)state;
	ask_and_note(&s);
	calls.header_result = -1;
	say(&s, text, strlen(text), SIZE_MAX / 2);
	run_until_done(&s, 1);
	assert_string_equal(calls.text, "header(100) close done(-1) ");
	server_fini(&s);
}

/* ---------------------------------------------------------------- answers that come early */

enum { LONG_BODY = 16 * 1024 * 1024 };

/* More than the sockets take. */
static void post_much(struct server *s)
{
	struct evhttp_request *req;
	char *body = calloc(1, LONG_BODY);

	assert_non_null(body);
	server_init(s);
	assert_int_equal(evhttp_connection_set_flags(s->conn, EVHTTP_CON_READ_ON_WRITE_ERROR), 0);
	req = new_request(s);
	evbuffer_add(evhttp_request_get_output_buffer(req), body, LONG_BODY);
	free(body);
	assert_int_equal(evhttp_make_request(s->conn, req, EVHTTP_REQ_POST, "/long"), 0);
	while (s->fd < 0) {
		event_base_loop(s->base, EVLOOP_NONBLOCK);
		s->fd = accept4(s->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	}
}

/*
 * RFC 9112, 9.5: the server has answered and closes, or resets, while the request is still written.
 * A program that asked to read after errors gets the answer; without that it gets none, as from libevent.
 */
static void complete_answer_is_delivered_though_the_request_is_cut_short(void **state)
{
	static const struct answer early[] = {
		{ "HTTP/1.1 413 Too long\r\nContent-Length: 0\r\n\r\n", "header(413) done(413) close " },
		{ "HTTP/1.1 413 Too long\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi",
		  "header(413) chunk(2) close done(413) " },
		/* whose end is the connection's */
		{ "HTTP/1.1 413 Too long\r\n\r\n", "header(413) done(413) close " },
		/* not complete */
		{ "HTTP/1.1 413 Too long\r\nContent-Length: 2\r\n\r\n", "header(413) close done(-1) " },
	};
	struct server s;

	(void)state;
	for (size_t i = 0; i < 2 * ROWS(early); i++) {
		const struct answer *answer = &early[i / 2];

		/* A reset completes no answer that ends with the connection. */
		if (i % 2 != 0 && i / 2 == 2)
			continue;
		post_much(&s);
		(void)send(s.fd, answer->text, strlen(answer->text), 0);
		for (int n = 0; n < TURNS_MAX && calls.len == 0; n++)
			turns(&s, 1);
		assert_int_equal(s.done, 0);
		if (i % 2 == 0) {
			shutdown(s.fd, SHUT_WR);
		} else {
			/* With the request unread, this resets. */
			close(s.fd);
			s.fd = -1;
		}
		for (int n = 0; n < TURNS_MAX && (s.done == 0 || s.closes == 0); n++)
			turns(&s, 1);
		if (strcmp(calls.text, answer->calls) != 0)
			fail_msg("%zu <%s>: %s, not %s", i % 2, answer->text, calls.text, answer->calls);
		assert_int_equal(s.errors, s.code == -1);
		/* The next request goes over a new connection. */
		ask(&s, EVHTTP_REQ_GET, "/2", NULL);
		run_until_asked(&s, "GET /2 HTTP/1.1\r\n\r\n");
		answer_and_check(&s, 2);
		server_fini(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_come_in_libevents_order),
		cmocka_unit_test(chunk_is_told_of_when_its_data_is_complete),
		cmocka_unit_test(long_chunk_comes_in_pieces),
		cmocka_unit_test(header_callback_may_end_the_request_at_a_100),
		cmocka_unit_test(complete_answer_is_delivered_though_the_request_is_cut_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
