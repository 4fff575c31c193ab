/*
 * An echo server and its clients in one base, a color for each connection: each word comes back, in order, and
 * what a connection's callbacks share is plain memory. Who includes it says before how much there is to do
 * (CLIENTS, WORDS, BURST), and defines what a connection is.
 */
#ifndef STRESS_ECHO_H
#define STRESS_ECHO_H

#include "stress.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/listener.h>

struct client {
	struct bufferevent *bev;
	ev_uint32_t color;
	uint32_t sent, got;		/* plain: of the color */
};

static struct event_base *base;
static struct evconnlistener *listener;
static struct client clients[CLIENTS];
static atomic_int left, served;

/* What the server is told of a connection before its end; 0: nothing. */
static const short greeting;

/* Of an accepted descriptor, in the running color; of a client in its color, not connected yet. */
static struct bufferevent *server_new(evutil_socket_t fd);
static struct bufferevent *client_new(struct client *c);

static void before_burst(struct client *c);

static ev_uint32_t color_now(void)
{
	ev_uint32_t color = 0;

	CHECK(event_base_get_running_color(base, &color) == 0);
	return color;
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
	if ((what & greeting) != 0)
		return;
	CHECK((what & BEV_EVENT_EOF) != 0);
	bufferevent_free(bev);
	if (atomic_fetch_add(&served, 1) + 1 == CLIENTS)
		evconnlistener_free(listener);
}

static void accepted(struct evconnlistener *lev, evutil_socket_t fd, struct sockaddr *addr, int len, void *arg)
{
	struct bufferevent *bev = server_new(fd);

	(void)lev;
	(void)addr;
	(void)len;
	(void)arg;
	CHECK(color_now() != 0);
	bufferevent_setcb(bev, serve, NULL, served_event, NULL);
	CHECK(bufferevent_enable(bev, EV_READ | EV_WRITE) == 0);
}

/* ---------------------------------------------------------------- clients */

static void send_some(struct client *c)
{
	uint32_t words[BURST];
	size_t n;

	before_burst(c);
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

	*c = (struct client){ .color = color };
	c->bev = client_new(c);
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

#endif
