/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/* URIs, queries, headers: evhttp without a network. */
#include "sweep.h"

#include <sys/queue.h>

#include <event2/http.h>
#include <event2/keyvalq_struct.h>

static const char *const uris[] = {
	"/",
	"/index.html?a=1&b=2",
	"http://www.example.com/",
	"https://user:pass@www.example.com:8443/some/long/path/to/a/resource.html?query=value&other=1#fragment",
	"http://[2001:db8::1]:80/x",
};

static void parse(struct sweep *s)
{
	const char *uri = uris[s->num];

	while (sweep_next(s)) {
		struct evhttp_uri *parsed = evhttp_uri_parse_with_flags(uri, 0);

		sweep_check(parsed != NULL);
		evhttp_uri_free(parsed);
	}
}

static void getters(struct sweep *s)
{
	struct evhttp_uri *uri = evhttp_uri_parse(uris[3]);

	while (sweep_next(s)) {
		s->calls += evhttp_uri_get_scheme(uri) != NULL;
		s->calls += evhttp_uri_get_userinfo(uri) != NULL;
		s->calls += evhttp_uri_get_host(uri) != NULL;
		s->calls += evhttp_uri_get_port(uri);
		s->calls += evhttp_uri_get_path(uri) != NULL;
		s->calls += evhttp_uri_get_query(uri) != NULL;
		s->calls += evhttp_uri_get_fragment(uri) != NULL;
	}
	evhttp_uri_free(uri);
}

static void make_join(struct sweep *s)
{
	char text[200];

	while (sweep_next(s)) {
		struct evhttp_uri *uri = evhttp_uri_new();

		evhttp_uri_set_flags(uri, 0);
		evhttp_uri_set_scheme(uri, "http");
		evhttp_uri_set_userinfo(uri, "user");
		evhttp_uri_set_host(uri, "www.example.com");
		evhttp_uri_set_port(uri, 8080);
		evhttp_uri_set_path(uri, "/a/path");
		evhttp_uri_set_query(uri, "q=1");
		evhttp_uri_set_fragment(uri, "top");
		sweep_check(evhttp_uri_join(uri, text, sizeof(text)) != NULL);
		evhttp_uri_free(uri);
	}
}

static void encode(struct sweep *s)
{
	size_t len;

	while (sweep_next(s)) {
		char *coded = evhttp_encode_uri("a path/with some & odd = characters?");
		char *other = evhttp_uriencode("a path/with some & odd = characters?", -1, 1);

		free(evhttp_uridecode(other, 1, &len));
		free(evhttp_decode_uri(coded));
		free(coded);
		free(other);
	}
}

static void query(struct sweep *s)
{
	struct evkeyvalq params;

	while (sweep_next(s)) {
		evhttp_parse_query_str("a=1&b=two&c=%20three%20&long-name=long+value", &params);
		s->calls += evhttp_find_header(&params, "b") != NULL;
		evhttp_clear_headers(&params);
		evhttp_parse_query("/path?a=1&b=two", &params);
		evhttp_clear_headers(&params);
	}
}

static void escape(struct sweep *s)
{
	while (sweep_next(s))
		free(evhttp_htmlescape("<a href=\"x\">text & 'more'</a>"));
}

static void headers(struct sweep *s)
{
	struct evkeyvalq list;

	TAILQ_INIT(&list);
	while (sweep_next(s)) {
		evhttp_add_header(&list, "Host", "www.example.com");
		evhttp_add_header(&list, "User-Agent", "sweep");
		evhttp_add_header(&list, "Accept", "*/*");
		evhttp_add_header(&list, "Content-Length", "10");
		s->calls += evhttp_find_header(&list, "content-length") != NULL;
		s->calls += evhttp_find_header(&list, "missing") != NULL;
		evhttp_remove_header(&list, "accept");
		evhttp_clear_headers(&list);
	}
}

static void on_done(struct evhttp_request *req, void *arg)
{
	(void)req;
	(void)arg;
}

static void request(struct sweep *s)
{
	while (sweep_next(s)) {
		struct evhttp_request *req = evhttp_request_new(on_done, s);

		evhttp_add_header(evhttp_request_get_output_headers(req), "Host", "x");
		s->calls += evhttp_request_get_input_headers(req) != NULL;
		s->calls += evhttp_request_get_input_buffer(req) != NULL;
		s->calls += evhttp_request_get_output_buffer(req) != NULL;
		s->calls += evhttp_request_get_uri(req) != NULL;
		s->calls += evhttp_request_get_response_code(req) + evhttp_request_is_owned(req);
		s->calls += (int)evhttp_request_get_command(req) + (evhttp_request_get_connection(req) != NULL);
		evhttp_request_free(req);
	}
}

const struct sweep_pattern sweep_uri[] = {
	{ "uri/parse-root", parse, .ops = 200, .num = 0 },
	{ "uri/parse-path-query", parse, .ops = 200, .num = 1 },
	{ "uri/parse-host", parse, .ops = 200, .num = 2 },
	{ "uri/parse-full", parse, .ops = 200, .num = 3 },
	{ "uri/parse-ipv6", parse, .ops = 200, .num = 4 },
	{ "uri/getters", getters, .ops = 500 },
	{ "uri/make-join", make_join, .ops = 100 },
	{ "uri/encode-decode", encode, .ops = 100 },
	{ "uri/query", query, .ops = 100 },
	{ "uri/htmlescape", escape, .ops = 200 },
	{ "uri/headers", headers, .ops = 200 },
	{ "uri/request", request, .ops = 100 },
	{ NULL, NULL, 0, 0, 0, NULL },
};
