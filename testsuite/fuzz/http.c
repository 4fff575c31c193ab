/*
 * The first byte says which: a server that gets the rest as requests, or a client that gets it as
 * responses. It is delivered whole, and again byte by byte: what handlers and callbacks saw, and what was
 * written, must be the same.
 */
#include "fuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>

enum { SEEN_MAX = 256 * 1024, INPUT_MAX = 8 * 1024 };

struct text {
	size_t len;
	char bytes[SEEN_MAX];
};

/* All that there is to compare, each in its own order. */
struct seen {
	struct text told;		/* to the program */
	struct text written;		/* to the other side */
};

static struct event_base *base;
static struct evhttp *http;
static struct sockaddr_un server_addr;
static socklen_t server_addr_len;
static int listen_fd;
static struct sockaddr_in listen_addr;
static struct seen *seen;

static void see(struct text *text, const char *s, size_t len)
{
	if (len > SEEN_MAX - text->len)
		len = SEEN_MAX - text->len;
	memcpy(text->bytes + text->len, s, len);
	text->len += len;
}

static void see_string(const char *s)
{
	see(&seen->told, s, strlen(s) + 1);
}

static bool is_same(const struct text *a, const struct text *b)
{
	return a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

static void see_message(struct evhttp_request *req)
{
	struct evbuffer *body = evhttp_request_get_input_buffer(req);
	struct evkeyval *header;

	TAILQ_FOREACH(header, evhttp_request_get_input_headers(req), next) {
		FUZZ_CHECK(strpbrk(header->key, "\r\n: ") == NULL && strpbrk(header->value, "\r\n") == NULL);
		FUZZ_CHECK(evhttp_find_header(evhttp_request_get_input_headers(req), header->key) != NULL);
		see_string(header->key);
		see_string(header->value);
	}
	if (evbuffer_get_length(body) > 0)
		see(&seen->told, (const char *)evbuffer_pullup(body, -1), evbuffer_get_length(body));
}

static void handle(struct evhttp_request *req, void *arg)
{
	const char *host = evhttp_request_get_host(req);

	(void)arg;
	see_string(evhttp_request_get_uri(req));
	see_string(host != NULL ? host : "no host");
	see_message(req);
	evhttp_add_header(evhttp_request_get_output_headers(req), "Date", "now");
	evhttp_send_reply(req, 200, "OK", NULL);
}

static void ignore_log(int severity, const char *msg)
{
	(void)severity;
	(void)msg;
}

static void set_up(void)
{
	struct evhttp_bound_socket *bound;
	socklen_t len = sizeof(listen_addr);
	int fd;

	event_set_log_callback(ignore_log);
	base = event_base_new();
	http = evhttp_new(base);
	FUZZ_CHECK(base != NULL && http != NULL);
	evhttp_set_gencb(http, handle, NULL);
	evhttp_set_max_headers_size(http, 4096);
	evhttp_set_max_body_size(http, 4096);
	/* Autobind: a name that nothing else has. */
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	server_addr.sun_family = AF_UNIX;
	FUZZ_CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&server_addr, sizeof(sa_family_t)) == 0 &&
		   listen(fd, 8) == 0);
	server_addr_len = sizeof(server_addr);
	FUZZ_CHECK(getsockname(fd, (struct sockaddr *)&server_addr, &server_addr_len) == 0);
	bound = evhttp_accept_socket_with_handle(http, fd);
	FUZZ_CHECK(bound != NULL);

	listen_addr.sin_family = AF_INET;
	listen_addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	FUZZ_CHECK(listen_fd >= 0 && bind(listen_fd, (struct sockaddr *)&listen_addr, len) == 0 &&
		   listen(listen_fd, 8) == 0);
	FUZZ_CHECK(getsockname(listen_fd, (struct sockaddr *)&listen_addr, &len) == 0);
}

/* False: the other side has closed. */
static bool collect(int fd)
{
	char buf[4096];
	ssize_t n;

	while ((n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT)) > 0)
		see(&seen->written, buf, (size_t)n);
	return n < 0 && errno == EAGAIN;
}

/* Give it all, then the end, and take what comes until nothing does. */
static void deliver(int fd, const uint8_t *data, size_t size, size_t step)
{
	bool is_open = true;

	for (size_t at = 0; at < size && is_open; at += step) {
		size_t len = size - at < step ? size - at : step;

		is_open = send(fd, data + at, len, MSG_NOSIGNAL) == (ssize_t)len;
		event_base_loop(base, EVLOOP_NONBLOCK);
		is_open = collect(fd) && is_open;
	}
	shutdown(fd, SHUT_WR);
	do
		event_base_loop(base, EVLOOP_NONBLOCK);
	while (is_open && collect(fd) && event_base_get_num_events(base, EVENT_BASE_COUNT_ACTIVE) > 0);
	collect(fd);
}

static void feed_server(const uint8_t *data, size_t size, size_t step)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	FUZZ_CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&server_addr, server_addr_len) == 0);
	event_base_loop(base, EVLOOP_NONBLOCK);
	deliver(fd, data, size, step);
	close(fd);
	event_base_loop(base, EVLOOP_NONBLOCK);
}

static void done_cb(struct evhttp_request *req, void *arg)
{
	char text[32];

	(void)arg;
	if (req == NULL) {
		see_string("failed");
		return;
	}
	snprintf(text, sizeof(text), "code %d", evhttp_request_get_response_code(req));
	see_string(text);
	see_message(req);
}

static void feed_client(const uint8_t *data, size_t size, size_t step)
{
	struct evhttp_connection *conn =
		evhttp_connection_base_new(base, NULL, "127.0.0.1", ntohs(listen_addr.sin_port));
	struct evhttp_request *req = evhttp_request_new(done_cb, NULL);
	int fd = -1;

	FUZZ_CHECK(conn != NULL && req != NULL);
	evhttp_connection_set_max_headers_size(conn, 4096);
	evhttp_connection_set_max_body_size(conn, 4096);
	FUZZ_CHECK(evhttp_make_request(conn, req, EVHTTP_REQ_GET, "/") == 0);
	while (fd < 0) {
		event_base_loop(base, EVLOOP_NONBLOCK);
		fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
	}
	event_base_loop(base, EVLOOP_NONBLOCK);
	deliver(fd, data, size, step);
	evhttp_connection_free(conn);
	close(fd);
	event_base_loop(base, EVLOOP_NONBLOCK);
}

/* A client that sends its body along is not told to go on: that alone depends on how it was delivered. */
static void forget_continue(struct text *text)
{
	static const char line[] = "HTTP/1.1 100 Continue\r\n\r\n";
	char *at;

	while ((at = memmem(text->bytes, text->len, line, sizeof(line) - 1)) != NULL) {
		text->len -= sizeof(line) - 1;
		memmove(at, at + sizeof(line) - 1, text->len - (size_t)(at - text->bytes));
	}
}

/* The second may have changed in between. */
static void forget_dates(struct text *text)
{
	static const char line[] = "\r\nDate: ";
	char *at = text->bytes, *end = text->bytes + text->len;

	while ((at = memmem(at, (size_t)(end - at), line, sizeof(line) - 1)) != NULL) {
		for (at += sizeof(line) - 1; at < end && *at != '\r'; at++)
			*at = 'x';
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct seen whole, split;
	void (*feed)(const uint8_t *, size_t, size_t);

	if (size < 2 || size > INPUT_MAX)
		return 0;
	if (base == NULL)
		set_up();
	feed = data[0] % 2 == 0 ? feed_server : feed_client;
	data++;
	size--;
	whole.told.len = whole.written.len = split.told.len = split.written.len = 0;
	seen = &whole;
	feed(data, size, size);
	seen = &split;
	feed(data, size, 1);
	forget_continue(&whole.written);
	forget_continue(&split.written);
	forget_dates(&whole.written);
	forget_dates(&split.written);
	FUZZ_CHECK(is_same(&whole.told, &split.told));
	FUZZ_CHECK(is_same(&whole.written, &split.written));
	return 0;
}
