/*
 * The client's side of a connection. Requests wait in a queue; the first one is sent and answered.
 * The client connects when it has a request, and keeps the connection open until one side closes
 * it.
 *
 * A callback of the program may free the connection. So its caller holds references on the objects
 * that it uses afterwards, and then checks is_closed. evhttp_make_request() calls no callback.
 */
#include "client.h"

#include <errno.h>
#include <poll.h>

#include <event2/buffer.h>
#include <event2/http_compat.h>
#include <event2/util.h>

#include "event/le.h"

/*
 * If an idle connection's socket is readable, wait so many turns of the loop for the bufferevent.
 */
enum { SETTLE_TURNS_MAX = 3 };

/* ---------------------------------------------------------------- life */

void le_client_wake(struct evhttp_connection *conn)
{
	ec_event_defer(le_ec(&conn->wake_ev));
}

/* True: the socket has bytes, or an end, that the bufferevent has not reported yet. */
static bool is_socket_readable(const struct evhttp_connection *conn)
{
	struct pollfd pfd = { .fd = bufferevent_getfd(conn->bev), .events = POLLIN };

	return pfd.fd >= 0 && poll(&pfd, 1, 0) > 0;
}

bool le_client_has_unsolicited(const struct evhttp_connection *conn)
{
	return evbuffer_get_length(bufferevent_get_input(conn->bev)) > 0 || is_socket_readable(conn);
}

/*
 * A response without a request must not become the answer to the next request (RFC 9112, 9.2). So a
 * new connection replaces this one. But the bufferevent reads the socket first: a TLS record may
 * contain no data.
 */
static void handle_unsolicited(struct evhttp_connection *conn)
{
	if (evbuffer_get_length(bufferevent_get_input(conn->bev)) == 0 &&
	    conn->settle_turns < SETTLE_TURNS_MAX) {
		conn->settle_turns++;
		le_client_wake(conn);
		return;
	}
	le_conn_get(conn);
	le_conn_disconnect(conn);
	if (!conn->is_closed && le_conn_first(conn) != NULL)
		le_client_start_connecting(conn);
	le_conn_put(conn);
}

void le_client_go_on(struct evhttp_connection *conn)
{
	const struct le_request *first = le_conn_first(conn);

	if (conn->is_closed)
		return;
	if (first == NULL) {
		if (conn->is_auto_freed)
			le_conn_close(conn);
	} else if (first->is_given_up) {
		return;
	} else if (conn->state == LE_CONN_IDLE) {
		if (le_client_has_unsolicited(conn))
			handle_unsolicited(conn);
		else
			le_client_dispatch(conn);
	} else if (conn->state == LE_CONN_DISCONNECTED && !conn->is_retry_pending) {
		le_client_start_connecting(conn);
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
		le_client_go_on(conn);
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
	le_event_assign(&conn->wake_ev, base, -1, 0, wake_cb, conn);
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

/* ---------------------------------------------------------------- letting go of requests */

void le_client_unlink(struct evhttp_connection *conn, struct le_request *req)
{
	TAILQ_REMOVE(&conn->requests, &req->pub, next);
	__atomic_store_n(&req->pub.evcon, NULL, __ATOMIC_RELEASE);
	req->is_released = true;
}

void le_client_put_unless_owned(struct le_request *req)
{
	if ((req->pub.flags & EVHTTP_USER_OWNED) == 0)
		le_request_put(req);
}

/* The program may have made the request again: then it is in a connection, and stays. */
void le_client_leave_last(struct le_request *req)
{
	if (!req->is_freed && req->pub.evcon == NULL)
		le_client_put_unless_owned(req);
	le_request_leave(req);
}

/* ---------------------------------------------------------------- events */

static void client_read_fail(struct evhttp_connection *conn, enum evhttp_request_error why)
{
	/* As in libevent, a head that is too long counts as malformed. */
	if (why == EVREQ_HTTP_DATA_TOO_LONG && conn->state == LE_CONN_HEAD)
		why = EVREQ_HTTP_INVALID_HEADER;
	le_client_fail(conn, why);
}

static enum evhttp_request_error error_of(short what)
{
	if ((what & BEV_EVENT_TIMEOUT) != 0)
		return EVREQ_HTTP_TIMEOUT;
	/* An error is often a reset: the server closed before it had read the whole request. */
	return (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)) != 0 ? EVREQ_HTTP_EOF :
								 EVREQ_HTTP_BUFFER_ERROR;
}

/* Writing failed, but the server may have sent a response that says why, or may still send it. */
static bool may_read_error_response(struct evhttp_connection *conn, short what)
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

/* An event of the bufferevent while a request is in progress. */
static void request_event(struct evhttp_connection *conn, struct le_request *req, short what)
{
	if (may_read_error_response(conn, what)) {
		stop_sending(conn, req);
		if (conn->state == LE_CONN_BUSY) {
			le_client_complete(conn, req);
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
		le_client_complete(conn, req);
	else
		le_client_fail(conn, error_of(what));
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
		/* DISCONNECTED: the request was canceled during the name lookup. */
		if (conn->state == LE_CONN_CONNECTING)
			le_client_connected(conn);
		else if (conn->state == LE_CONN_DISCONNECTED)
			le_conn_disconnect(conn);
	} else if (conn->state == LE_CONN_CONNECTING) {
		le_client_connect_failed(conn, what, err);
	} else if (conn->state == LE_CONN_IDLE || conn->state == LE_CONN_DISCONNECTED) {
		le_conn_disconnect(conn);
		le_client_go_on(conn);
	} else {
		request_event(conn, le_conn_first(conn), what);
	}
}

static bool client_abandon(struct evhttp_connection *conn, struct le_request *req)
{
	bool is_under_way = le_conn_first(conn) == req && conn->state >= LE_CONN_HEAD;

	le_client_unlink(conn, req);
	if (is_under_way)
		le_conn_disconnect(conn);
	if (!conn->is_closed && le_conn_first(conn) == NULL)
		le_client_stop_retrying(conn);
	le_client_go_on(conn);
	return true;
}

const struct le_conn_ops le_client_ops = {
	.message = LE_RESPONSE_MESSAGE,
	.next = le_client_next,
	.head_done = le_client_head_done,
	.message_done = le_client_message_done,
	.written = le_client_written,
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
		le_client_put_unless_owned(req);
		return;
	}
	req->is_given_up = false;
	le_request_bind(req, conn);
	/* This may be evhttp_make_request() itself, which calls no callback. So wake up instead. */
	if (conn->state == LE_CONN_IDLE && le_conn_first(conn) == req &&
	    le_client_has_unsolicited(conn))
		le_client_wake(conn);
	else if (conn->state == LE_CONN_IDLE && le_conn_first(conn) == req)
		le_client_dispatch(conn);
	else
		le_client_go_on(conn);
}

/* False: control characters. A line end in the target would begin a header, or another request. */
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

	if (req->pub.evcon == conn) {
		if (conn->ops != &le_client_ops)
			le_conn_close(conn);
		else if (le_conn_first(conn) == req && !req->is_given_up)
			le_client_fail(conn, EVREQ_HTTP_REQUEST_CANCEL);
		else
			le_request_release(req);
	}
	le_request_put(req);
}

void evhttp_cancel_request(struct evhttp_request *pub)
{
	struct request_args args = { le_request(pub) };
	struct evhttp_connection *conn = args.req->conn;

	/* The request was never made, or has ended. */
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
