/*
 * What the other side of a connection can make grow: the memory that a message costs while it is read is in
 * proportion to its length, and what has no end does not grow. Bytes are counted by the allocator's hooks.
 */
#include "bytes_server.h"
#include "peer.h"

#include <malloc.h>

static struct {
	size_t live, peak;
} bytes;

static void note(size_t added, size_t removed)
{
	bytes.live += added - removed;
	if (bytes.live > bytes.peak)
		bytes.peak = bytes.live;
}

static void *bytes_malloc(size_t size)
{
	void *p = malloc(size);

	note(malloc_usable_size(p), 0);
	return p;
}

static void *bytes_realloc(void *old, size_t size)
{
	size_t before = malloc_usable_size(old);
	void *p = realloc(old, size);

	if (p != NULL)
		note(malloc_usable_size(p), before);
	return p;
}

static void bytes_free(void *p)
{
	note(0, malloc_usable_size(p));
	free(p);
}

/* From now on `peak` is the most that there is at once. */
static size_t watch(void)
{
	bytes.peak = bytes.live;
	return bytes.live;
}

/* `pattern` again and again. */
static char *repeated(const char *pattern, size_t num)
{
	size_t len = strlen(pattern);
	char *text = malloc(len * num + 1);

	assert_non_null(text);
	for (size_t i = 0; i < num; i++)
		memcpy(text + i * len, pattern, len);
	text[len * num] = '\0';
	return text;
}

/* ---------------------------------------------------------------- servers */

/* In pieces, as a slow client sends; until it is all sent or the server has closed. */
static void peer_send_all(struct peer *p, const char *text, size_t len, size_t step)
{
	for (size_t at = 0; at < len && !p->is_closed; at += step) {
		peer_send(p, text + at, len - at < step ? len - at : step);
		peer_turn(p);
	}
}

/* What a head that consists of such lines costs for each of its bytes. */
static size_t cost_of_head(struct peer *p, const char *first, const char *line, size_t num, size_t step)
{
	static const char begin[] = "GET / HTTP/1.1\r\nHost: h\r\n";
	char *lines = repeated(line, num);
	size_t before;

	peer_connect(p);
	peer_turn(p);
	before = watch();
	peer_send(p, begin, strlen(begin));
	peer_send(p, first, strlen(first));
	peer_send_all(p, lines, strlen(lines), step);
	peer_send(p, "\r\n", 2);
	peer_run_until(p, "\r\n\r\n<0>");
	assert_int_equal(p->handled, 1);
	before = (bytes.peak - before) / (strlen(lines) + 1);
	free(lines);
	return before;
}

static const struct {
	const char *first, *line;
} heads[] = {
	{ "X: y\r\n", " z\r\n" },
	{ "X: y\r\n", "\tz \t \r\n" },
	{ "X:\r\n", " \r\n" },
	{ "", "X: y\r\n z\r\n" },
	{ "", "X:\r\n" },
};

/* Once it was the square of the number of lines that go on with one header. */
static void head_costs_memory_in_proportion(void **state)
{
	struct peer p;
	size_t cost;

	(void)state;
	peer_init(&p);
	evhttp_set_max_headers_size(p.http, 256 * 1024);
	for (size_t i = 0; i < ROWS(heads); i++) {
		for (size_t num = 1000; num <= 16000; num *= 4) {
			cost = cost_of_head(&p, heads[i].first, heads[i].line, num, 4096);
			if (cost > 24)
				fail_msg("%zu times <%s>: %zu bytes for each", num, heads[i].line, cost);
		}
	}
	peer_fini(&p);
}

static void folded_lines_count_with_the_headers(void **state)
{
	char *lines = repeated(" z\r\n", 16000);
	struct peer p;
	size_t before;

	(void)state;
	peer_init(&p);
	evhttp_set_max_headers_size(p.http, 8192);
	peer_connect(&p);
	peer_turn(&p);
	before = watch();
	peer_send(&p, "GET / HTTP/1.1\r\nHost: h\r\nX: y\r\n", 31);
	peer_send_all(&p, lines, strlen(lines), 1024);
	peer_run_until_closed(&p);
	assert_memory_equal(p.text, "HTTP/1.1 400 ", 13);
	assert_int_equal(p.handled, 0);
	assert_true(bytes.peak - before < 64 * 1024);
	peer_fini(&p);
	free(lines);
}

/* The limit is the head's length, or a little more. The lines of a chunked body need no more room. */
static void head_may_leave_no_room_for_chunk_lines(void **state)
{
	static const char message[] = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
				      "2\r\nhi\r\n00000000000a\r\n0123456789\r\n0000000000000000\r\n\r\n";
	/* Its end has four bytes; its four LFs do not count. */
	const ev_ssize_t head_len = strstr(message, "\r\n\r\n") - message;
	struct peer p;

	(void)state;
	for (int more = 0; more < 40; more++) {
		peer_init(&p);
		evhttp_set_max_headers_size(p.http, head_len + more);
		peer_connect(&p);
		peer_send(&p, message, sizeof(message) - 1);
		peer_run_until(&p, "HTTP/1.1 200 OK\r\n");
		assert_string_equal(p.body, "hi0123456789");
		peer_fini(&p);
	}
	/* Many trailers do need room. */
	peer_init(&p);
	evhttp_set_max_headers_size(p.http, head_len);
	peer_connect(&p);
	peer_send(&p, message, sizeof(message) - 3);
	for (int i = 0; i < 10; i++)
		peer_send(&p, "X: y\r\n", 6);
	peer_send(&p, "\r\n", 2);
	peer_run_until_closed(&p);
	assert_memory_equal(p.text, "HTTP/1.1 400 ", 13);
	peer_fini(&p);
}

/* Each byte of a body comes alone. */
static void body_costs_memory_in_proportion(void **state)
{
	enum { LEN = 20000 };
	static const char *const heads_of_bodies[] = { "Content-Length: 20000\r\n\r\n",
						       "Transfer-Encoding: chunked\r\n\r\n" };
	struct peer p;
	size_t before;

	(void)state;
	peer_init(&p);
	for (int is_chunked = 0; is_chunked < 2; is_chunked++) {
		peer_connect(&p);
		peer_turn(&p);
		peer_send(&p, "POST / HTTP/1.1\r\nHost: h\r\n", 26);
		peer_send(&p, heads_of_bodies[is_chunked], strlen(heads_of_bodies[is_chunked]));
		peer_turn(&p);
		before = watch();
		for (int i = 0; i < LEN; i++) {
			peer_send(&p, is_chunked ? "1\r\nx\r\n" : "x", is_chunked ? 6 : 1);
			peer_turn(&p);
		}
		if (is_chunked)
			peer_send(&p, "0\r\n\r\n", 5);
		peer_run_until(&p, "<20000>");
		if (bytes.peak - before > 8 * LEN)
			fail_msg("chunked %d: %zu bytes", is_chunked, bytes.peak - before);
	}
	peer_fini(&p);
}

/* ---------------------------------------------------------------- clients */

/* As long as the client has not closed. */
static void say_all(struct server *s, const char *text, size_t len, size_t step)
{
	for (size_t at = 0; at < len && !s->is_closed; at += step)
		say(s, text + at, len - at < step ? len - at : step, SIZE_MAX / 2);
}

static void answers_head_costs_memory_in_proportion(void **state)
{
	char *lines = repeated(" z\r\n", 16000);
	struct server s;
	size_t before;

	(void)state;
	server_init(&s);
	ask(&s, EVHTTP_REQ_GET, "/1", NULL);
	run_until_asked(&s, "/1");
	before = watch();
	say(&s, "HTTP/1.1 200 OK\r\nX: y\r\n", 23, SIZE_MAX / 2);
	say_all(&s, lines, strlen(lines), 4096);
	say(&s, "Content-Length: 2\r\n\r\nhi", 23, SIZE_MAX / 2);
	run_until_done(&s, 1);
	assert_int_equal(s.code, 200);
	assert_true(bytes.peak - before < 24 * strlen(lines));
	server_fini(&s);
	free(lines);
}

#define EARLY "HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload; as=style\r\n\r\n"

static void interim_responses_cost_nothing_and_have_an_end(void **state)
{
	char *flood = repeated(EARLY, 20000);
	struct server s;
	size_t before;

	(void)state;
	server_init(&s);
	ask(&s, EVHTTP_REQ_GET, "/1", NULL);
	run_until_asked(&s, "/1");
	/* What reading needs is there then. */
	say_all(&s, flood, 100 * strlen(EARLY), 4000);
	before = bytes.live;
	say_all(&s, flood, 700 * strlen(EARLY), 4000);
	assert_int_equal(s.done, 0);
	assert_true(bytes.live <= before);
	say_all(&s, flood, strlen(flood), 4000);
	run_until_done(&s, 1);
	assert_int_equal(s.code, -1);
	assert_int_equal(s.error, EVREQ_HTTP_INVALID_HEADER);
	assert_true(bytes.live <= before);
	server_fini(&s);
	free(flood);
}

static void interim_responses_count_with_the_headers(void **state)
{
	struct server s;

	(void)state;
	server_init(&s);
	evhttp_connection_set_max_headers_size(s.conn, 400);
	for (unsigned n = 0; n < 2; n++) {
		ask(&s, EVHTTP_REQ_GET, "/1", NULL);
		run_until_asked(&s, "/1");
		for (unsigned i = 0; i < (n == 0 ? 5 : 6); i++)
			say(&s, EARLY, strlen(EARLY), 7);
		say(&s, "HTTP/1.1 204 No\r\n\r\n", 19, 7);
		run_until_done(&s, n + 1);
		assert_int_equal(s.code, n == 0 ? 204 : -1);
	}
	server_fini(&s);
}

/* The server says more and more, and does not read what it is asked. */
static void answer_that_comes_early_has_its_limits(void **state)
{
	char *body = repeated("0123456789abcdef", 512 * 1024), *flood = repeated("flood of bytes. ", 256);
	struct evhttp_request *req;
	struct server s;
	size_t before;

	(void)state;
	server_init(&s);
	evhttp_connection_set_max_headers_size(s.conn, 1000);
	evhttp_connection_set_max_body_size(s.conn, 20000);
	req = evhttp_request_new(done_cb, &s);
	evhttp_request_set_error_cb(req, error_cb);
	evbuffer_add_reference(evhttp_request_get_output_buffer(req), body, strlen(body), NULL, NULL);
	assert_int_equal(evhttp_make_request(s.conn, req, EVHTTP_REQ_POST, "/"), 0);
	while (s.fd < 0)
		turn(&s);
	shutdown(s.fd, SHUT_RD);
	before = watch();
	say(&s, "HTTP/1.1 200 OK\r\n\r\n", 19, SIZE_MAX / 2);
	while (s.done == 0) {
		(void)send(s.fd, flood, 4096, MSG_NOSIGNAL);
		event_base_loop(s.base, EVLOOP_NONBLOCK);
	}
	assert_int_equal(s.done, 1);
	assert_int_equal(s.error, EVREQ_HTTP_DATA_TOO_LONG);
	assert_true(bytes.peak - before < 200 * 1024);
	server_fini(&s);
	free(flood);
	free(body);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(head_costs_memory_in_proportion),
		cmocka_unit_test(folded_lines_count_with_the_headers),
		cmocka_unit_test(head_may_leave_no_room_for_chunk_lines),
		cmocka_unit_test(body_costs_memory_in_proportion),
		cmocka_unit_test(answers_head_costs_memory_in_proportion),
		cmocka_unit_test(interim_responses_cost_nothing_and_have_an_end),
		cmocka_unit_test(interim_responses_count_with_the_headers),
		cmocka_unit_test(answer_that_comes_early_has_its_limits),
	};

	event_set_mem_functions(bytes_malloc, bytes_realloc, bytes_free);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
