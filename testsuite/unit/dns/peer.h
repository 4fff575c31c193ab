/*
 * For tests of evdns: a nameserver that is a plain socket of the test, which reads each query and
 * answers it, or lets a forger answer who knows port and name.
 */
#ifndef DNS_PEER_H
#define DNS_PEER_H

#include "table.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/dns.h>
#include <event2/event.h>
#include <event2/util.h>

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
	s->base = event_base_new();
	assert_non_null(s->base);
	s->dns = evdns_base_new(s->base, flags);
	assert_non_null(s->dns);
	/* The forger knows the name as well. */
	assert_int_equal(evdns_base_set_option(s->dns, "randomize-case", "0"), 0);
	if (option != NULL)
		assert_int_equal(evdns_base_set_option(s->dns, option, value), 0);
	s->fd = udp_new(&s->at);
	assert_int_equal(evdns_base_nameserver_sockaddr_add(s->dns, (struct sockaddr *)&s->at, sizeof(s->at), 0), 0);
}

static inline void scene_open(struct scene *s)
{
	scene_open_with(s, 0, NULL, NULL);
}

static inline void scene_close(struct scene *s)
{
	evdns_base_free(s->dns, 0);
	event_base_free(s->base);
	close(s->fd);
	assert_int_equal(fault_alive(), 0);
}

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

/* From `fd` to where the query came from. */
static inline void answer_from(int fd, const struct query *q, unsigned id_xor, const unsigned char addr[4])
{
	static const unsigned char head[12] = { 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 5, 0, 4 };
	unsigned char bytes[sizeof(q->bytes) + 16];

	memcpy(bytes, q->bytes, q->len);
	bytes[0] ^= (unsigned char)(id_xor >> 8);
	bytes[1] ^= (unsigned char)id_xor;
	bytes[2] |= 0x80;
	bytes[7] = 1;
	memcpy(bytes + q->len, head, sizeof(head));
	memcpy(bytes + q->len + sizeof(head), addr, 4);
	/* A closed port may tell of itself, and a test may make calls fail: what is sent is lost then. */
	if (sendto(fd, bytes, q->len + 16, 0, (const struct sockaddr *)&q->from, sizeof(q->from)) < 0)
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

#endif
