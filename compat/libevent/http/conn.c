/*
 * struct evhttp_connection, of servers and clients: its life, its bufferevent and its settings.
 */
#include "http.h"

#include <errno.h>
#include <string.h>

#include <event2/buffer.h>
#include <event2/dns.h>
#include <event2/http_compat.h>
#include <event2/util.h>

#include "below.h"
#include "event/le.h"

/* ---------------------------------------------------------------- life */

/*
 * enter() and leave() surround each callback of the bufferevent. A callback may close the
 * connection, but the memory must stay until the callback ends. So le_conn_close() leaves one
 * reference to the last callback. calls_num needs no atomic: only the connection's color changes
 * it.
 */
static void enter(struct evhttp_connection *conn)
{
	conn->calls_num++;
}

static void leave(struct evhttp_connection *conn)
{
	if (--conn->calls_num == 0 && conn->is_closed)
		le_conn_put(conn);
}

static void read_cb(struct bufferevent *bev, void *arg)
{
	struct evhttp_connection *conn = arg;

	(void)bev;
	enter(conn);
	le_conn_read(conn);
	leave(conn);
}

static void write_cb(struct bufferevent *bev, void *arg)
{
	struct evhttp_connection *conn = arg;

	if (le_buffer_get_length(bufferevent_get_output(bev)) > 0)
		return;
	enter(conn);
	conn->ops->written(conn);
	leave(conn);
}

static void event_cb(struct bufferevent *bev, short what, void *arg)
{
	struct evhttp_connection *conn = arg;

	(void)bev;
	enter(conn);
	conn->ops->event(conn, what);
	leave(conn);
}

/* For observe/subject.h. */
static bool subject(struct ec_subject *s, short what)
{
	struct evhttp_connection *conn = (struct evhttp_connection *)s->object;

	(void)what;
	if (s->fn != (uintptr_t)read_cb && s->fn != (uintptr_t)write_cb && s->fn != (uintptr_t)event_cb)
		return false;
	s->kind = EC_OBJECT_HTTP;
	s->is_open = true;
	return conn != NULL && conn->server != NULL && le_http_subject(conn->server, s);
}

EC_SUBJECT(subject)

int le_conn_init(struct evhttp_connection *conn, const struct le_conn_ops *ops,
		 struct event_base *base, struct bufferevent *bev, const char *address,
		 ev_uint16_t port)
{
	conn->address = ec_strdup(address);
	if (conn->address == NULL)
		return -ENOMEM;
	conn->ops = ops;
	conn->base = base;
	conn->bev = bev;
	conn->port = port;
	conn->max_headers_size = EV_SIZE_MAX;
	conn->max_body_size = UINT64_MAX;
	conn->refs = 1;
	TAILQ_INIT(&conn->requests);
	bufferevent_setcb(bev, read_cb, write_cb, event_cb, conn);
	return 0;
}

void le_conn_get(struct evhttp_connection *conn)
{
	__atomic_add_fetch(&conn->refs, 1, __ATOMIC_RELAXED);
}

void le_conn_put(struct evhttp_connection *conn)
{
	if (!ec_ref_put(&conn->refs))
		return;
	ec_free(conn->address);
	ec_free(conn->bind_address);
	if (conn->spare != NULL)
		le_request_free_spare(conn->spare);
	ec_free(conn);
}

/* The connection owns the descriptor, even if the program made the bufferevent. */
static void close_socket(struct evhttp_connection *conn)
{
	evutil_socket_t fd = le_below_take_fd(conn->bev);

	if (fd >= 0)
		evutil_closesocket(fd);
}

/* Calls the close callback once. The callback may still use the connection. */
void le_conn_report_closed(struct evhttp_connection *conn)
{
	if (!conn->was_connected)
		return;
	conn->was_connected = false;
	if (conn->closecb != NULL)
		conn->closecb(conn, conn->closecb_arg);
}

static void leave_server(struct evhttp_connection *conn)
{
	struct evhttp *server = conn->server;
	bool was_taken;

	if (server == NULL)
		return;
	was_taken = le_http_lock(server);
	ec_list_remove(&conn->link);
	conn->server = NULL;
	le_http_unlock(server, was_taken);
}

/* Takes the socket from the bufferevent, for a lingering close. */
static void leave_socket(struct evhttp_connection *conn, struct evhttp *server)
{
	evutil_socket_t fd = le_below_take_fd(conn->bev);

	if (fd >= 0 && le_linger_start(conn, server, fd) < 0)
		evutil_closesocket(fd);
}

/* Those that give_up() has still to call back are the first ones, and stay. */
static void release_requests(struct evhttp_connection *conn)
{
	struct evhttp_request *last;

	while ((last = TAILQ_LAST(&conn->requests, le_requests)) != NULL && !le_request(last)->is_given_up)
		le_request_release(le_request(last));
}

/* lingers: a server has sent its last reply, and the client may not have read it yet. */
static void close_conn(struct evhttp_connection *conn, bool lingers)
{
	struct evhttp *server;
	bool was_closed;

	if (conn->is_closed)
		return;
	/* The close callback may also close the connection. */
	le_conn_get(conn);
	le_conn_report_closed(conn);
	was_closed = conn->is_closed;
	le_conn_put(conn);
	if (was_closed)
		return;
	conn->is_closed = true;
	release_requests(conn);
	server = conn->server;
	leave_server(conn);
	if (conn->ops->closed != NULL)
		conn->ops->closed(conn);
	bufferevent_setcb(conn->bev, NULL, NULL, NULL, NULL);
	le_below_stop_waiting(conn);
	if (lingers)
		leave_socket(conn, server);
	else
		close_socket(conn);
	bufferevent_free(conn->bev);
	conn->bev = NULL;
	conn->state = LE_CONN_DISCONNECTED;
	if (conn->calls_num == 0)
		le_conn_put(conn);
}

void le_conn_close(struct evhttp_connection *conn)
{
	close_conn(conn, false);
}

void le_conn_close_later(struct evhttp_connection *conn)
{
	close_conn(conn, true);
}

static void close_call(struct evhttp_connection *conn, void *args)
{
	(void)args;
	le_conn_close(conn);
}

void evhttp_connection_free(struct evhttp_connection *evcon)
{
	int r = le_color_call(evcon, close_call, NULL, 0);

	if (r < 0)
		ec_log_errno(EC_LOG_WARN, -r, "%s", __func__);
}

/* ---------------------------------------------------------------- used by both sides */

struct le_request *le_conn_first(const struct evhttp_connection *conn)
{
	struct evhttp_request *first = TAILQ_FIRST(&conn->requests);

	return first != NULL ? le_request(first) : NULL;
}

bool le_conn_is_ours(const struct evhttp_connection *conn)
{
	bufferevent_data_cb readcb;

	bufferevent_getcb(conn->bev, &readcb, NULL, NULL, NULL);
	return readcb == read_cb;
}

void le_conn_set_reading(struct evhttp_connection *conn, bool on)
{
	if (conn->is_reading == on || (on && conn->has_eof))
		return;
	conn->is_reading = on;
	if (!on)
		bufferevent_disable(conn->bev, EV_READ);
	else if (bufferevent_enable(conn->bev, EV_READ) < 0)
		bufferevent_trigger_event(conn->bev, BEV_EVENT_READING | BEV_EVENT_ERROR,
					  BEV_OPT_DEFER_CALLBACKS);
}

void le_conn_apply_timeouts(struct evhttp_connection *conn, const struct timeval *tv)
{
	bufferevent_set_timeouts(conn->bev, tv, tv);
}

static void drain_frozen(struct evbuffer *buf, int at_front)
{
	evbuffer_unfreeze(buf, at_front);
	evbuffer_drain(buf, le_buffer_get_length(buf));
	evbuffer_freeze(buf, at_front);
}

/* Drops the unsent output. The bufferevent has frozen that end of the buffer. */
void le_conn_drop_output(struct evhttp_connection *conn)
{
	drain_frozen(bufferevent_get_output(conn->bev), 1);
}

void le_conn_drop_input(struct evhttp_connection *conn)
{
	struct evbuffer *in = bufferevent_get_input(conn->bev);

	evbuffer_drain(in, le_buffer_get_length(in));
}

void le_conn_drop_socket(struct evhttp_connection *conn)
{
	conn->is_sending = false;
	bufferevent_disable(conn->bev, EV_READ | EV_WRITE);
	conn->is_reading = false;
	conn->state = LE_CONN_DISCONNECTED;
	close_socket(conn);
	le_conn_drop_output(conn);
	le_conn_drop_input(conn);
}

void le_conn_disconnect(struct evhttp_connection *conn)
{
	/* The close callback may make a request, which must not use the old socket. */
	conn->state = LE_CONN_BUSY;
	conn->is_sending = false;
	le_conn_report_closed(conn);
	if (!conn->is_closed)
		le_conn_drop_socket(conn);
}

/* ---------------------------------------------------------------- settings */

/* The setters run in the connection's color, with one argument. */
static void set(struct evhttp_connection *conn, le_call_fn fn, void *args, size_t size,
		const char *caller)
{
	int r = le_color_call(conn, fn, args, size);

	if (r < 0)
		ec_log_errno(EC_LOG_WARN, -r, "%s", caller);
}

static void set_max_headers_size(struct evhttp_connection *conn, void *args)
{
	ev_ssize_t size = *(ev_ssize_t *)args;

	conn->max_headers_size = size < 0 ? EV_SIZE_MAX : (size_t)size;
}

void evhttp_connection_set_max_headers_size(struct evhttp_connection *evcon,
					    ev_ssize_t new_max_headers_size)
{
	set(evcon, set_max_headers_size, &new_max_headers_size, sizeof(new_max_headers_size),
	    __func__);
}

static void set_max_body_size(struct evhttp_connection *conn, void *args)
{
	ev_ssize_t size = *(ev_ssize_t *)args;

	conn->max_body_size = size < 0 ? UINT64_MAX : (uint64_t)size;
}

void evhttp_connection_set_max_body_size(struct evhttp_connection *evcon,
					 ev_ssize_t new_max_body_size)
{
	set(evcon, set_max_body_size, &new_max_body_size, sizeof(new_max_body_size), __func__);
}

static void set_timeout(struct evhttp_connection *conn, void *args)
{
	const struct timeval *tv = args;

	conn->has_timeout = tv->tv_sec >= 0;
	if (conn->has_timeout)
		conn->timeout = *tv;
	else
		conn->timeout = (struct timeval){ LE_HTTP_TIMEOUT_S, 0 };
	if (!conn->is_closed)
		le_conn_apply_timeouts(conn, &conn->timeout);
}

void evhttp_connection_set_timeout_tv(struct evhttp_connection *evcon, const struct timeval *tv)
{
	struct timeval value = tv != NULL ? *tv : (struct timeval){ -1, 0 };

	set(evcon, set_timeout, &value, sizeof(value), __func__);
}

void evhttp_connection_set_timeout(struct evhttp_connection *evcon, int timeout_in_secs)
{
	struct timeval value = { timeout_in_secs, 0 };

	set(evcon, set_timeout, &value, sizeof(value), __func__);
}

static void set_flags(struct evhttp_connection *conn, void *args)
{
	conn->flags = *(int *)args;
}

int evhttp_connection_set_flags(struct evhttp_connection *evcon, int flags)
{
	const int known = EVHTTP_CON_REUSE_CONNECTED_ADDR | EVHTTP_CON_READ_ON_WRITE_ERROR;

	if ((flags & ~(known | EVHTTP_CON_LINGERING_CLOSE)) != 0)
		return 1;
	return le_color_call(evcon, set_flags, &flags, sizeof(flags)) < 0 ? -1 : 0;
}

struct closecb_args {
	void (*fn)(struct evhttp_connection *conn, void *arg);
	void *arg;
};

static void set_closecb(struct evhttp_connection *conn, void *args)
{
	const struct closecb_args *cb = args;

	conn->closecb = cb->fn;
	conn->closecb_arg = cb->arg;
}

void evhttp_connection_set_closecb(struct evhttp_connection *evcon,
				   void (*cb)(struct evhttp_connection *, void *), void *cbarg)
{
	struct closecb_args args = { cb, cbarg };

	set(evcon, set_closecb, &args, sizeof(args), __func__);
}

struct bufferevent *evhttp_connection_get_bufferevent(struct evhttp_connection *evcon)
{
	return evcon->bev;
}

struct evhttp *evhttp_connection_get_server(struct evhttp_connection *evcon)
{
	return evcon->server;
}

struct event_base *evhttp_connection_get_base(struct evhttp_connection *conn)
{
	return conn->base;
}

void evhttp_connection_get_peer(struct evhttp_connection *evcon, char **address, ev_uint16_t *port)
{
	*address = evcon->address;
	*port = evcon->port;
}

const struct sockaddr *evhttp_connection_get_addr(struct evhttp_connection *evcon)
{
	return evcon->peer.ss_family != AF_UNSPEC ? (const struct sockaddr *)&evcon->peer : NULL;
}
