/* A server and a client of libevent 1.4's time: <evhttp.h>, the current base, members of struct evhttp_request. */
#include <sys/types.h>
#include <sys/queue.h>

#include <evhttp.h>

#include "trace.h"

#include <arpa/inet.h>
#include <netinet/in.h>

static unsigned short port;

static void say_headers(const struct evkeyvalq *headers)
{
	struct evkeyval *h;

	TAILQ_FOREACH(h, headers, next) {
		if (strcmp(h->key, "Date") != 0 && strcmp(h->key, "Host") != 0)
			say("    %s: %s", h->key, h->value);
	}
}

static void handle(struct evhttp_request *req, void *arg)
{
	struct evbuffer *buf = evbuffer_new();
	struct evkeyvalq query;
	const char *name;
	char *decoded;

	say("  server: %d %s, arg %s, from %s, HTTP/%d.%d, kind %d", req->type, evhttp_request_uri(req),
	    (const char *)arg, req->remote_host, req->major, req->minor, req->kind);
	say_headers(req->input_headers);
	say("    body <%.*s>", (int)EVBUFFER_LENGTH(req->input_buffer), (char *)EVBUFFER_DATA(req->input_buffer));
	decoded = evhttp_decode_uri(req->uri);
	evhttp_parse_query(decoded, &query);
	name = evhttp_find_header(&query, "name");
	evbuffer_add_printf(buf, "hello %s", name != NULL ? name : "nobody");
	evhttp_add_header(req->output_headers, "X-Old", "yes");
	evhttp_send_reply(req, HTTP_OK, "Fine", buf);
	evhttp_clear_headers(&query);
	free(decoded);
	evbuffer_free(buf);
}

static void stream(struct evhttp_request *req, void *arg)
{
	struct evbuffer *buf = evbuffer_new();

	(void)arg;
	evhttp_send_reply_start(req, HTTP_OK, "Streamed");
	evbuffer_add(buf, "one ", 4);
	evhttp_send_reply_chunk(req, buf);
	evbuffer_add(buf, "two", 3);
	evhttp_send_reply_chunk(req, buf);
	evhttp_send_reply_end(req);
	evbuffer_free(buf);
}

static void refuse(struct evhttp_request *req, void *arg)
{
	(void)arg;
	evhttp_send_error(req, HTTP_BADREQUEST, "Bad Old Request");
}

static void moved(struct evhttp_request *req, void *arg)
{
	(void)arg;
	evhttp_add_header(req->output_headers, "Location", "/elsewhere");
	evhttp_send_reply(req, HTTP_MOVETEMP, "Elsewhere", NULL);
}

static void answered(struct evhttp_request *req, void *arg)
{
	if (req == NULL) {
		say("  client: nothing");
	} else {
		say("  client: %d %s, arg %s", req->response_code, req->response_code_line, (const char *)arg);
		say_headers(req->input_headers);
		if (req->response_code != HTTP_NOTFOUND && req->response_code != HTTP_BADREQUEST)
			say("    body <%.*s>", (int)EVBUFFER_LENGTH(req->input_buffer),
			    (char *)EVBUFFER_DATA(req->input_buffer));
	}
	event_loopexit(NULL);
}

static void ask(struct evhttp_connection *conn, enum evhttp_cmd_type type, const char *uri, const char *body)
{
	struct evhttp_request *req = evhttp_request_new(answered, (void *)(uintptr_t)"asked");

	section(uri);
	evhttp_add_header(req->output_headers, "Host", "localhost");
	if (body != NULL)
		evbuffer_add(req->output_buffer, body, strlen(body));
	say("  make %d", evhttp_make_request(conn, req, type, uri));
	event_dispatch();
}

static void texts(void)
{
	char *s;

	section("texts");
	s = evhttp_encode_uri("/a b?c=d&e=\xc3\xa4+%");
	say("encode %s", s);
	free(s);
	s = evhttp_decode_uri("/a%20b+c%2x%");
	say("decode %s", s);
	free(s);
	s = evhttp_htmlescape("<a href=\"x\">'&'</a>");
	say("escape %s", s);
	free(s);
}

/* 1.4 gave no port back: one that is free now. */
static unsigned short free_port(void)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sin);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	must(fd >= 0 && bind(fd, (struct sockaddr *)&sin, len) == 0 &&
	     getsockname(fd, (struct sockaddr *)&sin, &len) == 0, "find a port");
	close(fd);
	return ntohs(sin.sin_port);
}

int main(void)
{
	struct event_base *base = event_init();
	struct evhttp_connection *conn;
	char *peer = NULL;
	struct evhttp *http = NULL;
	int i;

	for (i = 0; i < 10 && http == NULL; i++) {
		port = free_port();
		http = evhttp_start("127.0.0.1", port);
	}
	must(http != NULL, "start a server");
	evhttp_set_timeout(http, 20);
	evhttp_set_gencb(http, handle, (void *)(uintptr_t)"general");
	evhttp_set_cb(http, "/stream", stream, NULL);
	evhttp_set_cb(http, "/refuse", refuse, NULL);
	evhttp_set_cb(http, "/moved", moved, NULL);
	conn = evhttp_connection_new("127.0.0.1", port);
	must(conn != NULL, "make a connection");
	evhttp_connection_set_timeout(conn, 20);
	evhttp_connection_set_retries(conn, 1);

	texts();
	ask(conn, EVHTTP_REQ_GET, "/a?name=b%20c&x=y", NULL);
	ask(conn, EVHTTP_REQ_POST, "/post", "the body");
	ask(conn, EVHTTP_REQ_GET, "/stream", NULL);
	ask(conn, EVHTTP_REQ_GET, "/refuse", NULL);
	ask(conn, EVHTTP_REQ_GET, "/moved", NULL);
	say("del %d, again %d", evhttp_del_cb(http, "/moved"), evhttp_del_cb(http, "/moved"));
	ask(conn, EVHTTP_REQ_GET, "/moved", NULL);
	/* Last but for what is not found: stock's client takes what follows on the connection for a body. */
	ask(conn, EVHTTP_REQ_HEAD, "/head", NULL);
	evhttp_connection_free(conn);
	conn = evhttp_connection_new("127.0.0.1", port);
	must(conn != NULL, "make a connection");
	evhttp_set_gencb(http, NULL, NULL);
	ask(conn, EVHTTP_REQ_GET, "/nowhere", NULL);
	evhttp_connection_get_peer(conn, &peer, &port);
	say("peer %s", peer);
	evhttp_connection_free(conn);
	evhttp_free(http);
	event_base_free(base);
	return 0;
}
