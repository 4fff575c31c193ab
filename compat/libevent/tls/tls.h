/*
 * A TLS bufferevent: tls.c is its turns, io.c what it calls of OpenSSL, kind.c what other kinds of
 * bufferevents have too, new.c how it is made and asked.
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
	SSL *ssl;			/* not touched once is_over and the program may have freed it */
	struct bufferevent *underlying;	/* holds a reference; NULL: a socket */
	bool is_ignoring_dirty;		/* the program told OpenSSL so, in the SSL_CTX: it is a good end then */
	enum bufferevent_ssl_state first; /* where each connection begins */

	/* lock */
	enum bufferevent_ssl_state state; /* OPEN: data can flow */
	short handshake_wants;		/* EV_READ or EV_WRITE, while not OPEN */
	bool is_allowing_dirty;		/* an end without close_notify is an end, not an error */
	bool is_read_over;		/* the end of what comes has been told */
	bool is_over;			/* its end has been told: nothing flows any more */
	bool is_freed;			/* by the program, which may have freed the SSL, too */
	bool has_ended;			/* the underlying one has nothing more to come */
	bool read_wants_write;		/* SSL_read has to write first … */
	bool write_wants_read;		/* … and SSL_write to read */
	bool is_blocked;		/* SSL_write waits for room */
	size_t retry_len;		/* what SSL_write must be offered again, at least */
	uint64_t read_num, written_num;	/* bytes of the connection that its limits know of */
	unsigned errors_num;
	unsigned long errors[LE_TLS_ERRORS]; /* of OpenSSL, the latest last */
};

extern const struct bufferevent_ops le_tls_ops;

static inline struct le_tls *le_tls(const struct bufferevent *bev)
{
	return ec_container_of((uintptr_t)bev, struct le_tls, bev.bev);
}

/* Asked, not looked at: whoever polls makes it active meanwhile. */
static inline bool le_tls_is_watched(const struct event *ev)
{
	return le_ec(ev)->base != NULL && event_pending(ev, EV_READ | EV_WRITE, NULL) != 0;
}

/* Nothing may be done with the SSL any more. */
static inline bool le_tls_is_done(const struct le_tls *t)
{
	return t->is_over || t->is_freed || t->bev.is_dead;
}

static inline bool le_tls_can_read(const struct le_tls *t)
{
	return !t->is_read_over && le_bev_can_read(&t->bev);
}

static inline bool le_tls_has_transport(const struct le_tls *t)
{
	return t->underlying != NULL || event_get_fd(&t->bev.bev.ev_read) >= 0;
}

/* -1 and errno: the connection would stand still. */
int le_tls_watch(struct le_tls *t);

/* May there be data that nothing will report? */
bool le_tls_has_hidden(const struct le_tls *t);

/* How it ended. */
struct le_tls_end {
	short what;			/* BEV_EVENT_…; 0: it did not */
	int err;			/* errno then */
};

/* The program finds end.err in errno, whatever was called since it came up. */
void le_tls_over(struct le_tls *t, struct le_tls_end end);

/* True: it is open. */
bool le_tls_handshake(struct le_tls *t);

/* In a turn: as much as one may, and what is told of it. */
void le_tls_read_records(struct le_tls *t);
void le_tls_write_records(struct le_tls *t);

/* le_bev_ops.send: what was written in a turn goes out where it ends. */
void le_tls_send(struct bufferevent *bev);

/* The events of a socket, or timers. */
void le_tls_events_assign(struct le_tls *t, struct event_base *base, evutil_socket_t fd);

/* Callbacks of the underlying bufferevent. */
void le_tls_underlying_read(struct bufferevent *underlying, void *arg);
void le_tls_underlying_write(struct bufferevent *underlying, void *arg);
void le_tls_underlying_event(struct bufferevent *underlying, short what, void *arg);

/* le_bev.kind_later: all that can be done now. */
void le_tls_later(struct bufferevent *bev);

/* The output's callback. */
void le_tls_output_changed(struct evbuffer *buf, const struct evbuffer_cb_info *info, void *arg);

/* The socket's BIO. -1: no memory. */
int le_tls_set_fd_bio(struct le_tls *t, evutil_socket_t fd);

/* A connection begins where `first` says. */
void le_tls_begin(struct le_tls *t);

#endif
