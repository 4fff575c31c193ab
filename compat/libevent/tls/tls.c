/*
 * Bufferevents over TLS, on a socket or on another bufferevent.
 *
 *   CONNECTING, ACCEPTING -- handshake done --> OPEN -- close_notify --> is_read_over -- error --> is_over
 *                                                `----------------- error -------------------'
 *
 * The peer's close_notify ends reading only: the peer may still read our output.
 *
 * A turn does as much as possible now: handshake, reading records, writing records. Then it watches
 * the events that OpenSSL asked for. When keys are changed, OpenSSL may have to write before it can
 * read, or the reverse: read_wants_write and write_wants_read record the call to repeat.
 *
 * OpenSSL keeps data that no descriptor reports: a record that was read in part. A bufferevent
 * below may also have more in its input. So whenever reading stops while such data may exist, the
 * bufferevent's `later` continues.
 */
#include "tls.h"

#include <errno.h>
#include <sys/socket.h>

#include <event2/buffer.h>

#include "bio.h"
#include "bufferevent/sock.h"

/* ---------------------------------------------------------------- watching */

static int watch_event(struct le_tls *t, struct event *ev, bool is_wanted)
{
	if (!is_wanted)
		return le_bev_event_del(&t->bev, ev);
	return le_tls_is_watched(ev) ? 0 : le_bev_event_add(&t->bev, ev);
}

static void wants(const struct le_tls *t, bool *to_read, bool *to_write)
{
	const struct le_bev *p = &t->bev;
	bool may_read = le_tls_can_read(t);
	bool may_write = le_bev_can_write(p) && evbuffer_get_length(p->bev.output) != 0;

	*to_read = *to_write = false;
	if (le_tls_is_done(t) || !le_tls_has_transport(t))
		return;
	if (p->is_connecting) {
		*to_write = true;
	} else if (t->state != BUFFEREVENT_SSL_OPEN) {
		*to_read = le_tls_may_shake(t) && t->handshake_wants == EV_READ;
		*to_write = le_tls_may_shake(t) && t->handshake_wants == EV_WRITE;
	} else {
		*to_read = (may_read && !t->read_wants_write) || (may_write && t->write_wants_read);
		*to_write = (may_write && t->is_blocked) || (may_read && t->read_wants_write);
	}
}

/* After a close_notify, the bufferevent below is read on, to learn that the peer is gone. */
static bool awaits_end(const struct le_tls *t)
{
	return t->is_read_over && !le_tls_is_done(t) && le_bev_can_read(&t->bev);
}

int le_tls_watch(struct le_tls *t)
{
	struct bufferevent *bev = &t->bev.bev;
	bool to_read, to_write;

	wants(t, &to_read, &to_write);
	if (t->underlying == NULL) {
		if (watch_event(t, &bev->ev_read, to_read) < 0)
			return -1;
		return watch_event(t, &bev->ev_write, to_write);
	}
	if (to_read || awaits_end(t))
		le_bev_unsuspend_read(t->underlying, LE_SUSPEND_FILTER);
	else
		le_bev_suspend_read(t->underlying, LE_SUSPEND_FILTER);
	return 0;
}

bool le_tls_has_hidden(const struct le_tls *t)
{
	if (t->state != BUFFEREVENT_SSL_OPEN || t->is_read_over || le_tls_is_done(t))
		return false;
	return SSL_has_pending(t->ssl) != 0 || t->has_ended ||
	       (t->underlying != NULL && evbuffer_get_length(t->underlying->input) != 0);
}

/* ---------------------------------------------------------------- turns */

/* In a turn. `ready`: EV_READ, EV_WRITE of the transport. */
static void advance(struct le_tls *t, short ready)
{
	bool has_opened = false;

	if (le_tls_is_done(t) || !le_tls_has_transport(t))
		return;
	if (t->state != BUFFEREVENT_SSL_OPEN) {
		if (le_tls_may_shake(t))
			has_opened = le_tls_handshake(t);
		if (!has_opened)
			goto watch;
		ready = EV_READ | EV_WRITE;
	}
	if (!le_tls_is_done(t) && le_tls_can_read(t) && (ready & (t->read_wants_write ? EV_WRITE : EV_READ)) != 0)
		le_tls_read_records(t);
	if (!le_tls_is_done(t) && le_bev_can_write(&t->bev) &&
	    (ready & (t->write_wants_read ? EV_READ : EV_WRITE)) != 0)
		le_tls_write_records(t);
watch:
	if (!t->bev.is_dead && le_tls_watch(t) < 0 && !le_tls_is_done(t))
		le_tls_over(t, (struct le_tls_end){ BEV_EVENT_ERROR, errno });
}

void le_tls_later(struct bufferevent *bev)
{
	struct le_tls *t = le_tls(bev);

	if (!t->bev.is_connecting)
		advance(t, EV_READ | EV_WRITE);
}

/* Called at the end of a turn if output was written; le_bev_leave checks whether it may be sent. */
void le_tls_send(struct bufferevent *bev)
{
	struct le_tls *t = le_tls(bev);

	if (t->state == BUFFEREVENT_SSL_OPEN && !t->is_blocked && !t->write_wants_read && !t->bev.has_sent) {
		t->bev.has_sent = true;
		advance(t, EV_WRITE);
	} else if (t->state == BUFFEREVENT_SSL_OPEN && !le_tls_is_done(t) && !t->write_wants_read &&
		   evbuffer_get_length(bev->output) != 0) {
		/*
		 * The second write in one turn waits, so that a stream leaves time for other
		 * events.
		 */
		t->is_blocked = true;
		if (t->underlying != NULL)
			le_bev_do_later(&t->bev, LE_WAITING_KIND);
		if (le_tls_watch(t) < 0)
			le_tls_over(t, (struct le_tls_end){ BEV_EVENT_WRITING | BEV_EVENT_ERROR, errno });
	}
}

void le_tls_output_changed(struct evbuffer *buf, const struct evbuffer_cb_info *info, void *arg)
{
	struct le_tls *t = arg;

	(void)buf;
	if (info->n_added != 0 && le_bev_can_write(&t->bev) && t->state == BUFFEREVENT_SSL_OPEN && !le_tls_is_done(t))
		le_bev_send_soon(&t->bev);
}

/* ---------------------------------------------------------------- events of a socket */

/* A handshake has no direction: as in libevent, its timeout does not name one. */
static void timed_out(struct le_tls *t, short event, short what)
{
	if (t->state != BUFFEREVENT_SSL_OPEN)
		what = 0;
	(void)bufferevent_disable(&t->bev.bev, event);
	le_bev_trigger_event(&t->bev.bev, (short)(what | BEV_EVENT_TIMEOUT), 0);
}

static void read_cb(evutil_socket_t fd, short what, void *arg)
{
	struct le_tls *t = arg;

	(void)fd;
	if (!le_bev_enter(&t->bev.bev))
		return;
	if (what == EV_TIMEOUT)
		timed_out(t, EV_READ, BEV_EVENT_READING);
	else
		advance(t, EV_READ);
	le_bev_leave(&t->bev.bev);
}

/* True: the socket is connected, and the handshake may begin. */
static bool connected(struct le_tls *t, evutil_socket_t fd)
{
	int err = t->bev.is_refused ? ECONNREFUSED : 0;
	socklen_t len = sizeof(err);

	if (err == 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0)
		err = errno;
	if (err == EINPROGRESS || err == EALREADY || err == EINTR)
		return false;
	t->bev.is_connecting = t->bev.is_refused = false;
	if (err == 0) {
		t->is_shaking_disabled = t->bev.bev.enabled == 0;
		return true;
	}
	le_tls_over(t, (struct le_tls_end){ BEV_EVENT_ERROR, err });
	return false;
}

static void write_cb(evutil_socket_t fd, short what, void *arg)
{
	struct le_tls *t = arg;

	if (!le_bev_enter(&t->bev.bev))
		return;
	if (what == EV_TIMEOUT)
		timed_out(t, EV_WRITE, BEV_EVENT_WRITING);
	else if (!t->bev.is_connecting || connected(t, fd))
		advance(t, EV_WRITE);
	le_bev_leave(&t->bev.bev);
}

/* For observe/subject.h. */
static bool subject(struct ec_subject *s, short what)
{
	if (s->fn != (uintptr_t)read_cb && s->fn != (uintptr_t)write_cb && s->fn != (uintptr_t)le_tls_underlying_read)
		return false;
	return le_bev_subject((struct le_bev *)s->object, s, what);
}

EC_SUBJECT(subject)

void le_tls_events_assign(struct le_tls *t, struct event_base *base, evutil_socket_t fd)
{
	struct bufferevent *bev = &t->bev.bev;

	(void)le_event_assign(&bev->ev_read, base, fd, EV_READ | EV_PERSIST | EV_FINALIZE, read_cb, t);
	(void)le_event_assign(&bev->ev_write, base, fd, EV_WRITE | EV_PERSIST | EV_FINALIZE, write_cb, t);
	(void)ec_event_set_color(le_ec(&bev->ev_read), t->bev.color);
	(void)ec_event_set_color(le_ec(&bev->ev_write), t->bev.color);
}

/* ---------------------------------------------------------------- callbacks of the underlying one */

void le_tls_underlying_read(struct bufferevent *underlying, void *arg)
{
	struct le_tls *t = arg;

	if (!le_bev_enter(&t->bev.bev))
		return;
	/* Bytes after a close_notify mean nothing, but must not fill the memory. */
	if (t->is_read_over && !t->write_wants_read)
		(void)evbuffer_drain(underlying->input, evbuffer_get_length(underlying->input));
	advance(t, EV_READ);
	le_bev_leave(&t->bev.bev);
}

void le_tls_underlying_write(struct bufferevent *underlying, void *arg)
{
	struct le_tls *t = arg;

	(void)underlying;
	if (!le_bev_enter(&t->bev.bev))
		return;
	advance(t, EV_WRITE);
	le_bev_leave(&t->bev.bev);
}

/*
 * The transport has ended. Read the rest of the input, which may contain a close_notify. After a
 * close_notify that was reported before, report this end, too. The peer may still read our output.
 */
static void ended(struct le_tls *t)
{
	const short what = t->is_allowing_dirty ? BEV_EVENT_EOF : BEV_EVENT_ERROR;

	t->has_ended = true;
	if (t->is_read_over && !le_tls_is_done(t)) {
		errno = 0;
		le_bev_trigger_event(&t->bev.bev, what, 0);
		return;
	}
	if (!le_tls_is_done(t))
		le_ssl_bio_end(SSL_get_rbio(t->ssl));
	advance(t, EV_READ);
	if (!le_tls_is_done(t) && !t->is_read_over && evbuffer_get_length(t->underlying->input) == 0 &&
	    (t->state != BUFFEREVENT_SSL_OPEN || SSL_has_pending(t->ssl) == 0))
		le_tls_over(t, (struct le_tls_end){ what, 0 });
}

/* The transport has failed. If it failed to write, what the peer wrote before may be there still. */
static void failed(struct le_tls *t, short when, int err)
{
	const short what = (short)(when | BEV_EVENT_ERROR);

	if (le_tls_is_done(t))
		return;
	if (when != BEV_EVENT_WRITING || t->state != BUFFEREVENT_SSL_OPEN) {
		le_tls_over(t, (struct le_tls_end){ what, err });
		return;
	}
	errno = err;
	le_bev_trigger_event(&t->bev.bev, what, 0);
}

void le_tls_underlying_event(struct bufferevent *underlying, short what, void *arg)
{
	short when = (short)(what & (BEV_EVENT_READING | BEV_EVENT_WRITING));
	struct le_tls *t = arg;
	int err = errno;

	(void)underlying;
	if (!le_bev_enter(&t->bev.bev))
		return;
	if ((what & BEV_EVENT_EOF) != 0)
		ended(t);
	else if ((what & BEV_EVENT_TIMEOUT) != 0)
		le_bev_trigger_event(&t->bev.bev, what, 0);
	else if ((what & BEV_EVENT_ERROR) != 0)
		failed(t, when, err);
	else if ((what & BEV_EVENT_CONNECTED) != 0)
		advance(t, EV_READ | EV_WRITE);
	le_bev_leave(&t->bev.bev);
}
