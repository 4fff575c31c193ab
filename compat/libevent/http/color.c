/*
 * Calls from other colors. A connection has no lock: all changes to it run in its color. A handler
 * may pass a request to another color or thread, which replies to it. That call is posted to the
 * connection's color. The post holds a reference on the connection's memory, so it can check
 * whether the connection was closed.
 *
 * Rejected: a lock in each connection. A thread would hold it while it calls bufferevents and
 * evbuffers, which have locks of their own. And programs without colors would take it for each
 * request.
 */
#include "http.h"

#include <errno.h>
#include <string.h>

#include "event/le.h"

static struct ec_base *ec_base_of(const struct event_base *base)
{
	return (struct ec_base *)(void *)(uintptr_t)base;
}

/*
 * A caller outside of callbacks counts as color 0: it is the program before its loop, or another
 * thread. So its call to a connection of color 0 is made at once, as in libevent. A call to another
 * color is posted, because that color may run now.
 */
bool le_color_is_own(const struct evhttp_connection *conn)
{
	if (conn->base == NULL)
		return true;
	/* A base without locks has no colors yet, so only color 0 can run. */
	if (conn->color == 0 && !ec_base_is_locked(ec_base_of(conn->base)))
		return true;
	return le_color_running(conn->base) == conn->color;
}

uint32_t le_color_running(const struct event_base *base)
{
	uint32_t color;

	return ec_base_running_color(ec_base_of(base), &color) == 0 ? color : 0;
}

void le_color_take_bevs(struct evhttp_connection *conn)
{
	if (conn->is_used)
		return;
	conn->is_used = true;
	conn->color = bufferevent_get_color(conn->bev);
	event_set_color(&conn->wake_ev, conn->color);
}

/* The color of a client's connection is that of its bufferevent, until its first request. */
static bool has_final_color(const struct evhttp_connection *conn)
{
	return conn->ops == &le_server_ops || conn->is_used || conn->bev == NULL;
}

ev_uint32_t evhttp_connection_get_color(struct evhttp_connection *evcon)
{
	if (evcon == NULL)
		return 0;
	return has_final_color(evcon) ? evcon->color : bufferevent_get_color(evcon->bev);
}

static LE_COLD int refuse(const struct evhttp_connection *evcon)
{
	if (ec_debug_on())
		ec_log(EC_LOG_WARN, "evhttp_connection_set_color: connection %p is a server's, or has had a request; "
				    "set the color before the first request",
		       (const void *)evcon);
	return le_result(-EBUSY);
}

int evhttp_connection_set_color(struct evhttp_connection *evcon, ev_uint32_t color)
{
	if (evcon == NULL) {
		errno = EINVAL;
		return -1;
	}
	if (has_final_color(evcon))
		return refuse(evcon);
	return bufferevent_set_color(evcon->bev, color);
}

struct call {
	/* event_base_free() runs the job, because `args` may own a request or a buffer */
	struct ec_job job;
	struct evhttp_connection *conn;
	le_call_fn fn;
	_Alignas(max_align_t) char args[LE_CALL_ARGS_MAX];
};

static void run_call(struct ec_job *job)
{
	struct call *call = ec_container_of(job, struct call, job);

	call->fn(call->conn, call->args);
	le_conn_put(call->conn);
	ec_free(call);
}

int le_color_call(struct evhttp_connection *conn, le_call_fn fn, void *args, size_t size)
{
	struct call *call;
	int r;

	if (le_color_is_own(conn)) {
		fn(conn, args);
		return 0;
	}
	call = ec_malloc(sizeof(*call));
	if (call == NULL)
		return -ENOMEM;
	le_conn_get(conn);
	call->job.run = run_call;
	call->conn = conn;
	call->fn = fn;
	if (size > 0)
		memcpy(call->args, args, size);
	r = ec_base_post_job(ec_base_of(conn->base), conn->color, &call->job);
	if (r < 0) {
		le_conn_put(conn);
		ec_free(call);
		return -ENOMEM;
	}
	return 0;
}

bool le_color_pause(struct event_base *base)
{
	return base != NULL && ec_base_pause(ec_base_of(base)) == 0;
}

void le_color_resume(struct event_base *base)
{
	ec_base_resume(ec_base_of(base));
}
