/*
 * A client connects, and handles failures of its connection and requests: it retries after a wait
 * that doubles each time, or reports an error to the program.
 */
#include "client.h"

#include <errno.h>
#include <sys/socket.h>

#include <event2/util.h>

/* The next request starts with the first, short wait again. */
void le_client_stop_retrying(struct evhttp_connection *conn)
{
	conn->retry_num = 0;
	if (!conn->is_retry_pending)
		return;
	conn->is_retry_pending = false;
	event_del(&conn->wake_ev);
}

/* As in libevent, the request's callback follows even if the error callback has freed the request. */
static void report_failure(struct le_request *req, enum evhttp_request_error why)
{
	if (req->pub.error_cb != NULL)
		req->pub.error_cb(why, req->pub.cb_arg);
	if (req->pub.cb != NULL && why != EVREQ_HTTP_REQUEST_CANCEL) {
		ec_note_call((uintptr_t)req->pub.cb);
		req->pub.cb(NULL, req->pub.cb_arg);
	}
}

/*
 * The first request fails, and the connection is closed: after half a request or half a response it
 * cannot be used for the next one.
 */
void le_client_fail(struct evhttp_connection *conn, enum evhttp_request_error why)
{
	struct le_request *req = le_conn_first(conn);

	if (req != NULL) {
		le_request_enter(req);
		le_client_unlink(conn, req);
	}
	le_conn_get(conn);
	le_client_stop_retrying(conn);
	le_conn_disconnect(conn);
	if (req != NULL) {
		/* The close callback may have freed it. */
		if (!req->is_freed)
			report_failure(req, why);
		le_client_leave_last(req);
	}
	le_client_go_on(conn);
	le_conn_put(conn);
}

/*
 * No connection, and no retries left: all waiting requests get a callback with response code 0. A
 * callback may free or cancel those that are still in the queue. If it frees the connection, as in
 * libevent, the others still get theirs.
 */
static void give_up(struct evhttp_connection *conn)
{
	struct evhttp_request *waiting;
	struct le_request *req;

	/* Their callbacks may make new requests, which must not fail with them. */
	TAILQ_FOREACH(waiting, &conn->requests, next)
		le_request(waiting)->is_given_up = true;
	conn->retry_num = 0;
	while ((req = le_conn_first(conn)) != NULL && req->is_given_up) {
		le_request_enter(req);
		le_client_unlink(conn, req);
		if (req->pub.cb != NULL)
			req->pub.cb(&req->pub, req->pub.cb_arg);
		le_client_leave_last(req);
	}
	le_client_go_on(conn);
}

/* Each wait is twice as long as the one before, up to an hour. */
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

void le_client_connect_failed(struct evhttp_connection *conn, short what, int err)
{
	bool has_name = bufferevent_socket_get_dns_error(conn->bev) == 0;

	le_conn_disconnect(conn);
	/* A later try would fail in the same way. */
	if ((what & BEV_EVENT_TIMEOUT) == 0 &&
	    (!has_name || err == ENETUNREACH || err == EADDRNOTAVAIL)) {
		le_client_fail(conn, EVREQ_HTTP_EOF);
		return;
	}
	if (conn->retry_max < 0 || conn->retry_num < conn->retry_max)
		retry_later(conn);
	else
		give_up(conn);
}

/* ---------------------------------------------------------------- connecting */

void le_client_start_connecting(struct evhttp_connection *conn)
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
		le_client_wake(conn);
}

void le_client_connected(struct evhttp_connection *conn)
{
	socklen_t len = sizeof(conn->peer);

	conn->retry_num = 0;
	conn->was_connected = true;
	getpeername(bufferevent_getfd(conn->bev), (struct sockaddr *)&conn->peer, &len);
	le_conn_apply_timeouts(conn, &conn->timeout);
	conn->state = LE_CONN_IDLE;
	le_conn_set_reading(conn, true);
	if (le_conn_first(conn) != NULL)
		le_client_dispatch(conn);
	else
		le_client_go_on(conn);
}
