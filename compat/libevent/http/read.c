/*
 * Reads a message from a bufferevent's input. Lines are parsed in place and copied once, into the
 * request's arena. Each call takes all complete lines and records how far it has searched. So a
 * message that arrives byte by byte is searched only once.
 */
#include "http.h"

#include <errno.h>
#include <string.h>

#include <event2/buffer.h>

#include "chars.h"

enum head_result { HEAD_MORE, HEAD_DONE, HEAD_MALFORMED, HEAD_TOO_LONG, HEAD_NO_MEMORY };

static enum head_result from_errno(int r)
{
	if (r == 0)
		return HEAD_MORE;
	return r == -ENOMEM ? HEAD_NO_MEMORY : HEAD_MALFORMED;
}

static enum head_result take_header(struct evhttp_connection *conn, struct le_request *req,
				    const char *line, size_t len)
{
	struct le_span key, value;

	if (le_is_blank(line[0])) {
		/*
		 * Other readers may not support folded headers. If one that determines the end of
		 * the message were folded, they would see another end.
		 */
		if (TAILQ_EMPTY(&req->input_headers) || req->head.is_last_noted)
			return HEAD_MALFORMED;
		if (!le_parse_folded_line(line, len, &value))
			return HEAD_MALFORMED;
		return from_errno(le_header_extend_last(&req->arena, &req->input_headers, value.s,
							value.len));
	}
	if (!le_parse_header_line(line, len, &key, &value) ||
	    !le_head_note(&req->head, conn->ops->message, key, value))
		return HEAD_MALFORMED;
	return from_errno(le_header_append_line(&req->arena, &req->input_headers, key.s, key.len,
						value.s, value.len));
}

/* Takes one line, without its LF. */
static enum head_result take_line(struct evhttp_connection *conn, struct le_request *req,
				  const char *line, size_t len)
{
	bool has_cr = false;

	req->pub.headers_size += len;
	if (req->pub.headers_size > conn->max_headers_size)
		return HEAD_TOO_LONG;
	if (len > 0 && line[len - 1] == '\r') {
		has_cr = true;
		len--;
	}
	if (!req->has_first_line) {
		if (len == 0 && conn->ops->message == LE_REQUEST_MESSAGE &&
		    !req->has_skipped_line) {
			req->has_skipped_line = true;
			return HEAD_MORE;
		}
		req->has_bare_lf = !has_cr;
		return from_errno(le_request_take_first_line(req, line, len));
	}
	/*
	 * All lines must end like the first one. To some readers, an LF without CR among lines that
	 * end in CRLF is no line end.
	 */
	if (req->has_bare_lf == has_cr)
		return HEAD_MALFORMED;
	if (len == 0)
		return HEAD_DONE;
	return take_header(conn, req, line, len);
}

/* Takes the complete lines of `len` bytes. *used: the number of bytes taken. */
static enum head_result take_lines(struct evhttp_connection *conn, struct le_request *req,
				   const char *data, size_t len, size_t *used)
{
	const char *line = data, *from = data + req->line_scanned, *end = data + len, *eol;
	enum head_result result = HEAD_MORE;

	req->line_scanned = 0;
	while (result == HEAD_MORE) {
		eol = memchr(from, '\n', (size_t)(end - from));
		if (eol == NULL) {
			req->line_scanned = (size_t)(end - line);
			break;
		}
		result = take_line(conn, req, line, (size_t)(eol - line));
		line = from = eol + 1;
	}
	*used = (size_t)(line - data);
	return result;
}

/* If the first line of the input is complete, makes it contiguous. */
static enum head_result join_line(struct evhttp_connection *conn, struct le_request *req,
				  struct evbuffer *in)
{
	struct evbuffer_ptr from, eol;
	size_t len = le_buffer_get_length(in);

	if (req->line_scanned < len) {
		if (evbuffer_ptr_set(in, &from, req->line_scanned, EVBUFFER_PTR_SET) < 0)
			return HEAD_NO_MEMORY;
		eol = evbuffer_search_eol(in, &from, NULL, EVBUFFER_EOL_LF);
		if (eol.pos >= 0)
			return evbuffer_pullup(in, eol.pos + 1) != NULL ? HEAD_DONE :
									  HEAD_NO_MEMORY;
		req->line_scanned = len;
	}
	return req->pub.headers_size + len > conn->max_headers_size ? HEAD_TOO_LONG : HEAD_MORE;
}

static enum head_result read_head(struct evhttp_connection *conn, struct le_request *req,
				  struct evbuffer *in)
{
	enum head_result result;
	struct evbuffer_iovec vec;
	size_t used;

	while (le_buffer_peek_front(in, &vec)) {
		result = HEAD_MORE;
		used = 0;
		if (req->line_scanned < vec.iov_len)
			result = take_lines(conn, req, vec.iov_base, vec.iov_len, &used);
		if (used > 0)
			evbuffer_drain(in, used);
		if (result != HEAD_MORE)
			return result;
		if (req->line_scanned == 0)
			continue;
		result = join_line(conn, req, in);
		if (result != HEAD_DONE)
			return result;
	}
	return HEAD_MORE;
}

static void fail_head(struct evhttp_connection *conn, enum head_result result)
{
	if (result == HEAD_TOO_LONG)
		conn->ops->fail(conn, EVREQ_HTTP_DATA_TOO_LONG);
	else if (result == HEAD_MALFORMED)
		conn->ops->fail(conn, EVREQ_HTTP_INVALID_HEADER);
	else
		conn->ops->fail(conn, EVREQ_HTTP_BUFFER_ERROR);
}

/* False: the head needs more input, or the connection is closed. */
static bool advance_head(struct evhttp_connection *conn, struct evbuffer *in)
{
	struct le_request *req = conn->ops->next(conn);
	enum head_result result;

	if (req == NULL)
		return false;
	result = read_head(conn, req, in);
	if (result == HEAD_MORE)
		return false;
	if (result == HEAD_DONE)
		conn->ops->head_done(conn, req);
	else
		fail_head(conn, result);
	return !conn->is_closed;
}

/*
 * Calls the program's callback for a part of the body, which is then dropped. False: the callback
 * has ended the connection or the request.
 */
static bool call_chunk_cb(struct evhttp_connection *conn, struct le_request *req)
{
	bool is_there;

	le_request_enter(req);
	req->pub.chunk_cb(&req->pub, req->pub.cb_arg);
	evbuffer_drain(req->pub.input_buffer, le_buffer_get_length(req->pub.input_buffer));
	is_there = !conn->is_closed && req->pub.evcon == conn && !req->is_freed;
	le_request_leave(req);
	return is_there;
}

static bool fail_body(struct evhttp_connection *conn, struct le_request *req,
		      enum le_body_result result)
{
	if (result == LE_BODY_TOO_LONG && (conn->flags & EVHTTP_CON_LINGERING_CLOSE) != 0 &&
	    conn->ops->message == LE_REQUEST_MESSAGE) {
		req->is_lingering = true;
		req->body.max = UINT64_MAX;
		return true;
	}
	if (result == LE_BODY_TOO_LONG)
		conn->ops->fail(conn, EVREQ_HTTP_DATA_TOO_LONG);
	else if (result == LE_BODY_MALFORMED)
		conn->ops->fail(conn, EVREQ_HTTP_INVALID_HEADER);
	else
		conn->ops->fail(conn, EVREQ_HTTP_BUFFER_ERROR);
	return false;
}

static bool advance_body(struct evhttp_connection *conn, struct evbuffer *in)
{
	struct le_request *req = le_conn_first(conn);
	struct evbuffer *content = req->pub.input_buffer;
	size_t before = le_buffer_get_length(content);
	enum le_body_result result = le_body_read(&req->body, in, content);

	req->pub.body_size += le_buffer_get_length(content) - before;
	if (req->is_lingering)
		evbuffer_drain(content, le_buffer_get_length(content));
	if (result != LE_BODY_MORE && result != LE_BODY_CHUNK && result != LE_BODY_END)
		return fail_body(conn, req, result);
	/* As in libevent, one call for one chunk: programs rely on that. */
	if (req->pub.chunk_cb != NULL && le_buffer_get_length(content) > 0 &&
	    !le_body_is_in_short_chunk(&req->body) && !call_chunk_cb(conn, req))
		return false;
	if (result == LE_BODY_END)
		conn->ops->message_done(conn, req);
	return result != LE_BODY_MORE && !conn->is_closed;
}

uint64_t le_lines_max(const struct evhttp_connection *conn, const struct le_request *req)
{
	size_t used = req->pub.headers_size;
	/* The program may have lowered the limit meanwhile. */
	size_t left = used < conn->max_headers_size ? conn->max_headers_size - used : 0;

	if (left < LE_LINES_MIN)
		return LE_LINES_MIN;
	return left < LE_LINES_MAX ? left : LE_LINES_MAX;
}

/* How much of the next request may wait here, and not in the kernel. */
static size_t ahead_max(const struct evhttp_connection *conn)
{
	const struct le_request *req = le_conn_first(conn);

	return req != NULL && req->state == LE_REQUEST_STREAMED ? LE_AHEAD_MAX : 0;
}

void le_conn_read(struct evhttp_connection *conn)
{
	struct evbuffer *in = bufferevent_get_input(conn->bev);
	bool has_more = true;

	while (has_more) {
		switch (conn->state) {
		case LE_CONN_IDLE:
		case LE_CONN_HEAD:
			has_more = le_buffer_get_length(in) > 0 && advance_head(conn, in);
			break;
		case LE_CONN_BODY:
			has_more = advance_body(conn, in);
			break;
		case LE_CONN_BUSY:
			if (le_buffer_get_length(in) > ahead_max(conn))
				le_conn_set_reading(conn, false);
			return;
		default:
			return;
		}
	}
}
