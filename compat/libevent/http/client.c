/*
 * The client's side of a connection: requests wait in a queue, the first is sent and answered, over
 * a connection that is made when there is something to send and kept as long as both sides like.
 *
 * Callbacks of the program may do anything, also free the connection: who calls one holds a
 * reference on what it goes on with, and looks at is_closed after. None is called from within
 * evhttp_make_request().
 */
#include "http.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <event2/buffer.h>
#include <event2/http_compat.h>
#include <event2/util.h>

#include "chars.h"

/* Turns of the loop that what waits in an idle connection's socket gets to show what it is. */
enum { SETTLE_TURNS_MAX = 3 };

static void start_connecting(struct evhttp_connection *conn);
static void dispatch(struct evhttp_connection *conn);

/* ---------------------------------------------------------------- life */

static void wake(struct evhttp_connection *conn)
{
	event_active(&conn->wake_ev, EV_TIMEOUT, 1);
}

/* Bytes, or the end, that an idle connection has not told of yet. */
static bool is_socket_readable(const struct evhttp_connection *conn)
{
	struct pollfd pfd = { .fd = bufferevent_getfd(conn->bev), .events = POLLIN };

	return pfd.fd >= 0 && poll(&pfd, 1, 0) > 0;
}

/* The server has sent something, or has left, since the last answer. */
static bool has_unasked(const struct evhttp_connection *conn)
{
	return evbuffer_get_length(bufferevent_get_input(conn->bev)) > 0 || is_socket_readable(conn);
}

/*
 * What nobody asked for must not pass for the answer to what is asked next (RFC 9112, 9.2): the
 * connection is left for a new one. What waits in the socket is the bufferevent's to read first: of
 * TLS it may be no data at all.
 */
static void leave_unasked(struct evhttp_connection *conn)
{
	if (evbuffer_get_length(bufferevent_get_input(conn->bev)) == 0 &&
	    conn->settle_turns < SETTLE_TURNS_MAX) {
		conn->settle_turns++;
		wake(conn);
		return;
	}
	le_conn_get(conn);
	le_conn_disconnect(conn);
	if (!conn->is_closed && le_conn_first(conn) != NULL)
		start_connecting(conn);
	le_conn_put(conn);
}

/* What is queued gets its turn, or the connection its end. */
static void go_on(struct evhttp_connection *conn)
{
	if (conn->is_closed)
		return;
	if (le_conn_first(conn) == NULL) {
		if (conn->is_auto_freed)
			le_conn_close(conn);
	} else if (conn->state == LE_CONN_IDLE) {
		if (has_unasked(conn))
			leave_unasked(conn);
		else
			dispatch(conn);
	} else if (conn->state == LE_CONN_DISCONNECTED && !conn->is_retry_pending) {
		start_connecting(conn);
	}
}

static void wake_cb(evutil_socket_t fd, short what, void *arg)
{
	struct evhttp_connection *conn = arg;
	short early_what = conn->early_what;

	(void)fd;
	(void)what;
	conn->is_retry_pending = false;
	conn->early_what = 0;
	le_conn_get(conn);
	if (early_what != 0) {
		errno = conn->early_errno;
		conn->ops->event(conn, early_what);
	} else {
		go_on(conn);
	}
	le_conn_put(conn);
}

static void client_closed(struct evhttp_connection *conn)
{
	event_del(&conn->wake_ev);
}

struct evhttp_connection *evhttp_connection_base_bufferevent_new(struct event_base *base,
								 struct evdns_base *dnsbase,
								 struct bufferevent *bev,
								 const char *address,
								 ev_uint16_t port)
{
	struct evhttp_connection *conn = ec_calloc(1, sizeof(*conn));
	struct bufferevent *own = NULL;

	if (conn == NULL)
		goto fail;
	if (bev == NULL)
		bev = own = bufferevent_socket_new(base, -1, 0);
	if (bev == NULL)
		goto free_conn;
	if (le_conn_init(conn, &le_client_ops, base, bev, address, port) < 0)
		goto free_bev;
	conn->dns_base = dnsbase;
	conn->timeout = (struct timeval){ LE_HTTP_TIMEOUT_S, 0 };
	conn->retry_first = (struct timeval){ LE_HTTP_RETRY_S, 0 };
	conn->family = AF_UNSPEC;
	event_assign(&conn->wake_ev, base, -1, 0, wake_cb, conn);
	return conn;

free_bev:
	if (own != NULL)
		bufferevent_free(own);
free_conn:
	ec_free(conn);
fail:
	ec_log_errno(EC_LOG_WARN, ENOMEM, "%s", __func__);
	return NULL;
}

struct evhttp_connection *evhttp_connection_base_new(struct event_base *base,
						     struct evdns_base *dnsbase,
						     const char *address, ev_uint16_t port)
{
	return evhttp_connection_base_bufferevent_new(base, dnsbase, NULL, address, port);
}

struct evhttp_connection *evhttp_connection_new(const char *address, ev_uint16_t port)
{
	return evhttp_connection_base_new(NULL, NULL, address, port);
}

void evhttp_connection_set_base(struct evhttp_connection *evcon, struct event_base *base)
{
	evcon->base = base;
	event_base_set(base, &evcon->wake_ev);
	bufferevent_base_set(base, evcon->bev);
}

static void free_on_completion_call(struct evhttp_connection *conn, void *args)
{
	(void)args;
	conn->is_auto_freed = true;
}

void evhttp_connection_free_on_completion(struct evhttp_connection *evcon)
{
	if (le_color_call(evcon, free_on_completion_call, NULL, 0) < 0)
		ec_log_errno(EC_LOG_WARN, ENOMEM, "%s", __func__);
}

/* ---------------------------------------------------------------- failing */

static void unlink_request(struct evhttp_connection *conn, struct le_request *req)
{
	TAILQ_REMOVE(&conn->requests, &req->pub, next);
	__atomic_store_n(&req->pub.evcon, NULL, __ATOMIC_RELEASE);
	req->is_released = true;
}

static void put_unless_owned(struct le_request *req)
{
	if ((req->pub.flags & EVHTTP_USER_OWNED) == 0)
		le_request_put(req);
}

/* A request is over: it goes, unless the program wants it, or has made it again. */
static void leave_last(struct le_request *req)
{
	if (!req->is_freed && req->pub.evcon == NULL)
		put_unless_owned(req);
	le_request_leave(req);
}

/* A new request need not wait as long as the one before would have. */
static void stop_retrying(struct evhttp_connection *conn)
{
	conn->retry_num = 0;
	if (!conn->is_retry_pending)
		return;
	conn->is_retry_pending = false;
	event_del(&conn->wake_ev);
}

/*
 * The first request fails, and the connection with it: what is half sent or half read serves no
 * other.
 */
static void client_fail(struct evhttp_connection *conn, enum evhttp_request_error why)
{
	struct le_request *req = le_conn_first(conn);

	if (req != NULL)
		unlink_request(conn, req);
	le_conn_get(conn);
	stop_retrying(conn);
	le_conn_disconnect(conn);
	if (req != NULL) {
		le_request_enter(req);
		if (req->pub.error_cb != NULL)
			req->pub.error_cb(why, req->pub.cb_arg);
		if (req->pub.cb != NULL && why != EVREQ_HTTP_REQUEST_CANCEL)
			req->pub.cb(NULL, req->pub.cb_arg);
		leave_last(req);
	}
	go_on(conn);
	le_conn_put(conn);
}

/* No connection, and no more tries: all that wait are told so, by a response that has no code. */
static void give_up(struct evhttp_connection *conn)
{
	struct le_requests failed = TAILQ_HEAD_INITIALIZER(failed);
	struct evhttp_request *req;

	/* What their callbacks ask for is not to be given up with them. */
	TAILQ_CONCAT(&failed, &conn->requests, next);
	conn->retry_num = 0;
	while ((req = TAILQ_FIRST(&failed)) != NULL) {
		TAILQ_REMOVE(&failed, req, next);
		__atomic_store_n(&req->evcon, NULL, __ATOMIC_RELEASE);
		le_request(req)->is_released = true;
		le_request_enter(le_request(req));
		if (req->cb != NULL)
			req->cb(req, req->cb_arg);
		leave_last(le_request(req));
	}
	go_on(conn);
}

/* Twice as long each time. */
static void retry_later(struct evhttp_connection *conn)
{
	struct timeval wait = conn->retry_first;
	int i;

	for (i = 0; i < conn->retry_num && wait.tv_sec < LE_HTTP_RETRY_MAX_S; i++)
		evutil_timeradd(&wait, &wait, &wait);
	if (wait.tv_sec >= LE_HTTP_RETRY_MAX_S)
		wait = (struct timeval){ LE_HTTP_RETRY_MAX_S, 0 };
	conn->retry_num++;
	conn->is_retry_pending = true;
	event_add(&conn->wake_ev, &wait);
}

static void connect_failed(struct evhttp_connection *conn, short what, int err)
{
	bool has_name = bufferevent_socket_get_dns_error(conn->bev) == 0;

	le_conn_disconnect(conn);
	/* Nothing that a try later would change. */
	if ((what & BEV_EVENT_TIMEOUT) == 0 &&
	    (!has_name || err == ENETUNREACH || err == EADDRNOTAVAIL)) {
		client_fail(conn, EVREQ_HTTP_EOF);
		return;
	}
	if (conn->retry_max < 0 || conn->retry_num < conn->retry_max)
		retry_later(conn);
	else
		give_up(conn);
}

/* ---------------------------------------------------------------- connecting */

static void start_connecting(struct evhttp_connection *conn)
{
	struct timeval wait = { LE_HTTP_CONNECT_TIMEOUT_S, 0 };
	int r;

	conn->state = LE_CONN_CONNECTING;
	conn->early_what = 0;
	le_conn_apply_timeouts(conn, conn->has_timeout ? &conn->timeout : &wait);
	bufferevent_enable(conn->bev, EV_WRITE);
	conn->is_starting = true;
	errno = 0;
	r = le_conn_connect(conn);
	conn->is_starting = false;
	if (r < 0 && conn->early_what == 0) {
		conn->early_what = BEV_EVENT_ERROR;
		conn->early_errno = -r;
	}
	if (conn->early_what != 0)
		wake(conn);
}

static void connected(struct evhttp_connection *conn)
{
	socklen_t len = sizeof(conn->peer);

	conn->retry_num = 0;
	conn->was_connected = true;
	getpeername(bufferevent_getfd(conn->bev), (struct sockaddr *)&conn->peer, &len);
	le_conn_apply_timeouts(conn, &conn->timeout);
	conn->state = LE_CONN_IDLE;
	le_conn_set_reading(conn, true);
	if (le_conn_first(conn) != NULL)
		dispatch(conn);
	else
		go_on(conn);
}

/* ---------------------------------------------------------------- sending */

static bool has_header(struct le_request *req, const char *key)
{
	return evhttp_find_header(&req->output_headers, key) != NULL;
}

/* A body has a length in front, whatever the method; POST and PUT have one that may be empty. */
static int complete_headers(struct le_request *req)
{
	size_t len = evbuffer_get_length(req->pub.output_buffer);
	bool has_body =
		len > 0 || req->pub.type == EVHTTP_REQ_POST || req->pub.type == EVHTTP_REQ_PUT;
	char text[24];
	int n;

	/* It is between a client and its proxy, of which the server knows nothing. */
	evhttp_remove_header(&req->output_headers, "Proxy-Connection");
	if (!has_body || has_header(req, "Content-Length") || has_header(req, "Transfer-Encoding"))
		return 0;
	n = snprintf(text, sizeof(text), "%zu", len);
	/* The arena is for what comes in: forget_head() empties it. */
	return le_header_append(&req->output_headers, "Content-Length", 14, text, (size_t)n);
}

static bool expects_continue(struct le_request *req)
{
	const char *expect = evhttp_find_header(&req->output_headers, "Expect");

	return expect != NULL && le_equals_lower(expect, strlen(expect), "100-continue") &&
	       evbuffer_get_length(req->pub.output_buffer) > 0;
}

static int write_head(struct evhttp_connection *conn, struct le_request *req)
{
	struct evbuffer *out = bufferevent_get_output(conn->bev), *head = evbuffer_new();
	const struct evkeyval *header;
	int r;

	if (head == NULL)
		return -ENOMEM;
	r = evbuffer_add_printf(head, "%s %s HTTP/%d.%d\r\n",
				le_method_name((unsigned)req->pub.type), req->pub.uri,
				req->pub.major, req->pub.minor);
	TAILQ_FOREACH(header, &req->output_headers, next) {
		if (r >= 0)
			r = evbuffer_add_printf(head, "%s: %s\r\n", header->key, header->value);
	}
	if (r >= 0)
		r = evbuffer_add(head, "\r\n", 2);
	if (r >= 0 && !req->is_waiting)
		r = evbuffer_add_buffer(head, req->pub.output_buffer);
	/* At once, so that it leaves in one piece. */
	if (r >= 0)
		r = evbuffer_add_buffer(out, head);
	evbuffer_free(head);
	return r < 0 ? -ENOMEM : 0;
}

/* It was not the answer. Heads count together, as there may be no end of them. */
static void forget_head(struct le_request *req)
{
	evhttp_clear_headers(&req->input_headers);
	le_arena_fini(&req->arena);
	le_arena_init(&req->arena, req->room, sizeof(req->room));
	req->pub.response_code_line = NULL;
	req->pub.host_cache = NULL;
	req->head = (struct le_head){ .has_length = false };
	req->has_first_line = false;
}

/* The program may make a request again that it has the answer to. */
static void forget_answer(struct le_request *req)
{
	forget_head(req);
	req->pub.headers_size = 0;
	req->body = (struct le_body){ .left = 0 };
	req->line_scanned = 0;
	req->must_close = false;
}

/* The first request goes out. */
static void dispatch(struct evhttp_connection *conn)
{
	struct le_request *req = le_conn_first(conn);

	if (req->has_first_line)
		forget_answer(req);
	req->is_waiting = expects_continue(req);
	conn->state = LE_CONN_HEAD;
	conn->is_sending = true;
	conn->settle_turns = 0;
	if (complete_headers(req) < 0 || write_head(conn, req) < 0) {
		conn->early_what = BEV_EVENT_WRITING | BEV_EVENT_ERROR;
		conn->early_errno = ENOMEM;
		conn->is_sending = false;
		wake(conn);
	}
	req->pub.kind = EVHTTP_RESPONSE;
}

static void complete(struct evhttp_connection *conn, struct le_request *req);

static void client_written(struct evhttp_connection *conn)
{
	if (!conn->is_sending)
		return;
	conn->is_sending = false;
	/* The answer may be there already. */
	if (conn->state == LE_CONN_BUSY)
		complete(conn, le_conn_first(conn));
}

/* ---------------------------------------------------------------- responses come in */

static struct le_request *client_next(struct evhttp_connection *conn)
{
	if (conn->state != LE_CONN_IDLE)
		return le_conn_first(conn);
	if (!le_conn_is_ours(conn))
		return NULL;
	/* Nobody asked: it must not pass for the answer to what is asked next. */
	le_conn_disconnect(conn);
	go_on(conn);
	return NULL;
}

static bool is_http_11(const struct le_request *req)
{
	return req->pub.major == 1 && req->pub.minor >= 1;
}

/* What comes behind the head is another protocol's, which the program has asked for. */
static bool is_switched(const struct le_request *req)
{
	return req->pub.response_code == 101 ||
	       (req->pub.type == EVHTTP_REQ_CONNECT && req->pub.response_code / 100 == 2);
}

/* Whether whoever made the response may see another end of it than we do. */
static bool is_framing_doubtful(const struct le_request *req)
{
	const struct le_head *head = &req->head;

	/* RFC 9112, 6.1: HTTP/1.0 knows no codings; and 204 has neither of both. */
	if (req->pub.response_code == HTTP_NOCONTENT && head->has_length && head->length > 0)
		return true;
	return head->has_transfer_encoding &&
	       (!is_http_11(req) || req->pub.response_code == HTTP_NOCONTENT);
}

static bool is_kept_alive(struct evhttp_connection *conn, const struct le_request *req)
{
	const char *connection;

	if (req->must_close || req->head.has_close || req->body.is_until_close || req->is_waiting ||
	    is_framing_doubtful(req))
		return false;
	/* More than was asked for. */
	if (evbuffer_get_length(bufferevent_get_input(conn->bev)) > 0 && !is_switched(req))
		return false;
	if (!is_http_11(req))
		return req->head.has_keep_alive;
	connection = evhttp_find_header(&req->output_headers, "Connection");
	return connection == NULL || !le_equals_lower(connection, strlen(connection), "close");
}

/* The request is out, and its answer here. */
static void complete(struct evhttp_connection *conn, struct le_request *req)
{
	bool is_kept = is_kept_alive(conn, req);

	unlink_request(conn, req);
	if (is_kept) {
		conn->state = LE_CONN_IDLE;
		le_conn_set_reading(conn, true);
	} else {
		le_conn_disconnect(conn);
	}
	le_request_enter(req);
	if (req->pub.cb != NULL)
		req->pub.cb(&req->pub, req->pub.cb_arg);
	leave_last(req);
	go_on(conn);
}

/* The answer is here, maybe before the request is out. */
static void client_message_done(struct evhttp_connection *conn, struct le_request *req)
{
	if (conn->is_sending)
		conn->state = LE_CONN_BUSY;
	else
		complete(conn, req);
}

static void continue_with_body(struct evhttp_connection *conn, struct le_request *req)
{
	req->is_waiting = false;
	conn->is_sending = evbuffer_get_length(req->pub.output_buffer) > 0 || conn->is_sending;
	if (evbuffer_add_buffer(bufferevent_get_output(conn->bev), req->pub.output_buffer) < 0)
		client_fail(conn, EVREQ_HTTP_BUFFER_ERROR);
}

static void interim_done(struct evhttp_connection *conn, struct le_request *req)
{
	bool is_continue = req->pub.response_code == 100;

	if (req->pub.headers_size > LE_LINES_MAX) {
		client_fail(conn, EVREQ_HTTP_INVALID_HEADER);
		return;
	}
	forget_head(req);
	if (is_continue && req->is_waiting)
		continue_with_body(conn, req);
}

/* False: the program wants no more of it, or has ended it. */
static bool call_header_cb(struct evhttp_connection *conn, struct le_request *req)
{
	bool is_there;
	int r;

	le_request_enter(req);
	r = req->pub.header_cb(&req->pub, req->pub.cb_arg);
	is_there = !conn->is_closed && req->pub.evcon == conn && !req->is_freed;
	le_request_leave(req);
	if (is_there && r < 0)
		client_fail(conn, EVREQ_HTTP_EOF);
	return is_there && r >= 0;
}

static void client_head_done(struct evhttp_connection *conn, struct le_request *req)
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
		client_fail(conn, EVREQ_HTTP_INVALID_HEADER);
		return;
	}
	if (framing == LE_FRAMING_LENGTH && req->head.length > conn->max_body_size) {
		client_fail(conn, EVREQ_HTTP_DATA_TOO_LONG);
		return;
	}
	req->pub.chunked = framing == LE_FRAMING_CHUNKED;
	req->pub.ntoread = framing == LE_FRAMING_LENGTH ? (ev_int64_t)req->head.length : -1;
	le_body_init(&req->body, framing, req->head.length, conn->max_body_size,
		     le_lines_max(conn, req));
	conn->state = LE_CONN_BODY;
	if (framing == LE_FRAMING_NO_BODY)
		client_message_done(conn, req);
}

/* ---------------------------------------------------------------- events */

static void client_read_fail(struct evhttp_connection *conn, enum evhttp_request_error why)
{
	/* A head that is too long is as bad as one that is wrong. */
	if (why == EVREQ_HTTP_DATA_TOO_LONG && conn->state == LE_CONN_HEAD)
		why = EVREQ_HTTP_INVALID_HEADER;
	client_fail(conn, why);
}

static enum evhttp_request_error error_of(short what)
{
	if ((what & BEV_EVENT_TIMEOUT) != 0)
		return EVREQ_HTTP_TIMEOUT;
	/*
	 * A server that closes before it has read everything resets the connection: an end as well.
	 */
	return (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)) != 0 ? EVREQ_HTTP_EOF :
								 EVREQ_HTTP_BUFFER_ERROR;
}

/* The server takes no more, but may have said why, or say it yet. */
static bool may_read_why(struct evhttp_connection *conn, short what)
{
	return conn->is_sending && (conn->flags & EVHTTP_CON_READ_ON_WRITE_ERROR) != 0 &&
	       (what & (BEV_EVENT_ERROR | BEV_EVENT_EOF)) != 0;
}

static void stop_sending(struct evhttp_connection *conn, struct le_request *req)
{
	bufferevent_disable(conn->bev, EV_WRITE);
	le_conn_drop_output(conn);
	conn->is_sending = false;
	req->must_close = true;
}

/* A request is under way. */
static void request_event(struct evhttp_connection *conn, struct le_request *req, short what)
{
	if (may_read_why(conn, what)) {
		stop_sending(conn, req);
		if (conn->state == LE_CONN_BUSY) {
			complete(conn, req);
			return;
		}
		if ((what & BEV_EVENT_READING) == 0) {
			conn->is_reading = false;
			le_conn_set_reading(conn, true);
			return;
		}
	}
	if (conn->state == LE_CONN_BODY && req->body.is_until_close && !conn->is_sending &&
	    (what & BEV_EVENT_EOF) != 0)
		complete(conn, req);
	else
		client_fail(conn, error_of(what));
}

static void client_event(struct evhttp_connection *conn, short what)
{
	int err = errno;

	if (conn->is_starting) {
		conn->early_what = what;
		conn->early_errno = err;
		return;
	}
	if ((what & BEV_EVENT_CONNECTED) != 0) {
		/* A name was looked up for a request that is cancelled. */
		if (conn->state == LE_CONN_CONNECTING)
			connected(conn);
		else if (conn->state == LE_CONN_DISCONNECTED)
			le_conn_disconnect(conn);
	} else if (conn->state == LE_CONN_CONNECTING) {
		connect_failed(conn, what, err);
	} else if (conn->state == LE_CONN_IDLE || conn->state == LE_CONN_DISCONNECTED) {
		le_conn_disconnect(conn);
		go_on(conn);
	} else {
		request_event(conn, le_conn_first(conn), what);
	}
}

static bool client_abandon(struct evhttp_connection *conn, struct le_request *req)
{
	bool is_under_way = le_conn_first(conn) == req && conn->state >= LE_CONN_HEAD;

	unlink_request(conn, req);
	if (is_under_way)
		le_conn_disconnect(conn);
	if (!conn->is_closed && le_conn_first(conn) == NULL)
		stop_retrying(conn);
	go_on(conn);
	return true;
}

const struct le_conn_ops le_client_ops = {
	.message = LE_RESPONSE_MESSAGE,
	.next = client_next,
	.head_done = client_head_done,
	.message_done = client_message_done,
	.written = client_written,
	.fail = client_read_fail,
	.event = client_event,
	.closed = client_closed,
	.abandon = client_abandon,
};

/* ---------------------------------------------------------------- requests */

struct request_args {
	struct le_request *req;
};

static void make_call(struct evhttp_connection *conn, void *args)
{
	struct le_request *req = ((struct request_args *)args)->req;

	if (conn->is_closed) {
		put_unless_owned(req);
		return;
	}
	le_request_bind(req, conn);
	/* Others come from callbacks; this may be the program's call, from which it is not called. */
	if (conn->state == LE_CONN_IDLE && le_conn_first(conn) == req && has_unasked(conn))
		wake(conn);
	else if (conn->state == LE_CONN_IDLE && le_conn_first(conn) == req)
		dispatch(conn);
	else
		go_on(conn);
}

/* A line's end in it would begin a header, or another request. */
static bool is_target(const char *uri)
{
	for (; *uri != '\0'; uri++) {
		if ((unsigned char)*uri < 0x20 || *uri == 0x7f)
			return false;
	}
	return true;
}

int evhttp_make_request(struct evhttp_connection *evcon, struct evhttp_request *pub,
			enum evhttp_cmd_type type, const char *uri)
{
	struct request_args args = { le_request(pub) };

	pub->kind = EVHTTP_REQUEST;
	pub->type = type;
	if (pub->major == 0 && pub->minor == 0)
		pub->major = pub->minor = 1;
	if (!is_target(uri) || le_method_name((unsigned)type) == NULL)
		goto free_req;
	ec_free(pub->uri);
	pub->uri = ec_strdup(uri);
	if (pub->uri == NULL)
		goto free_req;
	le_color_take_bevs(evcon);
	if (le_color_call(evcon, make_call, &args, sizeof(args)) < 0)
		goto free_req;
	return 0;

free_req:
	evhttp_request_free(pub);
	return -1;
}

static void cancel_call(struct evhttp_connection *conn, void *args)
{
	struct le_request *req = ((struct request_args *)args)->req;

	if (!conn->is_closed && req->pub.evcon == conn) {
		if (conn->ops != &le_client_ops)
			le_conn_close(conn);
		else if (le_conn_first(conn) == req)
			client_fail(conn, EVREQ_HTTP_REQUEST_CANCEL);
		else
			le_request_release(req);
	}
	le_request_put(req);
}

void evhttp_cancel_request(struct evhttp_request *pub)
{
	struct request_args args = { le_request(pub) };
	struct evhttp_connection *conn = args.req->conn;

	/* One that was never made, or is over. */
	if (conn == NULL || evhttp_request_get_connection(pub) == NULL) {
		evhttp_request_free(pub);
		return;
	}
	__atomic_add_fetch(&args.req->refs, 1, __ATOMIC_RELAXED);
	if (le_color_call(conn, cancel_call, &args, sizeof(args)) < 0) {
		ec_log_errno(EC_LOG_WARN, ENOMEM, "%s", __func__);
		le_request_put(args.req);
	}
}

/* ---------------------------------------------------------------- settings */

void evhttp_connection_set_retries(struct evhttp_connection *evcon, int retry_max)
{
	evcon->retry_max = retry_max;
}

void evhttp_connection_set_initial_retry_tv(struct evhttp_connection *evcon,
					    const struct timeval *tv)
{
	evcon->retry_first = tv != NULL ? *tv : (struct timeval){ LE_HTTP_RETRY_S, 0 };
}
