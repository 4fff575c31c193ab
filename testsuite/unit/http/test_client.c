/*
 * The client's side of evhttp against a server of bytes: what it asks, what it takes for an answer, and what of
 * it is an error. Rows 28 to 31 of docs/http-security.md are here.
 */
#include "bytes_server.h"

#define OK "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
#define EVIL "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"

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

static void answer_and_check(struct server *s, unsigned done)
{
	say(s, OK, strlen(OK), SIZE_MAX / 2);
	run_until_done(s, done);
	assert_int_equal(s->code, 200);
	assert_string_equal(s->body, "hi");
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

static void turns(struct server *s, int num)
{
	for (int i = 0; i < num; i++)
		event_base_loop(s->base, EVLOOP_NONBLOCK);
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
			(void)send(s.fd, OK + at, step == 1 ? 1 : strlen(OK), 0);
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

static void free_conn_cb(struct evhttp_request *req, void *arg)
{
	struct server *s = arg;

	(void)req;
	s->done++;
	evhttp_connection_free(s->conn);
	s->conn = NULL;
}

static void free_conn_error_cb(enum evhttp_request_error error, void *arg)
{
	struct server *s = arg;

	(void)error;
	s->errors++;
	evhttp_connection_free(s->conn);
	s->conn = NULL;
}

/* In each callback that there is; ASan sees what is used after. */
static void connection_may_be_freed_in_its_callbacks(void **state)
{
	struct evhttp_request *req;
	struct server s;

	(void)state;
	for (int which = 0; which < 3; which++) {
		server_init(&s);
		req = evhttp_request_new(which == 2 ? NULL : free_conn_cb, &s);
		if (which == 1)
			evhttp_request_set_chunked_cb(req, (void (*)(struct evhttp_request *, void *))free_conn_cb);
		if (which == 2)
			evhttp_request_set_error_cb(req, free_conn_error_cb);
		assert_int_equal(evhttp_make_request(s.conn, req, EVHTTP_REQ_GET, "/"), 0);
		assert_int_equal(evhttp_make_request(s.conn, evhttp_request_new(NULL, NULL), EVHTTP_REQ_GET, "/"), 0);
		run_until_asked(&s, "GET");
		say(&s, which == 2 ? "nonsense\r\n" : OK, which == 2 ? 10 : strlen(OK), SIZE_MAX / 2);
		for (int i = 0; i < TURNS_MAX && s.conn != NULL; i++)
			turn(&s);
		assert_null(s.conn);
		event_base_loop(s.base, EVLOOP_NONBLOCK);
		event_base_free(s.base);
		close(s.fd);
		close(s.listen_fd);
	}
}

/* ---------------------------------------------------------------- requests that end early */

enum how { BY_FREE, BY_CANCEL, BY_OWNING_AND_FREE, BY_CONNECTION, HOWS_NUM };
enum where { IN_HEADER_CB, IN_CHUNK_CB, IN_DONE_CB, IN_ERROR_CB, WHERES_NUM };

struct ending {
	struct server s;
	struct evhttp_request *req;
	enum how how;
	enum where where;
	unsigned ended;
};

static void end_at(struct ending *e, enum where where)
{
	if (where != e->where || e->ended++ > 0)
		return;
	if (e->how == BY_OWNING_AND_FREE)
		evhttp_request_own(e->req);
	if (e->how == BY_CANCEL) {
		evhttp_cancel_request(e->req);
	} else if (e->how == BY_CONNECTION) {
		evhttp_connection_free(e->s.conn);
		e->s.conn = NULL;
	} else {
		evhttp_request_free(e->req);
	}
}

static int ending_header_cb(struct evhttp_request *req, void *arg)
{
	(void)req;
	end_at(arg, IN_HEADER_CB);
	return 0;
}

static void ending_chunk_cb(struct evhttp_request *req, void *arg)
{
	(void)req;
	end_at(arg, IN_CHUNK_CB);
}

static void ending_done_cb(struct evhttp_request *req, void *arg)
{
	(void)req;
	end_at(arg, IN_DONE_CB);
}

static void ending_error_cb(enum evhttp_request_error error, void *arg)
{
	(void)error;
	end_at(arg, IN_ERROR_CB);
}

static void ending_ask(struct ending *e)
{
	e->req = evhttp_request_new(ending_done_cb, e);
	assert_non_null(e->req);
	evhttp_request_set_header_cb(e->req, ending_header_cb);
	evhttp_request_set_chunked_cb(e->req, ending_chunk_cb);
	evhttp_request_set_error_cb(e->req, ending_error_cb);
	assert_int_equal(evhttp_make_request(e->s.conn, e->req, EVHTTP_REQ_GET, "/1"), 0);
}

/* Whichever way it went, the connection serves the next request. */
static void request_may_end_in_each_of_its_callbacks(void **state)
{
	struct ending e;

	(void)state;
	for (int i = 0; i < HOWS_NUM * WHERES_NUM; i++) {
		memset(&e, 0, sizeof(e));
		e.how = (enum how)(i / WHERES_NUM);
		e.where = (enum where)(i % WHERES_NUM);
		server_init(&e.s);
		ending_ask(&e);
		run_until_asked(&e.s, "GET /1 HTTP/1.1\r\n\r\n");
		say(&e.s, e.where == IN_ERROR_CB ? "nonsense\r\n" : OK, e.where == IN_ERROR_CB ? 10 : strlen(OK),
		    SIZE_MAX / 2);
		for (int turns = 0; turns < TURNS_MAX && e.ended == 0; turns++)
			turn(&e.s);
		assert_int_equal(e.ended, 1);
		if (e.s.conn != NULL) {
			ask(&e.s, EVHTTP_REQ_GET, "/2", NULL);
			run_until_asked(&e.s, "GET /2 HTTP/1.1\r\n\r\n");
			answer_and_check(&e.s, 1);
		} else {
			e.s.conn = evhttp_connection_base_new(e.s.base, NULL, "127.0.0.1", 1);
		}
		server_fini(&e.s);
	}
}

/* From outside, at each stage. */
static void request_may_end_at_each_stage(void **state)
{
	static const char *const said[] = {
		NULL,
		"",
		"HTTP/1.1 103 Early\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nh",
	};
	struct evhttp_request *queued;
	struct ending e;

	(void)state;
	for (size_t i = 0; i < 2 * ROWS(said); i++) {
		const char *text = said[i / 2];

		memset(&e, 0, sizeof(e));
		e.where = WHERES_NUM;
		server_init(&e.s);
		ending_ask(&e);
		queued = ask(&e.s, EVHTTP_REQ_GET, "/queued", NULL);
		ask(&e.s, EVHTTP_REQ_GET, "/2", NULL);
		if (text != NULL) {
			run_until_asked(&e.s, "GET /1 HTTP/1.1\r\n\r\n");
			say(&e.s, text, strlen(text), SIZE_MAX / 2);
			turn(&e.s);
		}
		if (i % 2 == 0) {
			evhttp_request_free(queued);
			evhttp_request_free(e.req);
		} else {
			evhttp_cancel_request(queued);
			evhttp_cancel_request(e.req);
		}
		run_until_asked(&e.s, "GET /2 HTTP/1.1\r\n\r\n");
		assert_null(strstr(e.s.text, "queued"));
		answer_and_check(&e.s, 1);
		server_fini(&e.s);
	}
}

/* ---------------------------------------------------------------- retries */

/* Nobody waits for the retry any more: it neither keeps the loop nor delays who comes next. */
static void retry_ends_with_the_requests_that_wait_for_it(void **state)
{
	static const struct timeval late = { 3000, 0 };
	struct evhttp_request *req;
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);
	struct server s;

	(void)state;
	for (int is_freed = 0; is_freed < 2; is_freed++) {
		server_init(&s);
		assert_int_equal(getsockname(s.listen_fd, (struct sockaddr *)&addr, &len), 0);
		close(s.listen_fd);
		evhttp_connection_set_initial_retry_tv(s.conn, &late);
		evhttp_connection_set_retries(s.conn, 1);
		req = ask(&s, EVHTTP_REQ_GET, "/1", NULL);
		turns(&s, 100);
		assert_int_equal(s.done, 0);
		if (is_freed)
			evhttp_request_free(req);
		else
			evhttp_cancel_request(req);
		assert_int_equal(event_base_dispatch(s.base), 1);
		s.listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		assert_int_equal(bind(s.listen_fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
		assert_int_equal(listen(s.listen_fd, 8), 0);
		ask(&s, EVHTTP_REQ_GET, "/2", NULL);
		run_until_asked(&s, "GET /2 HTTP/1.1\r\n\r\n");
		answer_and_check(&s, 1);
		server_fini(&s);
	}
}

/* ---------------------------------------------------------------- other protocols */

struct tunnel {
	struct server s;
	char got[64];
};

static void tunnel_read_cb(struct bufferevent *bev, void *arg)
{
	struct tunnel *t = arg;
	size_t at = strlen(t->got);
	size_t len = bufferevent_read(bev, t->got + at, sizeof(t->got) - 1 - at);

	t->got[at + len] = '\0';
}

static void tunnel_done_cb(struct evhttp_request *req, void *arg)
{
	struct tunnel *t = arg;
	struct bufferevent *bev = evhttp_connection_get_bufferevent(t->s.conn);

	t->s.done++;
	t->s.code = evhttp_request_get_response_code(req);
	bufferevent_setcb(bev, tunnel_read_cb, NULL, NULL, t);
	bufferevent_write(bev, "ping", 4);
}

/* What comes with the head is the program's, too. */
static void tunnel_is_the_programs(void **state)
{
	static const struct {
		enum evhttp_cmd_type type;
		const char *head;
		int code;
	} rows[] = {
		{ EVHTTP_REQ_GET, "HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nhel", 101 },
		{ EVHTTP_REQ_CONNECT, "HTTP/1.1 200 OK\r\n\r\nhel", 200 },
		{ EVHTTP_REQ_CONNECT, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhel", 200 },
	};
	struct evhttp_request *req;
	struct tunnel t;

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		memset(&t, 0, sizeof(t));
		server_init(&t.s);
		req = evhttp_request_new(tunnel_done_cb, &t);
		assert_int_equal(evhttp_make_request(t.s.conn, req, rows[i].type, "h:1"), 0);
		run_until_asked(&t.s, "\r\n\r\n");
		say(&t.s, rows[i].head, strlen(rows[i].head), SIZE_MAX / 2);
		run_until_asked(&t.s, "ping");
		assert_int_equal(t.s.code, rows[i].code);
		say(&t.s, "lo", 2, 1);
		for (int n = 0; n < TURNS_MAX && strlen(t.got) < 5; n++)
			turn(&t.s);
		assert_string_equal(t.got, "hello");
		assert_int_equal(t.s.closes, 0);
		server_fini(&t.s);
	}
}

static void owned_request_outlives_its_connection(void **state)
{
	struct evhttp_request *req;
	struct server s;

	(void)state;
	server_init(&s);
	req = ask(&s, EVHTTP_REQ_GET, "/1", NULL);
	evhttp_request_own(req);
	assert_int_equal(evhttp_request_is_owned(req), 1);
	run_until_asked(&s, "/1");
	say(&s, OK, strlen(OK), 1);
	run_until_done(&s, 1);
	server_fini(&s);
	assert_int_equal(evhttp_request_get_response_code(req), 200);
	assert_null(evhttp_request_get_connection(req));
	evhttp_request_free(req);
}

static void refused_connection_is_tried_again_then_given_up(void **state)
{
	static const struct timeval soon = { 0, 1 };
	struct server s;

	(void)state;
	server_init(&s);
	close(s.listen_fd);
	s.listen_fd = -1;
	evhttp_connection_set_initial_retry_tv(s.conn, &soon);
	evhttp_connection_set_retries(s.conn, 3);
	ask(&s, EVHTTP_REQ_GET, "/1", NULL);
	ask(&s, EVHTTP_REQ_GET, "/2", NULL);
	event_base_dispatch(s.base);
	/* A response without a code, as nothing went wrong with the requests. */
	assert_int_equal(s.done, 2);
	assert_int_equal(s.errors, 0);
	assert_int_equal(s.code, 0);
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
		cmocka_unit_test(connection_may_be_freed_in_its_callbacks),
		cmocka_unit_test(request_may_end_in_each_of_its_callbacks),
		cmocka_unit_test(request_may_end_at_each_stage),
		cmocka_unit_test(retry_ends_with_the_requests_that_wait_for_it),
		cmocka_unit_test(tunnel_is_the_programs),
		cmocka_unit_test(owned_request_outlives_its_connection),
		cmocka_unit_test(refused_connection_is_tried_again_then_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
