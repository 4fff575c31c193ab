/*
 * A TLS bufferevent's calls to OpenSSL: handshake, records in and out, and reporting the end.
 */
#include "tls.h"

#include <errno.h>

#include <openssl/err.h>

#include <event2/buffer.h>

enum { RECORD_MAX = 16384 };

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

/* The connection ended without close_notify, or by a reset: a third party may have cut it. */
static bool is_dirty(const struct le_tls *t, int error, bool is_explained)
{
	if (error == SSL_ERROR_SYSCALL)
		return !is_explained;
	/* OpenSSL reads a close_notify before the end of the file. */
	return error == SSL_ERROR_ZERO_RETURN && !t->is_ignoring_dirty && BIO_eof(SSL_get_rbio(t->ssl)) > 0;
}

/* As OpenSSL 3 tells of an end without close_notify, if it is not asked to ignore that. */
static void unexpected_end_note(struct le_tls *t, int error)
{
	(void)t;
	(void)error;
#ifdef SSL_R_UNEXPECTED_EOF_WHILE_READING
	if (error == SSL_ERROR_ZERO_RETURN)
		error_note(t, SSL_ERROR_SSL);
	error_note(t, ERR_PACK(ERR_LIB_SSL, 0, SSL_R_UNEXPECTED_EOF_WHILE_READING));
#endif
}

/*
 * Turns the error of a call that cannot be repeated into an end. `error`: from SSL_get_error(). It is the first of the
 * errors that the program can ask for, as in libevent; those that OpenSSL explains it with come after it.
 * `when`: BEV_EVENT_READING or BEV_EVENT_WRITING.
 */
static struct le_tls_end end_of(struct le_tls *t, short when, int error, int saved_errno)
{
	bool is_good = error == SSL_ERROR_ZERO_RETURN, is_explained = ERR_peek_error() != 0;

	if (!is_good)
		error_note(t, (unsigned long)error);
	errors_note(t);
	if (is_dirty(t, error, is_explained)) {
		is_good = t->is_allowing_dirty;
		/* The end of the bufferevent below, in the form that programs know. */
		if (t->underlying != NULL)
			when = 0;
		else if (!is_good && saved_errno == 0)
			unexpected_end_note(t, error);
	}
	return (struct le_tls_end){ (short)(when | (is_good ? BEV_EVENT_EOF : BEV_EVENT_ERROR)), saved_errno };
}

/* The program finds end.err in errno, whatever was called since. */
void le_tls_over(struct le_tls *t, struct le_tls_end end)
{
	bool can_write_on = t->state == BUFFEREVENT_SSL_OPEN && (end.what & BEV_EVENT_EOF) != 0 &&
			    (end.what & BEV_EVENT_WRITING) == 0 &&
			    (SSL_get_shutdown(t->ssl) & SSL_RECEIVED_SHUTDOWN) != 0;

	t->is_read_over = true;
	t->is_over = !can_write_on;
	(void)le_bev_event_del(&t->bev, &t->bev.bev.ev_read);
	if (t->is_over)
		(void)le_bev_event_del(&t->bev, &t->bev.bev.ev_write);
	(void)le_tls_watch(t);
	errno = end.err;
	le_bev_trigger_event(&t->bev.bev, end.what, 0);
}

/* ---------------------------------------------------------------- calls of OpenSSL */

static void call_begin(void)
{
	ERR_clear_error();
	errno = 0;
}

/* Count bytes on the wire for the rate limits. */
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

/* True: the connection is open. */
bool le_tls_handshake(struct le_tls *t)
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
		(void)le_tls_watch(t);
		le_bev_trigger_event(&t->bev.bev, BEV_EVENT_CONNECTED, 0);
		return true;
	case SSL_ERROR_WANT_READ:
		t->handshake_wants = EV_READ;
		return false;
	case SSL_ERROR_WANT_WRITE:
		t->handshake_wants = EV_WRITE;
		return false;
	default:
		le_tls_over(t, end_of(t, BEV_EVENT_READING, error, saved_errno));
		return false;
	}
}

/* ---------------------------------------------------------------- reading */

/* As for a socket: the limits and the high watermark. 0: nothing may be read now. */
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

/*
 * Reads up to one record, and returns its length. 0: nothing more now. At the end, sets *end.
 */
static size_t read_once(struct le_tls *t, size_t max, struct le_tls_end *end)
{
	struct evbuffer *input = t->bev.bev.input;
	int r, error, saved_errno;
	struct evbuffer_iovec to;

	(void)evbuffer_unfreeze(input, 0);
	if (evbuffer_reserve_space(input, (ev_ssize_t)(max < RECORD_MAX ? max : RECORD_MAX), &to, 1) < 1) {
		(void)evbuffer_freeze(input, 0);
		*end = (struct le_tls_end){ BEV_EVENT_READING | BEV_EVENT_ERROR, ENOMEM };
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
 * Processes the bytes of one read from the transport, up to one turn's limit, because a callback
 * may want to stop reading. Data is reported before the end.
 */
void le_tls_read_records(struct le_tls *t)
{
	size_t max = room(t), total = 0, len;
	struct le_tls_end end = { 0, 0 };

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
	if (le_tls_is_done(t))
		return;
	if (end.what != 0)
		le_tls_over(t, end);
	else if (len != 0 && le_tls_can_read(t) && le_tls_has_hidden(t))
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
		le_tls_over(t, end_of(t, BEV_EVENT_WRITING, error, saved_errno));
		break;
	}
}

/*
 * The first *len bytes of the output, contiguous, because many small pieces would become many
 * records. Without memory for that, the first piece alone. NULL: not even that is possible.
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

/* Write one record; the output is not frozen meanwhile. Returns its length; 0: nothing more now. */
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
		le_tls_over(t, (struct le_tls_end){ BEV_EVENT_WRITING | BEV_EVENT_ERROR, ENOMEM });
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

/* Write as much as one turn may. The rest waits until there is room. */
void le_tls_write_records(struct le_tls *t)
{
	struct bufferevent *bev = &t->bev.bev;
	ev_ssize_t max = le_bev_max_to_write(&t->bev);
	size_t total = 0, len = 1;

	if (max <= 0)
		return;
	(void)evbuffer_unfreeze(bev->output, 1);
	while (len != 0 && total < (size_t)max && evbuffer_get_length(bev->output) != 0 && !le_tls_is_done(t) &&
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
