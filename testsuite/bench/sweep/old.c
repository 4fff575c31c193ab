/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/* libevent 1.x: the current base, and calls that were replaced. */
#include "sweep.h"

#include <unistd.h>

#include <event2/buffer.h>
#include <event2/buffer_compat.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_compat.h>
#include <event2/event_compat.h>
#include <event2/event_struct.h>

static const struct timeval now, second = { 1, 0 };

static void set_add_del(struct sweep *s)
{
	struct event_base *base = event_init();
	struct event ev;

	sweep_pipe(s->fd);
	while (sweep_next(s)) {
		event_set(&ev, s->fd[0], EV_READ, sweep_nop, NULL);
		event_add(&ev, &second);
		event_del(&ev);
	}
	event_base_free(base);
	sweep_close(s->fd);
}

static void timeout_loop(struct sweep *s)
{
	struct event_base *base = event_init();
	struct event ev;

	event_priority_init(2);
	s->calls += event_get_method() != NULL;
	while (sweep_next(s)) {
		evtimer_set(&ev, sweep_count, s);
		evtimer_add(&ev, &now);
		sweep_advance_us(2000000);
		event_loop(EVLOOP_NONBLOCK);
	}
	event_base_free(base);
}

static void once_dispatch(struct sweep *s)
{
	struct event_base *base = event_init();

	while (sweep_next(s)) {
		event_once(-1, EV_TIMEOUT, sweep_count, s, &now);
		sweep_advance_us(2000000);
		event_dispatch();
	}
	sweep_check(s->calls > 0);
	event_base_free(base);
}

static void on_end(evutil_socket_t fd, short what, void *arg)
{
	struct sweep *s = arg;

	(void)fd;
	(void)what;
	if (s->calls++ % 2 != 0)
		event_loopbreak();
	else
		event_loopexit(NULL);
}

static void ends(struct sweep *s)
{
	struct event_base *base = event_init();
	struct event ev;

	evtimer_set(&ev, on_end, s);
	while (sweep_next(s)) {
		event_active(&ev, EV_TIMEOUT, 1);
		event_dispatch();
	}
	event_base_free(base);
}

static void readline(struct sweep *s)
{
	struct evbuffer *buf = evbuffer_new();

	while (sweep_next(s)) {
		evbuffer_add(buf, "a line of text\r\n", 16);
		free(evbuffer_readline(buf));
	}
	evbuffer_free(buf);
}

static void find(struct sweep *s)
{
	struct evbuffer *buf = evbuffer_new();

	evbuffer_add(buf, "a line of text with a needle in it", 34);
	while (sweep_next(s))
		s->calls += evbuffer_find(buf, (const unsigned char *)"needle", 6) != NULL;
	evbuffer_free(buf);
}

static void on_change(struct evbuffer *buf, size_t before, size_t after, void *arg)
{
	struct sweep *s = arg;

	(void)buf;
	s->calls += before < after;
}

static void setcb(struct sweep *s)
{
	struct evbuffer *buf = evbuffer_new();

	evbuffer_setcb(buf, on_change, s);
	while (sweep_next(s)) {
		evbuffer_add(buf, "some bytes", 10);
		evbuffer_drain(buf, 10);
	}
	sweep_check(s->calls > 0);
	evbuffer_free(buf);
}

static void on_bev(struct bufferevent *bev, void *arg)
{
	(void)bev;
	(void)arg;
}

static void on_bev_event(struct bufferevent *bev, short what, void *arg)
{
	(void)bev;
	(void)what;
	(void)arg;
}

static void bev_new(struct sweep *s)
{
	struct event_base *base = event_init();

	sweep_socketpair(s->fd);
	while (sweep_next(s)) {
		struct bufferevent *bev = bufferevent_new(s->fd[0], on_bev, on_bev, on_bev_event, s);

		bufferevent_settimeout(bev, 10, 10);
		bufferevent_enable(bev, EV_READ);
		bufferevent_free(bev);
	}
	event_base_free(base);
	sweep_close(s->fd);
}

const struct sweep_pattern sweep_old[] = {
	{ "old/set-add-del", set_add_del, .ops = 300 },
	{ "old/timeout-loop", timeout_loop, .ops = 200 },
	{ "old/once-dispatch", once_dispatch, .ops = 200 },
	{ "old/loopbreak-loopexit", ends, .ops = 200 },
	{ "old/readline", readline, .ops = 300 },
	{ "old/find", find, .ops = 300 },
	{ "old/setcb", setcb, .ops = 300 },
	{ "old/bufferevent-new", bev_new, .ops = 100 },
	{ NULL, NULL, 0, 0, 0, NULL },
};
