/*
 * TLS as a kind of bufferevent: enabling, timeouts, descriptors, freeing.
 */
#include "tls.h"

#include <errno.h>

#include <event2/buffer.h>

#include "bufferevent/sock.h"

/* For TLS over a bufferevent: a direction that has ended has no timeout. */
static int adjust_timers(struct le_tls *t)
{
	struct bufferevent *bev = &t->bev.bev;

	if (t->is_over || le_bev_adjust_timers(bev) < 0)
		return t->is_over ? 0 : -1;
	return t->is_read_over ? le_bev_event_del(&t->bev, &bev->ev_read) : 0;
}

static int tls_enable(struct bufferevent *bev, short events)
{
	struct le_tls *t = le_tls(bev);
	int r = t->underlying != NULL ? adjust_timers(t) : 0;

	if (t->bev.is_connecting)
		return le_bev_event_add(&t->bev, &bev->ev_write);
	if (le_tls_is_done(t) || !le_tls_has_transport(t))
		return r;
	if (t->state != BUFFEREVENT_SSL_OPEN || ((events & EV_READ) != 0 && le_tls_has_hidden(t)))
		le_bev_do_later(&t->bev, LE_WAITING_KIND);
	if ((events & EV_WRITE) != 0 && evbuffer_get_length(bev->output) != 0)
		le_bev_send_soon(&t->bev);
	return le_tls_watch(t) < 0 ? -1 : r;
}

/* Called before the suspension is recorded, so it changes the events themselves. */
static int tls_disable(struct bufferevent *bev, short events)
{
	struct le_tls *t = le_tls(bev);
	bool is_shaking = t->state != BUFFEREVENT_SSL_OPEN && le_tls_may_shake(t);

	if (t->underlying != NULL) {
		if ((events & EV_READ) != 0)
			(void)le_bev_event_del(&t->bev, &bev->ev_read);
		if ((events & EV_WRITE) != 0)
			(void)le_bev_event_del(&t->bev, &bev->ev_write);
		if ((events & EV_READ) != 0 && !is_shaking && !t->write_wants_read)
			le_bev_suspend_read(t->underlying, LE_SUSPEND_FILTER);
		return 0;
	}
	if (is_shaking || t->bev.is_connecting)
		return 0;
	if ((events & EV_READ) != 0 && !t->write_wants_read)
		(void)le_bev_event_del(&t->bev, &bev->ev_read);
	if ((events & EV_WRITE) != 0 && !t->read_wants_write)
		(void)le_bev_event_del(&t->bev, &bev->ev_write);
	return 0;
}

static void tls_cancel(struct bufferevent *bev)
{
	le_tls(bev)->is_freed = true;
	le_bev_connect_cancel(bev);
}

static struct bufferevent *tls_unlink(struct bufferevent *bev)
{
	struct le_tls *t = le_tls(bev);

	return t->underlying == NULL ? NULL : le_bev_leave_below(&t->bev, t->underlying, le_tls_underlying_event);
}

static void tls_destruct(struct bufferevent *bev)
{
	struct le_tls *t = le_tls(bev);
	evutil_socket_t fd = event_get_fd(&bev->ev_read);

	if ((t->bev.options & BEV_OPT_CLOSE_ON_FREE) != 0) {
		SSL_free(t->ssl);
		if (t->underlying == NULL && fd >= 0)
			(void)evutil_closesocket(fd);
	}
	if (t->underlying != NULL)
		le_bev_put(t->underlying);
}

static int adjust_timeout(struct le_tls *t, struct event *ev, const struct timeval *tv)
{
	if (!le_tls_is_watched(ev))
		return 0;
	if (tv->tv_sec != 0 || tv->tv_usec != 0)
		return le_bev_event_add(&t->bev, ev);
	(void)event_remove_timer(ev);
	return 0;
}

static int tls_adjust_timeouts(struct bufferevent *bev)
{
	struct le_tls *t = le_tls(bev);
	int r;

	if (t->underlying != NULL)
		return adjust_timers(t);
	r = adjust_timeout(t, &bev->ev_read, &bev->timeout_read);
	return adjust_timeout(t, &bev->ev_write, &bev->timeout_write) < 0 ? -1 : r;
}

static int tls_flush(struct bufferevent *bev, short iotype, enum bufferevent_flush_mode mode)
{
	(void)bev;
	(void)iotype;
	(void)mode;
	return 0;
}

static void events_move(struct le_tls *t, evutil_socket_t fd)
{
	struct bufferevent *bev = &t->bev.bev;

	(void)le_bev_event_del(&t->bev, &bev->ev_read);
	(void)le_bev_event_del(&t->bev, &bev->ev_write);
	le_tls_events_assign(t, event_get_base(&bev->ev_read), fd);
}

/* On failure, the descriptor stays the caller's. The connection over the one before is lost. */
static int set_fd(struct le_tls *t, evutil_socket_t fd)
{
	struct bufferevent *bev = &t->bev.bev;
	evutil_socket_t old = event_get_fd(&bev->ev_read);
	int err;

	/*
	 * Over another bufferevent the descriptor belongs to that one, and removing it is not an
	 * error.
	 */
	if (t->underlying != NULL)
		return fd < 0 ? 0 : bufferevent_setfd(t->underlying, fd);
	if (t->is_freed)
		return -1;
	if (fd >= 0 && le_tls_set_fd_bio(t, fd) < 0)
		return -1;
	/*
	 * A new connection needs a new handshake, unless the program has done the handshake itself.
	 */
	if (fd >= 0 && t->first != BUFFEREVENT_SSL_OPEN && SSL_clear(t->ssl) != 1)
		return -1;
	events_move(t, fd);
	if (fd < 0)
		return 0;
	le_tls_begin(t);
	if (bufferevent_enable(bev, bev->enabled) == 0)
		return 0;
	err = errno;
	events_move(t, old);
	t->is_read_over = t->is_over = true;
	errno = err;
	return -1;
}

static int tls_ctrl(struct bufferevent *bev, enum le_bev_ctrl op, union le_bev_ctrl_data *data)
{
	struct le_tls *t = le_tls(bev);

	switch (op) {
	case LE_CTRL_SET_FD:
		return set_fd(t, data->fd);
	case LE_CTRL_GET_FD:
		if (t->underlying != NULL)
			data->fd = bufferevent_getfd(t->underlying);
		else
			data->fd = event_get_fd(&bev->ev_read);
		return 0;
	case LE_CTRL_GET_UNDERLYING:
		data->underlying = t->underlying;
		return t->underlying == NULL ? -1 : 0;
	}
	return -1;
}

const struct bufferevent_ops le_tls_ops = {
	.owner = LE_BEV_OWNER,
	.type = "ssl",
	.enable = tls_enable,
	.disable = tls_disable,
	.unlink = tls_unlink,
	.cancel = tls_cancel,
	.destruct = tls_destruct,
	.adjust_timeouts = tls_adjust_timeouts,
	.flush = tls_flush,
	.ctrl = tls_ctrl,
	.send = le_tls_send,
	.later = le_tls_later,
};
