/*
 * TLS bufferevents: making and querying them.
 */
#include "tls.h"

#include <openssl/err.h>

#include <event2/buffer.h>
#include <event2/smp.h>

#include "bio.h"

/* ---------------------------------------------------------------- making one */

int le_tls_set_fd_bio(struct le_tls *t, evutil_socket_t fd)
{
	BIO *bio = BIO_new_socket((int)fd, BIO_NOCLOSE);

	if (bio == NULL)
		return -1;
	SSL_set_bio(t->ssl, bio, bio);
	t->read_num = t->written_num = 0;
	return 0;
}

void le_tls_begin(struct le_tls *t)
{
	t->state = t->first;
	t->handshake_wants = t->first == BUFFEREVENT_SSL_CONNECTING ? EV_WRITE : EV_READ;
	t->is_read_over = t->is_over = false;
	t->read_wants_write = t->write_wants_read = t->is_blocked = false;
	t->is_shaking_disabled = false;
	t->retry_len = 0;
	if (t->first == BUFFEREVENT_SSL_CONNECTING)
		SSL_set_connect_state(t->ssl);
	else if (t->first == BUFFEREVENT_SSL_ACCEPTING)
		SSL_set_accept_state(t->ssl);
}

/* The descriptor: that of the SSL's own BIO, or the one that the caller gave. -1: they differ. */
static int fd_of(SSL *ssl, evutil_socket_t *fd)
{
	long own = -1;

	if (SSL_get_wbio(ssl) == NULL)
		return 0;
	own = BIO_get_fd(SSL_get_wbio(ssl), NULL);
	if (*fd >= 0 && own >= 0 && own != *fd)
		return -1;
	if (*fd < 0 && own >= 0)
		*fd = (evutil_socket_t)own;
	return 0;
}

static struct le_tls *tls_new(struct event_base *base, struct bufferevent *underlying, SSL *ssl, int options)
{
	struct le_tls *t = le_bev_alloc(sizeof(*t));
	struct bufferevent *bev;

	if (t == NULL)
		return NULL;
	bev = &t->bev.bev;
	t->ssl = ssl;
	t->underlying = underlying;
	if (le_bev_init(&t->bev, base, &le_tls_ops, options, underlying != NULL ? le_bev(underlying) : NULL) < 0)
		goto free_tls;
	if (le_buffer_add_cb_now(bev->output, le_tls_output_changed, t) == NULL)
		goto discard;
	(void)evbuffer_freeze(bev->input, 0);
	(void)evbuffer_freeze(bev->output, 1);
	/*
	 * The output's bytes may move while a write is unfinished, and sent bytes are drained at
	 * once, even within a record.
	 */
	(void)SSL_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
#ifdef SSL_OP_IGNORE_UNEXPECTED_EOF
	/*
	 * Without this option OpenSSL 3 sends an alert after an end without close_notify. io.c
	 * still distinguishes the two kinds of end (is_dirty).
	 */
	t->is_ignoring_dirty = (SSL_CTX_get_options(SSL_get_SSL_CTX(ssl)) & SSL_OP_IGNORE_UNEXPECTED_EOF) != 0;
	(void)SSL_set_options(ssl, SSL_OP_IGNORE_UNEXPECTED_EOF);
#endif
	return t;

discard:
	le_bev_discard(&t->bev);
free_tls:
	le_bev_memory_put(&t->bev.bev);
	return NULL;
}

/* With BEV_OPT_CLOSE_ON_FREE the bufferevent owns the SSL, even if making the bufferevent fails. */
static struct bufferevent *refused(SSL *ssl, int options)
{
	if ((options & BEV_OPT_CLOSE_ON_FREE) != 0)
		SSL_free(ssl);
	return NULL;
}

/*
 * The handshake starts at once, so the program cannot choose a color first: it starts in the color
 * of the calling callback. The events are assigned, but none is added yet.
 */
static int begin_in_running_color(struct le_tls *t, struct event_base *base)
{
	ev_uint32_t color;

	if (base == NULL || event_base_get_running_color(base, &color) < 0)
		return 0;
	return bufferevent_set_color(&t->bev.bev, color);
}

struct bufferevent *bufferevent_openssl_socket_new(struct event_base *base, evutil_socket_t fd, SSL *ssl,
						   enum bufferevent_ssl_state state, int options)
{
	bool has_bio = SSL_get_wbio(ssl) != NULL;
	struct le_tls *t;

	if (fd_of(ssl, &fd) < 0)
		return refused(ssl, options);
	t = tls_new(base, NULL, ssl, options);
	if (t == NULL)
		return refused(ssl, options);
	if (!has_bio && fd >= 0 && le_tls_set_fd_bio(t, fd) < 0)
		goto discard;
	le_tls_events_assign(t, base, fd);
	if (begin_in_running_color(t, base) < 0)
		goto discard;
	t->first = state;
	le_tls_begin(t);
	if (fd >= 0)
		(void)bufferevent_enable(&t->bev.bev, t->bev.bev.enabled);
	return &t->bev.bev;

discard:
	le_bev_discard(&t->bev);
	le_bev_memory_put(&t->bev.bev);
	return refused(ssl, options);
}

/*
 * Send the data and the end of `underlying` to `t` from now on, perhaps before this returns. -1:
 * nothing has changed.
 */
static int take_underlying(struct le_tls *t, struct bufferevent *underlying)
{
	struct bufferevent was = *underlying;

	bufferevent_setcb(underlying, le_tls_underlying_read, le_tls_underlying_write, le_tls_underlying_event, t);
	bufferevent_setwatermark(underlying, EV_READ, 0, 0);
	le_bev_get(underlying);
	le_bev(underlying)->above = &t->bev;
	if (bufferevent_enable(underlying, EV_READ | EV_WRITE) < 0) {
		(void)bufferevent_disable(underlying, (short)~was.enabled);
		bufferevent_setwatermark(underlying, EV_READ, was.wm_read.low, was.wm_read.high);
		bufferevent_setcb(underlying, was.readcb, was.writecb, was.errorcb, was.cbarg);
		le_bev(underlying)->above = NULL;
		le_bev_put(underlying);
		return -1;
	}
	return 0;
}

struct bufferevent *bufferevent_openssl_filter_new(struct event_base *base, struct bufferevent *underlying, SSL *ssl,
						   enum bufferevent_ssl_state state, int options)
{
	BIO *bio = le_ssl_bio_new(underlying);
	struct le_tls *t;

	if (bio == NULL)
		return refused(ssl, options);
	t = tls_new(base, underlying, ssl, options);
	if (t == NULL)
		goto free_bio;
	SSL_set_bio(ssl, bio, bio);
	t->first = state;
	le_tls_begin(t);
	if (take_underlying(t, underlying) < 0)
		goto unset_bio;
	(void)bufferevent_enable(&t->bev.bev, t->bev.bev.enabled);
	return &t->bev.bev;

unset_bio:
	SSL_set_bio(ssl, NULL, NULL);
	le_bev_discard(&t->bev);
	le_bev_memory_put(&t->bev.bev);
	return refused(ssl, options);
free_bio:
	BIO_free(bio);
	return refused(ssl, options);
}

/* ---------------------------------------------------------------- asking it */

/* NULL: a bufferevent of another kind. */
static struct le_tls *tls_of(struct bufferevent *bev)
{
	return bev->be_ops == &le_tls_ops ? le_tls(bev) : NULL;
}

SSL *bufferevent_openssl_get_ssl(struct bufferevent *bufev)
{
	struct le_tls *t = tls_of(bufev);

	return t == NULL ? NULL : t->ssl;
}

/* -1: not a TLS bufferevent. */
int bufferevent_openssl_get_allow_dirty_shutdown(struct bufferevent *bev)
{
	struct le_tls *t = tls_of(bev);
	int is_allowing = -1;

	if (t == NULL)
		return -1;
	le_bev_lock(bev);
	is_allowing = t->is_allowing_dirty;
	le_bev_unlock(bev);
	return is_allowing;
}

void bufferevent_openssl_set_allow_dirty_shutdown(struct bufferevent *bev, int allow_dirty_shutdown)
{
	struct le_tls *t = tls_of(bev);

	if (t == NULL)
		return;
	le_bev_lock(bev);
	t->is_allowing_dirty = allow_dirty_shutdown != 0;
	le_bev_unlock(bev);
}

/* Returns each error once, the latest first. */
unsigned long bufferevent_get_openssl_error(struct bufferevent *bev)
{
	struct le_tls *t = tls_of(bev);
	unsigned long err = 0;

	if (t == NULL)
		return 0;
	le_bev_lock(bev);
	if (t->errors_num != 0)
		err = t->errors[--t->errors_num];
	le_bev_unlock(bev);
	return err;
}

/* BEV_EVENT_CONNECTED is reported again when it is done. TLS 1.3 has no renegotiation: -1. */
int bufferevent_ssl_renegotiate(struct bufferevent *bev)
{
	struct le_tls *t = tls_of(bev);
	int r = -1;

	if (t == NULL)
		return -1;
	le_bev_get_and_lock(bev);
	ERR_clear_error();
	if (!t->is_read_over && !t->is_freed && SSL_renegotiate(t->ssl) > 0) {
		t->state = BUFFEREVENT_SSL_CONNECTING;
		t->handshake_wants = EV_WRITE;
		le_bev_do_later(&t->bev, LE_WAITING_KIND);
		r = 0;
	}
	(void)le_bev_put_and_unlock(bev);
	return r;
}
