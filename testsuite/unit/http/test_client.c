/*
 * The client's side of evhttp against a server of bytes: what it asks, what it takes for an answer, and what of
 * it is an error. Rows 28 to 31 of docs/http-security.md are here.
 */
#include "bytes_server.h"

#include <poll.h>

enum { FAILS = -1, FAILS_AT_END = -2 };

struct answer {
	const char *text;
	int code;
	const char *body;
	bool ends;			/* the server closes behind it */
	bool is_kept;			/* the connection is used again */
};

static const struct answer answers[] = {
	{ OK, 200, "hi", false, true },
	{ "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nhi", 200, "hi", false, true },
	{ "HTTP/1.1 404 No such thing\r\nContent-Length: 0\r\n\r\n", 404, "", false, true },
	{ "HTTP/1.1 100 Continue\r\n\r\n" OK, 200, "hi", false, true },
	{ "HTTP/1.1 103 Early\r\nLink: x\r\n\r\n" OK, 200, "hi", false, true },
	{ "HTTP/1.1 204 None\r\n\r\n", 204, "", false, true },
	{ "HTTP/1.1 304 Same\r\nContent-Length: 5\r\n\r\n", 304, "", false, true },
	{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nh\r\n1;x=y\r\ni\r\n0\r\nX: y\r\n\r\n", 200, "hi",
	  false, true },
	{ "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi", 200, "hi", false, false },
	{ "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", 200, "hi", false, false },
	{ "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi", 200, "hi", false, true },
	/* row 31 */
	{ "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
	  200, "hi", false, false },
	{ "HTTP/1.0 304 Same\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n", 304, "", false, false },
	{ "HTTP/1.1 204 None\r\nContent-Length: 2\r\n\r\n", 204, "", false, false },
	{ "HTTP/1.1 204 None\r\nContent-Length: 0\r\n\r\n", 204, "", false, true },
	{ "HTTP/1.1 204 None\r\nTransfer-Encoding: chunked\r\n\r\n", 204, "", false, false },
	{ "HTTP/1.1 200 OK\r\n\r\nhi", 200, "hi", true, false },
	{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nhi", 200, "hi", true, false },
	/* not an answer */
	{ "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi", FAILS_AT_END, NULL, true, false },
	{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n", FAILS_AT_END, NULL, true, false },
	{ "HTTP/1.1 200 OK\r\nContent-Le", FAILS_AT_END, NULL, true, false },
	{ "", FAILS_AT_END, NULL, true, false },
	/* row 29 */
	{ "nonsense\r\n", FAILS, NULL, false, false },
	{ "\r\n" OK, FAILS, NULL, false, false },
	{ "HTTP/1.1 20 OK\r\n\r\n", FAILS, NULL, false, false },
	{ "HTTP/1.1 2000 OK\r\n\r\n", FAILS, NULL, false, false },
	{ "HTTP/1.1 099 OK\r\n\r\n", FAILS, NULL, false, false },
	{ "HTTP/2.0 200 OK\r\n\r\n", FAILS, NULL, false, false },
	{ "HTTP/1.10 200 OK\r\n\r\n", FAILS, NULL, false, false },
	{ "HTTP/1.1 200 O\x01K\r\n\r\n", FAILS, NULL, false, false },
	{ "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n", FAILS, NULL, false, false },
	{ "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nhi", FAILS, NULL, false, false },
	{ "HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nhi", FAILS, NULL, false, false },
	{ "HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nhi", FAILS, NULL, false, false },
	{ "HTTP/1.1 200 OK\r\nX: y\nContent-Length: 2\r\n\r\nhi", FAILS, NULL, false, false },
	{ "HTTP/1.1 200 OK\r\nX: a\rb\r\n\r\nhi", FAILS, NULL, false, false },
	{ "HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n", FAILS, NULL, false, false },
	{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x1\r\nh\r\n0\r\n\r\n", FAILS, NULL, false, false },
	{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nhi\r\n0\r\n\r\n", FAILS, NULL, false, false },
};

static void check(const struct answer *answer, size_t step)
{
	struct server s;

	server_init(&s);
	ask(&s, EVHTTP_REQ_GET, "/1", NULL);
	run_until_asked(&s, "GET /1 HTTP/1.1\r\n\r\n");
	say(&s, answer->text, strlen(answer->text), step);
	if (answer->ends)
		shutdown(s.fd, SHUT_WR);
	run_until_done(&s, 1);
	if (answer->code < 0) {
		assert_row(s.code == -1 && s.errors == 1, answer->text);
		assert_row(s.error == (answer->code == FAILS ? EVREQ_HTTP_INVALID_HEADER : EVREQ_HTTP_EOF),
			   answer->text);
	} else {
		assert_row(s.code == answer->code && s.errors == 0, answer->text);
		assert_row(strcmp(s.body, answer->body) == 0, answer->text);
	}
	assert_row(s.closes == !answer->is_kept, answer->text);
	/* Whatever that was, the next request is answered. */
	ask(&s, EVHTTP_REQ_GET, "/2", NULL);
	run_until_asked(&s, "GET /2 HTTP/1.1\r\n\r\n");
	assert_row(s.closes == !answer->is_kept, answer->text);
	say(&s, OK, strlen(OK), SIZE_MAX / 2);
	run_until_done(&s, 2);
	assert_row(s.code == 200 && strcmp(s.body, "hi") == 0, answer->text);
	server_fini(&s);
}

static void answers_are_taken_whole_and_byte_by_byte(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(answers); i++) {
		check(&answers[i], SIZE_MAX / 2);
		check(&answers[i], 1);
	}
}

/* Row 28 */
static void what_nobody_asked_for_answers_nothing(void **state)
{
	struct server s;

	(void)state;
	server_init(&s);
	ask(&s, EVHTTP_REQ_GET, "/1", NULL);
	run_until_asked(&s, "/1");
	say(&s, OK EVIL, strlen(OK EVIL), SIZE_MAX / 2);
	run_until_done(&s, 1);
	assert_string_equal(s.body, "hi");
	assert_int_equal(s.closes, 1);
	ask(&s, EVHTTP_REQ_GET, "/2", NULL);
	run_until_asked(&s, "/2");
	assert_int_equal(s.done, 1);
	say(&s, OK, strlen(OK), SIZE_MAX / 2);
	run_until_done(&s, 2);
	assert_string_equal(s.body, "hi");
	server_fini(&s);
}

/* The kernel may take its time. */
static void wait_until_readable(struct evhttp_connection *conn)
{
	struct pollfd pfd = { .fd = bufferevent_getfd(evhttp_connection_get_bufferevent(conn)), .events = POLLIN };

	assert_int_equal(poll(&pfd, 1, -1), 1);
}

/* Row 28: the loop has not seen it yet when the next request is made. */
static void what_waits_in_an_idle_connection_answers_nothing(void **state)
{
	struct server s;

	(void)state;
	for (int is_end = 0; is_end < 2; is_end++) {
		server_init(&s);
		ask(&s, EVHTTP_REQ_GET, "/1", NULL);
		run_until_asked(&s, "/1");
		answer_and_check(&s, 1);
		assert_int_equal(s.closes, 0);
		if (is_end)
			shutdown(s.fd, SHUT_WR);
		else
			assert_int_equal(send(s.fd, EVIL, strlen(EVIL), 0), strlen(EVIL));
		wait_until_readable(s.conn);
		ask(&s, EVHTTP_REQ_POST, "/2", "body");
		/* Whom that calls is not called from there. */
		assert_int_equal(s.closes, 0);
		run_until_asked(&s, "\r\n\r\nbody");
		assert_int_equal(s.closes, 1);
		assert_int_equal(s.done, 1);
		answer_and_check(&s, 2);
		assert_int_equal(s.errors, 0);
		server_fini(&s);
	}
}

/* Row 28: it came with the answer before, and the next request waits already. */
static void what_comes_behind_an_answer_is_not_the_next_one(void **state)
{
	struct server s;

	(void)state;
	server_init(&s);
	ask(&s, EVHTTP_REQ_GET, "/1", NULL);
	ask(&s, EVHTTP_REQ_GET, "/2", NULL);
	run_until_asked(&s, "/1");
	say(&s, OK EVIL, strlen(OK EVIL), SIZE_MAX / 2);
	run_until_asked(&s, "/2");
	assert_int_equal(s.done, 1);
	assert_int_equal(s.closes, 1);
	answer_and_check(&s, 2);
	server_fini(&s);
}

static void ask_again_cb(struct evhttp_connection *conn, void *arg)
{
	struct server *s = arg;

	assert_ptr_equal(conn, s->conn);
	if (++s->closes == 1)
		ask(s, EVHTTP_REQ_POST, "/2", "body");
}

static void request_made_as_the_connection_ends_goes_over_the_next_one(void **state)
{
	static const char closing[] = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi";
	struct server s;

	(void)state;
	server_init(&s);
	evhttp_connection_set_closecb(s.conn, ask_again_cb, &s);
	ask(&s, EVHTTP_REQ_GET, "/1", NULL);
	run_until_asked(&s, "/1");
	say(&s, closing, strlen(closing), SIZE_MAX / 2);
	run_until_asked(&s, "\r\n\r\nbody");
	answer_and_check(&s, 2);
	server_fini(&s);
}

/* More than the sockets take. */
enum { LONG_BODY = 16 * 1024 * 1024 };

static struct evhttp_request *post_much(struct server *s)
{
	struct evhttp_request *req = evhttp_request_new(done_cb, s);
	char *body = calloc(1, LONG_BODY);

	assert_non_null(req);
	assert_non_null(body);
	evhttp_request_set_error_cb(req, error_cb);
	evbuffer_add(evhttp_request_get_output_buffer(req), body, LONG_BODY);
	free(body);
	assert_int_equal(evhttp_make_request(s->conn, req, EVHTTP_REQ_POST, "/long"), 0);
	while (s->fd < 0) {
		event_base_loop(s->base, EVLOOP_NONBLOCK);
		s->fd = accept4(s->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	}
	return req;
}

static void answer_may_come_before_the_request_is_out(void **state)
{
	static char room[64 * 1024];
	struct server s;

	(void)state;
	for (size_t step = 1; step <= SIZE_MAX / 2; step += SIZE_MAX / 2 - 1) {
		server_init(&s);
		(void)post_much(&s);
		for (size_t at = 0; at < strlen(OK); at += step) {
			(void)send(s.fd, &OK[at], step == 1 ? 1 : strlen(OK), 0);
			turns(&s, 3);
		}
		assert_int_equal(s.done, 0);
		while (s.done == 0) {
			(void)recv(s.fd, room, sizeof(room), 0);
			turns(&s, 1);
		}
		assert_int_equal(s.code, 200);
		assert_string_equal(s.body, "hi");
		/* And the connection is good for more. */
		while (recv(s.fd, room, sizeof(room), 0) > 0)
			;
		ask(&s, EVHTTP_REQ_GET, "/2", NULL);
		run_until_asked(&s, "/2");
		assert_int_equal(s.closes, 0);
		answer_and_check(&s, 2);
		server_fini(&s);
	}
}

/* What stopped the writing has not stopped it for the next request. */
static void connection_whose_request_was_cut_short_is_made_anew(void **state)
{
	struct server s;

	(void)state;
	for (int is_complete = 0; is_complete < 2; is_complete++) {
		server_init(&s);
		evhttp_connection_set_flags(s.conn, EVHTTP_CON_READ_ON_WRITE_ERROR);
		(void)post_much(&s);
		(void)send(s.fd, OK, strlen(OK) - !is_complete, 0);
		if (is_complete)
			turns(&s, 3);
		else
			(void)send(s.fd, "i", 1, 0);
		shutdown(s.fd, SHUT_WR);
		while (s.done == 0)
			turns(&s, 1);
		assert_int_equal(s.code, 200);
		assert_string_equal(s.body, "hi");
		assert_int_equal(s.closes, 1);
		ask(&s, EVHTTP_REQ_POST, "/2", "body");
		run_until_asked(&s, "\r\n\r\nbody");
		answer_and_check(&s, 2);
		server_fini(&s);
	}
}

/* Row 30 */
static void a_body_has_its_length_in_front(void **state)
{
	static const enum evhttp_cmd_type types[] = { EVHTTP_REQ_GET,   EVHTTP_REQ_POST,   EVHTTP_REQ_HEAD,
						      EVHTTP_REQ_PUT,   EVHTTP_REQ_DELETE, EVHTTP_REQ_OPTIONS,
						      EVHTTP_REQ_TRACE, EVHTTP_REQ_PATCH };
	struct server s;

	(void)state;
	server_init(&s);
	for (unsigned i = 0; i < ROWS(types); i++) {
		ask(&s, types[i], "/", "body");
		run_until_asked(&s, "\r\nContent-Length: 4\r\n\r\nbody");
		say(&s, "HTTP/1.1 204 None\r\n\r\n", 21, SIZE_MAX / 2);
		run_until_done(&s, i + 1);
	}
	ask(&s, EVHTTP_REQ_POST, "/", NULL);
	run_until_asked(&s, "\r\nContent-Length: 0\r\n\r\n");
	server_fini(&s);
}

static void body_waits_for_leave_if_it_said_so(void **state)
{
	struct evhttp_request *req;
	struct server s;

	(void)state;
	server_init(&s);
	req = evhttp_request_new(done_cb, &s);
	evhttp_add_header(evhttp_request_get_output_headers(req), "Expect", "100-continue");
	evbuffer_add(evhttp_request_get_output_buffer(req), "body", 4);
	assert_int_equal(evhttp_make_request(s.conn, req, EVHTTP_REQ_PUT, "/"), 0);
	run_until_asked(&s, "\r\n\r\n");
	for (int i = 0; i < 10; i++)
		turn(&s);
	assert_null(strstr(s.text, "body"));
	say(&s, "HTTP/1.1 100 Continue\r\n\r\n", 25, 1);
	run_until_asked(&s, "\r\n\r\nbody");
	say(&s, OK, strlen(OK), 1);
	run_until_done(&s, 1);
	assert_int_equal(s.code, 200);
	server_fini(&s);
}

static void limits_hold_for_answers(void **state)
{
	struct server s;

	(void)state;
	server_init(&s);
	evhttp_connection_set_max_body_size(s.conn, 1);
	ask(&s, EVHTTP_REQ_GET, "/1", NULL);
	run_until_asked(&s, "/1");
	say(&s, OK, strlen(OK), 1);
	run_until_done(&s, 1);
	assert_int_equal(s.error, EVREQ_HTTP_DATA_TOO_LONG);
	evhttp_connection_set_max_headers_size(s.conn, 20);
	ask(&s, EVHTTP_REQ_GET, "/2", NULL);
	run_until_asked(&s, "/2");
	say(&s, OK, strlen(OK), 1);
	run_until_done(&s, 2);
	assert_int_equal(s.error, EVREQ_HTTP_INVALID_HEADER);
	server_fini(&s);
}

static void cancelled_request_is_told_by_error_alone(void **state)
{
	struct evhttp_request *first, *second;
	struct server s;

	(void)state;
	server_init(&s);
	first = ask(&s, EVHTTP_REQ_GET, "/1", NULL);
	second = ask(&s, EVHTTP_REQ_GET, "/2", NULL);
	ask(&s, EVHTTP_REQ_GET, "/3", NULL);
	run_until_asked(&s, "/1");
	evhttp_cancel_request(second);
	assert_int_equal(s.errors, 0);
	evhttp_cancel_request(first);
	assert_int_equal(s.errors, 1);
	assert_int_equal(s.error, EVREQ_HTTP_REQUEST_CANCEL);
	assert_int_equal(s.done, 0);
	run_until_asked(&s, "/3");
	say(&s, OK, strlen(OK), 1);
	run_until_done(&s, 1);
	assert_int_equal(s.code, 200);
	server_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_taken_whole_and_byte_by_byte),
		cmocka_unit_test(what_nobody_asked_for_answers_nothing),
		cmocka_unit_test(what_waits_in_an_idle_connection_answers_nothing),
		cmocka_unit_test(what_comes_behind_an_answer_is_not_the_next_one),
		cmocka_unit_test(request_made_as_the_connection_ends_goes_over_the_next_one),
		cmocka_unit_test(answer_may_come_before_the_request_is_out),
		cmocka_unit_test(connection_whose_request_was_cut_short_is_made_anew),
		cmocka_unit_test(a_body_has_its_length_in_front),
		cmocka_unit_test(body_waits_for_leave_if_it_said_so),
		cmocka_unit_test(limits_hold_for_answers),
		cmocka_unit_test(cancelled_request_is_told_by_error_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
