/*
 * The head of a reply: adds the headers that the program left out, and writes the text.
 */
#include "reply.h"

#include <errno.h>
#include <string.h>

#include "chars.h"
#include "status.h"

/* Formats the date once a second. */
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

/* Writes the digits before `end`, and returns their number. */
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

	return le_reply_add_header(req, "Content-Length", end - digits, digits);
}

static const char *default_type(struct evhttp_connection *conn)
{
	return __atomic_load_n(&conn->server->default_content_type, __ATOMIC_ACQUIRE);
}

/* The headers that the program has set, and their values, as a set; one pass finds all. */
enum {
	GIVEN_DATE = 0x01,
	GIVEN_CONNECTION = 0x02,
	GIVEN_CLOSE = 0x04,
	GIVEN_PROXY_KEEP_ALIVE = 0x08,
	GIVEN_LENGTH = 0x10,
	GIVEN_TYPE = 0x20,
	GIVEN_TRANSFER_ENCODING = 0x40,
};

static bool is_value(const char *value, const char *word)
{
	return le_equals_lower(value, strlen(value), word);
}

static unsigned connection_options(const char *value)
{
	return GIVEN_CONNECTION | (is_value(value, "close") ? GIVEN_CLOSE : 0);
}

static unsigned find_given_headers(const struct le_request *req)
{
	const struct evkeyval *header;
	unsigned given = 0;

	TAILQ_FOREACH(header, &req->output_headers, next) {
		const char *key = header->key;
		size_t len = le_header_lens(header).key;

		if (len == 4 && le_equals_lower(key, len, "date"))
			given |= GIVEN_DATE;
		else if (len == 10 && le_equals_lower(key, len, "connection"))
			given |= connection_options(header->value);
		else if (len == 12 && le_equals_lower(key, len, "content-type"))
			given |= GIVEN_TYPE;
		else if (len == 14 && le_equals_lower(key, len, "content-length"))
			given |= GIVEN_LENGTH;
		else if (len == 16 && le_equals_lower(key, len, "proxy-connection"))
			given = (given & ~(unsigned)GIVEN_PROXY_KEEP_ALIVE) |
				(is_value(header->value, "keep-alive") ? GIVEN_PROXY_KEEP_ALIVE : 0);
		else if (len == 17 && le_equals_lower(key, len, "transfer-encoding"))
			given |= GIVEN_TRANSFER_ENCODING;
	}
	return given;
}

/* Does the connection end with this reply? As in libevent, a client of HTTP/1.0 must have asked that it does not. */
static inline bool must_close(const struct le_request *req, unsigned given, bool is_http_11)
{
	if ((req->pub.flags & EVHTTP_PROXY_REQUEST) != 0)
		return !req->head.has_proxy_keep_alive || (given & GIVEN_PROXY_KEEP_ALIVE) == 0;
	return (given & GIVEN_CLOSE) != 0 || req->head.has_close ||
	       (!is_http_11 && !req->head.has_keep_alive);
}

int le_reply_complete_headers(struct evhttp_connection *conn, struct le_request *req, enum le_reply_body body,
			      uint64_t len)
{
	bool is_proxied = (req->pub.flags & EVHTTP_PROXY_REQUEST) != 0,
	     has_body = le_reply_may_have_body(req), is_http_11 = le_reply_is_http_11(req);
	bool keeps_alive = req->head.has_keep_alive && !is_proxied;
	unsigned given = find_given_headers(req);
	const char *type;
	int r = 0;

	if (is_http_11) {
		if ((given & GIVEN_DATE) == 0)
			r = le_reply_add_header(req, "Date", date_text(conn), LE_DATE_LEN);
	} else if (keeps_alive && (given & GIVEN_CONNECTION) == 0 &&
		   (body == LE_REPLY_WHOLE || (given & GIVEN_LENGTH) != 0 || !has_body)) {
		/*
		 * A body without a length ends with the connection, so only others keep it alive.
		 */
		r = le_reply_add_header(req, "Connection", "keep-alive", 10);
	}
	if (r == 0 && has_body && body == LE_REPLY_WHOLE && (is_http_11 || keeps_alive) &&
	    (given & (GIVEN_TRANSFER_ENCODING | GIVEN_LENGTH)) == 0)
		r = add_length(req, len);
	if (r == 0 && has_body && (given & GIVEN_TYPE) == 0) {
		type = default_type(conn);
		if (type != NULL)
			r = le_reply_add_header(req, "Content-Type", type, strlen(type));
	}
	if (r == 0 && req->head.has_close && !is_proxied) {
		evhttp_remove_header(&req->output_headers, "Connection");
		r = le_reply_add_header(req, "Connection", "close", 5);
	}
	req->must_close = must_close(req, given, is_http_11) ||
			  (body == LE_REPLY_STREAMED && has_body && !req->pub.chunked && (given & GIVEN_LENGTH) == 0);
	return r;
}

/* Room for text that is being written. */
struct text {
	char *at, *end;
};

static char *copy(char *to, const char *s, size_t len)
{
	memcpy(to, s, len);
	return to + len;
}

/* A code has three digits, unless the program passes a wrong one. */
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
	/* A client may announce an unknown version. The reply has version 1.1 at most. */
	to = copy(to, "HTTP/", 5);
	*to++ = (char)('0' + req->pub.major);
	*to++ = '.';
	*to++ = (char)('0' + (req->pub.major == 1 && req->pub.minor > 1 ? 1 : req->pub.minor));
	*to++ = ' ';
	to = copy_code(to, req->pub.response_code);
	*to++ = ' ';
	text->at = copy(copy(to, reason, len), "\r\n", 2);
	return true;
}

/* Copies a header's line. NULL: it does not fit, with the empty line after the headers. */
static inline char *copy_header(char *to, const char *end, const struct evkeyval *header)
{
	struct le_header_lens lens = le_header_lens(header);
	size_t len = lens.key + 2 + lens.value;

	if ((size_t)(end - to) < len + 4)
		return NULL;
	if (__builtin_expect(header->value == header->key + lens.key + 2, 1)) {
		/* As in our headers, the value lies where it is sent: one copy takes both. */
		copy(to, header->key, len);
		to[lens.key] = ':';
		to[lens.key + 1] = ' ';
	} else {
		copy(copy(copy(to, header->key, lens.key), ": ", 2), header->value, lens.value);
	}
	return copy(to + len, "\r\n", 2);
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

char *le_reply_head_text(struct le_request *req, char *room, size_t size, size_t *ret)
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

/* If a reason phrase contained a line end, its author could add headers to the reply. */
void le_reply_set_status(struct le_request *req, int code, const char *reason)
{
	char *copied;

	req->pub.kind = EVHTTP_RESPONSE;
	req->pub.response_code = code;
	req->pub.response_code_line = (char *)(uintptr_t)le_status_reason(code);
	if (reason == NULL || strcmp(reason, req->pub.response_code_line) == 0 ||
	    strpbrk(reason, "\r\n") != NULL)
		return;
	/* Without memory the standard reason stays. */
	copied = le_arena_copy(&req->arena, reason, strlen(reason));
	if (copied != NULL)
		req->pub.response_code_line = copied;
}
