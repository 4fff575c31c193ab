/*
 * A color for each TLS connection: a listener that gives fresh ones, an echo server, clients in colors of their
 * own in the same base. Handshakes, records and callbacks of a connection are in its color; each byte comes back,
 * in order, while clients change keys. What a connection's callbacks share is plain memory.
 */
#include "stress.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/listener.h>

#include "../tls_ctx.h"

enum { CLIENTS = 16, WORDS = IS_SANITIZED ? 2000 : 20000, BURST = 500, WORDS_PER_KEY = 1000 };
enum mode { SOCKET, FILTER };

struct client {
	struct bufferevent *bev;
	SSL *ssl;
	ev_uint32_t color;
	uint32_t sent, got, next_key;	/* plain: of the color */
};

static struct event_base *base;
static struct evconnlistener *listener;
static struct client clients[CLIENTS];
static struct tls_ctx ctx;
static enum mode mode;
static int options;
static atomic_int left, served;

static ev_uint32_t color_now(void)
{
	ev_uint32_t color = 0;

	CHECK(event_base_get_running_color(base, &color) == 0);
	return color;
}

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

/* ---------------------------------------------------------------- server */

static void serve(struct bufferevent *bev, void *arg)
{
	CHECK(color_now() == bufferevent_get_color(bev));
	(void)arg;
	CHECK(bufferevent_write_buffer(bev, bufferevent_get_input(bev)) == 0);
}

static void served_event(struct bufferevent *bev, short what, void *arg)
{
	(void)arg;
	CHECK(color_now() == bufferevent_get_color(bev));
	if ((what & BEV_EVENT_CONNECTED) != 0)
		return;
	CHECK((what & BEV_EVENT_EOF) != 0);
	bufferevent_free(bev);
	if (atomic_fetch_add(&served, 1) + 1 == CLIENTS)
		evconnlistener_free(listener);
}

static void accepted(struct evconnlistener *lev, evutil_socket_t fd, struct sockaddr *addr, int len, void *arg)
{
	struct bufferevent *bev = tls_new(fd, SSL_new(ctx.server), BUFFEREVENT_SSL_ACCEPTING, color_now());

	(void)lev;
	(void)addr;
	(void)len;
	(void)arg;
	CHECK(color_now() != 0);
	bufferevent_openssl_set_allow_dirty_shutdown(bev, 1);
	bufferevent_setcb(bev, serve, NULL, served_event, NULL);
	CHECK(bufferevent_enable(bev, EV_READ | EV_WRITE) == 0);
}

/* ---------------------------------------------------------------- clients */

static void send_some(struct client *c)
{
	uint32_t words[BURST];
	size_t n;

	if (c->sent >= c->next_key) {
		c->next_key += WORDS_PER_KEY;
		CHECK(SSL_key_update(c->ssl, SSL_KEY_UPDATE_REQUESTED) == 1);
	}
	for (n = 0; n < BURST && c->sent < WORDS; n++)
		words[n] = c->sent++;
	CHECK(bufferevent_write(c->bev, words, n * sizeof(words[0])) == 0);
}

static void answered(struct bufferevent *bev, void *arg)
{
	struct client *c = arg;
	uint32_t word;

	CHECK(color_now() == c->color);
	while (evbuffer_get_length(bufferevent_get_input(bev)) >= sizeof(word)) {
		CHECK(bufferevent_read(bev, &word, sizeof(word)) == sizeof(word));
		CHECK(word == c->got);
		c->got++;
	}
	if (c->got == WORDS) {
		bufferevent_free(bev);
		atomic_fetch_sub(&left, 1);
	} else if (c->got == c->sent) {
		send_some(c);
	}
}

static void connected(struct bufferevent *bev, short what, void *arg)
{
	struct client *c = arg;

	(void)bev;
	CHECK(what == BEV_EVENT_CONNECTED);
	CHECK(color_now() == c->color);
	send_some(c);
}

static void client_start(struct client *c, ev_uint32_t color, const struct sockaddr_in *address)
{
	struct bufferevent *below;

	*c = (struct client){ .color = color, .ssl = SSL_new(ctx.client), .next_key = WORDS_PER_KEY };
	c->bev = tls_new(-1, c->ssl, BUFFEREVENT_SSL_CONNECTING, color);
	bufferevent_setcb(c->bev, answered, NULL, connected, c);
	CHECK(bufferevent_enable(c->bev, EV_READ | EV_WRITE) == 0);
	below = bufferevent_get_underlying(c->bev);
	CHECK(bufferevent_socket_connect(below != NULL ? below : c->bev, (const struct sockaddr *)address,
					 sizeof(*address)) == 0);
}

static void echo(unsigned workers)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct event_config *cfg = event_config_new();
	socklen_t len = sizeof(address);
	int i;

	assert_int_equal(event_config_set_workers(cfg, workers, NULL, NULL), 0);
	base = event_base_new_with_config(cfg);
	event_config_free(cfg);
	assert_non_null(base);
	listener = evconnlistener_new_bind(base, accepted, NULL, LEV_OPT_CLOSE_ON_FREE, -1,
					   (struct sockaddr *)&address, sizeof(address));
	assert_non_null(listener);
	assert_int_equal(evconnlistener_set_color_policy(listener, EVCONNLISTENER_COLOR_FRESH, NULL, NULL), 0);
	assert_int_equal(getsockname(evconnlistener_get_fd(listener), (struct sockaddr *)&address, &len), 0);
	atomic_store(&left, CLIENTS);
	atomic_store(&served, 0);
	for (i = 0; i < CLIENTS; i++)
		client_start(&clients[i], (ev_uint32_t)i + 1, &address);
	assert_int_equal(event_base_dispatch(base), 1);
	assert_int_equal(atomic_load(&left), 0);
	assert_int_equal(atomic_load(&served), CLIENTS);
	for (i = 0; i < CLIENTS; i++)
		assert_int_equal(clients[i].got, WORDS);
	event_base_free(base);
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
