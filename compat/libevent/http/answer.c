/*
 * Reads the response to a client's request.
 */
#include "client.h"

#include <string.h>

#include <event2/buffer.h>

#include "chars.h"

struct le_request *le_client_next(struct evhttp_connection *conn)
{
	if (conn->state != LE_CONN_IDLE)
		return le_conn_first(conn);
	if (!le_conn_is_ours(conn))
		return NULL;
	/* A response without a request must not become the answer to the next request. */
	le_conn_disconnect(conn);
	le_client_go_on(conn);
	return NULL;
}

static bool is_http_11(const struct le_request *req)
{
	return req->pub.major == 1 && req->pub.minor >= 1;
}

/* True: the bytes after the head belong to another protocol that the program has asked for. */
static bool is_switched(const struct le_request *req)
{
	return req->pub.response_code == 101 ||
	       (req->pub.type == EVHTTP_REQ_CONNECT && req->pub.response_code / 100 == 2);
}

/* True: the server may see another end of the response than this client does. */
static bool is_framing_doubtful(const struct le_request *req)
{
	const struct le_head *head = &req->head;

	/* RFC 9112, 6.1: HTTP/1.0 has no transfer codings, and a 204 response has no body. */
	if (req->pub.response_code == HTTP_NOCONTENT && head->has_length && head->length > 0)
		return true;
	return head->has_transfer_encoding &&
	       (!is_http_11(req) || req->pub.response_code == HTTP_NOCONTENT);
}

/* Has either side announced that the connection ends with this response? */
static bool is_end_announced(const struct le_request *req)
{
	const char *connection = evhttp_find_header(&req->output_headers, "Connection");

	return req->head.has_close ||
	       (connection != NULL && le_equals_lower(connection, strlen(connection), "close"));
}

static bool is_kept_alive(struct evhttp_connection *conn, const struct le_request *req)
{
	if (req->must_close || req->head.has_close || req->body.is_until_close || req->is_waiting ||
	    is_framing_doubtful(req))
		return false;
	/* The server has sent more than the response. */
	if (evbuffer_get_length(bufferevent_get_input(conn->bev)) > 0 && !is_switched(req))
		return false;
	if (!is_http_11(req))
		return req->head.has_keep_alive;
	return !is_end_announced(req);
}

/*
 * The request is sent, and its response is complete. As in libevent, the close callback runs before
 * the request's callback if the end was announced, else after it.
 */
void le_client_complete(struct evhttp_connection *conn, struct le_request *req)
{
	bool is_kept = is_kept_alive(conn, req);
	bool is_reported_later = !is_kept && !is_end_announced(req);

	le_request_enter(req);
	le_client_unlink(conn, req);
	if (is_kept) {
		conn->state = LE_CONN_IDLE;
		le_conn_set_reading(conn, true);
	} else if (is_reported_later) {
		le_conn_drop_socket(conn);
	} else {
		le_conn_disconnect(conn);
	}
	/* The close callback may have freed it. */
	if (req->pub.cb != NULL && !req->is_freed) {
		ec_note_call((uintptr_t)req->pub.cb);
		req->pub.cb(&req->pub, req->pub.cb_arg);
	}
	le_client_leave_last(req);
	if (is_reported_later && !conn->is_closed)
		le_conn_report_closed(conn);
	le_client_go_on(conn);
}

/* The response is complete. If the request is not all written yet, le_client_written() goes on. */
void le_client_message_done(struct evhttp_connection *conn, struct le_request *req)
{
	if (conn->is_sending)
		conn->state = LE_CONN_BUSY;
	else
		le_client_complete(conn, req);
}

static void continue_with_body(struct evhttp_connection *conn, struct le_request *req)
{
	req->is_waiting = false;
	conn->is_sending = evbuffer_get_length(req->pub.output_buffer) > 0 || conn->is_sending;
	if (evbuffer_add_buffer(bufferevent_get_output(conn->bev), req->pub.output_buffer) < 0)
		le_client_fail(conn, EVREQ_HTTP_BUFFER_ERROR);
}

/* False: the callback has refused the response, or ended the request. */
static bool call_header_cb(struct evhttp_connection *conn, struct le_request *req)
{
	bool is_there;
	int r;

	le_request_enter(req);
	r = req->pub.header_cb(&req->pub, req->pub.cb_arg);
	is_there = !conn->is_closed && req->pub.evcon == conn && !req->is_freed;
	le_request_leave(req);
	if (is_there && r < 0)
		le_client_fail(conn, EVREQ_HTTP_EOF);
	return is_there && r >= 0;
}

/*
 * Reports a 100 response to the header callback, as libevent does, and ignores other 1xx responses.
 */
static void interim_done(struct evhttp_connection *conn, struct le_request *req)
{
	bool is_continue = req->pub.response_code == 100;

	if (req->pub.headers_size > LE_LINES_MAX) {
		le_client_fail(conn, EVREQ_HTTP_INVALID_HEADER);
		return;
	}
	if (is_continue && req->pub.header_cb != NULL && !call_header_cb(conn, req))
		return;
	le_client_forget_head(req);
	if (is_continue && req->is_waiting)
		continue_with_body(conn, req);
}

void le_client_head_done(struct evhttp_connection *conn, struct le_request *req)
{
	int code = req->pub.response_code;
	enum le_framing framing;

	if (code / 100 == 1 && code != 101) {
		interim_done(conn, req);
		return;
	}
	if (req->pub.header_cb != NULL && !call_header_cb(conn, req))
		return;
	framing = le_response_framing(&req->head, (unsigned)req->pub.type, code);
	if (framing == LE_FRAMING_BAD) {
		le_client_fail(conn, EVREQ_HTTP_INVALID_HEADER);
		return;
	}
	if (framing == LE_FRAMING_LENGTH && req->head.length > conn->max_body_size) {
		le_client_fail(conn, EVREQ_HTTP_DATA_TOO_LONG);
		return;
	}
	req->pub.chunked = framing == LE_FRAMING_CHUNKED;
	req->pub.ntoread = framing == LE_FRAMING_LENGTH ? (ev_int64_t)req->head.length : -1;
	le_body_init(&req->body, framing, req->head.length, conn->max_body_size,
		     le_lines_max(conn, req));
	conn->state = LE_CONN_BODY;
	if (framing == LE_FRAMING_NO_BODY)
		le_client_message_done(conn, req);
}
