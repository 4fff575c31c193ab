/*
 * What a server's handlers may do with a request and its connection: reply in the wrong order, or twice, or not at
 * all, and free whatever there is in whichever callback. The client must be able to tell what it got, and the
 * connection must not stay. ASan sees what is used after.
 */
#include "peer.h"

struct scene;
typedef void act_fn(struct scene *s);

struct scene {
	struct peer p;
	struct evhttp_request *req;
	struct evhttp_connection *conn;
	unsigned chunk_calls, completed, closes;
	act_fn *act;			/* what the handler does */
};

static struct evbuffer *text_buffer(const char *text)
{
	struct evbuffer *buf = evbuffer_new();

	assert_non_null(buf);
	evbuffer_add(buf, text, strlen(text));
	return buf;
}

static void send_chunk(struct scene *s, const char *text)
{
	struct evbuffer *buf = text_buffer(text);

	evhttp_send_reply_chunk(s->req, buf);
	evbuffer_free(buf);
}

static void send_whole(struct scene *s, int code, const char *text)
{
	struct evbuffer *buf = text_buffer(text);

	evhttp_send_reply(s->req, code, NULL, buf);
	evbuffer_free(buf);
}

static void handle(struct evhttp_request *req, void *arg)
{
	struct scene *s = arg;

	s->p.handled++;
	s->req = req;
	s->conn = evhttp_request_get_connection(req);
	s->act(s);
}

static void ignore_log(int severity, const char *msg)
{
	(void)severity;
	(void)msg;
}

static void scene_init(struct scene *s, act_fn *act)
{
	memset(s, 0, sizeof(*s));
	peer_init(&s->p);
	s->act = act;
	evhttp_set_gencb(s->p.http, handle, s);
	peer_connect(&s->p);
}

static void scene_fini(struct scene *s)
{
	peer_fini(&s->p);
}

static void scene_ask(struct scene *s, const char *text)
{
	peer_send(&s->p, text, strlen(text));
}

#define ASK "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
#define ASK_10 "GET / HTTP/1.0\r\n\r\n"
#define ASK_HEAD "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n"

static unsigned count(const char *text, const char *what)
{
	unsigned num = 0;

	while ((text = strstr(text, what)) != NULL) {
		text++;
		num++;
	}
	return num;
}

/* And what else is written goes out with the next answer, or in the turns behind the last one. */
static void run_until_answered(struct scene *s, unsigned num)
{
	for (int turns = 0; turns < PEER_TURNS_MAX && count(s->p.text, "HTTP/1.1 200 ") < num; turns++)
		peer_turn(&s->p);
	assert_int_equal(s->p.handled, num);
	for (int turns = 0; turns < 20; turns++)
		peer_turn(&s->p);
}

/* ---------------------------------------------------------------- replies out of order */

static void whole_twice(struct scene *s)
{
	send_whole(s, 200, "first");
	send_whole(s, 201, "second");
}

static void error_after_whole(struct scene *s)
{
	send_whole(s, 200, "first");
	evhttp_send_error(s->req, 500, NULL);
}

static void start_after_whole(struct scene *s)
{
	send_whole(s, 200, "first");
	evhttp_send_reply_start(s->req, 200, NULL);
	send_chunk(s, "second");
	evhttp_send_reply_end(s->req);
}

static void streamed_twice(struct scene *s)
{
	evhttp_send_reply_start(s->req, 200, NULL);
	evhttp_send_reply_start(s->req, 200, NULL);
	send_chunk(s, "first");
	evhttp_send_reply_end(s->req);
	evhttp_send_reply_end(s->req);
	send_chunk(s, "second");
}

static void chunk_before_start(struct scene *s)
{
	send_chunk(s, "second");
	send_whole(s, 200, "first");
}

/* One reply each, and the connection goes on. */
static void only_the_first_reply_is_sent(void **state)
{
	static act_fn *const acts[] = { whole_twice, error_after_whole, start_after_whole,
					streamed_twice, chunk_before_start };
	struct scene s;

	(void)state;
	for (size_t i = 0; i < ROWS(acts); i++) {
		scene_init(&s, acts[i]);
		scene_ask(&s, ASK ASK);
		run_until_answered(&s, 2);
		if (count(s.p.text, "HTTP/1.1 ") != 2 || count(s.p.text, "first") != 2 ||
		    count(s.p.text, "second") != 0 || count(s.p.text, "0\r\n\r\n") > 2)
			fail_msg("%zu: %s", i, s.p.text);
		scene_fini(&s);
	}
}

static void whole_amid_stream(struct scene *s)
{
	evhttp_send_reply_start(s->req, 200, NULL);
	send_chunk(s, "part");
	send_whole(s, 201, "second");
}

static void error_amid_stream(struct scene *s)
{
	evhttp_send_reply_start(s->req, 200, NULL);
	send_chunk(s, "part");
	evhttp_send_error(s->req, 500, NULL);
}

static void end_without_start(struct scene *s)
{
	evhttp_send_reply_end(s->req);
}

/* It must not look complete, and no other one may stand in it. */
static void reply_that_cannot_be_ended_well_ends_the_connection(void **state)
{
	static act_fn *const acts[] = { whole_amid_stream, error_amid_stream, end_without_start };
	struct scene s;

	(void)state;
	for (size_t i = 0; i < ROWS(acts); i++) {
		scene_init(&s, acts[i]);
		scene_ask(&s, ASK ASK);
		peer_run_until_closed(&s.p);
		assert_int_equal(s.p.handled, 1);
		if (count(s.p.text, "HTTP/1.1 ") > 1 || count(s.p.text, "0\r\n\r\n") != 0 ||
		    count(s.p.text, "<H") != 0 || count(s.p.text, "second") != 0)
			fail_msg("%zu: %s", i, s.p.text);
		scene_fini(&s);
	}
}

static void streamed_and_kept(struct scene *s)
{
	evhttp_add_header(evhttp_request_get_output_headers(s->req), "Connection", "keep-alive");
	evhttp_send_reply_start(s->req, 200, NULL);
	send_chunk(s, "all");
	evhttp_send_reply_end(s->req);
}

static void body_without_length_ends_with_the_connection(void **state)
{
	static const char *const asks[] = { ASK_10, "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" };
	struct scene s;

	(void)state;
	for (size_t i = 0; i < ROWS(asks); i++) {
		scene_init(&s, streamed_and_kept);
		scene_ask(&s, asks[i]);
		peer_run_until_closed(&s.p);
		assert_non_null(strstr(s.p.text, "\r\n\r\nall"));
		scene_fini(&s);
	}
}

static void keeps_whole(struct scene *s)
{
	struct evbuffer *buf = text_buffer("all");

	evhttp_add_header(evhttp_request_get_output_headers(s->req), "Connection", "keep-alive");
	evhttp_send_reply(s->req, 200, NULL, buf);
	evbuffer_free(buf);
}

/* The handler's header alone does not keep it: the reply to such a client has no length. */
static void client_of_http_10_must_ask_for_its_connection(void **state)
{
	struct scene s;

	(void)state;
	scene_init(&s, keeps_whole);
	scene_ask(&s, ASK_10);
	peer_run_until_closed(&s.p);
	assert_non_null(strstr(s.p.text, "\r\n\r\nall"));
	scene_fini(&s);
	scene_init(&s, keeps_whole);
	scene_ask(&s, "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET / HTTP/1.0\r\n\r\n");
	peer_run_until_closed(&s.p);
	assert_int_equal(count(s.p.text, "\r\n\r\nall"), 2);
	assert_int_equal(count(s.p.text, "Content-Length: 3\r\n"), 1);
	scene_fini(&s);
}

static void chunk_cb(struct evhttp_connection *conn, void *arg)
{
	struct scene *s = arg;
	struct evbuffer *buf = text_buffer(s->chunk_calls % 2 == 0 ? "" : "more");

	assert_ptr_equal(conn, s->conn);
	if (++s->chunk_calls % 4 == 0)
		evhttp_send_reply_end(s->req);
	else
		evhttp_send_reply_chunk_with_cb(s->req, buf, chunk_cb, s);
	evbuffer_free(buf);
}

static void stream_by_callback(struct scene *s)
{
	struct evbuffer *buf = text_buffer("begin");

	evhttp_send_reply_start(s->req, 200, NULL);
	evhttp_send_reply_chunk_with_cb(s->req, buf, chunk_cb, s);
	evbuffer_free(buf);
}

/* Also where there is nothing to write: of a chunk that is empty, or of the body of a reply to HEAD. */
static void stream_goes_on_by_its_callbacks(void **state)
{
	static const char *const asks[] = { ASK ASK, ASK_HEAD ASK_HEAD };
	struct scene s;

	(void)state;
	for (size_t i = 0; i < ROWS(asks); i++) {
		scene_init(&s, stream_by_callback);
		scene_ask(&s, asks[i]);
		for (int turns = 0; turns < PEER_TURNS_MAX && s.chunk_calls < 8; turns++)
			peer_turn(&s.p);
		assert_int_equal(s.chunk_calls, 8);
		run_until_answered(&s, 2);
		assert_int_equal(count(s.p.text, "HTTP/1.1 200 "), 2);
		assert_int_equal(count(s.p.text, "0\r\n\r\n"), i == 0 ? 2 : 0);
		scene_fini(&s);
	}
}

/* ---------------------------------------------------------------- ends */

static void on_close(struct evhttp_connection *conn, void *arg)
{
	struct scene *s = arg;

	assert_ptr_equal(conn, s->conn);
	s->closes++;
}

static void free_request(struct scene *s)
{
	evhttp_connection_set_closecb(s->conn, on_close, s);
	evhttp_request_free(s->req);
}

static void free_request_amid_stream(struct scene *s)
{
	evhttp_send_reply_start(s->req, 200, NULL);
	send_chunk(s, "part");
	free_request(s);
}

static void own_and_free_request(struct scene *s)
{
	evhttp_request_own(s->req);
	free_request(s);
}

/* Nobody will reply to it any more. */
static void freed_request_ends_its_connection(void **state)
{
	static act_fn *const acts[] = { free_request, free_request_amid_stream, own_and_free_request };
	struct scene s;

	(void)state;
	for (size_t i = 0; i < ROWS(acts); i++) {
		scene_init(&s, acts[i]);
		scene_ask(&s, ASK ASK);
		peer_run_until_closed(&s.p);
		assert_int_equal(s.p.handled, 1);
		assert_int_equal(s.closes, 1);
		scene_fini(&s);
	}
}

/* The program streams, and learns that the client has closed, whatever that has sent before. */
static void stream_without_end(struct scene *s)
{
	evhttp_connection_set_closecb(s->conn, on_close, s);
	evhttp_send_reply_start(s->req, 200, NULL);
	send_chunk(s, "part");
}

static void streamed_reply_sees_the_close_behind_other_input(void **state)
{
	static const struct {
		const char *with, *later;	/* the request, and behind the start of the reply */
		bool is_half;
	} cases[] = {
		{ ASK, NULL, false },
		{ ASK "\r\n", NULL, false },
		{ ASK "\r\n", NULL, true },
		{ ASK ASK, NULL, false },
		{ ASK ASK, NULL, true },
		{ ASK, "\r\n", false },
		{ ASK, ASK, true },
		{ "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc\r\n", "x", true },
	};
	struct scene s;

	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		scene_init(&s, stream_without_end);
		scene_ask(&s, cases[i].with);
		peer_run_until(&s.p, "part");
		if (cases[i].later != NULL)
			scene_ask(&s, cases[i].later);
		for (int turns = 0; turns < 20; turns++)
			peer_turn(&s.p);
		assert_int_equal(s.closes, 0);
		assert_int_equal(shutdown(s.p.fd, cases[i].is_half ? SHUT_WR : SHUT_RDWR), 0);
		for (int turns = 0; turns < PEER_TURNS_MAX && s.closes == 0; turns++)
			event_base_loop(s.p.base, EVLOOP_NONBLOCK);
		assert_int_equal(s.p.handled, 1);
		assert_int_equal(s.closes, 1);
		assert_null(evhttp_request_get_connection(s.req));
		evhttp_request_free(s.req);
		scene_fini(&s);
	}
}

/* The rest of the input waits in the kernel, so that a client cannot fill the server's memory. */
static void streamed_reply_takes_no_more_than_it_needs(void **state)
{
	static char many[1 << 20];
	struct scene s;

	(void)state;
	memset(many, 'x', sizeof(many));
	scene_init(&s, stream_without_end);
	scene_ask(&s, ASK);
	peer_run_until(&s.p, "part");
	for (int turns = 0; turns < PEER_TURNS_MAX; turns++) {
		(void)send(s.p.fd, many, sizeof(many), MSG_DONTWAIT | MSG_NOSIGNAL);
		event_base_loop(s.p.base, EVLOOP_NONBLOCK);
	}
	assert_in_range(evbuffer_get_length(bufferevent_get_input(evhttp_connection_get_bufferevent(s.conn))), 1,
			64 * 1024);
	evhttp_request_free(s.req);
	scene_fini(&s);
}

static void cancel_request(struct scene *s)
{
	evhttp_connection_set_closecb(s->conn, on_close, s);
	evhttp_cancel_request(s->req);
}

static void cancelled_request_ends_its_connection(void **state)
{
	struct scene s;

	(void)state;
	scene_init(&s, cancel_request);
	scene_ask(&s, ASK ASK);
	peer_run_until_closed(&s.p);
	assert_int_equal(s.p.handled, 1);
	assert_int_equal(s.closes, 1);
	scene_fini(&s);
}

/* Which of both it is that ends there. */
static bool is_server_freed;

static void end_all(struct scene *s)
{
	if (is_server_freed && s->p.http != NULL) {
		struct evhttp *http = s->p.http;

		s->p.http = NULL;
		evhttp_free(http);
	} else if (!is_server_freed) {
		evhttp_connection_free(s->conn);
	}
}

static void end_cb(struct evhttp_request *req, void *arg)
{
	(void)req;
	end_all(arg);
}

static void end_conn_cb(struct evhttp_connection *conn, void *arg)
{
	struct scene *s = arg;

	(void)conn;
	s->closes++;
	end_all(s);
}

static void end_in_completion(struct scene *s)
{
	evhttp_request_set_on_complete_cb(s->req, end_cb, s);
	send_whole(s, 200, "first");
}

static void end_in_chunk_cb(struct scene *s)
{
	struct evbuffer *buf = text_buffer("begin");

	evhttp_send_reply_start(s->req, 200, NULL);
	evhttp_send_reply_chunk_with_cb(s->req, buf, end_conn_cb, s);
	evbuffer_free(buf);
}

/* Ends in the close callback of what ends already. */
static void end_in_close_cb(struct scene *s)
{
	evhttp_connection_set_closecb(s->conn, end_conn_cb, s);
	end_all(s);
}

static void end_in_close_cb_after_reply(struct scene *s)
{
	evhttp_connection_set_closecb(s->conn, end_conn_cb, s);
	evhttp_add_header(evhttp_request_get_output_headers(s->req), "Connection", "close");
	send_whole(s, 200, "first");
}

static void end_after_start(struct scene *s)
{
	evhttp_send_reply_start(s->req, 200, NULL);
	end_all(s);
}

static void end_after_reply(struct scene *s)
{
	send_whole(s, 200, "first");
	end_all(s);
}

static void all_may_end_in_each_callback(void **state)
{
	static act_fn *const acts[] = {
		end_all,	 end_in_completion, end_in_chunk_cb, end_in_close_cb, end_in_close_cb_after_reply,
		end_after_start, end_after_reply,
	};
	struct scene s;

	(void)state;
	for (size_t i = 0; i < 2 * ROWS(acts); i++) {
		is_server_freed = i % 2 == 1;
		scene_init(&s, acts[i / 2]);
		scene_ask(&s, ASK ASK);
		peer_run_until_closed(&s.p);
		assert_int_equal(s.p.handled, 1);
		assert_true(s.closes <= 1);
		if (s.p.http == NULL)
			s.p.http = evhttp_new(s.p.base);
		scene_fini(&s);
	}
}

/* The program frees what its close callback frees as well. */
static void connection_freed_from_outside_may_be_freed_by_its_close_cb(void **state)
{
	struct scene s;

	(void)state;
	for (int i = 0; i < 2; i++) {
		is_server_freed = i == 1;
		memset(&s, 0, sizeof(s));
		peer_init(&s.p);
		s.conn = evhttp_connection_base_new(s.p.base, NULL, "127.0.0.1", ntohs(s.p.addr.sin_port));
		evhttp_connection_set_closecb(s.conn, end_conn_cb, &s);
		assert_int_equal(evhttp_make_request(s.conn, evhttp_request_new(NULL, NULL), EVHTTP_REQ_GET, "/"), 0);
		for (int turns = 0; turns < PEER_TURNS_MAX && s.p.handled == 0; turns++)
			event_base_loop(s.p.base, EVLOOP_NONBLOCK);
		assert_int_equal(s.p.handled, 1);
		evhttp_connection_free(s.conn);
		assert_int_equal(s.closes, 1);
		if (s.p.http == NULL)
			s.p.http = evhttp_new(s.p.base);
		peer_fini(&s.p);
	}
}

/* ---------------------------------------------------------------- versions */

static void reply_is_of_a_version_that_there_is(void **state)
{
	static const char *const asks[][2] = {
		{ "GET / HTTP/1.2\r\nHost: h\r\n\r\n", "HTTP/1.1 200 OK\r\n" },
		{ "GET / HTTP/1.9\r\nHost: h\r\n\r\n", "HTTP/1.1 200 OK\r\n" },
		{ "GET / HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 200 OK\r\n" },
		{ "GET / HTTP/1.0\r\nHost: h\r\n\r\n", "HTTP/1.0 200 OK\r\n" },
		{ "GET / HTTP/0.9\r\nHost: h\r\n\r\n", "HTTP/0.9 200 OK\r\n" },
	};
	struct peer p;

	(void)state;
	peer_init(&p);
	for (size_t i = 0; i < ROWS(asks); i++) {
		peer_connect(&p);
		peer_send(&p, asks[i][0], strlen(asks[i][0]));
		peer_run_until(&p, "\r\n\r\n");
		if (strncmp(p.text, asks[i][1], strlen(asks[i][1])) != 0)
			fail_msg("%s: %s", asks[i][0], p.text);
	}
	peer_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_the_first_reply_is_sent),
		cmocka_unit_test(reply_that_cannot_be_ended_well_ends_the_connection),
		cmocka_unit_test(body_without_length_ends_with_the_connection),
		cmocka_unit_test(client_of_http_10_must_ask_for_its_connection),
		cmocka_unit_test(stream_goes_on_by_its_callbacks),
		cmocka_unit_test(freed_request_ends_its_connection),
		cmocka_unit_test(streamed_reply_sees_the_close_behind_other_input),
		cmocka_unit_test(streamed_reply_takes_no_more_than_it_needs),
		cmocka_unit_test(cancelled_request_ends_its_connection),
		cmocka_unit_test(all_may_end_in_each_callback),
		cmocka_unit_test(connection_freed_from_outside_may_be_freed_by_its_close_cb),
		cmocka_unit_test(reply_is_of_a_version_that_there_is),
	};

	event_set_log_callback(ignore_log);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
