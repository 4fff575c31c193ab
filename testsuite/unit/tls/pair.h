/*
 * Two TLS bufferevents that talk to each other over a socket pair, in one base: as sockets, or each as a
 * filter on a socket bufferevent. What a socket of that kind is written is there at once, so a number of
 * turns stands for all that can happen.
 */
#ifndef TLS_PAIR_H
#define TLS_PAIR_H

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>

#include "testsuite/tls_ctx.h"

enum { TURNS = 100 };
enum tls_mode { TLS_SOCKET, TLS_FILTER };

struct tls_end {
	struct bufferevent *bev;
	SSL *ssl;
	int fd;
	short told;			/* BEV_EVENT_… but CONNECTED, all that came */
	unsigned told_num;
	int told_errno;
	unsigned connected_num;
	unsigned reads_num;		/* of the read callback */
	bool is_refused;		/* a call of the test found no memory */
};

struct tls_pair {
	/* const, of the caller */
	enum tls_mode mode;
	int version;
	int options;			/* BEV_OPT_… besides CLOSE_ON_FREE */
	struct tls_ctx *ctx;

	struct event_base *base;
	struct tls_end client, server;
};

static inline void tls_note_event(struct bufferevent *bev, short what, void *arg)
{
	struct tls_end *e = arg;

	(void)bev;
	if ((what & BEV_EVENT_CONNECTED) != 0) {
		e->connected_num++;
		return;
	}
	e->told_errno = errno;
	e->told = (short)(e->told | what);
	e->told_num++;
}

static inline void tls_note_read(struct bufferevent *bev, void *arg)
{
	struct tls_end *e = arg;

	(void)bev;
	e->reads_num++;
	/* What a program does in its callback must not reach the next one. */
	errno = ENOTDIR;
}

static inline void tls_turns(struct tls_pair *p)
{
	int i;

	for (i = 0; i < TURNS; i++)
		(void)event_base_loop(p->base, EVLOOP_NONBLOCK);
}

/* The SSL is the bufferevent's, also if there is none in the end. */
static inline int tls_end_open(struct tls_pair *p, struct tls_end *e, enum bufferevent_ssl_state state)
{
	int options = p->options | BEV_OPT_CLOSE_ON_FREE;
	struct bufferevent *below;

	if (p->mode == TLS_SOCKET) {
		e->bev = bufferevent_openssl_socket_new(p->base, e->fd, e->ssl, state, options);
	} else {
		below = bufferevent_socket_new(p->base, e->fd, options);
		if (below == NULL) {
			SSL_free(e->ssl);
			goto close_fd;
		}
		e->bev = bufferevent_openssl_filter_new(p->base, below, e->ssl, state, options);
		if (e->bev == NULL)
			bufferevent_free(below);
		else
			e->fd = -1;
	}
	if (e->bev == NULL && p->mode == TLS_FILTER) {
		e->fd = -1;
		goto no_ssl;
	}
	if (e->bev == NULL)
		goto close_fd;
	e->fd = -1;
	bufferevent_setcb(e->bev, tls_note_read, NULL, tls_note_event, e);
	return bufferevent_enable(e->bev, EV_READ | EV_WRITE);

close_fd:
	(void)close(e->fd);
	e->fd = -1;
no_ssl:
	e->ssl = NULL;
	return -1;
}

static inline void tls_end_close(struct tls_end *e)
{
	if (e->bev != NULL)
		bufferevent_free(e->bev);
	else
		SSL_free(e->ssl);
	if (e->fd >= 0)
		(void)close(e->fd);
	e->bev = NULL;
	e->ssl = NULL;
	e->fd = -1;
}

static inline void tls_pair_close(struct tls_pair *p)
{
	tls_end_close(&p->client);
	tls_end_close(&p->server);
	if (p->base != NULL)
		event_base_free(p->base);
	p->base = NULL;
}

/* A base, a socket pair and two SSLs, without bufferevents yet. -1: nothing is left of it. */
static inline int tls_pair_init(struct tls_pair *p)
{
	int fd[2];

	p->client = p->server = (struct tls_end){ .fd = -1 };
	p->base = event_base_new();
	if (p->base == NULL)
		return -1;
	p->client.ssl = SSL_new(p->ctx->client);
	p->server.ssl = SSL_new(p->ctx->server);
	if (p->client.ssl == NULL || p->server.ssl == NULL ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd) < 0) {
		tls_pair_close(p);
		return -1;
	}
	p->client.fd = fd[0];
	p->server.fd = fd[1];
	return 0;
}

/* Both ends, not yet shaking hands. */
static inline int tls_pair_open(struct tls_pair *p)
{
	if (tls_pair_init(p) < 0)
		return -1;
	if (tls_end_open(p, &p->client, BUFFEREVENT_SSL_CONNECTING) == 0 &&
	    tls_end_open(p, &p->server, BUFFEREVENT_SSL_ACCEPTING) == 0)
		return 0;
	tls_pair_close(p);
	return -1;
}

#endif
