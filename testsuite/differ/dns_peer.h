/*
 * A nameserver for the programs that compare evdns: a socket on the loopback, in the same loop,
 * that says each question it gets and answers with the bytes the program chose. Names are said in
 * lower case, since a resolver may spell them at random.
 */
#ifndef DNS_PEER_H
#define DNS_PEER_H

#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>

#include <event2/dns.h>
#include <event2/dns_struct.h>
#include <event2/util.h>

#include "trace.h"

struct packet {
	unsigned char bytes[4096];
	size_t len;
};

struct peer {
	const char *name;
	int fd;
	struct event *ev;
	struct event_base *base;
	struct sockaddr_in from;	/* of the last question */
	struct packet query;
	char question[512];		/* its name, in lower case */
	size_t question_len;		/* of its question section, in bytes */
	unsigned type;
	unsigned queries_num;
	bool is_quiet;			/* questions are counted, not said */
	void (*fn)(struct peer *peer);	/* NULL: no answer */
	void *arg;
};

static inline void put_bytes(struct packet *p, const void *bytes, size_t len)
{
	must(p->len + len <= sizeof(p->bytes), "fit a packet");
	memcpy(p->bytes + p->len, bytes, len);
	p->len += len;
}

static inline void put_u8(struct packet *p, unsigned n)
{
	unsigned char c = (unsigned char)n;

	put_bytes(p, &c, 1);
}

static inline void put_u16(struct packet *p, unsigned n)
{
	put_u8(p, n >> 8 & 0xff);
	put_u8(p, n & 0xff);
}

static inline void put_u32(struct packet *p, unsigned n)
{
	put_u16(p, n >> 16);
	put_u16(p, n & 0xffff);
}

/* "a.b": labels, and the empty one. */
static inline void put_name(struct packet *p, const char *name)
{
	size_t len;

	while (*name != '\0') {
		len = strcspn(name, ".");
		put_u8(p, (unsigned)len);
		put_bytes(p, name, len);
		name += len + (name[len] == '.');
	}
	put_u8(p, 0);
}

/* The head of a record; `name` NULL: a pointer to the question. Its data follow. */
static inline void put_record(struct packet *p, const char *name, unsigned type, unsigned ttl, unsigned len)
{
	if (name != NULL)
		put_name(p, name);
	else
		put_u16(p, 0xc00c);
	put_u16(p, type);
	put_u16(p, 1);
	put_u32(p, ttl);
	put_u16(p, len);
}

static inline void put_a(struct packet *p, const char *name, const char *addr, unsigned ttl)
{
	struct in_addr in;

	must(inet_pton(AF_INET, addr, &in) == 1, "read an address");
	put_record(p, name, 1, ttl, 4);
	put_bytes(p, &in, 4);
}

static inline void put_aaaa(struct packet *p, const char *name, const char *addr, unsigned ttl)
{
	struct in6_addr in;

	must(inet_pton(AF_INET6, addr, &in) == 1, "read an address");
	put_record(p, name, 28, ttl, 16);
	put_bytes(p, &in, 16);
}

/* The head of an answer and the question as it was asked. */
static inline void answer_begin(const struct peer *peer, struct packet *p, unsigned flags, unsigned answers_num)
{
	p->len = 0;
	put_bytes(p, peer->query.bytes, 2);
	put_u16(p, flags);
	put_u16(p, 1);
	put_u16(p, answers_num);
	put_u32(p, 0);
	put_bytes(p, peer->query.bytes + 12, peer->question_len);
}

static inline void answer_send(const struct peer *peer, const struct packet *p)
{
	ssize_t n = sendto(peer->fd, p->bytes, p->len, 0, (const void *)&peer->from, sizeof(peer->from));

	must(n == (ssize_t)p->len, "send an answer");
}

static inline void peer_parse(struct peer *peer)
{
	const unsigned char *at = peer->query.bytes + 12;
	size_t len, used = 0;

	while (*at != 0) {
		len = *at++;
		for (size_t i = 0; i < len; i++)
			peer->question[used++] = (char)tolower(*at++);
		peer->question[used++] = '.';
	}
	peer->question[used > 0 ? used - 1 : 0] = '\0';
	at++;
	peer->type = (unsigned)at[0] << 8 | at[1];
	peer->question_len = (size_t)(at + 4 - (peer->query.bytes + 12));
}

static inline void peer_read(evutil_socket_t fd, short what, void *arg)
{
	struct peer *peer = arg;
	socklen_t len = sizeof(peer->from);
	ssize_t n;

	(void)what;
	n = recvfrom(fd, peer->query.bytes, sizeof(peer->query.bytes), 0, (void *)&peer->from, &len);
	if (n < 12)
		return;
	peer->query.len = (size_t)n;
	peer->queries_num++;
	peer_parse(peer);
	if (!peer->is_quiet)
		say("  %s is asked: %s type %u, flags %02x%02x, records %u", peer->name, peer->question, peer->type,
		    peer->query.bytes[2], peer->query.bytes[3],
		    (unsigned)peer->query.bytes[11]);
	if (peer->fn != NULL)
		peer->fn(peer);
}

static inline int udp_new(struct sockaddr_in *at)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sin);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	must(fd >= 0, "make a socket");
	must(bind(fd, (void *)&sin, sizeof(sin)) == 0, "bind");
	must(getsockname(fd, (void *)&sin, &len) == 0, "ask for a name");
	nonblock(fd);
	*at = sin;
	return fd;
}

/* Listens, and is a nameserver of `dns` unless that is NULL. */
static inline void peer_open(struct peer *peer, const char *name, struct event_base *base, struct evdns_base *dns)
{
	struct sockaddr_in sin;

	memset(peer, 0, sizeof(*peer));
	peer->name = name;
	peer->base = base;
	peer->fd = udp_new(&sin);
	peer->ev = event_new(base, peer->fd, EV_READ | EV_PERSIST, peer_read, peer);
	must(peer->ev != NULL && event_add(peer->ev, NULL) == 0, "listen");
	if (dns != NULL)
		must(evdns_base_nameserver_sockaddr_add(dns, (void *)&sin, sizeof(sin), 0) == 0, "add a nameserver");
}

static inline void peer_close(struct peer *peer)
{
	event_free(peer->ev);
	close(peer->fd);
}

/* ---------------------------------------------------------------- the asking side */

/* Messages without the ports of nameservers. */
static inline void say_dns_log(int severity, const char *msg)
{
	const char *addr = strstr(msg, "127.0.0.1:");
	size_t before = addr != NULL ? (size_t)(addr - msg) : strlen(msg);
	const char *rest = addr != NULL ? addr + strlen("127.0.0.1:") : "";

	say("  [%d] %.*s%s%s", severity, (int)before, msg, addr != NULL ? "SERVER" : "",
	    rest + strspn(rest, "0123456789"));
}

static int answers_left;
static struct event_base *answers_base;

static inline void say_addresses(char type, int count, const void *addresses)
{
	char text[64];

	for (int i = 0; i < count; i++) {
		if (type == DNS_PTR) {
			say("    %s", *(char *const *)addresses);
			return;
		}
		inet_ntop(type == DNS_IPv4_A ? AF_INET : AF_INET6,
			  (const char *)addresses + i * (type == DNS_IPv4_A ? 4 : 16), text, sizeof(text));
		say("    %s", text);
	}
}

/* arg: the asker's name. The loop ends with the last of `answers_left`. */
static inline void say_answer(int result, char type, int count, int ttl, void *addresses, void *arg)
{
	say("  %s: result %d, type %d, count %d, ttl %d%s", (const char *)arg, result, type, count, ttl,
	    addresses == NULL ? ", no addresses" : "");
	if (addresses != NULL)
		say_addresses(type, count, addresses);
	if (--answers_left == 0)
		event_base_loopbreak(answers_base);
}

static inline void await(struct event_base *base, int answers_num)
{
	answers_left = answers_num;
	answers_base = base;
	event_base_dispatch(base);
	say("  left: %d", answers_left);
}

static inline struct evdns_base *dns_new(struct event_base *base)
{
	struct evdns_base *dns = evdns_base_new(base, 0);

	must(dns != NULL, "make an evdns_base");
	return dns;
}

#endif
