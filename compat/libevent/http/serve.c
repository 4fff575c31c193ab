/*
 * The server's side of a connection. It reads a request, calls the handler, sends the reply, and
 * then reads the next request.
 *
 * A handler may reply within its call or any time later. Until then the connection reads nothing.
 * So no timeout ends the request, and further input waits in the kernel. A client that has shut
 * down its sending side still gets its reply. While a reply is streamed, the connection reads, to
 * detect that the client closes, also behind the beginning of a next request.
 */
#include "http.h"

#include <string.h>

#include <event2/buffer.h>

#include "below.h"
#include "chars.h"

/* ---------------------------------------------------------------- requests */

static struct le_request *server_next(struct evhttp_connection *conn)
{
	struct le_request *req;

	if (conn->state != LE_CONN_IDLE)
		return le_conn_first(conn);
	req = le_request_new(conn);
	if (req == NULL) {
		le_conn_close(conn);
		return NULL;
	}
	req->pub.kind = EVHTTP_REQUEST;
	req->pub.flags |= EVHTTP_REQ_OWN_CONNECTION;
	req->pub.remote_host = conn->address;
	req->pub.remote_port = conn->port;
	le_request_bind(req, conn);
	conn->state = LE_CONN_HEAD;
	return req;
}

/* A client that sends an absolute URI of another host uses this server as a proxy. */
static void note_proxy(struct evhttp_connection *conn, struct le_request *req)
{
	const struct evhttp_uri *uri = &req->uri;

	if (uri->scheme == NULL || uri->host == NULL || *uri->host == '\0')
		return;
	if (!le_equals_lower(uri->scheme, strlen(uri->scheme), "http") &&
	    !le_equals_lower(uri->scheme, strlen(uri->scheme), "https"))
		return;
	if (!le_http_serves_host(conn->server, uri->host))
		req->pub.flags |= EVHTTP_PROXY_REQUEST;
}

static bool is_allowed(struct evhttp_connection *conn, const struct le_request *req)
{
	unsigned allowed = __atomic_load_n(&conn->server->allowed_methods, __ATOMIC_RELAXED);

	return ((unsigned)req->pub.type & allowed) != 0;
}

/* A program that decodes the path to a string would read "/a%00b" as "/a". */
static bool has_nul(const char *path)
{
	for (path = strchr(path, '%'); path != NULL; path = strchr(path + 1, '%')) {
		if (path[1] == '0' && path[2] == '0')
			return true;
	}
	return false;
}

static bool is_http_11(const struct le_request *req)
{
	return req->pub.major == 1 && req->pub.minor >= 1;
}

/* Checks the head. Returns 0, or the code of the error reply. */
static int check_head(struct evhttp_connection *conn, const struct le_request *req,
		      enum le_framing framing)
{
	if (!is_allowed(conn, req))
		return HTTP_NOTIMPLEMENTED;
	if (framing == LE_FRAMING_BAD || (req->has_escape && has_nul(req->uri.path)))
		return HTTP_BADREQUEST;
	if (framing == LE_FRAMING_LENGTH && req->head.length > conn->max_body_size &&
	    (conn->flags & EVHTTP_CON_LINGERING_CLOSE) == 0)
		return HTTP_ENTITYTOOLARGE;
	/* RFC 9110, 10.1.1: in HTTP/1.0 ignore the header Expect. */
	if (framing != LE_FRAMING_NO_BODY && req->head.expects_else && is_http_11(req))
		return HTTP_EXPECTATIONFAILED;
	return 0;
}

static void server_message_done(struct evhttp_connection *conn, struct le_request *req);

static void server_head_done(struct evhttp_connection *conn, struct le_request *req)
{
	static const char continue_line[] = "HTTP/1.1 100 Continue\r\n\r\n";
	const struct le_head *head = &req->head;
	enum le_framing framing = le_request_framing(head, req->pub.major, req->pub.minor);
	int code;

	note_proxy(conn, req);
	code = check_head(conn, req, framing);
	if (code != 0) {
		le_reply_refuse(req, code);
		return;
	}
	req->pub.chunked = framing == LE_FRAMING_CHUNKED;
	req->pub.ntoread = framing == LE_FRAMING_LENGTH ? (ev_int64_t)head->length : -1;
	if (framing == LE_FRAMING_NO_BODY) {
		server_message_done(conn, req);
		return;
	}
	req->is_lingering = framing == LE_FRAMING_LENGTH && head->length > conn->max_body_size;
	le_body_init(&req->body, framing, head->length,
		     req->is_lingering ? UINT64_MAX : conn->max_body_size, le_lines_max(conn, req));
	conn->state = LE_CONN_BODY;
	/* A client that has already sent some of the body does not wait for a 100 response. */
	if (head->expects_continue && is_http_11(req) &&
	    le_buffer_get_length(bufferevent_get_input(conn->bev)) == 0)
		bufferevent_write(conn->bev, continue_line, sizeof(continue_line) - 1);
}

/* ---------------------------------------------------------------- replies */

static bool is_all_written(struct evhttp_connection *conn)
{
	return le_buffer_get_length(bufferevent_get_output(conn->bev)) == 0;
}

/*
 * True: the last reply needs a lingering close, because a reset could destroy it. A client that has
 * announced the end sends nothing more, so only unread input could cause a reset. For a refused
 * request le_reply_refuse() has cleared the head, so nothing is announced.
 */
static bool must_linger(struct evhttp_connection *conn, const struct le_request *req)
{
	const struct le_head *head = &req->head;
	bool is_announced = head->has_close || (!is_http_11(req) && !head->has_keep_alive);

	if (conn->has_eof)
		return false;
	return !is_announced || le_buffer_get_length(bufferevent_get_input(conn->bev)) > 0 ||
	       le_linger_has_input(bufferevent_getfd(conn->bev));
}

/* The whole reply is written. */
static void finish(struct evhttp_connection *conn, struct le_request *req)
{
	bool must_close = req->must_close;
	bool lingers = must_close && must_linger(conn, req);

	if (req->pub.on_complete_cb != NULL) {
		req->pub.on_complete_cb(&req->pub, req->pub.on_complete_cb_arg);
		if (conn->is_closed || le_conn_first(conn) != req)
			return;
	}
	le_request_release(req);
	if (must_close) {
		if (lingers)
			le_conn_close_later(conn);
		else
			le_conn_close(conn);
		return;
	}
	conn->state = LE_CONN_IDLE;
	le_conn_set_reading(conn, true);
}

/*
 * A request is complete: calls the handler. If the handler has not replied when it returns, the
 * connection stops reading. If it has, the connection keeps reading, and le_conn_read() stops it if
 * more input comes before the reply is sent.
 */
static void server_message_done(struct evhttp_connection *conn, struct le_request *req)
{
	if (req->is_lingering) {
		le_reply_refuse(req, HTTP_ENTITYTOOLARGE);
		return;
	}
	conn->state = LE_CONN_BUSY;
	req->state = LE_REQUEST_HANDED;
	if (!le_http_dispatch(conn->server, req))
		le_reply_not_found(req);
	/* The handler may have freed the request, or closed the connection. */
	if (!conn->is_closed && le_conn_first(conn) == req && req->state == LE_REQUEST_HANDED)
		le_conn_set_reading(conn, false);
}

/* Deferred, because the program is still in its call and may use the request. */
void le_serve_wrote(struct evhttp_connection *conn)
{
	if (is_all_written(conn))
		bufferevent_trigger(conn->bev, EV_WRITE,
				    BEV_TRIG_IGNORE_WATERMARKS | BEV_TRIG_DEFER_CALLBACKS);
}

void le_serve_replied(struct evhttp_connection *conn, struct le_request *req)
{
	conn->state = LE_CONN_BUSY;
	req->state = LE_REQUEST_REPLIED;
	req->pub.userdone = 1;
	conn->chunk_fn = NULL;
	le_serve_wrote(conn);
}

void le_serve_streaming(struct evhttp_connection *conn)
{
	le_conn_set_reading(conn, true);
}

static void server_fail(struct evhttp_connection *conn, enum evhttp_request_error why);

/*
 * The client sends no more. No event reports this again, so the server closes if it has no whole
 * request to answer.
 */
static void end(struct evhttp_connection *conn)
{
	if (conn->state != LE_CONN_BUSY && !le_below_must_wait(conn))
		server_fail(conn, EVREQ_HTTP_EOF);
}

/* The next request may be in the input already, and no event will report it. */
static void go_on(struct evhttp_connection *conn)
{
	if (le_buffer_get_length(bufferevent_get_input(conn->bev)) > 0)
		le_conn_read(conn);
	if (conn->has_eof && !conn->is_closed)
		end(conn);
}

/* Reading may have ended or timed out while a bufferevent below had a part of the reply. */
static void sent_below(struct evhttp_connection *conn)
{
	if (conn->has_eof)
		end(conn);
	else if (conn->state != LE_CONN_BUSY)
		le_conn_set_reading(conn, true);
}

static void server_written(struct evhttp_connection *conn)
{
	struct le_request *req = le_conn_first(conn);
	le_chunk_fn fn = conn->chunk_fn;

	if (conn->state != LE_CONN_BUSY || req == NULL) {
		sent_below(conn);
		return;
	}
	if (req->state == LE_REQUEST_STREAMED && fn != NULL) {
		conn->chunk_fn = NULL;
		fn(conn, conn->chunk_arg);
		return;
	}
	if (req->state != LE_REQUEST_REPLIED)
		return;
	/* Below it may still be on its way, and closing would lose it. */
	if ((req->must_close || conn->has_eof) && le_below_must_wait(conn))
		return;
	finish(conn, req);
	if (!conn->is_closed && conn->state == LE_CONN_IDLE)
		go_on(conn);
}

/* ---------------------------------------------------------------- ends */

/*
 * If the program has the request, it stays without a connection until the program frees it or
 * replies.
 */
static void leave_to_program(struct evhttp_connection *conn)
{
	struct le_request *req = le_conn_first(conn);

	if (req == NULL || (req->state != LE_REQUEST_HANDED && req->state != LE_REQUEST_STREAMED))
		return;
	TAILQ_REMOVE(&conn->requests, &req->pub, next);
	__atomic_store_n(&req->pub.evcon, NULL, __ATOMIC_RELEASE);
}

static void server_fail(struct evhttp_connection *conn, enum evhttp_request_error why)
{
	struct le_request *req = le_conn_first(conn);
	bool is_head = conn->state == LE_CONN_HEAD;

	if (req != NULL && (is_head || conn->state == LE_CONN_BODY) &&
	    why == EVREQ_HTTP_DATA_TOO_LONG) {
		le_reply_refuse(req, is_head ? HTTP_BADREQUEST : HTTP_ENTITYTOOLARGE);
		return;
	}
	if (req != NULL && (is_head || conn->state == LE_CONN_BODY) &&
	    why == EVREQ_HTTP_INVALID_HEADER) {
		le_reply_refuse(req, HTTP_BADREQUEST);
		return;
	}
	leave_to_program(conn);
	le_conn_close(conn);
}

/* A client that has shut down its sending side still gets its reply. */
static bool is_sending(struct evhttp_connection *conn, const struct le_request *req)
{
	if (conn->state == LE_CONN_BUSY && req != NULL)
		return req->state != LE_REQUEST_STREAMED;
	return le_below_must_wait(conn);
}

static void server_event(struct evhttp_connection *conn, short what)
{
	struct le_request *req = le_conn_first(conn);

	if ((what & BEV_EVENT_CONNECTED) != 0)
		return;
	if ((what & BEV_EVENT_READING) != 0 && (what & BEV_EVENT_ERROR) == 0 && is_sending(conn, req)) {
		/* TLS over a bufferevent reports the end of that one, too. */
		le_conn_set_reading(conn, false);
		/* Reading may also have timed out, while a reply is written. */
		if ((what & BEV_EVENT_EOF) != 0)
			conn->has_eof = true;
		return;
	}
	if ((what & BEV_EVENT_TIMEOUT) != 0)
		server_fail(conn, EVREQ_HTTP_TIMEOUT);
	else if ((what & BEV_EVENT_EOF) != 0)
		server_fail(conn, EVREQ_HTTP_EOF);
	else
		server_fail(conn, EVREQ_HTTP_BUFFER_ERROR);
}

/*
 * The handler frees its request. A complete reply is still sent; finish() then frees the request.
 */
static bool server_abandon(struct evhttp_connection *conn, struct le_request *req)
{
	if (req->state == LE_REQUEST_REPLIED) {
		req->pub.flags &= ~EVHTTP_USER_OWNED;
		return false;
	}
	TAILQ_REMOVE(&conn->requests, &req->pub, next);
	__atomic_store_n(&req->pub.evcon, NULL, __ATOMIC_RELEASE);
	le_conn_close(conn);
	return true;
}

const struct le_conn_ops le_server_ops = {
	.message = LE_REQUEST_MESSAGE,
	.next = server_next,
	.head_done = server_head_done,
	.message_done = server_message_done,
	.written = server_written,
	.fail = server_fail,
	.event = server_event,
	.abandon = server_abandon,
};
