/*
 * For tests of evdns: a nameserver that is a plain socket of the test. The test reads each query and
 * answers it, or lets a forger answer that knows the port and the name.
 *
 * The clock is the test's: no request times out unless the test lets time pass, however late the machine is.
 */
#ifndef DNS_PEER_H
#define DNS_PEER_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sendmmsg */
#endif

#include "table.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/dns.h>
#include <event2/event.h>
#include <event2/util.h>

#include "core/os/clock.h"
#include "fault.h"

struct query {
	unsigned char bytes[512];
	size_t len;
	struct sockaddr_in from;
};

struct scene {
	struct event_base *base;
	struct evdns_base *dns;
	int fd;
	struct sockaddr_in at;
	int told;
	int good; /* of those told: with the nameserver's own address, not the forger's */
	int result; /* of the one told last */
};

/* ---------------------------------------------------------------- time */

/* Atomic: all workers of the base read it. */
static _Atomic(int64_t) peer_ns = (int64_t)1000 * 1000 * 1000 * 1000;

static inline int64_t peer_clock(void)
{
	return peer_ns;
}

static inline void pass_ms(int64_t ms)
{
	peer_ns += ms * 1000 * 1000;
}

/* ---------------------------------------------------------------- scenes */

/* What a test that failed has left open, and what earlier ones have left allocated. */
static struct scene opened;
static long alive_before;

static const unsigned char real[4] = { 1, 2, 3, 4 }, forged[4] = { 6, 6, 6, 6 };

static inline int udp_new(struct sockaddr_in *at)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sin);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&sin, sizeof(sin)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&sin, &len), 0);
	*at = sin;
	return fd;
}

static inline void told(int result, char type, int count, int ttl, void *addresses, void *arg)
{
	struct scene *s = arg;

	(void)type;
	(void)ttl;
	s->told++;
	s->result = result;
	s->good += result == DNS_ERR_NONE && count == 1 && memcmp(addresses, real, 4) == 0;
}

static inline void told_list(int result, struct evutil_addrinfo *list, void *arg)
{
	struct scene *s = arg;

	s->told++;
	s->result = result;
	s->good += result == 0 && memcmp(&((struct sockaddr_in *)list->ai_addr)->sin_addr, real, 4) == 0;
	evutil_freeaddrinfo(list);
}

static inline void scene_open_with(struct scene *s, int flags, const char *option, const char *value)
{
	memset(s, 0, sizeof(*s));
	alive_before = fault_alive();
	ec_clock_set_source(peer_clock);
	s->fd = udp_new(&s->at);
	s->base = event_base_new();
	s->dns = evdns_base_new(s->base, flags);
	opened = *s;
	assert_non_null(s->dns);
	/* The forger knows the name as well. */
	assert_int_equal(evdns_base_set_option(s->dns, "randomize-case", "0"), 0);
	if (option != NULL)
		assert_int_equal(evdns_base_set_option(s->dns, option, value), 0);
	assert_int_equal(evdns_base_nameserver_sockaddr_add(s->dns, (struct sockaddr *)&s->at, sizeof(s->at), 0), 0);
}

static inline void scene_open(struct scene *s)
{
	scene_open_with(s, 0, NULL, NULL);
}

/* Calls nothing of the test's: `s` of a test that failed is gone. */
static inline void scene_free(void)
{
	if (opened.dns != NULL)
		evdns_base_free(opened.dns, 0);
	if (opened.base != NULL) {
		event_base_free(opened.base);
		close(opened.fd);
	}
	memset(&opened, 0, sizeof(opened));
	ec_clock_set_source(NULL);
}

static inline void scene_close(struct scene *s)
{
	(void)s;
	scene_free();
	assert_int_equal(fault_alive(), alive_before);
}

/* A test that failed must not make the next ones fail. */
static inline int scene_clean(void **state)
{
	(void)state;
	(void)fault_end();
	scene_free();
	return 0;
}

#define DNS_TEST(fn) cmocka_unit_test_teardown(fn, scene_clean)

/* ---------------------------------------------------------------- questions and answers */

static inline struct evdns_request *ask(struct scene *s)
{
	struct evdns_request *req = evdns_base_resolve_ipv4(s->dns, "host.org", DNS_QUERY_NO_SEARCH, told, s);

	assert_non_null(req);
	return req;
}

/* Waits for it: a query that does not come is the test's timeout. */
static inline void query_read(struct scene *s, struct query *q)
{
	socklen_t len = sizeof(q->from);
	ssize_t n = recvfrom(s->fd, q->bytes, sizeof(q->bytes), 0, (struct sockaddr *)&q->from, &len);

	assert_true(n > 12);
	q->len = (size_t)n;
}

static inline unsigned queries_left(const struct scene *s)
{
	unsigned char byte;

	return recv(s->fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) >= 0;
}

enum { ANSWER_LEN = 16 };

/* The packet, which `bytes` has room for; its length. */
static inline size_t answer_make(unsigned char *bytes, const struct query *q, unsigned id_xor,
				 const unsigned char addr[4])
{
	static const unsigned char head[12] = { 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 5, 0, 4 };

	memcpy(bytes, q->bytes, q->len);
	bytes[0] ^= (unsigned char)(id_xor >> 8);
	bytes[1] ^= (unsigned char)id_xor;
	bytes[2] |= 0x80;
	bytes[7] = 1;
	memcpy(bytes + q->len, head, sizeof(head));
	memcpy(bytes + q->len + sizeof(head), addr, 4);
	return q->len + ANSWER_LEN;
}

/* From `fd` to where the query came from. */
static inline void answer_from(int fd, const struct query *q, unsigned id_xor, const unsigned char addr[4])
{
	unsigned char bytes[sizeof(q->bytes) + ANSWER_LEN];
	size_t len = answer_make(bytes, q, id_xor, addr);

	/* A closed port may tell of itself, and a test may make calls fail: what is sent is lost then. */
	if (sendto(fd, bytes, len, 0, (const struct sockaddr *)&q->from, sizeof(q->from)) < 0)
		assert_true(errno == ECONNREFUSED || errno == ENETUNREACH);
}

static inline void answer(const struct scene *s, const struct query *q)
{
	answer_from(s->fd, q, 0, real);
}

static inline void turn(struct scene *s)
{
	(void)event_base_loop(s->base, EVLOOP_NONBLOCK);
}

static inline void until_told(struct scene *s, int num)
{
	while (s->told < num)
		assert_true(event_base_loop(s->base, EVLOOP_ONCE) >= 0);
}

static inline void until_asked(struct scene *s)
{
	while (!queries_left(s))
		assert_true(event_base_loop(s->base, EVLOOP_ONCE) >= 0);
}

/* Lets time pass, a millisecond a turn, until all that there was to wait for is over. */
static inline void until_told_in_time(struct scene *s, int num, int ms_max)
{
	for (int ms = 0; s->told < num; ms++) {
		assert_true(ms < ms_max);
		pass_ms(1);
		turn(s);
	}
}

#endif
