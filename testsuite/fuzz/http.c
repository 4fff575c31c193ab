/*
 * The first byte says which: a server that gets the rest as requests, or a client that gets it as
 * responses, to a request that depends on it; and a place. It is delivered whole, and again byte by
 * byte around that place: what handlers and callbacks saw, and what was written, must be the same.
 *
 * What is delivered is put into the bufferevent of the connection, and what is written is taken from
 * there: the kernel would take most of the time, and has not enough ports.
 */
#include "fuzz.h"
#include "quiet.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>

#include "compat/libevent/http/http.h"

enum { SEEN_MAX = 256 * 1024, INPUT_MAX = 8 * 1024, BYTES_MAX = 6, PLACES = 128 };

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
static struct bufferevent *server_bev;	/* of what was accepted last */
static int client_peer_fd;		/* the other end of what was connected last */
static struct seen *seen;

struct delivery {
	const uint8_t *data;
	size_t size;
	size_t from, to;		/* what comes byte by byte */
	size_t place;
};

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

/* It has no socket. The reference is for who delivers: the server may free it at any time. */
static struct bufferevent *new_bev(struct event_base *on, void *arg)
{
	(void)arg;
	server_bev = bufferevent_socket_new(on, -1, 0);
	FUZZ_CHECK(server_bev != NULL);
	bufferevent_incref(server_bev);
	return server_bev;
}

static void set_up(void)
{
	fuzz_be_quiet();
	base = event_base_new();
	http = evhttp_new(base);
	FUZZ_CHECK(base != NULL && http != NULL);
	evhttp_set_gencb(http, handle, NULL);
	evhttp_set_bevcb(http, new_bev, NULL);
	evhttp_set_max_headers_size(http, 4096);
	evhttp_set_max_body_size(http, 4096);
}

/* ---------------------------------------------------------------- the transport */

/* evhttp has no more to do with it. */
static bool is_closed(struct bufferevent *bev)
{
	bufferevent_data_cb readcb;

	bufferevent_getcb(bev, &readcb, NULL, NULL, NULL);
	return readcb == NULL;
}

static void take_output(struct bufferevent *bev)
{
	struct evbuffer *output = bufferevent_get_output(bev);
	size_t len = evbuffer_get_length(output);

	if (len == 0)
		return;
	see(&seen->written, (const char *)evbuffer_pullup(output, -1), len);
	evbuffer_unfreeze(output, 1);
	FUZZ_CHECK(evbuffer_drain(output, len) == 0);
	evbuffer_freeze(output, 1);
	bufferevent_trigger(bev, EV_WRITE, 0);
}

/* Whatever that leads to; false: the connection ended, or wants no more. */
static bool settle(struct bufferevent *bev)
{
	do {
		take_output(bev);
		event_base_loop(base, EVLOOP_NONBLOCK | EVLOOP_ONCE);
	} while (evbuffer_get_length(bufferevent_get_output(bev)) > 0 ||
		 event_base_get_num_events(base, EVENT_BASE_COUNT_ACTIVE) > 0);
	return !is_closed(bev) && (bufferevent_get_enabled(bev) & EV_READ) != 0;
}

static bool deliver_piece(struct bufferevent *bev, const uint8_t *data, size_t len)
{
	struct evbuffer *in = bufferevent_get_input(bev);

	if (len > 0) {
		evbuffer_unfreeze(in, 0);
		FUZZ_CHECK(evbuffer_add(in, data, len) == 0);
		evbuffer_freeze(in, 0);
		bufferevent_trigger(bev, EV_READ, 0);
	}
	return settle(bev);
}

/* All of it, the bytes from `from` to `to` one by one, then the end. */
static void deliver(struct bufferevent *bev, const struct delivery *d)
{
	bool is_open = deliver_piece(bev, d->data, d->from);
	size_t at;

	for (at = d->from; at < d->to && is_open; at++)
		is_open = deliver_piece(bev, d->data + at, 1);
	if (at < d->size && is_open)
		is_open = deliver_piece(bev, d->data + at, d->size - at);
	if (is_open)
		bufferevent_trigger_event(bev, BEV_EVENT_READING | BEV_EVENT_EOF, 0);
	(void)settle(bev);
}

static void feed_server(const struct delivery *d)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	le_http_accept(http, -1, (struct sockaddr *)&addr, sizeof(addr));
	deliver(server_bev, d);
	FUZZ_CHECK(is_closed(server_bev));
	bufferevent_decref(server_bev);
	event_base_loop(base, EVLOOP_NONBLOCK);
}

/* In place of the system's: a client that connects is connected, to what says nothing. */
int connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	int pair[2];

	(void)addr;
	(void)len;
	FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
	FUZZ_CHECK(dup3(pair[0], fd, O_CLOEXEC) == fd);
	close(pair[0]);
	client_peer_fd = pair[1];
	return 0;
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

/* A body that waits for being asked for. */
static void request_fill(struct evhttp_request *req, enum evhttp_cmd_type type)
{
	if (type != EVHTTP_REQ_POST)
		return;
	evhttp_add_header(evhttp_request_get_output_headers(req), "Expect", "100-continue");
	evbuffer_add_printf(evhttp_request_get_output_buffer(req), "body");
}

/* How long a response is depends on what was asked, too. */
static void feed_client(const struct delivery *d)
{
	static const enum evhttp_cmd_type types[] = { EVHTTP_REQ_GET, EVHTTP_REQ_HEAD,
						      EVHTTP_REQ_POST, EVHTTP_REQ_CONNECT };
	enum evhttp_cmd_type type = types[d->place % 4];
	struct bufferevent *bev = bufferevent_socket_new(base, -1, 0);
	struct evhttp_connection *conn =
		evhttp_connection_base_bufferevent_new(base, NULL, bev, "127.0.0.1", 80);
	struct evhttp_request *req = evhttp_request_new(done_cb, NULL);

	FUZZ_CHECK(conn != NULL && req != NULL);
	bufferevent_incref(bev);
	evhttp_connection_set_max_headers_size(conn, 4096);
	evhttp_connection_set_max_body_size(conn, 4096);
	request_fill(req, type);
	FUZZ_CHECK(evhttp_make_request(conn, req, type, "/") == 0);
	event_base_loop(base, EVLOOP_NONBLOCK);
	deliver(bev, d);
	evhttp_connection_free(conn);
	bufferevent_decref(bev);
	close(client_peer_fd);
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

/* A client that finds the answer wrong sends no more of its body: how much it had sent depends on how that came. */
static void forget_unfinished(struct seen *of)
{
	if (memmem(of->told.bytes, of->told.len, "failed", 7) != NULL)
		of->written.len = 0;
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
	struct delivery d = { .data = data + 1, .size = size - 1 };
	void (*feed)(const struct delivery *);
	bool is_everywhere;

	if (size < 2 || size > INPUT_MAX)
		return 0;
	if (base == NULL)
		set_up();
	feed = data[0] % 2 == 0 ? feed_server : feed_client;
	d.place = data[0] / 2;
	whole.told.len = whole.written.len = split.told.len = split.written.len = 0;
	seen = &whole;
	feed(&d);
	seen = &split;
	/* The last place is everywhere. */
	is_everywhere = d.place == PLACES - 1;
	d.from = is_everywhere ? 0 : d.size * d.place / PLACES;
	d.to = is_everywhere || d.size - d.from < BYTES_MAX ? d.size : d.from + BYTES_MAX;
	feed(&d);
	if (feed == feed_client) {
		forget_unfinished(&whole);
		forget_unfinished(&split);
	}
	forget_continue(&whole.written);
	forget_continue(&split.written);
	forget_dates(&whole.written);
	forget_dates(&split.written);
	FUZZ_CHECK(is_same(&whole.told, &split.told));
	FUZZ_CHECK(is_same(&whole.written, &split.written));
	return 0;
}
