/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/* Bufferevents on sockets and in pairs, rate limits, listeners. */
#include "stream.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/listener.h>

enum { BEVS_MAX = 100 };

static const struct timeval minute = { 60, 0 };
static char data[STREAM_MAX];

static void on_nothing(struct bufferevent *bev, void *arg)
{
	(void)bev;
	(void)arg;
}

static void color(struct sweep *s, struct bufferevent *bev)
{
	if (s->is_colored)
		sweep_check(bufferevent_set_color != NULL && bufferevent_set_color(bev, ++s->color) == 0);
}

static struct bufferevent *sock(struct sweep *s, int fd, int options, bufferevent_data_cb on_read)
{
	struct bufferevent *bev = bufferevent_socket_new(s->base, fd, options);

	sweep_check(bev != NULL);
	color(s, bev);
	bufferevent_setcb(bev, on_read, NULL, stream_on_event, s);
	bufferevent_enable(bev, EV_READ | EV_WRITE);
	return bev;
}

static void new_free(struct sweep *s)
{
	sweep_base(s);
	sweep_socketpair(s->fd);
	while (sweep_next(s)) {
		struct bufferevent *bev = bufferevent_socket_new(s->base, s->fd[0], (int)s->num);

		bufferevent_free(bev);
		sweep_poll(s->base);
	}
	sweep_end(s);
}

/* As a connection: made, one request and answer, closed. */
static void connection(struct sweep *s)
{
	sweep_base(s);
	while (sweep_next(s)) {
		struct bufferevent *bev;

		sweep_socketpair(s->fd);
		bev = sock(s, s->fd[0], BEV_OPT_CLOSE_ON_FREE, stream_on_echo);
		sweep_check(write(s->fd[1], data, 64) == 64);
		stream_await(s, s->fd[1], 64);
		bufferevent_free(bev);
		close(s->fd[1]);
		sweep_poll(s->base);
	}
	event_base_free(s->base);
}

/* The far end is a plain socket. */
static void echo_with(struct sweep *s, int options, const struct timeval *tv)
{
	struct bufferevent *bev;

	sweep_base(s);
	sweep_socketpair(s->fd);
	bev = sock(s, s->fd[0], options, stream_on_echo);
	bufferevent_set_timeouts(bev, tv, tv);
	stream_echo_all(s, data);
	bufferevent_free(bev);
	sweep_end(s);
}

static void echo(struct sweep *s)
{
	echo_with(s, 0, NULL);
}

static void echo_timeouts(struct sweep *s)
{
	echo_with(s, 0, &minute);
}

static void echo_deferred(struct sweep *s)
{
	echo_with(s, BEV_OPT_DEFER_CALLBACKS, NULL);
}

static void echo_threadsafe(struct sweep *s)
{
	echo_with(s, BEV_OPT_THREADSAFE, NULL);
}

static void echo_unlocked(struct sweep *s)
{
	echo_with(s, BEV_OPT_THREADSAFE | BEV_OPT_DEFER_CALLBACKS | BEV_OPT_UNLOCK_CALLBACKS, NULL);
}

/* Many connections, each with a request in each turn of the loop. */
static void echo_many(struct sweep *s)
{
	struct bufferevent *bevs[BEVS_MAX];
	int far[BEVS_MAX];
	unsigned i;

	sweep_base(s);
	for (i = 0; i < s->num; i++) {
		sweep_socketpair(s->fd);
		bevs[i] = sock(s, s->fd[0], BEV_OPT_CLOSE_ON_FREE, stream_on_echo);
		far[i] = s->fd[1];
	}
	while (sweep_next(s)) {
		for (i = 0; i < s->num; i++)
			sweep_check(write(far[i], data, 64) == 64);
		for (i = 0; i < s->num; i++)
			stream_await(s, far[i], 64);
	}
	for (i = 0; i < s->num; i++) {
		bufferevent_free(bevs[i]);
		close(far[i]);
	}
	event_base_free(s->base);
}

/* Both ends are bufferevents. */
static void pair_echo_with(struct sweep *s, int options)
{
	struct bufferevent *pair[2];
	int i;

	sweep_base(s);
	sweep_check(bufferevent_pair_new(s->base, options, pair) == 0);
	for (i = 0; i < 2; i++) {
		if (s->is_colored) /* a pair has one color */
			sweep_check(bufferevent_set_color != NULL && bufferevent_set_color(pair[i], 1) == 0);
		bufferevent_setcb(pair[i], i == 0 ? stream_on_pong : stream_on_echo, NULL, stream_on_event, s);
		bufferevent_enable(pair[i], EV_READ | EV_WRITE);
	}
	while (sweep_next(s))
		stream_ping(s, pair[0], data);
	bufferevent_free(pair[0]);
	bufferevent_free(pair[1]);
	event_base_free(s->base);
}

static void pair_echo(struct sweep *s)
{
	pair_echo_with(s, 0);
}

static void pair_echo_deferred(struct sweep *s)
{
	pair_echo_with(s, BEV_OPT_DEFER_CALLBACKS);
}

static void pair_new_free(struct sweep *s)
{
	sweep_base(s);
	while (sweep_next(s)) {
		struct bufferevent *pair[2];

		sweep_check(bufferevent_pair_new(s->base, 0, pair) == 0);
		s->calls += bufferevent_pair_get_partner(pair[0]) == pair[1];
		bufferevent_free(pair[0]);
		bufferevent_free(pair[1]);
		sweep_poll(s->base);
	}
	event_base_free(s->base);
}

static void sock_echo(struct sweep *s)
{
	struct bufferevent *client, *server;

	sweep_base(s);
	sweep_socketpair(s->fd);
	client = sock(s, s->fd[0], 0, stream_on_pong);
	server = sock(s, s->fd[1], 0, stream_on_echo);
	while (sweep_next(s))
		stream_ping(s, client, data);
	bufferevent_free(client);
	bufferevent_free(server);
	sweep_end(s);
}

static void settings(struct sweep *s)
{
	struct bufferevent *bev;
	bufferevent_data_cb on_read, on_write;
	bufferevent_event_cb on_ev;
	size_t low, high;
	void *arg;

	sweep_base(s);
	bev = bufferevent_socket_new(s->base, -1, 0);
	while (sweep_next(s)) {
		bufferevent_setcb(bev, on_nothing, on_nothing, stream_on_event, s);
		bufferevent_getcb(bev, &on_read, &on_write, &on_ev, &arg);
		bufferevent_setwatermark(bev, EV_READ, 10, 1000);
		bufferevent_getwatermark(bev, EV_READ, &low, &high);
		bufferevent_set_timeouts(bev, &minute, NULL);
		bufferevent_set_max_single_read(bev, 4096);
		bufferevent_set_max_single_write(bev, 4096);
		s->calls += (int)bufferevent_get_max_single_read(bev) + (int)bufferevent_get_max_single_write(bev);
		s->calls += bufferevent_priority_set(bev, 0) + bufferevent_get_priority(bev);
		s->calls += (bufferevent_get_base(bev) == s->base) + bufferevent_getfd(bev);
		s->calls += bufferevent_get_enabled(bev) + (bufferevent_get_underlying(bev) != NULL);
		s->calls += bufferevent_get_output(bev) != NULL;
		s->calls += bufferevent_socket_get_dns_error(bev);
	}
	bufferevent_free(bev);
	event_base_free(s->base);
}

static void enable_disable(struct sweep *s)
{
	struct bufferevent *bev;

	sweep_base(s);
	sweep_socketpair(s->fd);
	bev = sock(s, s->fd[0], 0, on_nothing);
	while (sweep_next(s)) {
		bufferevent_disable(bev, EV_READ | EV_WRITE);
		bufferevent_enable(bev, EV_READ | EV_WRITE);
	}
	bufferevent_free(bev);
	sweep_end(s);
}

static void setfd(struct sweep *s)
{
	struct bufferevent *bev;

	sweep_base(s);
	sweep_socketpair(s->fd);
	bev = bufferevent_socket_new(s->base, -1, 0);
	while (sweep_next(s)) {
		bufferevent_setfd(bev, s->fd[s->calls++ % 2]);
		bufferevent_base_set(s->base, bev);
	}
	bufferevent_free(bev);
	sweep_end(s);
}

static void references(struct sweep *s)
{
	struct bufferevent *bev;

	sweep_base(s);
	bev = bufferevent_socket_new(s->base, -1, BEV_OPT_THREADSAFE);
	while (sweep_next(s)) {
		bufferevent_lock(bev);
		bufferevent_incref(bev);
		bufferevent_unlock(bev);
		bufferevent_decref(bev);
	}
	bufferevent_free(bev);
	event_base_free(s->base);
}

static void trigger(struct sweep *s)
{
	struct bufferevent *bev;

	sweep_base(s);
	bev = bufferevent_socket_new(s->base, -1, 0);
	color(s, bev);
	bufferevent_setcb(bev, on_nothing, on_nothing, stream_on_event, s);
	while (sweep_next(s)) {
		bufferevent_trigger(bev, EV_READ | EV_WRITE, (int)s->num | BEV_TRIG_IGNORE_WATERMARKS);
		bufferevent_trigger_event(bev, BEV_EVENT_EOF, (int)s->num);
		sweep_poll(s->base);
	}
	bufferevent_free(bev);
	event_base_free(s->base);
}

static void read_write(struct sweep *s)
{
	struct evbuffer *buf = evbuffer_new();
	struct bufferevent *pair[2];

	sweep_base(s);
	bufferevent_pair_new(s->base, 0, pair);
	bufferevent_enable(pair[1], EV_READ);
	while (sweep_next(s)) {
		bufferevent_write(pair[0], data, 100);
		bufferevent_flush(pair[0], EV_WRITE, BEV_FLUSH);
		sweep_poll(s->base);
		s->calls += (int)bufferevent_read(pair[1], data, 50);
		bufferevent_read_buffer(pair[1], buf);
		evbuffer_drain(buf, 100);
	}
	sweep_check(s->calls > 0);
	bufferevent_free(pair[0]);
	bufferevent_free(pair[1]);
	evbuffer_free(buf);
	event_base_free(s->base);
}

static struct ev_token_bucket_cfg *plenty(void)
{
	return ev_token_bucket_cfg_new(1 << 30, 1 << 30, 1 << 30, 1 << 30, &minute);
}

static void limited_echo(struct sweep *s)
{
	struct ev_token_bucket_cfg *cfg = plenty();
	struct bufferevent *bev;

	sweep_base(s);
	sweep_socketpair(s->fd);
	bev = sock(s, s->fd[0], 0, stream_on_echo);
	bufferevent_set_rate_limit(bev, cfg);
	stream_echo_all(s, data);
	s->calls += bufferevent_get_token_bucket_cfg(bev) == cfg;
	bufferevent_set_rate_limit(bev, NULL);
	bufferevent_free(bev);
	ev_token_bucket_cfg_free(cfg);
	sweep_end(s);
}

static void group_echo(struct sweep *s)
{
	struct ev_token_bucket_cfg *cfg = plenty();
	struct bufferevent_rate_limit_group *group;
	struct bufferevent *bev;

	sweep_base(s);
	sweep_socketpair(s->fd);
	group = bufferevent_rate_limit_group_new(s->base, cfg);
	bev = sock(s, s->fd[0], 0, stream_on_echo);
	bufferevent_add_to_rate_limit_group(bev, group);
	stream_echo_all(s, data);
	bufferevent_remove_from_rate_limit_group(bev);
	bufferevent_free(bev);
	bufferevent_rate_limit_group_free(group);
	ev_token_bucket_cfg_free(cfg);
	sweep_end(s);
}

static void limit_calls(struct sweep *s)
{
	struct ev_token_bucket_cfg *cfg = plenty();
	struct bufferevent_rate_limit_group *group;
	struct bufferevent *bev;
	ev_uint64_t read_total, written_total;

	sweep_base(s);
	bev = bufferevent_socket_new(s->base, -1, 0);
	group = bufferevent_rate_limit_group_new(s->base, cfg);
	bufferevent_set_rate_limit(bev, cfg);
	while (sweep_next(s)) {
		bufferevent_add_to_rate_limit_group(bev, group);
		s->calls += (int)bufferevent_get_read_limit(bev) + (int)bufferevent_get_write_limit(bev);
		s->calls += (int)bufferevent_get_max_to_read(bev) + (int)bufferevent_get_max_to_write(bev);
		bufferevent_decrement_read_limit(bev, 1);
		bufferevent_decrement_write_limit(bev, 1);
		bufferevent_rate_limit_group_set_min_share(group, 100);
		bufferevent_rate_limit_group_set_cfg(group, cfg);
		s->calls += (int)bufferevent_rate_limit_group_get_read_limit(group);
		s->calls += (int)bufferevent_rate_limit_group_get_write_limit(group);
		bufferevent_rate_limit_group_decrement_read(group, 1);
		bufferevent_rate_limit_group_decrement_write(group, 1);
		bufferevent_rate_limit_group_get_totals(group, &read_total, &written_total);
		bufferevent_rate_limit_group_reset_totals(group);
		bufferevent_remove_from_rate_limit_group(bev);
	}
	bufferevent_set_rate_limit(bev, NULL);
	bufferevent_free(bev);
	bufferevent_rate_limit_group_free(group);
	ev_token_bucket_cfg_free(cfg);
	event_base_free(s->base);
}

static void limit_new_free(struct sweep *s)
{
	sweep_base(s);
	while (sweep_next(s)) {
		struct ev_token_bucket_cfg *cfg = plenty();
		struct bufferevent_rate_limit_group *group = bufferevent_rate_limit_group_new(s->base, cfg);

		bufferevent_rate_limit_group_free(group);
		ev_token_bucket_cfg_free(cfg);
	}
	event_base_free(s->base);
}

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *addr, int len, void *arg)
{
	struct sweep *s = arg;

	(void)listener;
	(void)addr;
	(void)len;
	close(fd);
	s->calls++;
}

static struct evconnlistener *listener_of(struct sweep *s, struct sockaddr_in *addr)
{
	struct evconnlistener *listener;
	socklen_t len = sizeof(*addr);

	*addr = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	listener = evconnlistener_new_bind(s->base, on_accept, s, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_REUSEABLE, 64,
					   (struct sockaddr *)addr, sizeof(*addr));
	sweep_check(listener != NULL);
	sweep_check(getsockname(evconnlistener_get_fd(listener), (struct sockaddr *)addr, &len) == 0);
	return listener;
}

static void listener_accept(struct sweep *s)
{
	struct evconnlistener *listener;
	struct sockaddr_in addr;
	int fd, calls;

	sweep_base(s);
	listener = listener_of(s, &addr);
	while (sweep_next(s)) {
		fd = socket(AF_INET, SOCK_STREAM, 0);
		sweep_check(connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0);
		for (calls = s->calls; s->calls == calls;)
			sweep_poll(s->base);
		close(fd);
	}
	evconnlistener_free(listener);
	event_base_free(s->base);
}

static void on_listen_error(struct evconnlistener *listener, void *arg)
{
	(void)listener;
	(void)arg;
}

static void listener_calls(struct sweep *s)
{
	struct evconnlistener *listener;
	struct sockaddr_in addr;

	sweep_base(s);
	listener = listener_of(s, &addr);
	while (sweep_next(s)) {
		evconnlistener_disable(listener);
		evconnlistener_enable(listener);
		evconnlistener_set_cb(listener, on_accept, s);
		evconnlistener_set_error_cb(listener, on_listen_error);
		s->calls += evconnlistener_get_base(listener) == s->base;
	}
	evconnlistener_free(listener);
	event_base_free(s->base);
}

static void listener_new_free(struct sweep *s)
{
	int fd;

	sweep_base(s);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	while (sweep_next(s)) {
		struct evconnlistener *listener = evconnlistener_new(s->base, on_accept, s, 0, 64, fd);

		sweep_check(listener != NULL);
		evconnlistener_free(listener);
	}
	close(fd);
	event_base_free(s->base);
}

static void on_connected(struct bufferevent *bev, short what, void *arg)
{
	struct sweep *s = arg;

	(void)bev;
	sweep_check((what & BEV_EVENT_CONNECTED) != 0);
	s->fd[0] = 1; /* is connected */
}

/* One operation: connect, be told so on both sides, close. */
static void connect_accept(struct sweep *s)
{
	struct evconnlistener *listener;
	struct sockaddr_in addr;
	int calls;

	sweep_base(s);
	listener = listener_of(s, &addr);
	while (sweep_next(s)) {
		struct bufferevent *bev = bufferevent_socket_new(s->base, -1, BEV_OPT_CLOSE_ON_FREE);

		bufferevent_setcb(bev, NULL, NULL, on_connected, s);
		s->fd[0] = 0;
		calls = s->calls;
		if (s->num == 0)
			bufferevent_socket_connect(bev, (struct sockaddr *)&addr, sizeof(addr));
		else
			bufferevent_socket_connect_hostname(bev, NULL, AF_INET, "127.0.0.1", ntohs(addr.sin_port));
		while (s->fd[0] == 0 || s->calls == calls)
			sweep_poll(s->base);
		bufferevent_free(bev);
		sweep_poll(s->base);
	}
	evconnlistener_free(listener);
	event_base_free(s->base);
}

const struct sweep_pattern sweep_bev[] = {
	{ "bev/new-free", new_free, .ops = 200 },
	{ "bev/new-free-threadsafe", new_free, .ops = 200, .flags = SWEEP_LOCKS, .num = BEV_OPT_THREADSAFE },
	{ "bev/connection", connection, .ops = 100, .flags = SWEEP_COLORS },
	{ "bev/echo-64", echo, .ops = 300, .flags = SWEEP_COLORS, .num = 64 },
	{ "bev/echo-10000", echo, .ops = 50, .flags = SWEEP_COLORS, .num = 10000 },
	{ "bev/echo-60000", echo, .ops = 20, .flags = SWEEP_COLORS, .num = 60000 },
	{ "bev/echo-timeouts", echo_timeouts, .ops = 300, .flags = SWEEP_COLORS, .num = 64 },
	{ "bev/echo-deferred", echo_deferred, .ops = 300, .flags = SWEEP_COLORS, .num = 64 },
	{ "bev/echo-threadsafe", echo_threadsafe, .ops = 300, .flags = SWEEP_LOCKS, .num = 64 },
	{ "bev/echo-unlock-callbacks", echo_unlocked, .ops = 300, .flags = SWEEP_LOCKS, .num = 64 },
	{ "bev/echo-100-connections", echo_many, .ops = 10, .flags = SWEEP_COLORS, .num = 100 },
	{ "bev/echo-both-ends", sock_echo, .ops = 200, .flags = SWEEP_COLORS, .num = 64 },
	{ "bev/settings", settings, .ops = 200 },
	{ "bev/enable-disable", enable_disable, .ops = 200 },
	{ "bev/setfd", setfd, .ops = 200 },
	{ "bev/references", references, .ops = 200, .flags = SWEEP_LOCKS },
	{ "bev/trigger", trigger, .ops = 200, .flags = SWEEP_COLORS },
	{ "bev/trigger-deferred", trigger, .ops = 200, .flags = SWEEP_COLORS, .num = BEV_TRIG_DEFER_CALLBACKS },
	{ "bev/read-write-flush", read_write, .ops = 200 },
	{ "bev/connect", connect_accept, .ops = 50 },
	{ "bev/connect-hostname", connect_accept, .ops = 50, .num = 1 },
	{ "pair/new-free", pair_new_free, .ops = 200 },
	{ "pair/echo", pair_echo, .ops = 200, .flags = SWEEP_COLORS, .num = 64 },
	{ "pair/echo-deferred", pair_echo_deferred, .ops = 200, .flags = SWEEP_COLORS, .num = 64 },
	{ "limit/echo", limited_echo, .ops = 200, .flags = SWEEP_COLORS, .num = 64 },
	{ "limit/group-echo", group_echo, .ops = 200, .flags = SWEEP_COLORS, .num = 64 },
	{ "limit/calls", limit_calls, .ops = 200 },
	{ "limit/new-free", limit_new_free, .ops = 100 },
	{ "listener/accept", listener_accept, .ops = 50 },
	{ "listener/calls", listener_calls, .ops = 200 },
	{ "listener/new-free", listener_new_free, .ops = 100 },
	{ NULL, NULL, 0, 0, 0, NULL },
};
