#include "below.h"

#include <event2/buffer.h>

#include "bufferevent/bev.h"

/* Not bufferevent_setfd(bev, -1): for TLS over a bufferevent, as in libevent, that does nothing. */
static struct bufferevent *bottom(struct bufferevent *bev)
{
	struct bufferevent *below;

	while ((below = bufferevent_get_underlying(bev)) != NULL)
		bev = below;
	return bev;
}

evutil_socket_t le_below_take_fd(struct bufferevent *bev)
{
	struct bufferevent *last = bottom(bev);
	evutil_socket_t fd = bufferevent_getfd(last);

	if (fd >= 0)
		bufferevent_setfd(last, -1);
	return fd;
}

/* ---------------------------------------------------------------- output */

static bool has_output(struct bufferevent *bev)
{
	while ((bev = bufferevent_get_underlying(bev)) != NULL) {
		if (le_buffer_get_length(bufferevent_get_output(bev)) > 0)
			return true;
	}
	return false;
}

/*
 * Called with the lock, if there is one: all bufferevents of a stack share it. The timeout of the
 * first bufferevent ends the wait for a client that reads nothing.
 */
static void output_changed(struct evbuffer *buf, const struct evbuffer_cb_info *info, void *arg)
{
	struct evhttp_connection *conn = arg;

	if (info->n_deleted == 0)
		return;
	(void)le_bev_restart_timer(conn->bev, EV_WRITE);
	if (le_buffer_get_length(buf) == 0)
		bufferevent_trigger(conn->bev, EV_WRITE,
				    BEV_TRIG_IGNORE_WATERMARKS | BEV_TRIG_DEFER_CALLBACKS);
}

/* Without memory for the callback, the connection does not wait. */
bool le_below_must_wait(struct evhttp_connection *conn)
{
	if (!has_output(conn->bev))
		return false;
	if (conn->below_cb == NULL)
		conn->below_cb = evbuffer_add_cb(bufferevent_get_output(bottom(conn->bev)),
						 output_changed, conn);
	return conn->below_cb != NULL;
}

void le_below_stop_waiting(struct evhttp_connection *conn)
{
	if (conn->below_cb == NULL)
		return;
	evbuffer_remove_cb_entry(bufferevent_get_output(bottom(conn->bev)), conn->below_cb);
	conn->below_cb = NULL;
}
