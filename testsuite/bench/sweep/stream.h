/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef STREAM_H
#define STREAM_H

/*
 * Callbacks and turns that patterns with connections share. They stand in the header, so that the
 * compiler treats each pattern as if they were its own.
 */
#include "sweep.h"

#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>

enum { STREAM_MAX = 65536 }; /* bytes sent at once, at most */

static inline void stream_on_event(struct bufferevent *bev, short what, void *arg)
{
	(void)bev;
	(void)what;
	(void)arg;
}

static inline void stream_on_echo(struct bufferevent *bev, void *arg)
{
	(void)arg;
	bufferevent_write_buffer(bev, bufferevent_get_input(bev));
}

/* Counts answers of the pattern's length. */
static inline void stream_on_pong(struct bufferevent *bev, void *arg)
{
	struct sweep *s = arg;
	struct evbuffer *in = bufferevent_get_input(bev);

	if (evbuffer_get_length(in) < s->num)
		return;
	evbuffer_drain(in, s->num);
	s->calls++;
}

/* Send `data` and wait for the answer that stream_on_pong counts. */
static inline void stream_ping(struct sweep *s, struct bufferevent *bev, const char *data)
{
	int calls = s->calls;

	bufferevent_write(bev, data, s->num);
	while (s->calls == calls)
		sweep_poll(s->base);
}

/* Turn the loop until `len` bytes have come to the plain socket. */
static inline void stream_await(struct sweep *s, int fd, size_t len)
{
	static char in[STREAM_MAX];
	ssize_t n;

	while (len > 0) {
		sweep_poll(s->base);
		n = read(fd, in, len);
		len -= n > 0 ? (size_t)n : 0;
	}
}

/* The far end is a plain socket, and each operation an echo of the pattern's length. */
static inline void stream_echo_all(struct sweep *s, const char *data)
{
	while (sweep_next(s)) {
		sweep_check(write(s->fd[1], data, s->num) == (ssize_t)s->num);
		stream_await(s, s->fd[1], s->num);
	}
}

#endif
