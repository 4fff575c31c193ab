/*
 * What handlers call to reply. A reply's head and a short body go into the output together, so that
 * they leave in one piece. Calls from another color than the connection's are posted to it with
 * their data; a connection that is gone by then costs the request, which is what it costs here as
 * well.
 */
#include "http.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <event2/buffer.h>

#include "chars.h"
#include "status.h"

enum { REPLY_ROOM = 2048 };		/* head and body of a reply that needs no other memory */

/* ---------------------------------------------------------------- head */

/* Inline: keys are literals, whose lengths are known then. */
static inline __attribute__((always_inline)) int add_header(struct le_request *req, const char *key,
							    const char *value, size_t len)
{
	return le_header_append_in(&req->arena, &req->output_headers, key, strlen(key), value, len);
}

static bool has_header(struct le_request *req, const char *key)
{
	return evhttp_find_header(&req->output_headers, key) != NULL;
}

static bool is_http_11(const struct le_request *req)
{
	return req->pub.major > 1 || (req->pub.major == 1 && req->pub.minor >= 1);
}

static bool may_have_body(const struct le_request *req)
{
	int code = req->pub.response_code;

	return code != HTTP_NOCONTENT && code != HTTP_NOTMODIFIED && code / 100 != 1 &&
	       req->pub.type != EVHTTP_REQ_HEAD &&
	       !(req->pub.type == EVHTTP_REQ_CONNECT && code / 100 == 2);
}

/* The text is made once a second. */
static const char *date_text(struct evhttp_connection *conn)
{
	struct timeval now;

	event_base_gettimeofday_cached(conn->base, &now);
	if (conn->date[0] == '\0' || conn->date_s != now.tv_sec) {
		conn->date_s = now.tv_sec;
		le_status_date(now.tv_sec, conn->date);
	}
	return conn->date;
}

/* How many digits; they end at `end`. */
static size_t write_digits(char *end, uint64_t n)
{
	char *to = end;

	do {
		*--to = (char)('0' + n % 10);
		n /= 10;
	} while (n > 0);
	return (size_t)(end - to);
}

static int add_length(struct le_request *req, uint64_t len)
{
	char text[20], *end = text + sizeof(text);
	size_t digits = write_digits(end, len);

	return add_header(req, "Content-Length", end - digits, digits);
}

static const char *default_type(struct evhttp_connection *conn)
{
	return __atomic_load_n(&conn->server->default_content_type, __ATOMIC_ACQUIRE);
}

enum body { BODY_WHOLE, BODY_STREAMED };

/* What the program's own headers say; one look at each. */
struct said {
	bool date, connection, close, keep_alive, proxy_keep_alive, length, type, transfer_encoding;
};

static bool is_value(const char *value, const char *word)
{
	return le_equals_lower(value, strlen(value), word);
}

static struct said look_at_headers(const struct le_request *req)
{
	const struct evkeyval *header;
	struct said said = { .date = false };

	TAILQ_FOREACH(header, &req->output_headers, next) {
		const char *key = header->key;
		size_t len = le_header_lens(header).key;

		if (len == 4 && le_equals_lower(key, len, "date")) {
			said.date = true;
		} else if (len == 10 && le_equals_lower(key, len, "connection")) {
			said.connection = true;
			said.close = said.close || is_value(header->value, "close");
			said.keep_alive = said.keep_alive || is_value(header->value, "keep-alive");
		} else if (len == 12 && le_equals_lower(key, len, "content-type")) {
			said.type = true;
		} else if (len == 14 && le_equals_lower(key, len, "content-length")) {
			said.length = true;
		} else if (len == 16 && le_equals_lower(key, len, "proxy-connection")) {
			said.proxy_keep_alive = is_value(header->value, "keep-alive");
		} else if (len == 17 && le_equals_lower(key, len, "transfer-encoding")) {
			said.transfer_encoding = true;
		}
	}
	return said;
}

/* Does the connection end with this reply? */
static bool must_close(const struct le_request *req, const struct said *said)
{
	if ((req->pub.flags & EVHTTP_PROXY_REQUEST) != 0)
		return !req->head.has_proxy_keep_alive || !said->proxy_keep_alive;
	return said->close || req->head.has_close || (!is_http_11(req) && !said->keep_alive);
}

/* What the program left for us to add. len: of a whole body. */
static int complete_headers(struct evhttp_connection *conn, struct le_request *req, enum body body,
			    uint64_t len)
{
	bool is_proxied = (req->pub.flags & EVHTTP_PROXY_REQUEST) != 0,
	     has_body = may_have_body(req);
	bool keeps_alive = req->head.has_keep_alive && !is_proxied;
	struct said said = look_at_headers(req);
	const char *type;
	int r = 0;

	if (is_http_11(req)) {
		if (!said.date)
			r = add_header(req, "Date", date_text(conn), LE_DATE_LEN);
	} else if (keeps_alive && (body == BODY_WHOLE || said.length || !has_body) &&
		   !said.connection) {
		/* Without a length the end of the connection is the end of the body. */
		said.keep_alive = true;
		r = add_header(req, "Connection", "keep-alive", 10);
	}
	if (r == 0 && has_body && body == BODY_WHOLE && (is_http_11(req) || keeps_alive) &&
	    !said.transfer_encoding && !said.length)
		r = add_length(req, len);
	if (r == 0 && has_body && !said.type) {
		type = default_type(conn);
		if (type != NULL)
			r = add_header(req, "Content-Type", type, strlen(type));
	}
	if (r == 0 && req->head.has_close && !is_proxied) {
		evhttp_remove_header(&req->output_headers, "Connection");
		r = add_header(req, "Connection", "close", 5);
	}
	req->must_close = must_close(req, &said) ||
			  (body == BODY_STREAMED && has_body && !req->pub.chunked && !said.length);
	return r;
}

/* Text that is written as long as it fits. */
struct text {
	char *at, *end;
};

static char *copy(char *to, const char *s, size_t len)
{
	memcpy(to, s, len);
	return to + len;
}

/* A code of three digits, which all are but a program's mistakes. */
static char *copy_code(char *to, int code)
{
	char text[20], *end = text + sizeof(text);
	size_t digits;

	if (code >= 100 && code <= 999) {
		to[0] = (char)('0' + code / 100);
		to[1] = (char)('0' + code / 10 % 10);
		to[2] = (char)('0' + code % 10);
		return to + 3;
	}
	if (code < 0)
		*to++ = '-';
	digits = write_digits(end, (uint64_t)(code < 0 ? -(int64_t)code : code));
	return copy(to, end - digits, digits);
}

static bool put_status_line(struct text *text, const struct le_request *req)
{
	static const char longest[] = "HTTP/1.1 -2147483648 \r\n";
	const char *reason = req->pub.response_code_line;
	size_t len = strlen(reason);
	char *to = text->at;

	if ((size_t)(text->end - to) < sizeof(longest) + len)
		return false;
	/* Of a version that a client announces and nobody knows the last one that is known. */
	to = copy(to, "HTTP/", 5);
	*to++ = (char)('0' + req->pub.major);
	*to++ = '.';
	*to++ = (char)('0' + (req->pub.minor > 1 ? 1 : req->pub.minor));
	*to++ = ' ';
	to = copy_code(to, req->pub.response_code);
	*to++ = ' ';
	text->at = copy(copy(to, reason, len), "\r\n", 2);
	return true;
}

/* The line, and room for the empty one behind it. NULL: it does not fit. */
static inline char *copy_header(char *to, const char *end, const struct evkeyval *header)
{
	bool is_ours = le_header_is_ours(header) && le_header_has_our_value(header);
	struct le_header_lens lens = is_ours ? le_header(header)->lens : le_header_lens(header);

	if ((size_t)(end - to) < lens.key + lens.value + 6)
		return NULL;
	if (is_ours) {
		/* It lies there as it is sent, but for the colon. */
		copy(to, header->key, lens.key + 2 + lens.value);
		to[lens.key] = ':';
		to += lens.key + 2 + lens.value;
	} else {
		to = copy(copy(copy(to, header->key, lens.key), ": ", 2), header->value, lens.value);
	}
	return copy(to, "\r\n", 2);
}

static bool put_head(struct text *text, const struct le_request *req)
{
	const struct evkeyval *header;
	char *to;

	if (!put_status_line(text, req))
		return false;
	to = text->at;
	TAILQ_FOREACH(header, &req->output_headers, next) {
		to = copy_header(to, text->end, header);
		if (to == NULL)
			return false;
	}
	if (text->end - to < 2)
		return false;
	text->at = copy(to, "\r\n", 2);
	return true;
}

/*
 * The status line and the headers as text, in `room` if that is enough, else in the arena. NULL: no
 * memory.
 */
static char *head_text(struct le_request *req, char *room, size_t size, size_t *ret)
{
	struct text text = { .at = room, .end = room + size };

	while (!put_head(&text, req)) {
		if (size > SIZE_MAX / 2)
			return NULL;
		size *= 2;
		room = le_arena_get(&req->arena, size);
		if (room == NULL)
			return NULL;
		text = (struct text){ .at = room, .end = room + size };
	}
	*ret = (size_t)(text.at - room);
	return room;
}

/* A reason with a line's end in it would begin a header of whoever had a say in it. */
static void set_status(struct le_request *req, int code, const char *reason)
{
	char *copied;

	req->pub.kind = EVHTTP_RESPONSE;
	req->pub.response_code = code;
	req->pub.response_code_line = (char *)(uintptr_t)le_status_reason(code);
	if (reason == NULL || strcmp(reason, req->pub.response_code_line) == 0 ||
	    strpbrk(reason, "\r\n") != NULL)
		return;
	/* Without memory it stays the usual one. */
	copied = le_arena_copy(&req->arena, reason, strlen(reason));
	if (copied != NULL)
		req->pub.response_code_line = copied;
}

/* ---------------------------------------------------------------- whole replies */

/*
 * Head and body into the output at once. `room` of `size` bytes begins with the head, unless that
 * did not fit; a short body is copied behind it.
 */
static int write_reply(struct evhttp_connection *conn, char *room, size_t size, const char *head,
		       size_t head_len, struct evbuffer *body, size_t len)
{
	struct evbuffer *out = bufferevent_get_output(conn->bev);

	if (len == 0)
		return evbuffer_add(out, head, head_len) < 0 ? -ENOMEM : 0;
	if (head == room && len <= size - head_len) {
		if (evbuffer_remove(body, room + head_len, len) != (int)len)
			return -ENOMEM;
		return evbuffer_add(out, room, head_len + len) < 0 ? -ENOMEM : 0;
	}
	if (evbuffer_prepend(body, head, head_len) < 0)
		return -ENOMEM;
	return evbuffer_add_buffer(out, body) < 0 ? -ENOMEM : 0;
}

/* The request's output buffer is the body. */
static void reply_whole(struct evhttp_connection *conn, struct le_request *req)
{
	struct evbuffer *body = req->pub.output_buffer;
	char room[REPLY_ROOM], *head;
	size_t len = le_buffer_get_length(body), head_len;

	if (complete_headers(conn, req, BODY_WHOLE, len) < 0)
		goto fail;
	if (!may_have_body(req)) {
		evbuffer_drain(body, len);
		len = 0;
	}
	head = head_text(req, room, sizeof(room), &head_len);
	if (head == NULL || write_reply(conn, room, sizeof(room), head, head_len, body, len) < 0)
		goto fail;
	le_serve_replied(conn, req);
	return;
fail:
	ec_log_errno(EC_LOG_WARN, ENOMEM, "a reply is lost");
	le_conn_close(conn);
}

struct reply_args {
	struct le_request *req;
	int code;
};

static bool is_in(const struct evhttp_connection *conn, const struct le_request *req)
{
	return !conn->is_closed && req->pub.evcon == conn;
}

/* The program had the request when its connection went, and gives it up with this reply. */
static void drop(struct le_request *req)
{
	if (!req->is_released && (req->pub.flags & EVHTTP_USER_OWNED) == 0)
		le_request_put(req);
}

static void warn_order(const struct le_request *req)
{
	static const char *const names[] = {
		[LE_REQUEST_IN] = "no request",
		[LE_REQUEST_HANDED] = "no reply was started",
		[LE_REQUEST_STREAMED] = "a reply is under way",
		[LE_REQUEST_REPLIED] = "there is a reply",
	};

	ec_log(EC_LOG_WARN, "evhttp: reply to %s: %s", req->pub.uri, names[req->state]);
}

/*
 * A second reply would be the answer to the next request, or stand in the body of the first. What
 * cannot be made a whole reply any more ends with the connection, without what would make it look
 * complete.
 */
static bool is_in_order(struct evhttp_connection *conn, struct le_request *req,
			enum le_request_state wanted)
{
	if (req->state == wanted)
		return true;
	warn_order(req);
	if (req->state == LE_REQUEST_STREAMED && wanted == LE_REQUEST_HANDED) {
		req->must_close = true;
		le_serve_replied(conn, req);
	}
	return false;
}

static void reply_call(struct evhttp_connection *conn, void *args)
{
	struct le_request *req = ((struct reply_args *)args)->req;

	if (!is_in(conn, req))
		drop(req);
	else if (is_in_order(conn, req, LE_REQUEST_HANDED))
		reply_whole(conn, req);
	le_request_put(req);
}

/* From any color. fn puts the reference that is taken for it. */
static void call(struct le_request *req, le_call_fn fn, void *args, size_t size)
{
	int r;

	__atomic_add_fetch(&req->refs, 1, __ATOMIC_RELAXED);
	r = le_color_call(req->conn, fn, args, size);
	if (r < 0) {
		ec_log_errno(EC_LOG_WARN, -r, "a reply is lost");
		le_request_put(req);
	}
}

static void set_reply(struct le_request *req, int code, const char *reason, struct evbuffer *body)
{
	set_status(req, code, reason);
	if (body != NULL)
		evbuffer_add_buffer(req->pub.output_buffer, body);
}

void evhttp_send_reply(struct evhttp_request *pub, int code, const char *reason,
		       struct evbuffer *databuf)
{
	struct le_request *req = le_request(pub);
	struct evhttp_connection *conn = req->conn;
	struct reply_args args = { req, code };

	if (!le_color_is_own(conn)) {
		set_reply(req, code, reason, databuf);
		call(req, reply_call, &args, sizeof(args));
	} else if (!is_in(conn, req)) {
		set_reply(req, code, reason, databuf);
		drop(req);
	} else if (is_in_order(conn, req, LE_REQUEST_HANDED)) {
		/* Before this nothing of a reply that is under way may be changed. */
		set_reply(req, code, reason, databuf);
		reply_whole(conn, req);
	}
}

/* In place of what the handler meant to send; the connection is closed behind it. */
__attribute__((format(printf, 4, 5)))
static void send_page(struct le_request *req, int code, const char *reason, const char *fmt, ...)
{
	struct evbuffer *page = req->pub.output_buffer;
	va_list ap;

	if (!is_http_11(req))
		req->pub.major = req->pub.minor = 1;
	evhttp_clear_headers(&req->output_headers);
	evbuffer_drain(page, le_buffer_get_length(page));
	/* Without memory the page is shorter. */
	add_header(req, "Content-Type", "text/html", 9);
	add_header(req, "Connection", "close", 5);
	va_start(ap, fmt);
	evbuffer_add_vprintf(page, fmt, ap);
	va_end(ap);
	evhttp_send_reply(&req->pub, code, reason, NULL);
}

void evhttp_send_error(struct evhttp_request *pub, int error, const char *reason)
{
	char *escaped;

	if (reason == NULL || strpbrk(reason, "\r\n") != NULL)
		reason = le_status_reason(error);
	escaped = evhttp_htmlescape(reason);
	send_page(
		le_request(pub), error, reason,
		"<HTML><HEAD>\n<TITLE>%d %s</TITLE>\n</HEAD><BODY>\n<H1>%s</H1>\n</BODY></HTML>\n",
		error, escaped != NULL ? escaped : "", escaped != NULL ? escaped : "");
	ec_free(escaped);
}

void le_reply_refuse(struct le_request *req, int code)
{
	/* What could not be read has no say in how the connection goes on. */
	req->head = (struct le_head){ .has_close = false };
	req->pub.flags &= ~EVHTTP_PROXY_REQUEST;
	req->state = LE_REQUEST_HANDED;
	evhttp_send_error(&req->pub, code, NULL);
}

void le_reply_not_found(struct le_request *req)
{
	char *uri = evhttp_htmlescape(req->pub.uri);

	send_page(req, HTTP_NOTFOUND, NULL,
		  "<html><head><title>404 Not Found</title></head><body><h1>Not Found</h1>"
		  "<p>The requested URL %s was not found on this server.</p></body></html>\n",
		  uri != NULL ? uri : "");
	ec_free(uri);
}

/* ---------------------------------------------------------------- streamed replies */

/* To start again is to do what is done already. */
static bool may_start(struct evhttp_connection *conn, struct le_request *req)
{
	if (req->state != LE_REQUEST_STREAMED)
		return is_in_order(conn, req, LE_REQUEST_HANDED);
	warn_order(req);
	return false;
}

static void start_call(struct evhttp_connection *conn, void *args)
{
	struct le_request *req = ((struct reply_args *)args)->req;
	char room[REPLY_ROOM], *head;
	size_t head_len;

	if (!is_in(conn, req) || !may_start(conn, req))
		goto put_req;
	if (complete_headers(conn, req, BODY_STREAMED, 0) < 0)
		goto fail;
	head = head_text(req, room, sizeof(room), &head_len);
	if (head == NULL || bufferevent_write(conn->bev, head, head_len) < 0)
		goto fail;
	req->state = LE_REQUEST_STREAMED;
	le_serve_streaming(conn);
	goto put_req;
fail:
	ec_log_errno(EC_LOG_WARN, ENOMEM, "a reply is lost");
	conn->ops->fail(conn, EVREQ_HTTP_BUFFER_ERROR);
put_req:
	le_request_put(req);
}

void evhttp_send_reply_start(struct evhttp_request *pub, int code, const char *reason)
{
	struct le_request *req = le_request(pub);
	struct reply_args args = { req, code };

	if (le_color_is_own(req->conn) && is_in(req->conn, req) && !may_start(req->conn, req))
		return;
	set_status(req, code, reason);
	pub->chunked = 0;
	if (is_http_11(req) && !has_header(req, "Content-Length") && may_have_body(req)) {
		/* Ours, or one that the program set: never both. */
		if (!has_header(req, "Transfer-Encoding"))
			add_header(req, "Transfer-Encoding", "chunked", 7);
		pub->chunked = 1;
	}
	call(req, start_call, &args, sizeof(args));
}

struct chunk_args {
	struct le_request *req;
	/* NULL: what the program gave, for a call from the own color */
	struct evbuffer *data;
	struct evbuffer *copy;		/* ours, for a call that is posted */
	le_chunk_fn fn;
	void *arg;
};

static int write_chunk(struct evhttp_connection *conn, struct le_request *req,
		       struct evbuffer *data)
{
	struct evbuffer *out = bufferevent_get_output(conn->bev);
	size_t len = le_buffer_get_length(data);
	char size[20];
	int n;

	if (len == 0)
		return 0;
	if (!req->pub.chunked)
		return evbuffer_add_buffer(out, data);
	n = snprintf(size, sizeof(size), "%zx\r\n", len);
	/* Into the caller's buffer first, so that the output gets it in one piece. */
	if (evbuffer_prepend(data, size, (size_t)n) < 0 || evbuffer_add(data, "\r\n", 2) < 0)
		return -1;
	return evbuffer_add_buffer(out, data);
}

static void chunk_call(struct evhttp_connection *conn, void *args)
{
	struct chunk_args *chunk = args;
	struct le_request *req = chunk->req;
	struct evbuffer *data = chunk->data != NULL ? chunk->data : chunk->copy;

	if (is_in(conn, req) && is_in_order(conn, req, LE_REQUEST_STREAMED)) {
		conn->chunk_fn = chunk->fn;
		conn->chunk_arg = chunk->arg;
		if (may_have_body(req) && write_chunk(conn, req, data) < 0) {
			ec_log_errno(EC_LOG_WARN, ENOMEM, "a chunk is lost");
			conn->ops->fail(conn, EVREQ_HTTP_BUFFER_ERROR);
		} else if (chunk->fn != NULL) {
			le_serve_wrote(conn);
		}
	}
	if (chunk->copy != NULL) {
		evbuffer_free(chunk->copy);
		le_request_put(req);
	}
}

void evhttp_send_reply_chunk_with_cb(struct evhttp_request *pub, struct evbuffer *databuf,
				     void (*cb)(struct evhttp_connection *, void *), void *arg)
{
	struct le_request *req = le_request(pub);
	struct chunk_args args = { .req = req, .data = databuf, .fn = cb, .arg = arg };

	if (le_color_is_own(req->conn)) {
		chunk_call(req->conn, &args);
		return;
	}
	/* The caller may use its buffer again at once. */
	args.data = NULL;
	args.copy = evbuffer_new();
	if (args.copy == NULL || evbuffer_add_buffer(args.copy, databuf) < 0)
		goto fail;
	__atomic_add_fetch(&req->refs, 1, __ATOMIC_RELAXED);
	if (le_color_call(req->conn, chunk_call, &args, sizeof(args)) == 0)
		return;
	le_request_put(req);
fail:
	ec_log_errno(EC_LOG_WARN, ENOMEM, "a chunk is lost");
	if (args.copy != NULL)
		evbuffer_free(args.copy);
}

void evhttp_send_reply_chunk(struct evhttp_request *req, struct evbuffer *databuf)
{
	evhttp_send_reply_chunk_with_cb(req, databuf, NULL, NULL);
}

/* Without a start there is nothing that the client could take for a reply. */
static void end_out_of_order(struct evhttp_connection *conn, struct le_request *req)
{
	warn_order(req);
	if (req->state != LE_REQUEST_HANDED)
		return;
	req->must_close = true;
	le_serve_replied(conn, req);
}

static void end_call(struct evhttp_connection *conn, void *args)
{
	struct le_request *req = ((struct reply_args *)args)->req;

	if (!is_in(conn, req)) {
		drop(req);
	} else if (req->state != LE_REQUEST_STREAMED) {
		end_out_of_order(conn, req);
	} else if (req->pub.chunked && bufferevent_write(conn->bev, "0\r\n\r\n", 5) < 0) {
		ec_log_errno(EC_LOG_WARN, ENOMEM, "a reply is lost");
		le_conn_close(conn);
	} else {
		le_serve_replied(conn, req);
	}
	le_request_put(req);
}

void evhttp_send_reply_end(struct evhttp_request *req)
{
	struct reply_args args = { le_request(req), 0 };

	call(args.req, end_call, &args, sizeof(args));
}
