/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/* Filters: over a socket, over a pair, with and without functions. */
#include "stream.h"

#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>

static char data[65536];

static enum bufferevent_filter_result pass(struct evbuffer *from, struct evbuffer *to, ev_ssize_t limit,
					   enum bufferevent_flush_mode mode, void *arg)
{
	(void)mode;
	(void)arg;
	if (limit < 0)
		evbuffer_add_buffer(to, from);
	else
		evbuffer_remove_buffer(from, to, (size_t)limit);
	return BEV_OK;
}

static void echo_with(struct sweep *s, bufferevent_filter_cb in, bufferevent_filter_cb out, unsigned depth)
{
	struct bufferevent *bev;

	sweep_base(s);
	sweep_socketpair(s->fd);
	bev = bufferevent_socket_new(s->base, s->fd[0], 0);
	for (; depth > 0; depth--) {
		bev = bufferevent_filter_new(bev, in, out, BEV_OPT_CLOSE_ON_FREE, NULL, s);
		sweep_check(bev != NULL);
	}
	bufferevent_setcb(bev, stream_on_echo, NULL, NULL, s);
	bufferevent_enable(bev, EV_READ | EV_WRITE);
	stream_echo_all(s, data);
	bufferevent_free(bev);
	sweep_end(s);
}

static void null_echo(struct sweep *s)
{
	echo_with(s, NULL, NULL, 1);
}

static void pass_echo(struct sweep *s)
{
	echo_with(s, pass, pass, 1);
}

static void deep_echo(struct sweep *s)
{
	echo_with(s, pass, pass, 3);
}

static void new_free(struct sweep *s)
{
	sweep_base(s);
	while (sweep_next(s)) {
		struct bufferevent *under = bufferevent_socket_new(s->base, -1, 0), *bev;

		bev = bufferevent_filter_new(under, pass, pass, BEV_OPT_CLOSE_ON_FREE, NULL, s);
		s->calls += bufferevent_get_underlying(bev) == under;
		bufferevent_free(bev);
		sweep_poll(s->base);
	}
	event_base_free(s->base);
}

const struct sweep_pattern sweep_filter[] = {
	{ "filter/null-echo-64", null_echo, .ops = 200, .num = 64 },
	{ "filter/echo-64", pass_echo, .ops = 200, .num = 64 },
	{ "filter/echo-20000", pass_echo, .ops = 30, .num = 20000 },
	{ "filter/three-echo-64", deep_echo, .ops = 100, .num = 64 },
	{ "filter/new-free", new_free, .ops = 100 },
	{ NULL, NULL, 0, 0, 0, NULL },
};
