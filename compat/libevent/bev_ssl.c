/*
 * Bufferevents over TLS, on a socket or on another bufferevent.
 *
 *   CONNECTING, ACCEPTING -- handshake done --> OPEN -- close_notify --> is_read_over -- error --> is_over
 *                                                `----------------- error -------------------'
 *
 * What the peer's close_notify ends is reading: it may still read what we have to say.
 *
 * A turn does what it can: it shakes hands, reads records, writes records, and then watches for what
 * OpenSSL asked for. It may ask to write before it can read on, and the other way round, when
 * keys are changed: read_wants_write and write_wants_read remember whom to call again.
 *
 * OpenSSL keeps data that no descriptor reports: a record that was read in part, and a bufferevent below
 * may have more in its input. So whenever reading stops while there may be such data, the
 * bufferevent's `later` goes on.
 */
#include "bev_ssl.h"

#include <errno.h>
#include <sys/socket.h>

#include <openssl/err.h>

#include <event2/buffer.h>

#include "bev_sock.h"
#include "ssl.h"

enum { RECORD_MAX = 16384 };

/* Asked, not looked at: whoever polls makes it active meanwhile. */
static bool is_watched(const struct event *ev)
{
	return le_ec(ev)->base != NULL && event_pending(ev, EV_READ | EV_WRITE, NULL) != 0;
}

/* Nothing may be done with the SSL any more. */
static bool is_done(const struct le_tls *t)
{
	return t->is_over || t->is_freed || t->bev.is_dead;
}

static bool can_read(const struct le_tls *t)
{
	return !t->is_read_over && le_bev_can_read(&t->bev);
}

static bool has_transport(const struct le_tls *t)
{
	return t->underlying != NULL || event_get_fd(&t->bev.bev.ev_read) >= 0;
}

/* ---------------------------------------------------------------- what to wait for */

static int watch_event(struct le_tls *t, struct event *ev, bool is_wanted)
{
	if (!is_wanted)
		return le_bev_event_del(&t->bev, ev);
	return is_watched(ev) ? 0 : le_bev_event_add(&t->bev, ev);
}

static void wants(const struct le_tls *t, bool *to_read, bool *to_write)
{
	const struct le_bev *p = &t->bev;
	bool may_read = can_read(t);
	bool may_write = le_bev_can_write(p) && evbuffer_get_length(p->bev.output) != 0;

	*to_read = *to_write = false;
	if (is_done(t) || !has_transport(t))
		return;
	if (p->is_connecting) {
		*to_write = true;
	} else if (t->state != BUFFEREVENT_SSL_OPEN) {
		*to_read = p->bev.enabled != 0 && t->handshake_wants == EV_READ;
		*to_write = p->bev.enabled != 0 && t->handshake_wants == EV_WRITE;
	} else {
		*to_read = (may_read && !t->read_wants_write) || (may_write && t->write_wants_read);
		*to_write = (may_write && t->is_blocked) || (may_read && t->read_wants_write);
	}
}

/* -1 and errno: the connection would stand still. */
static int watch(struct le_tls *t)
{
	struct bufferevent *bev = &t->bev.bev;
	bool to_read, to_write;

	wants(t, &to_read, &to_write);
	if (t->underlying == NULL) {
		if (watch_event(t, &bev->ev_read, to_read) < 0)
			return -1;
		return watch_event(t, &bev->ev_write, to_write);
	}
	if (to_read)
		le_bev_unsuspend_read(t->underlying, LE_SUSPEND_FILTER);
	else
		le_bev_suspend_read(t->underlying, LE_SUSPEND_FILTER);
	return 0;
}

/* May there be data that nothing will report? */
static bool has_hidden(const struct le_tls *t)
{
	if (t->state != BUFFEREVENT_SSL_OPEN || t->is_read_over || is_done(t))
		return false;
	return SSL_has_pending(t->ssl) != 0 || t->has_ended ||
	       (t->underlying != NULL && evbuffer_get_length(t->underlying->input) != 0);
}

/* ---------------------------------------------------------------- the end */

static void error_note(struct le_tls *t, unsigned long err)
{
	if (t->errors_num < LE_TLS_ERRORS)
		t->errors[t->errors_num++] = err;
}

static void errors_note(struct le_tls *t)
{
	unsigned long err;

	while ((err = ERR_get_error()) != 0)
		error_note(t, err);
}

/* The connection ended without close_notify: somebody else may have cut it off. */
static bool is_dirty(struct le_tls *t, int error, int saved_errno)
{
	if (error == SSL_ERROR_SYSCALL)
		return ERR_peek_error() == 0 && saved_errno == 0;
	/* A close_notify is read before the end is. */
	return error == SSL_ERROR_ZERO_RETURN && !t->is_ignoring_dirty && BIO_eof(SSL_get_rbio(t->ssl)) > 0;
}

/* How it ended. */
struct end {
	short what;			/* BEV_EVENT_…; 0: it did not */
	int err;			/* errno then */
};

/* Of a call that cannot be repeated, as SSL_get_error said. `when`: BEV_EVENT_READING or …WRITING. */
static struct end end_of(struct le_tls *t, short when, int error, int saved_errno)
{
	bool is_good = error == SSL_ERROR_ZERO_RETURN;

	errors_note(t);
	if (is_dirty(t, error, saved_errno)) {
		is_good = t->is_allowing_dirty;
		/* The underlying one's end, as programs know it. */
		if (t->underlying != NULL)
			when = 0;
#ifdef SSL_R_UNEXPECTED_EOF_WHILE_READING
		else if (!is_good)
			error_note(t, ERR_PACK(ERR_LIB_SSL, 0, SSL_R_UNEXPECTED_EOF_WHILE_READING));
#endif
	}
	return (struct end){ (short)(when | (is_good ? BEV_EVENT_EOF : BEV_EVENT_ERROR)), saved_errno };
}

/* The program finds end.err in errno, whatever was called since it came up. */
static void over(struct le_tls *t, struct end end)
{
	bool can_write_on = t->state == BUFFEREVENT_SSL_OPEN && (end.what & BEV_EVENT_EOF) != 0 &&
			    (end.what & BEV_EVENT_WRITING) == 0 &&
			    (SSL_get_shutdown(t->ssl) & SSL_RECEIVED_SHUTDOWN) != 0;

	t->is_read_over = true;
	t->is_over = !can_write_on;
	(void)le_bev_event_del(&t->bev, &t->bev.bev.ev_read);
	if (t->is_over)
		(void)le_bev_event_del(&t->bev, &t->bev.bev.ev_write);
	(void)watch(t);
	errno = end.err;
	le_bev_tell_event(&t->bev.bev, end.what, 0);
}

/* ---------------------------------------------------------------- calls of OpenSSL */

static void call_begin(void)
{
	ERR_clear_error();
	errno = 0;
}

/* What its limits count is what goes over the wire. */
static void call_end(struct le_tls *t)
{
	uint64_t read_num, written_num;

	if (t->bev.limit == NULL)
		return;
	read_num = BIO_number_read(SSL_get_rbio(t->ssl));
	written_num = BIO_number_written(SSL_get_wbio(t->ssl));
	/* A new BIO counts from 0. */
	if (read_num > t->read_num)
		le_bev_spend_read(&t->bev, (size_t)(read_num - t->read_num));
	if (written_num > t->written_num)
		le_bev_spend_write(&t->bev, (size_t)(written_num - t->written_num));
	t->read_num = read_num;
	t->written_num = written_num;
}

/* True: it is open. */
static bool handshake(struct le_tls *t)
{
	int r, error, saved_errno;

	call_begin();
	r = SSL_do_handshake(t->ssl);
	saved_errno = errno;
	error = r == 1 ? SSL_ERROR_NONE : SSL_get_error(t->ssl, r);
	call_end(t);
	switch (error) {
	case SSL_ERROR_NONE:
		t->state = BUFFEREVENT_SSL_OPEN;
		(void)watch(t);
		le_bev_tell_event(&t->bev.bev, BEV_EVENT_CONNECTED, 0);
		return true;
	case SSL_ERROR_WANT_READ:
		t->handshake_wants = EV_READ;
		return false;
	case SSL_ERROR_WANT_WRITE:
		t->handshake_wants = EV_WRITE;
		return false;
	default:
		over(t, end_of(t, BEV_EVENT_READING, error, saved_errno));
		return false;
	}
}

/* ---------------------------------------------------------------- reading */

/* As for a socket: limits, and the high watermark. 0: nothing may come in now. */
static size_t room(struct le_tls *t)
{
	struct bufferevent *bev = &t->bev.bev;
	ev_ssize_t max = le_bev_max_to_read(&t->bev);
	size_t len, high = bev->wm_read.high;

	if (high != 0) {
		len = evbuffer_get_length(bev->input);
		if (len >= high) {
			le_bev_suspend_read(bev, LE_SUSPEND_WATERMARK);
			return 0;
		}
		if ((size_t)max > high - len)
			max = (ev_ssize_t)(high - len);
	}
	return max <= 0 || t->bev.read_suspended != 0 ? 0 : (size_t)max;
}

/* Up to one record. How much came; 0: nothing more now, and *end is what that means, if it is the end. */
static size_t read_once(struct le_tls *t, size_t max, struct end *end)
{
	struct evbuffer *input = t->bev.bev.input;
	int r, error, saved_errno;
	struct evbuffer_iovec to;

	(void)evbuffer_unfreeze(input, 0);
	if (evbuffer_reserve_space(input, (ev_ssize_t)(max < RECORD_MAX ? max : RECORD_MAX), &to, 1) < 1) {
		(void)evbuffer_freeze(input, 0);
		*end = (struct end){ BEV_EVENT_READING | BEV_EVENT_ERROR, ENOMEM };
		return 0;
	}
	call_begin();
	r = SSL_read(t->ssl, to.iov_base, (int)(to.iov_len < max ? to.iov_len : max));
	saved_errno = errno;
	error = r > 0 ? SSL_ERROR_NONE : SSL_get_error(t->ssl, r);
	to.iov_len = r > 0 ? (size_t)r : 0;
	(void)evbuffer_commit_space(input, &to, 1);
	(void)evbuffer_freeze(input, 0);
	call_end(t);
	t->read_wants_write = error == SSL_ERROR_WANT_WRITE;
	if (error != SSL_ERROR_NONE && error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE)
		*end = end_of(t, BEV_EVENT_READING, error, saved_errno);
	return to.iov_len;
}

/*
 * What one read of the transport brings, as far as one turn may: whoever is told of it may not
 * want to hear of more. What came is told before how it ended.
 */
static void read_records(struct le_tls *t)
{
	size_t max = room(t), total = 0, len;
	struct end end = { 0, 0 };

	if (max == 0)
		return;
	do {
		len = read_once(t, max - total, &end);
		total += len;
	} while (len != 0 && total < max && SSL_pending(t->ssl) > 0);
	if (total != 0) {
		if (t->underlying != NULL)
			le_bev_restart_timer(&t->bev.bev, EV_READ);
		le_bev_trigger(&t->bev.bev, EV_READ, 0);
	}
	if (is_done(t))
		return;
	if (end.what != 0)
		over(t, end);
	else if (len != 0 && can_read(t) && has_hidden(t))
		le_bev_do_later(&t->bev, LE_WAITING_KIND);
}

/* ---------------------------------------------------------------- writing */

static void write_failed(struct le_tls *t, int error, int saved_errno)
{
	switch (error) {
	case SSL_ERROR_WANT_READ:
		t->write_wants_read = true;
		break;
	case SSL_ERROR_WANT_WRITE:
		t->is_blocked = true;
		break;
	default:
		over(t, end_of(t, BEV_EVENT_WRITING, error, saved_errno));
		break;
	}
}

/*
 * The first bytes of the output, *len of them, in one piece: many small pieces would make as many
 * records. Without memory for that, the first piece as it is. NULL: not even that will do.
 */
static const unsigned char *linear(struct le_tls *t, size_t *len)
{
	struct evbuffer *output = t->bev.bev.output;
	struct evbuffer_iovec first;
	const unsigned char *all;

	if (evbuffer_peek(output, -1, NULL, &first, 1) < 1)
		return NULL;
	if (first.iov_len >= *len)
		return first.iov_base;
	all = evbuffer_pullup(output, (ev_ssize_t)*len);
	if (all != NULL)
		return all;
	*len = first.iov_len;
	return first.iov_len >= t->retry_len ? first.iov_base : NULL;
}

/* One record, the output unfrozen. How much went; 0: nothing more now. */
static size_t write_once(struct le_tls *t, size_t max)
{
	struct evbuffer *output = t->bev.bev.output;
	size_t len = evbuffer_get_length(output);
	const unsigned char *data;
	int r, error, saved_errno;

	if (len > max)
		len = max;
	if (len > RECORD_MAX)
		len = RECORD_MAX;
	if (len < t->retry_len)
		len = t->retry_len;
	data = linear(t, &len);
	if (data == NULL) {
		over(t, (struct end){ BEV_EVENT_WRITING | BEV_EVENT_ERROR, ENOMEM });
		return 0;
	}
	call_begin();
	r = SSL_write(t->ssl, data, (int)len);
	saved_errno = errno;
	error = r > 0 ? SSL_ERROR_NONE : SSL_get_error(t->ssl, r);
	call_end(t);
	t->is_blocked = t->write_wants_read = false;
	t->retry_len = error == SSL_ERROR_NONE ? 0 : len;
	if (error != SSL_ERROR_NONE) {
		write_failed(t, error, saved_errno);
		return 0;
	}
	(void)evbuffer_drain(output, (size_t)r);
	return (size_t)r;
}

/* As much as one turn may. What is left then waits for room. */
static void write_records(struct le_tls *t)
{
	struct bufferevent *bev = &t->bev.bev;
	ev_ssize_t max = le_bev_max_to_write(&t->bev);
	size_t total = 0, len = 1;

	if (max <= 0)
		return;
	(void)evbuffer_unfreeze(bev->output, 1);
	while (len != 0 && total < (size_t)max && evbuffer_get_length(bev->output) != 0 && !is_done(t) &&
	       le_bev_can_write(&t->bev)) {
		len = write_once(t, (size_t)max - total);
		total += len;
	}
	(void)evbuffer_freeze(bev->output, 1);
	if (len != 0 && evbuffer_get_length(bev->output) != 0 && le_bev_can_write(&t->bev)) {
		t->is_blocked = true;
		if (t->underlying != NULL)
			le_bev_do_later(&t->bev, LE_WAITING_KIND);
	}
	if (total == 0)
		return;
	if (t->underlying != NULL)
		le_bev_restart_timer(bev, EV_WRITE);
	le_bev_trigger(bev, EV_WRITE, 0);
}

/* ---------------------------------------------------------------- turns */

/* `ready`: EV_READ, EV_WRITE, of what the connection is over. In a turn. */
static void advance(struct le_tls *t, short ready)
{
	bool has_opened = false;

	if (is_done(t) || !has_transport(t))
		return;
	if (t->state != BUFFEREVENT_SSL_OPEN) {
		if (t->bev.bev.enabled != 0)
			has_opened = handshake(t);
		if (!has_opened)
			goto watch;
		ready = EV_READ | EV_WRITE;
	}
	if (!is_done(t) && can_read(t) && (ready & (t->read_wants_write ? EV_WRITE : EV_READ)) != 0)
		read_records(t);
	if (!is_done(t) && le_bev_can_write(&t->bev) && (ready & (t->write_wants_read ? EV_READ : EV_WRITE)) != 0)
		write_records(t);
watch:
	if (!t->bev.is_dead && watch(t) < 0 && !is_done(t))
		over(t, (struct end){ BEV_EVENT_ERROR, errno });
}

void le_tls_later(struct bufferevent *bev)
{
	struct le_tls *t = le_tls(bev);

	if (!t->bev.is_connecting)
		advance(t, EV_READ | EV_WRITE);
}

/* What was written in a turn goes out where it ends; le_bev_leave asks whether it can. */
static void send_output(struct bufferevent *bev)
{
	struct le_tls *t = le_tls(bev);

	if (t->state == BUFFEREVENT_SSL_OPEN && !t->is_blocked && !t->write_wants_read && !t->bev.has_sent) {
		t->bev.has_sent = true;
		advance(t, EV_WRITE);
	} else if (t->state == BUFFEREVENT_SSL_OPEN && !is_done(t) && !t->write_wants_read &&
		   evbuffer_get_length(bev->output) != 0) {
		/* A second time in one turn: a stream does not keep others from theirs. */
		t->is_blocked = true;
		if (t->underlying != NULL)
			le_bev_do_later(&t->bev, LE_WAITING_KIND);
		if (watch(t) < 0)
			over(t, (struct end){ BEV_EVENT_WRITING | BEV_EVENT_ERROR, errno });
	}
}

void le_tls_output_changed(struct evbuffer *buf, const struct evbuffer_cb_info *info, void *arg)
{
	struct le_tls *t = arg;

	(void)buf;
	if (info->n_added != 0 && le_bev_can_write(&t->bev) && t->state == BUFFEREVENT_SSL_OPEN && !is_done(t))
		le_bev_send_soon(&t->bev);
}

/* ---------------------------------------------------------------- events of a socket */

static void timed_out(struct le_tls *t, short event, short what)
{
	(void)bufferevent_disable(&t->bev.bev, event);
	le_bev_tell_event(&t->bev.bev, (short)(what | BEV_EVENT_TIMEOUT), 0);
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
	if (err == 0)
		return true;
	over(t, (struct end){ BEV_EVENT_ERROR, err });
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

void le_tls_events_assign(struct le_tls *t, struct event_base *base, evutil_socket_t fd)
{
	struct bufferevent *bev = &t->bev.bev;

	(void)event_assign(&bev->ev_read, base, fd, EV_READ | EV_PERSIST | EV_FINALIZE, read_cb, t);
	(void)event_assign(&bev->ev_write, base, fd, EV_WRITE | EV_PERSIST | EV_FINALIZE, write_cb, t);
	(void)ec_event_set_color(le_ec(&bev->ev_read), t->bev.color);
	(void)ec_event_set_color(le_ec(&bev->ev_write), t->bev.color);
}

/* ---------------------------------------------------------------- callbacks of the underlying one */

void le_tls_underlying_read(struct bufferevent *underlying, void *arg)
{
	struct le_tls *t = arg;

	(void)underlying;
	if (!le_bev_enter(&t->bev.bev))
		return;
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

/* The end: what came before it is read first, and may say that it is a good one. */
static void ended(struct le_tls *t)
{
	t->has_ended = true;
	if (!is_done(t))
		le_ssl_bio_end(SSL_get_rbio(t->ssl));
	advance(t, EV_READ);
	if (!is_done(t) && !t->is_read_over && evbuffer_get_length(t->underlying->input) == 0 &&
	    (t->state != BUFFEREVENT_SSL_OPEN || SSL_has_pending(t->ssl) == 0))
		over(t, (struct end){ t->is_allowing_dirty ? BEV_EVENT_EOF : BEV_EVENT_ERROR, 0 });
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
		le_bev_tell_event(&t->bev.bev, what, 0);
	else if ((what & BEV_EVENT_ERROR) != 0 && !is_done(t))
		over(t, (struct end){ (short)(when | BEV_EVENT_ERROR), err });
	else if ((what & BEV_EVENT_CONNECTED) != 0)
		advance(t, EV_READ | EV_WRITE);
	le_bev_leave(&t->bev.bev);
}

/* ---------------------------------------------------------------- the kind */

/* Of one over another: what is over is not timed. */
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

	if (t->underlying != NULL)
		(void)adjust_timers(t);
	if (t->bev.is_connecting)
		return le_bev_event_add(&t->bev, &bev->ev_write);
	if (is_done(t) || !has_transport(t))
		return 0;
	if (t->state != BUFFEREVENT_SSL_OPEN || ((events & EV_READ) != 0 && has_hidden(t)))
		le_bev_do_later(&t->bev, LE_WAITING_KIND);
	if ((events & EV_WRITE) != 0 && evbuffer_get_length(bev->output) != 0)
		le_bev_send_soon(&t->bev);
	return watch(t);
}

/* Called before a suspension is noted: so the events themselves are meant. */
static int tls_disable(struct bufferevent *bev, short events)
{
	struct le_tls *t = le_tls(bev);
	bool is_shaking = t->state != BUFFEREVENT_SSL_OPEN && bev->enabled != 0;

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

static void tls_unlink(struct bufferevent *bev)
{
	struct le_tls *t = le_tls(bev);

	if (t->underlying == NULL)
		return;
	if (le_bev(t->underlying)->above == &t->bev)
		le_bev(t->underlying)->above = NULL;
	if (t->underlying->errorcb == le_tls_underlying_event)
		bufferevent_setcb(t->underlying, NULL, NULL, NULL, NULL);
	if ((t->bev.options & BEV_OPT_CLOSE_ON_FREE) == 0)
		le_bev_unsuspend_read(t->underlying, LE_SUSPEND_FILTER);
	else if (le_bev(t->underlying)->refs_num < 2)
		ec_log(EC_LOG_WARN, "BEV_OPT_CLOSE_ON_FREE set on a bufferevent whose underlying one was freed");
	else
		bufferevent_free(t->underlying);
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

static void adjust_timeout(struct le_tls *t, struct event *ev, const struct timeval *tv)
{
	if (!is_watched(ev))
		return;
	if (tv->tv_sec != 0 || tv->tv_usec != 0)
		(void)le_bev_event_add(&t->bev, ev);
	else
		(void)event_remove_timer(ev);
}

static int tls_adjust_timeouts(struct bufferevent *bev)
{
	struct le_tls *t = le_tls(bev);

	if (t->underlying != NULL)
		return adjust_timers(t);
	adjust_timeout(t, &bev->ev_read, &bev->timeout_read);
	adjust_timeout(t, &bev->ev_write, &bev->timeout_write);
	return 0;
}

static int tls_flush(struct bufferevent *bev, short iotype, enum bufferevent_flush_mode mode)
{
	(void)bev;
	(void)iotype;
	(void)mode;
	return 0;
}

static int set_fd(struct le_tls *t, evutil_socket_t fd)
{
	struct bufferevent *bev = &t->bev.bev;

	/* Over another bufferevent the descriptor is that one's, and taking it away is no error. */
	if (t->underlying != NULL)
		return fd < 0 ? 0 : bufferevent_setfd(t->underlying, fd);
	if (t->is_freed)
		return -1;
	if (fd >= 0 && le_tls_set_fd_bio(t, fd) < 0)
		return -1;
	/* Another connection shakes hands anew. The one whose handshake others did goes on. */
	if (fd >= 0 && t->first != BUFFEREVENT_SSL_OPEN && SSL_clear(t->ssl) != 1)
		return -1;
	(void)le_bev_event_del(&t->bev, &bev->ev_read);
	(void)le_bev_event_del(&t->bev, &bev->ev_write);
	le_tls_events_assign(t, event_get_base(&bev->ev_read), fd);
	if (fd < 0)
		return 0;
	le_tls_begin(t);
	(void)bufferevent_enable(bev, bev->enabled);
	return 0;
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
	.type = "ssl",
	.enable = tls_enable,
	.disable = tls_disable,
	.unlink = tls_unlink,
	.cancel = tls_cancel,
	.destruct = tls_destruct,
	.adjust_timeouts = tls_adjust_timeouts,
	.flush = tls_flush,
	.ctrl = tls_ctrl,
	.send = send_output,
};
