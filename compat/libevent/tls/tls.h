/*
 * A TLS bufferevent. tls.c has its turns, io.c its calls to OpenSSL, kind.c the operations that all
 * kinds of bufferevents have, new.c making and querying.
 */
#ifndef LE_BEV_SSL_H
#define LE_BEV_SSL_H

#include <openssl/ssl.h>

#include <event2/bufferevent_ssl.h>

#include "bufferevent/bev.h"

enum { LE_TLS_ERRORS = 3 };

struct le_tls {
	struct le_bev bev;		/* first */

	/* const */
	SSL *ssl;			/* not used once is_over: may be freed */
	struct bufferevent *underlying;	/* holds a reference; NULL: a socket */
	bool is_ignoring_dirty;		/* an option of the SSL_CTX: a dirty end is a normal end */
	enum bufferevent_ssl_state first; /* the state in which a connection begins */

	/* lock */
	enum bufferevent_ssl_state state; /* OPEN: data can flow */
	short handshake_wants;		/* EV_READ or EV_WRITE, while not OPEN */
	bool is_shaking_disabled;	/* connected while both directions were disabled */
	bool is_allowing_dirty;		/* an end without close_notify is an end, not an error */
	bool is_read_over;		/* the end of the input has been reported */
	bool is_over;			/* the end has been reported: nothing is read or written */
	bool is_freed;			/* by the program, which may have freed the SSL, too */
	bool has_ended;			/* no more input of the underlying one will come */
	bool read_wants_write;		/* SSL_read must write first … */
	bool write_wants_read;		/* … and SSL_write must read first */
	bool is_blocked;		/* SSL_write waits for room */
	size_t retry_len;		/* minimum length for repeating SSL_write */
	uint64_t read_num, written_num;	/* bytes on the wire that its limits have counted */
	unsigned errors_num;
	unsigned long errors[LE_TLS_ERRORS]; /* OpenSSL's, the latest last */
};

extern const struct bufferevent_ops le_tls_ops;

static inline struct le_tls *le_tls(const struct bufferevent *bev)
{
	return ec_container_of((uintptr_t)bev, struct le_tls, bev.bev);
}

/*
 * Calls event_pending instead of reading the fields: a worker that polls may make the event active
 * meanwhile.
 */
static inline bool le_tls_is_watched(const struct event *ev)
{
	return le_ec(ev)->base != NULL && event_pending(ev, EV_READ | EV_WRITE, NULL) != 0;
}

/* May the SSL no longer be used? */
static inline bool le_tls_is_done(const struct le_tls *t)
{
	return t->is_over || t->is_freed || t->bev.is_dead;
}

static inline bool le_tls_can_read(const struct le_tls *t)
{
	return !t->is_read_over && le_bev_can_read(&t->bev);
}

/*
 * A socket shakes hands only while a direction is enabled, or after it was connected while none was;
 * over another bufferevent, always.
 */
static inline bool le_tls_may_shake(const struct le_tls *t)
{
	return t->underlying != NULL || t->bev.bev.enabled != 0 || t->is_shaking_disabled;
}

static inline bool le_tls_has_transport(const struct le_tls *t)
{
	return t->underlying != NULL || event_get_fd(&t->bev.bev.ev_read) >= 0;
}

/* Watches the events that the connection waits for. -1 and errno: no event would wake it. */
int le_tls_watch(struct le_tls *t);

/* True: OpenSSL or the bufferevent below may have data that no event will report. */
bool le_tls_has_hidden(const struct le_tls *t);

/* How a connection ended. */
struct le_tls_end {
	short what;			/* BEV_EVENT_…; 0: it has not ended */
	int err;			/* errno at that moment */
};

/* The program finds end.err in errno, whatever was called since. */
void le_tls_over(struct le_tls *t, struct le_tls_end end);

/* True: the connection is open. */
bool le_tls_handshake(struct le_tls *t);

/* In a turn: read and write as much as one turn may, and report it. */
void le_tls_read_records(struct le_tls *t);
void le_tls_write_records(struct le_tls *t);

/* le_bev_ops.send: sends, at the end of a turn, the output written in it. */
void le_tls_send(struct bufferevent *bev);

/* Assign the events: of a socket, or timers. */
void le_tls_events_assign(struct le_tls *t, struct event_base *base, evutil_socket_t fd);

/* Callbacks of the underlying bufferevent. */
void le_tls_underlying_read(struct bufferevent *underlying, void *arg);
void le_tls_underlying_write(struct bufferevent *underlying, void *arg);
void le_tls_underlying_event(struct bufferevent *underlying, short what, void *arg);

/* bufferevent_ops.later: do everything that is possible now. */
void le_tls_later(struct bufferevent *bev);

/* Called when the output changes. */
void le_tls_output_changed(struct evbuffer *buf, const struct evbuffer_cb_info *info, void *arg);

/* Set the socket's BIO. -1: out of memory. */
int le_tls_set_fd_bio(struct le_tls *t, evutil_socket_t fd);

/* Start a connection in the state `first`. */
void le_tls_begin(struct le_tls *t);

#endif
