/*
 * A program that frees its event_base first, and the server port, its requests and the evdns_base after it:
 * nothing uses the event_base that is gone, and nothing is left.
 */
#include "child.h"
#include "peer.h"

#include <fcntl.h>

#include <event2/dns_struct.h>
#include <event2/event_struct.h>
#include <event2/smp.h>

enum { HELD_MAX = 4 };

struct service {
	struct event_base *base;
	struct evdns_server_port *port;
	int fd;
	int client;
	struct evdns_server_request *held[HELD_MAX];
	size_t held_num;
	long alive;
};

static void hold(struct evdns_server_request *req, void *arg)
{
	struct service *s = arg;

	s->held[s->held_num++] = req;
}

enum base_kind { PLAIN,
		 COLORED };

static void nothing(void *arg)
{
	(void)arg;
}

/* The first color locks the event_base and gives it threads. */
static void color(struct event_base *base)
{
	assert_int_equal(event_base_post(base, 1, nothing, NULL), 0);
	assert_true(event_base_loop(base, EVLOOP_NONBLOCK) >= 0);
}

/* With that many requests that the program has not answered yet. */
static void service_open(struct service *s, enum base_kind kind, size_t requests_num)
{
	static const unsigned char packet[] = "\x12\x34\x01\0\0\1\0\0\0\0\0\0\3www\3org\0\0\1\0";
	struct sockaddr_in at, client_at;

	memset(s, 0, sizeof(*s));
	s->alive = fault_alive();
	s->base = event_base_new();
	assert_non_null(s->base);
	if (kind == COLORED)
		color(s->base);
	s->fd = udp_new(&at);
	s->client = udp_new(&client_at);
	/* Nothing that another process sends to a port that was its own before. */
	assert_int_equal(connect(s->client, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(evutil_make_socket_nonblocking(s->fd), 0);
	s->port = evdns_add_server_port_with_base(s->base, s->fd, 0, hold, s);
	assert_non_null(s->port);
	for (size_t i = 0; i < requests_num; i++)
		assert_int_equal(send(s->client, packet, sizeof(packet), 0), sizeof(packet));
	while (s->held_num < requests_num)
		assert_true(event_base_loop(s->base, EVLOOP_ONCE) >= 0);
}

static bool fd_is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* Waits for what is expected: a datagram may arrive later than sendto has returned, on loopback, too. */
static unsigned replies_num(const struct service *s, unsigned expected)
{
	const struct timeval limit = { .tv_sec = 60 };
	unsigned char bytes[512];
	unsigned num = 0;

	assert_int_equal(setsockopt(s->client, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
	while (recv(s->client, bytes, sizeof(bytes), num < expected ? 0 : MSG_DONTWAIT) > 0)
		num++;
	return num;
}

static void service_is_gone(struct service *s)
{
	assert_false(fd_is_open(s->fd));
	assert_int_equal(fault_alive(), s->alive);
	close(s->client);
}

/* What the program does, one letter a step. The socket has room except between F and R. */
static void step(struct service *s, char what, size_t *next)
{
	switch (what) {
	case 'B': event_base_free(s->base); break;
	case 'C': evdns_close_server_port(s->port); break;
	case 'A': assert_int_equal(evdns_server_request_respond(s->held[(*next)++], 0), 0); break;
	case 'D': assert_int_equal(evdns_server_request_drop(s->held[(*next)++]), 0); break;
	case 'F': fault_call_always(FAULT_sendto, EAGAIN); break;
	case 'R': (void)fault_end(); break;
	case 'L': assert_true(event_base_loop(s->base, EVLOOP_NONBLOCK) >= 0); break;
	default: fail();
	}
}

static const struct order {
	const char *steps;
	size_t requests_num;
	unsigned replies_num;
} orders[] = {
	/* as it should be */
	{ "CB", 0, 0 },
	{ "CLB", 0, 0 },
	{ "ADCB", 2, 1 },
	{ "CADB", 2, 1 },
	{ "CLALDB", 2, 1 },
	{ "FARLCB", 1, 1 },
	{ "FACRLB", 1, 1 },
	{ "FAARLACLB", 3, 3 },
	{ "FAACARLB", 3, 3 },
	{ "FARCLAB", 2, 2 },
	/* the event_base first */
	{ "BC", 0, 0 },
	{ "BAC", 1, 1 },
	{ "BDC", 1, 0 },
	{ "BCA", 1, 1 },
	{ "BCD", 1, 0 },
	{ "CBA", 1, 1 },
	{ "CBD", 1, 0 },
	{ "CLBA", 1, 1 },
	{ "CABDA", 3, 2 },
	/* with replies that wait for room; what finds none when the event_base is gone is lost */
	{ "FABRC", 1, 1 },
	{ "FABRAC", 2, 2 },
	{ "FACBRA", 2, 2 },
	{ "FABC", 1, 0 },
	{ "FACBA", 2, 0 },
	{ "FACB", 1, 0 },
	{ "BFAC", 1, 0 },
	{ "CBFA", 1, 0 },
	{ "FARLBCA", 2, 2 },
	{ "FARLCBA", 2, 2 },
	{ "FACRLBA", 2, 2 },
};

static void orders_walk(enum base_kind kind)
{
	struct service s;

	for (size_t i = 0; i < ROWS(orders); i++) {
		const struct order *o = &orders[i];
		size_t next = 0;

		service_open(&s, kind, o->requests_num);
		for (const char *c = o->steps; *c != '\0'; c++)
			step(&s, *c, &next);
		(void)fault_end();
		assert_row(next == o->requests_num, o->steps);
		assert_row(replies_num(&s, o->replies_num) == o->replies_num, o->steps);
		assert_row(!fd_is_open(s.fd) && fault_alive() == s.alive, o->steps);
		service_is_gone(&s);
	}
}

static void a_port_outlives_its_base(void **state)
{
	(void)state;
	orders_walk(PLAIN);
}

static void a_port_outlives_its_colored_base(void **state)
{
	(void)state;
	orders_walk(COLORED);
}

/* Debug mode aborts if the port uses an event that it has given up. A failed assertion ends the child, too. */
static void walk_in_debug_mode(void)
{
	enum { KEPT = 64 };
	struct event ev;
	int i;

	event_enable_debug_mode();
	/* Before what is alive is counted: the table of events, and the freed bases that debug mode keeps. */
	for (i = 0; i < KEPT; i++)
		event_base_free(event_base_new());
	event_assign(&ev, NULL, -1, 0, NULL, NULL);
	event_debug_unassign(&ev);
	orders_walk(PLAIN);
	orders_walk(COLORED);
}

static void in_debug_mode(void **state)
{
	struct child child;

	(void)state;
	/* Before this process has a base. */
	child_passes(&child, walk_in_debug_mode);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DNS_TEST(in_debug_mode),
		DNS_TEST(a_port_outlives_its_base),
		DNS_TEST(a_port_outlives_its_colored_base),
	};

	return cmocka_run_group_tests(tests, fault_init, fault_fini);
}
