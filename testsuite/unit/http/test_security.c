/*
 * What docs/http-security.md promises: a test for each row of its table, whose number is in the row. Each
 * request is sent whole and byte by byte.
 */
#include "peer.h"

enum outcome {
	REFUSED_400,
	REFUSED_413,
	REFUSED_417,
	REFUSED_501,
	TAKEN,				/* by the handler, with the body and headers that are said */
};

struct row {
	const char *number;		/* in the document */
	const char *request;
	size_t len;			/* of a request with NUL in it, else 0 */
	enum outcome outcome;
	const char *body, *headers;
};

#define HEAD "POST /a HTTP/1.1\r\nHost: h\r\n"
#define CHUNKED HEAD "Transfer-Encoding: chunked\r\n\r\n"
#define HOST(value) "GET /a HTTP/1.1\r\nHost: " value "\r\n\r\n"
#define TARGET(method, target) method " " target " HTTP/1.1\r\nHost: h\r\n\r\n"
#define WITH_NUL(s) s, sizeof(s) - 1

static const struct row rows[] = {
	/* two lengths */
	{ "1", HEAD "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
	  .outcome = REFUSED_400 },
	{ "1", HEAD "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
	  .outcome = REFUSED_400 },
	{ "2", HEAD "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", .outcome = REFUSED_400 },
	{ "2", HEAD "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", .outcome = REFUSED_400 },
	{ "2", HEAD "Content-Length: 3, 3\r\n\r\nabc", .outcome = REFUSED_400 },
	/* lengths that are none */
	{ "3", HEAD "Content-Length: +3\r\n\r\nabc", .outcome = REFUSED_400 },
	{ "3", HEAD "Content-Length: -3\r\n\r\nabc", .outcome = REFUSED_400 },
	{ "3", HEAD "Content-Length: 0x3\r\n\r\nabc", .outcome = REFUSED_400 },
	{ "3", HEAD "Content-Length: 3 3\r\n\r\nabc", .outcome = REFUSED_400 },
	{ "3", HEAD "Content-Length:\r\n\r\nabc", .outcome = REFUSED_400 },
	{ "3", HEAD "Content-Length: 99999999999999999999\r\n\r\nabc", .outcome = REFUSED_400 },
	{ "3", HEAD "Content-Length: 9223372036854775808\r\n\r\nabc", .outcome = REFUSED_400 },
	{ "3", HEAD "Content-Length: \t 03 \t\r\n\r\nabc", .outcome = TAKEN, .body = "abc" },
	/* codings */
	{ "4", HEAD "Transfer-Encoding: gzip\r\n\r\nabc", .outcome = REFUSED_400 },
	{ "4", HEAD "Transfer-Encoding: identity\r\n\r\nabc", .outcome = REFUSED_400 },
	{ "4", HEAD "Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n", .outcome = REFUSED_400 },
	{ "4", HEAD "Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n\r\n0\r\n\r\n",
	  .outcome = REFUSED_400 },
	{ "4", HEAD "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", .outcome = REFUSED_400 },
	{ "4", HEAD "Transfer-Encoding: chunked,\r\n\r\n0\r\n\r\n", .outcome = REFUSED_400 },
	{ "4", HEAD "Transfer-Encoding:\r\n\r\n0\r\n\r\n", .outcome = REFUSED_400 },
	{ "4", HEAD "Transfer-Encoding: gzip, chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", .outcome = TAKEN,
	  .body = "abc" },
	{ "5", HEAD "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", .outcome = REFUSED_400 },
	{ "5", HEAD "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	  .outcome = REFUSED_400 },
	{ "5", HEAD "Transfer-Encoding: chunked;q=1\r\n\r\n0\r\n\r\n", .outcome = REFUSED_400 },
	{ "6", "POST /a HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", .outcome = REFUSED_400 },
	/* header names */
	{ "7", HEAD "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", .outcome = REFUSED_400 },
	{ "7", HEAD "X Y: z\r\n\r\n", .outcome = REFUSED_400 },
	{ "7", HEAD ": z\r\n\r\n", .outcome = REFUSED_400 },
	{ "7", HEAD "X(: z\r\n\r\n", .outcome = REFUSED_400 },
	{ "7", HEAD "X\x80: z\r\n\r\n", .outcome = REFUSED_400 },
	{ "7", HEAD "no colon\r\n\r\n", .outcome = REFUSED_400 },
	/* lines that go on */
	{ "8", HEAD "X: a\r\n\t b \r\n\r\n", .outcome = TAKEN, .body = "", .headers = "Host=h|X=a b|" },
	{ "8", HEAD "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n", .outcome = REFUSED_400 },
	{ "8", HEAD "Content-Length: 1\r\n 0\r\n\r\n0123456789", .outcome = REFUSED_400 },
	{ "8", "GET /a HTTP/1.1\r\nHost: h\r\n .example\r\n\r\n", .outcome = REFUSED_400 },
	{ "8", "GET /a HTTP/1.1\r\n Host: h\r\n\r\n", .outcome = REFUSED_400 },
	/* ends of lines */
	{ "9", HEAD "X: a\nContent-Length: 3\r\n\r\nabc", .outcome = REFUSED_400 },
	{ "9", HEAD "X: a\r\n\nabc", .outcome = REFUSED_400 },
	{ "9", "GET /a HTTP/1.1\nHost: h\r\n\r\n", .outcome = REFUSED_400 },
	{ "9", "GET /a HTTP/1.1\nHost: h\n\n", .outcome = TAKEN, .body = "", .headers = "Host=h|" },
	{ "10", HEAD "X: a\rb\r\n\r\n", .outcome = REFUSED_400 },
	{ "10", "GET /a HTTP/1.1\r\r\nHost: h\r\n\r\n", .outcome = REFUSED_400 },
	{ "10", "GET /a\r HTTP/1.1\r\nHost: h\r\n\r\n", .outcome = REFUSED_400 },
	/* bytes that are no text */
	{ "11", WITH_NUL(HEAD "X: a\0b\r\n\r\n"), REFUSED_400, NULL, NULL },
	{ "11", WITH_NUL(HEAD "X\0: ab\r\n\r\n"), REFUSED_400, NULL, NULL },
	{ "11", WITH_NUL("GET /a\0b HTTP/1.1\r\nHost: h\r\n\r\n"), REFUSED_400, NULL, NULL },
	{ "11", HEAD "X: a\x01\r\n\r\n", .outcome = REFUSED_400 },
	{ "11", HEAD "X: a\x7f\r\n\r\n", .outcome = REFUSED_400 },
	{ "11", HEAD "X: a\x80\xff\r\n\r\n", .outcome = TAKEN, .body = "", .headers = "Host=h|X=a\x80\xff|" },
	{ "12", "GET /a%00b HTTP/1.1\r\nHost: h\r\n\r\n", .outcome = REFUSED_400 },
	{ "12", "GET /%00 HTTP/1.1\r\nHost: h\r\n\r\n", .outcome = REFUSED_400 },
	{ "12", "GET /a?b=%00 HTTP/1.1\r\nHost: h\r\n\r\n", .outcome = TAKEN, .body = "" },
	{ "13", "GET /a\x01 HTTP/1.1\r\nHost: h\r\n\r\n", .outcome = REFUSED_400 },
	{ "13", "GET /a\tb HTTP/1.1\r\nHost: h\r\n\r\n", .outcome = REFUSED_400 },
	{ "13", "GET  /a HTTP/1.1\r\nHost: h\r\n\r\n", .outcome = REFUSED_400 },
	/* versions and methods */
	{ "14", "GET /a HTTP/1.10\r\nHost: h\r\n\r\n", .outcome = REFUSED_400 },
	{ "14", "GET /a HTTP/-1.1\r\nHost: h\r\n\r\n", .outcome = REFUSED_400 },
	{ "14", "GET /a HTTP/2.0\r\nHost: h\r\n\r\n", .outcome = REFUSED_400 },
	{ "14", "GET /a http/1.1\r\nHost: h\r\n\r\n", .outcome = REFUSED_400 },
	{ "14", "GET /a\r\nHost: h\r\n\r\n", .outcome = REFUSED_400 },
	{ "15", "get /a HTTP/1.1\r\nHost: h\r\n\r\n", .outcome = REFUSED_501 },
	{ "15", "PATCH /a HTTP/1.1\r\nHost: h\r\n\r\n", .outcome = REFUSED_501 },
	{ "15", "G(T /a HTTP/1.1\r\nHost: h\r\n\r\n", .outcome = REFUSED_400 },
	/* hosts */
	{ "16", HEAD "Host: h\r\n\r\n", .outcome = REFUSED_400 },
	{ "16", HEAD "host: i\r\n\r\n", .outcome = REFUSED_400 },
	{ "16", "GET http://h/a HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n", .outcome = REFUSED_400 },
	{ "33", HOST("a b"), .outcome = REFUSED_400 },
	{ "33", HOST("a,b"), .outcome = REFUSED_400 },
	{ "33", HOST("a, b"), .outcome = REFUSED_400 },
	{ "33", HOST("u@h"), .outcome = REFUSED_400 },
	{ "33", HOST("u:p@h:80"), .outcome = REFUSED_400 },
	{ "33", HOST("h/"), .outcome = REFUSED_400 },
	{ "33", HOST("http://h"), .outcome = REFUSED_400 },
	{ "33", HOST("h?"), .outcome = REFUSED_400 },
	{ "33", HOST("h#"), .outcome = REFUSED_400 },
	{ "33", HOST("h\\"), .outcome = REFUSED_400 },
	{ "33", HOST("<h>"), .outcome = REFUSED_400 },
	{ "33", HOST("h%"), .outcome = REFUSED_400 },
	{ "33", HOST("h%4"), .outcome = REFUSED_400 },
	{ "33", HOST("h%zz"), .outcome = REFUSED_400 },
	{ "33", HOST("h\x80"), .outcome = REFUSED_400 },
	{ "33", HOST("h:x"), .outcome = REFUSED_400 },
	{ "33", HOST("h:-1"), .outcome = REFUSED_400 },
	{ "33", HOST("h:80:80"), .outcome = REFUSED_400 },
	{ "33", HOST("h:65536"), .outcome = REFUSED_400 },
	{ "33", HOST("h:4294967376"), .outcome = REFUSED_400 },
	{ "33", HOST("::1"), .outcome = REFUSED_400 },
	{ "33", HOST("[::1"), .outcome = REFUSED_400 },
	{ "33", HOST("::1]"), .outcome = REFUSED_400 },
	{ "33", HOST("[::1]x"), .outcome = REFUSED_400 },
	{ "33", HOST("[::1]:x"), .outcome = REFUSED_400 },
	{ "33", HOST("[]"), .outcome = REFUSED_400 },
	{ "33", HOST("[h]"), .outcome = REFUSED_400 },
	{ "33", HOST("[::1%]"), .outcome = REFUSED_400 },
	{ "33", HOST("[::1%/]"), .outcome = REFUSED_400 },
	{ "33", "GET /a HTTP/1.0\r\nHost: a b\r\n\r\n", .outcome = REFUSED_400 },
	{ "33", "GET http://h/ HTTP/1.1\r\nHost: a b\r\n\r\n", .outcome = REFUSED_400 },
	{ "33", HOST("h.example.org:8080"), .outcome = TAKEN, .body = "", .headers = "Host=h.example.org:8080|" },
	{ "33", HOST("my_service-1.local."), .outcome = TAKEN, .body = "" },
	{ "33", HOST("h%c3%bc!$&'()*+;=~"), .outcome = TAKEN, .body = "" },
	{ "33", HOST("127.0.0.1:0080"), .outcome = TAKEN, .body = "" },
	{ "33", HOST("[::1]"), .outcome = TAKEN, .body = "" },
	{ "33", HOST("[::ffff:127.0.0.1]:65535"), .outcome = TAKEN, .body = "" },
	{ "33", HOST("[fe80::1%25eth0]:80"), .outcome = TAKEN, .body = "" },
	{ "33", HOST("[fe80::1%eth0]"), .outcome = TAKEN, .body = "" },
	{ "33", HOST("[v1.a:b]"), .outcome = TAKEN, .body = "" },
	{ "33", HOST("h:"), .outcome = TAKEN, .body = "" },
	{ "33", HOST(""), .outcome = TAKEN, .body = "" },
	{ "33", "GET /a HTTP/1.1\r\n\r\n", .outcome = TAKEN, .body = "" },
	/* targets */
	{ "34", TARGET("GET", "a"), .outcome = REFUSED_400 },
	{ "34", TARGET("GET", "?a"), .outcome = REFUSED_400 },
	{ "34", TARGET("GET", "#a"), .outcome = REFUSED_400 },
	{ "34", TARGET("GET", "@evil/a"), .outcome = REFUSED_400 },
	{ "34", TARGET("GET", ".evil/a"), .outcome = REFUSED_400 },
	{ "34", TARGET("GET", "\\\\evil/a"), .outcome = REFUSED_400 },
	{ "34", TARGET("GET", "*"), .outcome = REFUSED_400 },
	{ "34", TARGET("OPTIONS", "*a"), .outcome = REFUSED_400 },
	{ "34", TARGET("GET", "http:a"), .outcome = REFUSED_400 },
	{ "34", TARGET("GET", "http:/a"), .outcome = REFUSED_400 },
	{ "34", TARGET("GET", "http:///a"), .outcome = REFUSED_400 },
	{ "34", TARGET("GET", "https://:443/a"), .outcome = REFUSED_400 },
	{ "34", TARGET("GET", "http://h h/a"), .outcome = REFUSED_400 },
	{ "34", TARGET("GET", "http://h:65536/a"), .outcome = REFUSED_400 },
	{ "34", TARGET("GET", "h:80"), .outcome = TAKEN, .body = "" },
	{ "34", TARGET("GET", "http://h:80/a?b=c"), .outcome = TAKEN, .body = "" },
	{ "34", TARGET("OPTIONS", "*"), .outcome = TAKEN, .body = "" },
	{ "34", TARGET("GET", "//evil:99999/a"), .outcome = TAKEN, .body = "" },
	{ "35", TARGET("CONNECT", "h"), .outcome = REFUSED_400 },
	{ "35", TARGET("CONNECT", "h:"), .outcome = REFUSED_400 },
	{ "35", TARGET("CONNECT", "h:0"), .outcome = REFUSED_400 },
	{ "35", TARGET("CONNECT", "h:65536"), .outcome = REFUSED_400 },
	{ "35", TARGET("CONNECT", ":443"), .outcome = REFUSED_400 },
	{ "35", TARGET("CONNECT", "u@h:443"), .outcome = REFUSED_400 },
	{ "35", TARGET("CONNECT", "h:443/"), .outcome = REFUSED_400 },
	{ "35", TARGET("CONNECT", "/a"), .outcome = REFUSED_400 },
	{ "35", TARGET("CONNECT", "http://h:443"), .outcome = REFUSED_400 },
	/* chunks */
	{ "17", CHUNKED "0x3\r\nabc\r\n0\r\n\r\n", .outcome = REFUSED_400 },
	{ "17", CHUNKED "+3\r\nabc\r\n0\r\n\r\n", .outcome = REFUSED_400 },
	{ "17", CHUNKED "-3\r\nabc\r\n0\r\n\r\n", .outcome = REFUSED_400 },
	{ "17", CHUNKED " 3\r\nabc\r\n0\r\n\r\n", .outcome = REFUSED_400 },
	{ "17", CHUNKED "\r\n3\r\nabc\r\n0\r\n\r\n", .outcome = REFUSED_400 },
	{ "17", CHUNKED "3 3\r\nabc\r\n0\r\n\r\n", .outcome = REFUSED_400 },
	{ "17", CHUNKED "ffffffffffffffffffff\r\nabc\r\n0\r\n\r\n", .outcome = REFUSED_400 },
	{ "17", CHUNKED "3\r\nabc\r\n000\r\n\r\n", .outcome = TAKEN, .body = "abc" },
	{ "18", CHUNKED "3\nabc\r\n0\r\n\r\n", .outcome = REFUSED_400 },
	{ "18", CHUNKED "3\r\nabc\n0\r\n\r\n", .outcome = REFUSED_400 },
	{ "18", CHUNKED "3\r\nabcd\r\n0\r\n\r\n", .outcome = REFUSED_400 },
	{ "18", CHUNKED "3\r\nabc0\r\n\r\n", .outcome = REFUSED_400 },
	{ "18", CHUNKED "3\r\nabc\r\n0\r\n\n", .outcome = REFUSED_400 },
	{ "19", CHUNKED "3;a=b;c=\"d\"\r\nabc\r\n0;e\r\n\r\n", .outcome = TAKEN, .body = "abc" },
	{ "19", CHUNKED "3;a\nb\r\nabc\r\n0\r\n\r\n", .outcome = REFUSED_400 },
	{ "19", CHUNKED "3;a\x01\r\nabc\r\n0\r\n\r\n", .outcome = REFUSED_400 },
	/* trailers */
	{ "20", CHUNKED "3\r\nabc\r\n0\r\nX: y\r\nHost: i\r\nContent-Length: 7\r\n\r\n", .outcome = TAKEN,
	  .body = "abc", .headers = "Host=h|Transfer-Encoding=chunked|" },
	{ "20", CHUNKED "3\r\nabc\r\n0\r\nno colon\r\n\r\n", .outcome = REFUSED_400 },
	/* expectations */
	{ "21", HEAD "Expect: 200-ok\r\nContent-Length: 3\r\n\r\n", .outcome = REFUSED_417 },
	{ "21", "POST /a HTTP/1.0\r\nExpect: 200-ok\r\nContent-Length: 3\r\n\r\nabc", .outcome = TAKEN,
	  .body = "abc" },
	{ "21", "POST /a HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc", .outcome = TAKEN,
	  .body = "abc" },
	/* limits, as set below */
	{ "22", HEAD "X: 0123456789012345678901234567890123456789012345678901234567890123456789\r\n\r\n",
	  .outcome = REFUSED_400 },
	{ "22",
	  HEAD "X: 0123456789012345678901234567890123456789012345678901234567890123456789"
	       "0123456789012345678901234567890123456789",
	  .outcome = REFUSED_400 },
	{ "23", HEAD "Content-Length: 11\r\n\r\n", .outcome = REFUSED_413 },
	{ "23", CHUNKED "6\r\nabcdef\r\n6\r\n", .outcome = REFUSED_413 },
	{ "23", HEAD "Content-Length: 10\r\n\r\n0123456789", .outcome = TAKEN, .body = "0123456789" },
};

static const char *const status_lines[] = {
	[REFUSED_400] = "HTTP/1.1 400 Bad Request\r\n",
	[REFUSED_413] = "HTTP/1.1 413 Request Entity Too Large\r\n",
	[REFUSED_417] = "HTTP/1.1 417 Expectation Failed\r\n",
	[REFUSED_501] = "HTTP/1.1 501 Not Implemented\r\n",
	[TAKEN] = "HTTP/1.1 200 OK\r\n",
};

static void check(struct peer *p, const struct row *row, size_t step)
{
	size_t len = row->len > 0 ? row->len : strlen(row->request), at, skip;

	peer_connect(p);
	evhttp_set_max_headers_size(p->http, row->number[0] == '2' && row->number[1] == '2' ? 90 : 400);
	for (at = 0; at < len; at += step) {
		peer_send(p, row->request + at, len - at < step ? len - at : step);
		peer_turn(p);
	}
	if (row->outcome == TAKEN)
		peer_run_until(p, "\r\n\r\n<");
	else
		peer_run_until_closed(p);
	/* A reply has its request's version. */
	skip = row->outcome == TAKEN ? strlen("HTTP/1.1") : 0;
	if (strncmp(p->text + skip, status_lines[row->outcome] + skip, strlen(status_lines[row->outcome] + skip)) != 0)
		fail_msg("row %s, %s: got %s", row->number, row->request, p->text);
	if (p->handled != (row->outcome == TAKEN))
		fail_msg("row %s, %s: handled %u times", row->number, row->request, p->handled);
	if (row->outcome != TAKEN) {
		assert_non_null(strstr(p->text, "\r\nConnection: close\r\n"));
		return;
	}
	if (strcmp(p->body, row->body) != 0)
		fail_msg("row %s, %s: body %s", row->number, row->request, p->body);
	if (row->headers != NULL)
		assert_string_equal(p->headers, row->headers);
}

static void each_row_holds_whole_and_byte_by_byte(void **state)
{
	struct peer p;

	(void)state;
	peer_init(&p);
	evhttp_set_max_body_size(p.http, 10);
	evhttp_set_max_headers_size(p.http, 90);
	evhttp_set_allowed_methods(p.http, 0xffff & ~(unsigned)EVHTTP_REQ_PATCH);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		check(&p, &rows[i], SIZE_MAX / 2);
		check(&p, &rows[i], 1);
	}
	peer_fini(&p);
}

/* What a handler may learn of the target. */
struct target {
	const char *line, *scheme, *host, *path, *query, *get_host;
	int port;
};

static const struct target wanted[] = {
	/* A path, whatever it begins with. */
	{ "GET //evil/a", NULL, NULL, "//evil/a", NULL, "h", -1 },
	{ "GET //evil:80?b", NULL, NULL, "//evil:80", "b", "h", -1 },
	{ "GET //u@evil/a?b#c", NULL, NULL, "//u@evil/a", "b", "h", -1 },
	{ "GET ///a", NULL, NULL, "///a", NULL, "h", -1 },
	{ "GET /a//b", NULL, NULL, "/a//b", NULL, "h", -1 },
	{ "GET /a:b", NULL, NULL, "/a:b", NULL, "h", -1 },
	{ "GET http://other:81//evil/a?b", "http", "other", "//evil/a", "b", "other", 81 },
	{ "OPTIONS *", NULL, NULL, "*", NULL, "h", -1 },
	{ "CONNECT other:443", NULL, "other", "", NULL, "other", 443 },
	{ "CONNECT 127.0.0.1:1", NULL, "127.0.0.1", "", NULL, "127.0.0.1", 1 },
	{ "CONNECT [::1]:65535", NULL, "[::1]", "", NULL, "[::1]", 65535 },
};

static bool is_same(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static void compare_target(struct evhttp_request *req, void *arg)
{
	const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(req);
	const struct target *want = *(const struct target *const *)arg;

	assert_row(is_same(evhttp_uri_get_scheme(uri), want->scheme), want->line);
	assert_row(is_same(evhttp_uri_get_host(uri), want->host), want->line);
	assert_row(is_same(evhttp_uri_get_path(uri), want->path), want->line);
	assert_row(is_same(evhttp_uri_get_query(uri), want->query), want->line);
	assert_row(evhttp_uri_get_port(uri) == want->port, want->line);
	assert_row(is_same(evhttp_request_get_host(req), want->get_host), want->line);
	assert_row(is_same(evhttp_request_get_uri(req), strchr(want->line, ' ') + 1), want->line);
	evhttp_send_reply(req, HTTP_OK, "Seen", NULL);
}

/* Rows 34 and 35 */
static void target_names_a_host_only_where_it_has_one(void **state)
{
	static const char rest[] = " HTTP/1.1\r\nHost: h\r\n\r\n";
	const struct target *want;
	struct peer p;

	(void)state;
	peer_init(&p);
	evhttp_set_allowed_methods(p.http, 0xffff);
	evhttp_set_gencb(p.http, compare_target, &want);
	for (want = wanted; want < wanted + ROWS(wanted); want++) {
		peer_connect(&p);
		peer_send(&p, want->line, strlen(want->line));
		peer_send(&p, rest, strlen(rest));
		peer_run_until(&p, "HTTP/1.1 200 Seen\r\n");
	}
	peer_fini(&p);
}

/* Row 24: what stands behind one message is another, or nothing. */
static void body_of_a_head_request_is_not_the_next_request(void **state)
{
	static const char text[] =
		"HEAD /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabcGET /b HTTP/1.1\r\nHost: h\r\n\r\n";
	struct peer p;

	(void)state;
	peer_init(&p);
	peer_connect(&p);
	peer_send(&p, text, strlen(text));
	peer_run_until(&p, "<0>");
	assert_int_equal(p.handled, 2);
	assert_string_equal(p.uri, "/b");
	/* And the reply to HEAD has none, or the client would take it for the next one. */
	assert_null(strstr(p.text, "<3>"));
	peer_fini(&p);
}

/* Row 17: without a limit leading zeros have no end. */
static void leading_zeros_of_a_chunk_size_are_limited(void **state)
{
	char text[2048];
	struct peer p;

	(void)state;
	peer_init(&p);
	for (int zeros = 1022; zeros <= 1023; zeros++) {
		peer_connect(&p);
		snprintf(text, sizeof(text), CHUNKED "%0*d\r\nabc\r\n0\r\n\r\n", zeros + 1, 3);
		peer_send(&p, text, strlen(text));
		peer_run_until(&p, "\r\n\r\n<");
		assert_int_equal(p.handled, zeros == 1022);
		if (zeros == 1023)
			assert_memory_equal(p.text, status_lines[REFUSED_400], strlen(status_lines[REFUSED_400]));
	}
	peer_fini(&p);
}

static void reply_with_bad_reason(struct evhttp_request *req, void *arg)
{
	struct evkeyvalq *headers = evhttp_request_get_output_headers(req);

	assert_int_equal(evhttp_add_header(headers, "X", "a\r\nSet-Cookie: b"), -1);
	assert_int_equal(evhttp_add_header(headers, "X", "a\r\n b"), -1);
	assert_int_equal(evhttp_add_header(headers, "X\nY", "a"), -1);
	if (*(int *)arg == 0)
		evhttp_send_reply(req, 200, "fine\r\nSet-Cookie: b", NULL);
	else
		evhttp_send_error(req, 500, "<b>\r\nSet-Cookie: b");
}

/* Row 25 */
static void nothing_that_a_handler_passes_on_begins_a_header(void **state)
{
	static const char text[] = "GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
	struct peer p;
	int which;

	(void)state;
	peer_init(&p);
	evhttp_set_gencb(p.http, reply_with_bad_reason, &which);
	for (which = 0; which < 2; which++) {
		peer_connect(&p);
		peer_send(&p, text, strlen(text));
		peer_run_until_closed(&p);
		assert_null(strstr(p.text, "Set-Cookie"));
		assert_true(strncmp(p.text,
				    which == 0 ? "HTTP/1.1 200 OK\r\n" : "HTTP/1.1 500 Internal Server Error\r\n",
				    which == 0 ? 17 : 36) == 0);
	}
	peer_fini(&p);
}

static void reply_with_markup(struct evhttp_request *req, void *arg)
{
	(void)arg;
	evhttp_send_error(req, 500, "<script>");
}

/* Row 26 */
static void error_pages_escape_what_they_quote(void **state)
{
	static const char text[] = "GET /<script> HTTP/1.1\r\nHost: h\r\n\r\n";
	struct peer p;

	(void)state;
	peer_init(&p);
	evhttp_set_gencb(p.http, NULL, NULL);
	peer_connect(&p);
	peer_send(&p, text, strlen(text));
	peer_run_until_closed(&p);
	assert_non_null(strstr(p.text, "/&lt;script&gt;"));
	assert_null(strstr(p.text, "<script>"));
	evhttp_set_gencb(p.http, reply_with_markup, NULL);
	peer_connect(&p);
	peer_send(&p, text, strlen(text));
	peer_run_until_closed(&p);
	assert_non_null(strstr(p.text, "<H1>&lt;script&gt;</H1>"));
	peer_fini(&p);
}

/* Row 27 */
static void client_sends_no_target_with_a_line_end(void **state)
{
	static const char *const targets[] = { "/a\r\nX: y", "/a\nb", "/a\rb", "/a\x01", "/a\x7f" };
	struct event_base *base = event_base_new();
	struct evhttp_connection *conn = evhttp_connection_base_new(base, NULL, "127.0.0.1", 1);

	(void)state;
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++)
		assert_int_equal(
			evhttp_make_request(conn, evhttp_request_new(NULL, NULL), EVHTTP_REQ_GET, targets[i]), -1);
	evhttp_connection_free(conn);
	event_base_free(base);
}

/* Row 32: a program that reads values as strings would not see what comes after. */
static void query_has_no_zero_bytes(void **state)
{
	static const char *const queries[] = { "a=b%00c", "a=%00", "x=1&a=b%00" };
	struct evkeyvalq fields;
	char uri[32];

	(void)state;
	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
		assert_int_equal(evhttp_parse_query_str(queries[i], &fields), -1);
		assert_true(TAILQ_EMPTY(&fields));
		snprintf(uri, sizeof(uri), "/p?%s", queries[i]);
		assert_int_equal(evhttp_parse_query(uri, &fields), -1);
		assert_true(TAILQ_EMPTY(&fields));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row_holds_whole_and_byte_by_byte),
		cmocka_unit_test(target_names_a_host_only_where_it_has_one),
		cmocka_unit_test(leading_zeros_of_a_chunk_size_are_limited),
		cmocka_unit_test(body_of_a_head_request_is_not_the_next_request),
		cmocka_unit_test(nothing_that_a_handler_passes_on_begins_a_header),
		cmocka_unit_test(error_pages_escape_what_they_quote),
		cmocka_unit_test(client_sends_no_target_with_a_line_end),
		cmocka_unit_test(query_has_no_zero_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
