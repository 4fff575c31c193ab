/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/* evdns: a resolver whose nameserver is a plain socket, and a server whose client is one. */
#include "sweep.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/dns.h>
#include <event2/dns_struct.h>
#include <event2/util.h>

enum { PACKET_MAX = 512,
       HEADER = 12 };

struct resolver {
	struct evdns_base *dns;
	int server;
};

static int udp_new(struct sockaddr_in *addr)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	socklen_t len = sizeof(*addr);

	*addr = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	sweep_check(fd >= 0 && bind(fd, (struct sockaddr *)addr, sizeof(*addr)) == 0);
	sweep_check(getsockname(fd, (struct sockaddr *)addr, &len) == 0);
	return fd;
}

static void resolver_open(struct sweep *s, struct resolver *r)
{
	struct sockaddr_in addr;
	char text[32];

	sweep_base(s);
	r->server = udp_new(&addr);
	r->dns = evdns_base_new(s->base, 0);
	sweep_check(r->dns != NULL);
	snprintf(text, sizeof(text), "127.0.0.1:%d", ntohs(addr.sin_port));
	evdns_base_set_option(r->dns, "randomize-case", "0");
	sweep_check(evdns_base_nameserver_ip_add(r->dns, text) == 0);
}

static void resolver_close(struct sweep *s, struct resolver *r)
{
	evdns_base_free(r->dns, 0);
	sweep_poll(s->base);
	event_base_free(s->base);
	close(r->server);
}

/* Answer all questions that wait: one address, of the kind that was asked for; a name for PTR. */
static void answer(struct resolver *r)
{
	static const unsigned char name[] = "\3www\7example\3com", addr[16] = { 10, 1, 2, 3 };
	unsigned char p[PACKET_MAX];
	struct sockaddr_in from;
	socklen_t from_len = sizeof(from);
	ssize_t n;
	size_t data_len;

	while ((n = recvfrom(r->server, p, 256, 0, (struct sockaddr *)&from, &from_len)) > HEADER) {
		unsigned type = p[n - 3];

		data_len = type == 1 ? 4 : type == 28 ? 16 :
							sizeof(name);
		p[2] = 0x81;
		p[3] = 0x80;
		p[7] = 1;
		p[11] = 0;
		memcpy(p + n, "\xc0\x0c\0\1\0\1\0\0\0\x3c\0", 11);
		p[n + 3] = (unsigned char)type;
		p[n + 11] = (unsigned char)data_len;
		memcpy(p + n + 12, type == 12 ? name : addr, data_len);
		sendto(r->server, p, (size_t)n + 12 + data_len, 0, (struct sockaddr *)&from, from_len);
	}
}

static void on_resolved(int result, char type, int count, int ttl, void *addresses, void *arg)
{
	struct sweep *s = arg;

	(void)type;
	(void)ttl;
	(void)addresses;
	sweep_check(result == DNS_ERR_NONE && count == 1);
	s->calls++;
}

static void await(struct sweep *s, struct resolver *r, int calls)
{
	while (s->calls < calls) {
		sweep_poll(s->base);
		answer(r);
		sweep_poll(s->base);
	}
}

static void resolve_ipv4(struct sweep *s)
{
	struct resolver r;
	unsigned i;
	int calls;

	resolver_open(s, &r);
	while (sweep_next(s)) {
		calls = s->calls + (int)s->num;
		for (i = 0; i < s->num; i++)
			evdns_base_resolve_ipv4(r.dns, "www.example.com", DNS_QUERY_NO_SEARCH, on_resolved, s);
		await(s, &r, calls);
	}
	resolver_close(s, &r);
}

static void resolve_ipv6(struct sweep *s)
{
	struct resolver r;

	resolver_open(s, &r);
	while (sweep_next(s)) {
		evdns_base_resolve_ipv6(r.dns, "www.example.com", DNS_QUERY_NO_SEARCH, on_resolved, s);
		await(s, &r, s->calls + 1);
	}
	resolver_close(s, &r);
}

static void resolve_reverse(struct sweep *s)
{
	struct in6_addr addr6 = IN6ADDR_LOOPBACK_INIT;
	struct in_addr addr = { htonl(0x0a010203) };
	struct resolver r;

	resolver_open(s, &r);
	while (sweep_next(s)) {
		evdns_base_resolve_reverse(r.dns, &addr, 0, on_resolved, s);
		evdns_base_resolve_reverse_ipv6(r.dns, &addr6, 0, on_resolved, s);
		await(s, &r, s->calls + 2);
	}
	resolver_close(s, &r);
}

static void on_cancelled(int result, char type, int count, int ttl, void *addresses, void *arg)
{
	struct sweep *s = arg;

	(void)type;
	(void)count;
	(void)ttl;
	(void)addresses;
	sweep_check(result == DNS_ERR_CANCEL);
	s->calls++;
}

static void cancel(struct sweep *s)
{
	struct resolver r;
	char sink[PACKET_MAX];

	resolver_open(s, &r);
	while (sweep_next(s)) {
		struct evdns_request *req =
			evdns_base_resolve_ipv4(r.dns, "www.example.com", DNS_QUERY_NO_SEARCH, on_cancelled, s);

		evdns_cancel_request(r.dns, req);
		sweep_poll(s->base);
		while (recv(r.server, sink, sizeof(sink), 0) > 0)
			;
	}
	resolver_close(s, &r);
}

static void on_addrinfo(int result, struct evutil_addrinfo *info, void *arg)
{
	struct sweep *s = arg;

	sweep_check(result == 0);
	evutil_freeaddrinfo(info);
	s->calls++;
}

static void addrinfo_with(struct sweep *s, const char *name, int family)
{
	struct evutil_addrinfo hints = { .ai_family = family, .ai_socktype = SOCK_STREAM };
	struct resolver r;
	int calls;

	resolver_open(s, &r);
	while (sweep_next(s)) {
		calls = s->calls + 1;
		evdns_getaddrinfo(r.dns, name, "80", &hints, on_addrinfo, s);
		await(s, &r, calls);
	}
	resolver_close(s, &r);
}

static void addrinfo_numeric(struct sweep *s)
{
	addrinfo_with(s, "127.0.0.1", AF_UNSPEC);
}

static void addrinfo_name(struct sweep *s)
{
	addrinfo_with(s, "www.example.com", AF_UNSPEC);
}

static void addrinfo_ipv4(struct sweep *s)
{
	addrinfo_with(s, "www.example.com", AF_INET);
}

static void on_addrinfo_cancelled(int result, struct evutil_addrinfo *info, void *arg)
{
	struct sweep *s = arg;

	(void)info;
	sweep_check(result == EVUTIL_EAI_CANCEL);
	s->calls++;
}

static void addrinfo_cancel(struct sweep *s)
{
	struct evutil_addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM };
	struct resolver r;
	char sink[PACKET_MAX];
	int calls;

	resolver_open(s, &r);
	while (sweep_next(s)) {
		struct evdns_getaddrinfo_request *req =
			evdns_getaddrinfo(r.dns, "www.example.com", "80", &hints, on_addrinfo_cancelled, s);

		calls = s->calls;
		evdns_getaddrinfo_cancel(req);
		while (s->calls == calls)
			sweep_poll(s->base);
		while (recv(r.server, sink, sizeof(sink), 0) > 0)
			;
	}
	resolver_close(s, &r);
}

static void hosts(struct sweep *s)
{
	struct evutil_addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	char name[] = "/tmp/sweep-hosts-XXXXXX";
	struct resolver r;
	int i, fd = mkstemp(name);

	sweep_check(fd >= 0);
	for (i = 0; i < 100; i++)
		dprintf(fd, "10.0.0.%d host%d.example.com host%d\n", i, i, i);
	close(fd);
	resolver_open(s, &r);
	sweep_check(evdns_base_load_hosts(r.dns, name) == 0);
	unlink(name);
	while (sweep_next(s))
		evdns_getaddrinfo(r.dns, "host77.example.com", "80", &hints, on_addrinfo, s);
	resolver_close(s, &r);
}

static void base_new_free(struct sweep *s)
{
	sweep_base(s);
	while (sweep_next(s)) {
		struct evdns_base *dns = evdns_base_new(s->base, (int)s->num);

		if (dns != NULL)
			evdns_base_free(dns, 0);
		sweep_poll(s->base);
	}
	event_base_free(s->base);
}

static void settings(struct sweep *s)
{
	struct evdns_base *dns;
	struct in_addr loopback = { htonl(INADDR_LOOPBACK) };
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(53), .sin_addr = loopback };
	struct sockaddr_storage got;

	sweep_base(s);
	dns = evdns_base_new(s->base, 0);
	while (sweep_next(s)) {
		evdns_base_nameserver_sockaddr_add(dns, (struct sockaddr *)&addr, sizeof(addr), 0);
		evdns_base_nameserver_add(dns, 0x0200007f);
		s->calls += evdns_base_count_nameservers(dns);
		s->calls += evdns_base_get_nameserver_addr(dns, 0, (struct sockaddr *)&got, sizeof(got));
		evdns_base_search_add(dns, "example.com");
		evdns_base_search_ndots_set(dns, 1);
		evdns_base_search_clear(dns);
		evdns_base_set_option(dns, "timeout:", "5");
		evdns_base_set_option(dns, "max-inflight:", "100");
		evdns_base_clear_host_addresses(dns);
		evdns_base_clear_nameservers_and_suspend(dns);
		evdns_base_resume(dns);
		s->calls += evdns_err_to_string(DNS_ERR_NOTEXIST) != NULL;
	}
	evdns_base_free(dns, 0);
	event_base_free(s->base);
}

static void resolv_conf(struct sweep *s)
{
	char name[] = "/tmp/sweep-resolv-XXXXXX";
	int fd = mkstemp(name);

	sweep_check(fd >= 0);
	dprintf(fd, "nameserver 127.0.0.1\nnameserver 127.0.0.2\nsearch a.example b.example\noptions ndots:2\n");
	close(fd);
	sweep_base(s);
	while (sweep_next(s)) {
		struct evdns_base *dns = evdns_base_new(s->base, 0);

		sweep_check(evdns_base_resolv_conf_parse(dns, DNS_OPTIONS_ALL & ~DNS_OPTION_HOSTSFILE, name) == 0);
		evdns_base_free(dns, 0);
		sweep_poll(s->base);
	}
	unlink(name);
	event_base_free(s->base);
}

static void on_question(struct evdns_server_request *req, void *arg)
{
	static const unsigned char addr[16] = { 10, 1, 2, 3 };
	struct sweep *s = arg;
	struct sockaddr_storage from;

	s->calls += evdns_server_request_get_requesting_addr(req, (struct sockaddr *)&from, sizeof(from));
	evdns_server_request_set_flags(req, EVDNS_FLAGS_AA);
	evdns_server_request_add_a_reply(req, req->questions[0]->name, 1, addr, 60);
	if (s->num > 1) {
		evdns_server_request_add_aaaa_reply(req, req->questions[0]->name, 1, addr, 60);
		evdns_server_request_add_cname_reply(req, req->questions[0]->name, "other.example.com", 60);
		evdns_server_request_add_ptr_reply(req, NULL, "3.2.1.10.in-addr.arpa", "www.example.com", 60);
		evdns_server_request_add_reply(req, EVDNS_ADDITIONAL_SECTION, "x.example.com", EVDNS_TYPE_A,
					       EVDNS_CLASS_INET, 60, 4, 0, (const char *)addr);
	}
	evdns_server_request_respond(req, 0);
}

static void server(struct sweep *s)
{
	static const char question[] = "\x12\x34\x01\x00\0\1\0\0\0\0\0\0\3www\7example\3com\0\0\1\0\1";
	struct evdns_server_port *port;
	struct sockaddr_in addr, client_addr;
	int fd = udp_new(&addr), client = udp_new(&client_addr);
	char got[PACKET_MAX];

	sweep_base(s);
	port = evdns_add_server_port_with_base(s->base, fd, 0, on_question, s);
	sweep_check(port != NULL && connect(client, (struct sockaddr *)&addr, sizeof(addr)) == 0);
	while (sweep_next(s)) {
		sweep_check(send(client, question, sizeof(question) - 1, 0) == sizeof(question) - 1);
		do
			sweep_poll(s->base);
		while (recv(client, got, sizeof(got), 0) <= 0);
	}
	evdns_close_server_port(port);
	event_base_free(s->base);
	close(client);
}

const struct sweep_pattern sweep_dns[] = {
	{ "dns/base-new-free", base_new_free, .ops = 50 },
	{ "dns/base-new-free-nameservers", base_new_free, .ops = 30, .num = EVDNS_BASE_INITIALIZE_NAMESERVERS },
	{ "dns/resolv-conf", resolv_conf, .ops = 30, .flags = SWEEP_UNEVEN },
	{ "dns/settings", settings, .ops = 50, .flags = SWEEP_UNEVEN },
	{ "dns/resolve-ipv4", resolve_ipv4, .ops = 50, .flags = SWEEP_UNEVEN, .num = 1 },
	{ "dns/resolve-ipv4-30-at-once", resolve_ipv4, .ops = 10, .flags = SWEEP_UNEVEN, .num = 30 },
	{ "dns/resolve-ipv6", resolve_ipv6, .ops = 50, .flags = SWEEP_UNEVEN },
	{ "dns/resolve-reverse", resolve_reverse, .ops = 50, .flags = SWEEP_UNEVEN },
	{ "dns/cancel", cancel, .ops = 50, .flags = SWEEP_UNEVEN },
	{ "dns/getaddrinfo-numeric", addrinfo_numeric, .ops = 100 },
	{ "dns/getaddrinfo-name", addrinfo_name, .ops = 30, .flags = SWEEP_UNEVEN },
	{ "dns/getaddrinfo-ipv4", addrinfo_ipv4, .ops = 30, .flags = SWEEP_UNEVEN },
	{ "dns/getaddrinfo-cancel", addrinfo_cancel, .ops = 50, .flags = SWEEP_UNEVEN },
	{ "dns/getaddrinfo-hosts", hosts, .ops = 50 },
	{ "dns/server", server, .ops = 100, .num = 1 },
	{ "dns/server-all-records", server, .ops = 50, .num = 2 },
	{ NULL, NULL, 0, 0, 0, NULL },
};
