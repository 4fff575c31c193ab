/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/* TLS: an echo between two bufferevents after the handshake. OpenSSL's own work is most of it, on either library. */
#include "stream.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>

#include "../../tls_ctx.h"

static char data[16384];

static struct bufferevent *end_of(struct sweep *s, SSL_CTX *ctx, int fd, enum bufferevent_ssl_state state,
				  bufferevent_data_cb on_read, bool is_filter)
{
	SSL *ssl = SSL_new(ctx);
	struct bufferevent *bev, *under;

	if (is_filter) {
		under = bufferevent_socket_new(s->base, fd, 0);
		bev = bufferevent_openssl_filter_new(s->base, under, ssl, state, BEV_OPT_CLOSE_ON_FREE);
	} else {
		bev = bufferevent_openssl_socket_new(s->base, fd, ssl, state, BEV_OPT_CLOSE_ON_FREE);
	}
	sweep_check(bev != NULL);
	bufferevent_openssl_set_allow_dirty_shutdown(bev, 1);
	bufferevent_setcb(bev, on_read, NULL, stream_on_event, s);
	bufferevent_enable(bev, EV_READ | EV_WRITE);
	return bev;
}

static void echo_with(struct sweep *s, bool is_filter)
{
	struct bufferevent *client, *server;
	struct tls_ctx ctx;

	sweep_base(s);
	sweep_check(tls_ctx_init(&ctx, TLS1_3_VERSION));
	sweep_socketpair(s->fd);
	server = end_of(s, ctx.server, s->fd[0], BUFFEREVENT_SSL_ACCEPTING, stream_on_echo, is_filter);
	client = end_of(s, ctx.client, s->fd[1], BUFFEREVENT_SSL_CONNECTING, stream_on_pong, is_filter);
	while (sweep_next(s))
		stream_ping(s, client, data);
	bufferevent_free(client);
	bufferevent_free(server);
	sweep_poll(s->base);
	event_base_free(s->base);
	tls_ctx_fini(&ctx);
}

static void echo(struct sweep *s)
{
	echo_with(s, false);
}

static void filter_echo(struct sweep *s)
{
	echo_with(s, true);
}

static void calls(struct sweep *s)
{
	struct bufferevent *bev;
	struct tls_ctx ctx;

	sweep_base(s);
	sweep_check(tls_ctx_init(&ctx, TLS1_3_VERSION));
	sweep_socketpair(s->fd);
	bev = end_of(s, ctx.client, s->fd[0], BUFFEREVENT_SSL_CONNECTING, stream_on_pong, false);
	while (sweep_next(s)) {
		s->calls += bufferevent_openssl_get_allow_dirty_shutdown(bev);
		s->calls += bufferevent_openssl_get_ssl(bev) != NULL;
		s->calls += (int)bufferevent_get_openssl_error(bev);
		bufferevent_disable(bev, EV_READ);
		bufferevent_enable(bev, EV_READ);
	}
	bufferevent_free(bev);
	sweep_poll(s->base);
	event_base_free(s->base);
	tls_ctx_fini(&ctx);
}

/* A handshake's keys are random: so are its instructions, by a little. */
static void handshake(struct sweep *s)
{
	struct bufferevent *client, *server;
	struct tls_ctx ctx;

	sweep_base(s);
	sweep_check(tls_ctx_init(&ctx, TLS1_3_VERSION));
	while (sweep_next(s)) {
		sweep_socketpair(s->fd);
		server = end_of(s, ctx.server, s->fd[0], BUFFEREVENT_SSL_ACCEPTING, stream_on_echo, false);
		client = end_of(s, ctx.client, s->fd[1], BUFFEREVENT_SSL_CONNECTING, stream_on_pong, false);
		stream_ping(s, client, data);
		bufferevent_free(client);
		bufferevent_free(server);
		sweep_poll(s->base);
	}
	event_base_free(s->base);
	tls_ctx_fini(&ctx);
}

const struct sweep_pattern sweep_tls[] = {
	{ "tls/echo-64", echo, .ops = 50, .num = 64 },
	{ "tls/echo-10000", echo, .ops = 10, .num = 10000 },
	{ "tls/filter-echo-64", filter_echo, .ops = 50, .num = 64 },
	{ "tls/calls", calls, .ops = 100 },
	{ "tls/handshake", handshake, .ops = 4, .flags = SWEEP_UNEVEN | SWEEP_SLOW, .num = 64 },
	{ NULL, NULL, 0, 0, 0, NULL },
};
