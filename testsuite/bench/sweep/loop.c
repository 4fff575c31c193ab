/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/* The loop and descriptors: idle, ready, written to by turns, and such that come and go. */
#include "sweep.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FDS_MAX = 1000 };

/* Copies of one descriptor, each with its own event. */
struct copies {
	struct event *ev[FDS_MAX];
	int fd[FDS_MAX];
	unsigned num;
};

static struct copies copies;

static void copies_make(struct sweep *s, int fd, unsigned num, short events)
{
	unsigned i;

	copies.num = num;
	for (i = 0; i < num; i++) {
		copies.fd[i] = dup(fd);
		sweep_check(copies.fd[i] >= 0);
		copies.ev[i] = event_new(s->base, copies.fd[i], events, sweep_count, s);
		sweep_color(s, copies.ev[i]);
		sweep_check(event_add(copies.ev[i], NULL) == 0);
	}
}

static void copies_drop(void)
{
	unsigned i;

	for (i = 0; i < copies.num; i++) {
		event_free(copies.ev[i]);
		close(copies.fd[i]);
	}
}

static void nothing(struct sweep *s)
{
	struct event_base *base = sweep_base(s);

	while (sweep_next(s))
		sweep_poll(base);
	event_base_free(base);
}

static void idle(struct sweep *s)
{
	struct event_base *base = sweep_base(s);

	sweep_pipe(s->fd);
	copies_make(s, s->fd[0], s->num, EV_READ | EV_PERSIST);
	while (sweep_next(s))
		sweep_poll(base);
	sweep_check(s->calls == 0);
	copies_drop();
	sweep_end(s);
}

static void ready_with(struct sweep *s, short more)
{
	struct event_base *base = sweep_base(s);

	sweep_pipe(s->fd);
	sweep_check(write(s->fd[1], "x", 1) == 1);
	copies_make(s, s->fd[0], s->num, (short)(EV_READ | EV_PERSIST | more));
	while (sweep_next(s))
		sweep_poll(base);
	sweep_check(s->calls >= (int)s->num);
	copies_drop();
	sweep_end(s);
}

static void ready(struct sweep *s)
{
	ready_with(s, 0);
}

static void ready_edge(struct sweep *s)
{
	ready_with(s, EV_ET);
}

static void on_read(evutil_socket_t fd, short what, void *arg)
{
	struct sweep *s = arg;
	char byte;

	(void)what;
	sweep_check(read(fd, &byte, 1) == 1);
	s->calls++;
}

/* One descriptor of `num` gets a byte; its callback reads it. */
static void read_one(struct sweep *s, short events, const struct timeval *tv)
{
	struct event_base *base = sweep_base(s);
	struct event *ev;
	int others[2];

	sweep_pipe(others);
	sweep_pipe(s->fd);
	copies_make(s, others[0], s->num, EV_READ | EV_PERSIST);
	ev = event_new(base, s->fd[0], events, on_read, s);
	sweep_color(s, ev);
	event_add(ev, tv);
	while (sweep_next(s)) {
		if ((events & EV_PERSIST) == 0)
			event_add(ev, tv);
		sweep_check(write(s->fd[1], "x", 1) == 1);
		sweep_poll(base);
	}
	sweep_check(s->calls > 0);
	event_free(ev);
	copies_drop();
	sweep_end(s);
	sweep_close(others);
}

static void read_level(struct sweep *s)
{
	read_one(s, EV_READ | EV_PERSIST, NULL);
}

static void read_edge(struct sweep *s)
{
	read_one(s, EV_READ | EV_PERSIST | EV_ET, NULL);
}

static void read_once(struct sweep *s)
{
	read_one(s, EV_READ, NULL);
}

static void read_timeout(struct sweep *s)
{
	static const struct timeval late = { 1000, 0 };

	read_one(s, EV_READ | EV_PERSIST, &late);
}

static void read_once_timeout(struct sweep *s)
{
	static const struct timeval late = { 1000, 0 };

	read_one(s, EV_READ, &late);
}

static void write_ready(struct sweep *s)
{
	struct event_base *base = sweep_base(s);

	sweep_pipe(s->fd);
	copies_make(s, s->fd[1], s->num, EV_WRITE | EV_PERSIST);
	while (sweep_next(s))
		sweep_poll(base);
	sweep_check(s->calls > 0);
	copies_drop();
	sweep_end(s);
}

/* EV_WRITE comes and goes while EV_READ stays: how a server sends. */
static void write_on_off(struct sweep *s)
{
	struct event_base *base = sweep_base(s);
	struct event *reader, *writer;

	sweep_socketpair(s->fd);
	reader = event_new(base, s->fd[0], EV_READ | EV_PERSIST, sweep_nop, NULL);
	writer = event_new(base, s->fd[0], EV_WRITE, sweep_count, s);
	sweep_color(s, reader);
	sweep_color(s, writer);
	event_add(reader, NULL);
	while (sweep_next(s)) {
		event_add(writer, NULL);
		sweep_poll(base);
	}
	sweep_check(s->calls > 0);
	event_free(reader);
	event_free(writer);
	sweep_end(s);
}

static void both_ready(struct sweep *s)
{
	struct event_base *base = sweep_base(s);
	struct event *ev;

	sweep_socketpair(s->fd);
	sweep_check(write(s->fd[1], "x", 1) == 1);
	ev = event_new(base, s->fd[0], EV_READ | EV_WRITE | EV_PERSIST, sweep_count, s);
	sweep_color(s, ev);
	event_add(ev, NULL);
	while (sweep_next(s))
		sweep_poll(base);
	sweep_check(s->calls > 0);
	event_free(ev);
	sweep_end(s);
}

static void closed(struct sweep *s)
{
	struct event_base *base = sweep_base(s);
	struct event *ev;

	sweep_socketpair(s->fd);
	close(s->fd[1]);
	ev = event_new(base, s->fd[0], EV_CLOSED | EV_PERSIST, sweep_count, s);
	sweep_color(s, ev);
	event_add(ev, NULL);
	while (sweep_next(s))
		sweep_poll(base);
	sweep_check(s->calls > 0);
	event_free(ev);
	event_base_free(base);
	close(s->fd[0]);
}

static void two_events(struct sweep *s)
{
	struct event_base *base = sweep_base(s);
	struct event *first, *second;

	sweep_pipe(s->fd);
	sweep_check(write(s->fd[1], "x", 1) == 1);
	first = event_new(base, s->fd[0], EV_READ | EV_PERSIST, sweep_count, s);
	second = event_new(base, s->fd[0], EV_READ | EV_PERSIST, sweep_count, s);
	event_add(first, NULL);
	event_add(second, NULL);
	while (sweep_next(s))
		sweep_poll(base);
	sweep_check(s->calls > 0);
	event_free(first);
	event_free(second);
	sweep_end(s);
}

/* A descriptor's event is added and deleted without a turn of the loop between. */
static void add_del(struct sweep *s)
{
	struct event_base *base = sweep_base(s);
	struct event *ev;

	sweep_pipe(s->fd);
	ev = event_new(base, s->fd[0], EV_READ | EV_PERSIST, sweep_nop, NULL);
	sweep_color(s, ev);
	while (sweep_next(s)) {
		event_add(ev, NULL);
		event_del(ev);
	}
	event_free(ev);
	sweep_end(s);
}

static void add_again(struct sweep *s)
{
	struct event_base *base = sweep_base(s);
	struct event *ev;

	sweep_pipe(s->fd);
	ev = event_new(base, s->fd[0], EV_READ | EV_PERSIST, sweep_nop, NULL);
	event_add(ev, NULL);
	while (sweep_next(s))
		event_add(ev, NULL);
	event_free(ev);
	sweep_end(s);
}

static void add_poll_del(struct sweep *s)
{
	struct event_base *base = sweep_base(s);
	struct event *ev;

	sweep_pipe(s->fd);
	ev = event_new(base, s->fd[0], EV_READ | EV_PERSIST, sweep_nop, NULL);
	sweep_color(s, ev);
	while (sweep_next(s)) {
		event_add(ev, NULL);
		sweep_poll(base);
		event_del(ev);
	}
	event_free(ev);
	sweep_end(s);
}

/* A connection that comes, is read, and goes: a new descriptor and a new event each time. */
static void come_and_go(struct sweep *s)
{
	struct event_base *base = sweep_base(s);
	struct event *ev;
	int fd;

	sweep_pipe(s->fd);
	sweep_check(write(s->fd[1], "x", 1) == 1);
	while (sweep_next(s)) {
		fd = dup(s->fd[0]);
		ev = event_new(base, fd, EV_READ | EV_PERSIST, sweep_count, s);
		sweep_color(s, ev);
		event_add(ev, NULL);
		sweep_poll(base);
		event_free(ev);
		close(fd);
	}
	sweep_check(s->calls > 0);
	sweep_end(s);
}

/* A hundred of them at once. */
static void come_and_go_many(struct sweep *s)
{
	struct event_base *base = sweep_base(s);

	sweep_pipe(s->fd);
	sweep_check(write(s->fd[1], "x", 1) == 1);
	while (sweep_next(s)) {
		copies_make(s, s->fd[0], s->num, EV_READ);
		sweep_poll(base);
		copies_drop();
	}
	sweep_check(s->calls > 0);
	sweep_end(s);
}

/* Two ends pass on one byte: one operation is one hop. */
struct hop {
	struct sweep *s;
	int to;
};

static void on_hop(evutil_socket_t fd, short what, void *arg)
{
	struct hop *hop = arg;
	char byte;

	(void)what;
	sweep_check(read(fd, &byte, 1) == 1);
	if (sweep_next(hop->s))
		sweep_check(write(hop->to, &byte, 1) == 1);
	else
		event_base_loopbreak(hop->s->base);
}

static void pingpong_with(struct sweep *s, short more)
{
	struct event_base *base = sweep_base(s);
	struct event *evs[2];
	struct hop hops[2];
	unsigned i;

	sweep_socketpair(s->fd);
	for (i = 0; i < 2; i++) {
		hops[i] = (struct hop){ s, s->fd[i] };
		evs[i] = event_new(base, s->fd[i], (short)(EV_READ | EV_PERSIST | more), on_hop, &hops[i]);
		sweep_color(s, evs[i]);
		event_add(evs[i], NULL);
	}
	sweep_check(write(s->fd[0], "x", 1) == 1);
	event_base_dispatch(base);
	event_free(evs[0]);
	event_free(evs[1]);
	sweep_end(s);
}

static void pingpong(struct sweep *s)
{
	pingpong_with(s, 0);
}

static void pingpong_edge(struct sweep *s)
{
	pingpong_with(s, EV_ET);
}

static void on_datagram(evutil_socket_t fd, short what, void *arg)
{
	struct sweep *s = arg;
	struct sockaddr_in from;
	socklen_t len = sizeof(from);
	char data[64];
	ssize_t size = recvfrom(fd, data, sizeof(data), 0, (struct sockaddr *)&from, &len);

	(void)what;
	if (size > 0)
		sendto(fd, data, (size_t)size, 0, (struct sockaddr *)&from, len);
	s->calls++;
}

static void udp_echo(struct sweep *s)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int server = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0), client = socket(AF_INET, SOCK_DGRAM, 0);
	struct event_base *base = sweep_base(s);
	socklen_t len = sizeof(addr);
	struct event *ev;
	char data[64] = "ping";

	sweep_check(server >= 0 && client >= 0 && bind(server, (struct sockaddr *)&addr, len) == 0);
	sweep_check(getsockname(server, (struct sockaddr *)&addr, &len) == 0);
	sweep_check(connect(client, (struct sockaddr *)&addr, len) == 0);
	ev = event_new(base, server, EV_READ | EV_PERSIST, on_datagram, s);
	sweep_color(s, ev);
	event_add(ev, NULL);
	while (sweep_next(s)) {
		sweep_check(send(client, data, 32, 0) == 32);
		sweep_poll(base);
		sweep_check(recv(client, data, sizeof(data), 0) == 32);
	}
	event_free(ev);
	event_base_free(base);
	close(server);
	close(client);
}

/* Bases that differ by a flag: one read each turn. */
static void flag(struct sweep *s)
{
	struct event_base *base = sweep_base_with(s, (int)s->num);
	struct event *ev;

	sweep_pipe(s->fd);
	ev = event_new(base, s->fd[0], EV_READ | EV_PERSIST, on_read, s);
	event_add(ev, NULL);
	while (sweep_next(s)) {
		sweep_check(write(s->fd[1], "x", 1) == 1);
		sweep_poll(base);
	}
	event_free(ev);
	sweep_end(s);
}

static void max_dispatch(struct sweep *s)
{
	static const struct timeval interval = { 0, 10000 };
	struct event_config *config = event_config_new();
	struct event_base *base;
	unsigned i;

	event_config_set_max_dispatch_interval(config, &interval, 5, 0);
	base = s->base = event_base_new_with_config(config);
	event_config_free(config);
	sweep_pipe(s->fd);
	copies_make(s, s->fd[0], 10, EV_READ | EV_PERSIST);
	while (sweep_next(s)) {
		for (i = 0; i < copies.num; i++)
			event_active(copies.ev[i], EV_READ, 0);
		sweep_poll(base);
	}
	sweep_check(s->calls > 0);
	copies_drop();
	sweep_end(s);
}

#define EACH_METHOD(label, fn, count, how_many) \
	{ label, fn, .ops = count, .flags = SWEEP_COLORS, .num = how_many }, \
		{ label "-poll", fn, .ops = count, .num = how_many, .method = "poll" }, \
	{ \
		label "-select", fn, .ops = count, .num = how_many, .method = "select" \
	}

const struct sweep_pattern sweep_loop[] = {
	{ "loop/nothing", nothing, .ops = 300 },
	EACH_METHOD("loop/idle-1", idle, 300, 1),
	EACH_METHOD("loop/idle-10", idle, 200, 10),
	EACH_METHOD("loop/idle-1000", idle, 20, 1000),
	EACH_METHOD("loop/ready-1", ready, 300, 1),
	EACH_METHOD("loop/ready-10", ready, 100, 10),
	EACH_METHOD("loop/ready-1000", ready, 10, 1000),
	EACH_METHOD("loop/read-1-of-1", read_level, 300, 0),
	EACH_METHOD("loop/read-1-of-1000", read_level, 20, 990),
	{ "loop/ready-edge-10", ready_edge, .ops = 100, .flags = SWEEP_COLORS, .num = 10 },
	{ "loop/read-edge", read_edge, .ops = 300, .flags = SWEEP_COLORS },
	{ "loop/read-not-persistent", read_once, .ops = 300, .flags = SWEEP_COLORS },
	{ "loop/read-timeout", read_timeout, .ops = 300, .flags = SWEEP_COLORS },
	{ "loop/read-timeout-not-persistent", read_once_timeout, .ops = 300, .flags = SWEEP_COLORS },
	{ "loop/write-ready", write_ready, .ops = 300, .flags = SWEEP_COLORS, .num = 1 },
	{ "loop/write-on-off", write_on_off, .ops = 300, .flags = SWEEP_COLORS },
	{ "loop/read-and-write", both_ready, .ops = 300, .flags = SWEEP_COLORS },
	{ "loop/closed", closed, .ops = 300, .flags = SWEEP_COLORS },
	{ "loop/two-events-one-fd", two_events, .ops = 300 },
	EACH_METHOD("loop/add-del", add_del, 300, 0),
	{ "loop/add-again", add_again, .ops = 500 },
	EACH_METHOD("loop/add-poll-del", add_poll_del, 300, 0),
	EACH_METHOD("loop/come-and-go", come_and_go, 200, 0),
	EACH_METHOD("loop/come-and-go-100", come_and_go_many, 10, 100),
	EACH_METHOD("loop/pingpong", pingpong, 300, 0),
	{ "loop/pingpong-edge", pingpong_edge, .ops = 300, .flags = SWEEP_COLORS },
	{ "loop/udp-echo", udp_echo, .ops = 300, .flags = SWEEP_COLORS },
	{ "loop/nolock", flag, .ops = 300, .num = EVENT_BASE_FLAG_NOLOCK },
	{ "loop/no-cache-time", flag, .ops = 300, .num = EVENT_BASE_FLAG_NO_CACHE_TIME },
	{ "loop/precise-timer", flag, .ops = 300, .num = EVENT_BASE_FLAG_PRECISE_TIMER },
	{ "loop/changelist", flag, .ops = 300, .num = EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST },
	{ "loop/ignore-env", flag, .ops = 300, .num = EVENT_BASE_FLAG_IGNORE_ENV },
	{ "loop/max-dispatch-interval", max_dispatch, .ops = 100 },
	{ NULL, NULL, 0, 0, 0, NULL },
};
