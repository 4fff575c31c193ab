/*
 * A color for each TLS connection: a listener that gives fresh ones, an echo server, clients in colors of their
 * own in the same base. Handshakes, records and callbacks of a connection are in its color; each byte comes back,
 * in order, while clients change keys. What a connection's callbacks share is plain memory.
 */
#include "stress.h"

enum { CLIENTS = 16, WORDS = IS_SANITIZED ? 2000 : 20000, BURST = 500, WORDS_PER_KEY = 1000 };

#include "echo.h"

#include <event2/bufferevent_ssl.h>

#include "../tls_ctx.h"

enum mode { SOCKET, FILTER };

static const short greeting = BEV_EVENT_CONNECTED;
static uint32_t next_key[CLIENTS];	/* plain: each of a client's color */
static struct tls_ctx ctx;
static enum mode mode;
static int options;

/* `fd` or -1, in `color`. */
static struct bufferevent *tls_new(evutil_socket_t fd, SSL *ssl, enum bufferevent_ssl_state state, ev_uint32_t color)
{
	struct bufferevent *bev, *below;

	CHECK(ssl != NULL);
	if (mode == SOCKET) {
		bev = bufferevent_openssl_socket_new(base, fd, ssl, state, options);
	} else {
		below = bufferevent_socket_new(base, fd, options);
		CHECK(below != NULL);
		CHECK(bufferevent_set_color(below, color) == 0);
		bev = bufferevent_openssl_filter_new(base, below, ssl, state, options);
	}
	CHECK(bev != NULL);
	CHECK(bufferevent_set_color(bev, color) == 0);
	CHECK(bufferevent_get_color(bev) == color);
	return bev;
}

static struct bufferevent *server_new(evutil_socket_t fd)
{
	struct bufferevent *bev = tls_new(fd, SSL_new(ctx.server), BUFFEREVENT_SSL_ACCEPTING, color_now());

	bufferevent_openssl_set_allow_dirty_shutdown(bev, 1);
	return bev;
}

static struct bufferevent *client_new(struct client *c)
{
	next_key[c - clients] = WORDS_PER_KEY;
	return tls_new(-1, SSL_new(ctx.client), BUFFEREVENT_SSL_CONNECTING, c->color);
}

static void before_burst(struct client *c)
{
	if (c->sent < next_key[c - clients])
		return;
	next_key[c - clients] += WORDS_PER_KEY;
	CHECK(SSL_key_update(bufferevent_openssl_get_ssl(c->bev), SSL_KEY_UPDATE_REQUESTED) == 1);
}

static void echo_each(enum mode m, int more)
{
	mode = m;
	options = BEV_OPT_CLOSE_ON_FREE | more;
	assert_true(tls_ctx_init(&ctx, TLS1_3_VERSION));
	echo(2);
	echo(4);
	tls_ctx_fini(&ctx);
}

static void sockets_echo(void **state)
{
	(void)state;
	echo_each(SOCKET, 0);
	echo_each(SOCKET, BEV_OPT_THREADSAFE | BEV_OPT_DEFER_CALLBACKS);
}

static void filters_echo(void **state)
{
	(void)state;
	echo_each(FILTER, 0);
	echo_each(FILTER, BEV_OPT_THREADSAFE | BEV_OPT_DEFER_CALLBACKS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sockets_echo),
		cmocka_unit_test(filters_echo),
	};

	signal(SIGPIPE, SIG_IGN);
	alarm(600);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
