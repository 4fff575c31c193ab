/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/*
 * evdns alone: one program, run on stock and on ours. The other side of each socket is this
 * program too, without a library: what it costs is the same in both. BENCH_LOCKS=1 calls
 * evthread_use_pthreads() first.
 */
#include "../util.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/dns.h>
#include <event2/dns_struct.h>
#include <event2/event.h>
#include <event2/thread.h>
#include <event2/util.h>

enum { HEADER_LEN = 12, PACKET_SIZE = 512 };

static struct event_base *base;
static struct sockaddr_in peer_addr;
static int peer_fd;
static long answers_num;

static int udp_socket(struct sockaddr_in *ret)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(*ret);

	*ret = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	if (fd < 0 || bind(fd, (struct sockaddr *)ret, len) < 0 || getsockname(fd, (struct sockaddr *)ret, &len) < 0)
		bench_die("a socket for UDP: %m");
	return fd;
}

/* ---------------------------------------------------------------- asking */

static struct evdns_base *resolver(void)
{
	struct evdns_base *dns = evdns_base_new(base, 0);

	if (dns == NULL ||
	    evdns_base_nameserver_sockaddr_add(dns, (struct sockaddr *)&peer_addr, sizeof(peer_addr), 0) != 0)
		bench_die("no evdns_base");
	return dns;
}

/* The nameserver: the question comes back with one address. */
static void answer_one(void)
{
	static const unsigned char record[] = { 0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 1 };
	unsigned char data[PACKET_SIZE];
	struct sockaddr_in from;
	socklen_t from_len = sizeof(from);
	ssize_t n = recvfrom(peer_fd, data, sizeof(data) - sizeof(record), 0, (struct sockaddr *)&from, &from_len);

	if (n < HEADER_LEN)
		bench_die("no query came: %m");
	data[2] |= 0x80;
	data[7] = 1;
	memcpy(data + n, record, sizeof(record));
	if (sendto(peer_fd, data, (size_t)n + sizeof(record), 0, (struct sockaddr *)&from, from_len) < 0)
		bench_die("no answer went out: %m");
}

static void resolved(int result, char type, int count, int ttl, void *addresses, void *arg)
{
	(void)type;
	(void)ttl;
	(void)addresses;
	(void)arg;
	answers_num++;
	if (result != DNS_ERR_NONE || count != 1)
		bench_die("a query failed: %s", evdns_err_to_string(result));
}

static void query(char **args)
{
	long num = bench_number(args[0]);
	struct evdns_base *dns = resolver();

	for (long i = 0; i < num; i++) {
		if (evdns_base_resolve_ipv4(dns, "www.example.com", 0, resolved, NULL) == NULL)
			bench_die("no request");
		answer_one();
		while (answers_num <= i)
			event_base_loop(base, EVLOOP_ONCE);
	}
	evdns_base_free(dns, 0);
}

static void new_free(char **args)
{
	for (long i = bench_number(args[0]); i > 0; i--)
		evdns_base_free(evdns_base_new(base, 0), 0);
}

/* With resolv.conf and the hosts file of this machine. */
static void new_free_system(char **args)
{
	for (long i = bench_number(args[0]); i > 0; i--)
		evdns_base_free(evdns_base_new(base, EVDNS_BASE_INITIALIZE_NAMESERVERS), 0);
}

static void got_list(int result, struct evutil_addrinfo *list, void *arg)
{
	(void)arg;
	if (result != 0)
		bench_die("getaddrinfo failed: %d", result);
	evutil_freeaddrinfo(list);
	answers_num++;
}

static void numeric_of(const char *node, const struct evutil_addrinfo *hints, long num)
{
	struct evdns_base *dns = resolver();

	while (num-- > 0)
		(void)evdns_getaddrinfo(dns, node, "80", hints, got_list, NULL);
	evdns_base_free(dns, 0);
}

static void numeric(char **args)
{
	const struct evutil_addrinfo hints = { .ai_family = PF_INET, .ai_socktype = SOCK_STREAM };

	numeric_of("192.0.2.1", &hints, bench_number(args[0]));
}

static void numeric_v6(char **args)
{
	const struct evutil_addrinfo hints = { .ai_family = PF_INET6, .ai_socktype = SOCK_STREAM };

	numeric_of("2001:db8::1", &hints, bench_number(args[0]));
}

static void numeric_any(char **args)
{
	numeric_of("192.0.2.1", NULL, bench_number(args[0]));
}

/* The C library reads the address. */
static void numeric_host(char **args)
{
	const struct evutil_addrinfo hints = { .ai_flags = EVUTIL_AI_NUMERICHOST, .ai_socktype = SOCK_STREAM };

	numeric_of("192.0.2.1", &hints, bench_number(args[0]));
}

static void lookup(char **args)
{
	struct evutil_addrinfo hints = { .ai_family = PF_INET, .ai_socktype = SOCK_STREAM };
	long num = bench_number(args[0]);
	struct evdns_base *dns = resolver();

	for (long i = 0; i < num; i++) {
		if (evdns_getaddrinfo(dns, "www.example.com", "80", &hints, got_list, NULL) == NULL)
			bench_die("no request");
		answer_one();
		while (answers_num <= i)
			event_base_loop(base, EVLOOP_ONCE);
	}
	evdns_base_free(dns, 0);
}

/* ---------------------------------------------------------------- answering */

static void asked(struct evdns_server_request *req, void *arg)
{
	static const unsigned char addr[] = { 192, 0, 2, 1 };

	(void)arg;
	answers_num++;
	if (evdns_server_request_add_a_reply(req, req->questions[0]->name, 1, addr, 60) < 0 ||
	    evdns_server_request_respond(req, 0) < 0)
		bench_die("no reply");
}

static void ask_port(const struct sockaddr_in *port_addr)
{
	static const unsigned char packet[] = "\x12\x34\x01\0\0\1\0\0\0\0\0\0\3www\7example\3com\0\0\1\0";
	unsigned char data[PACKET_SIZE];
	long before = answers_num;

	if (sendto(peer_fd, packet, sizeof(packet), 0, (const struct sockaddr *)port_addr, sizeof(*port_addr)) < 0)
		bench_die("no query went out: %m");
	while (answers_num == before)
		event_base_loop(base, EVLOOP_ONCE);
	if (recv(peer_fd, data, sizeof(data), 0) < HEADER_LEN)
		bench_die("no answer came: %m");
}

static void serve(char **args)
{
	struct sockaddr_in addr;
	int fd = udp_socket(&addr);
	struct evdns_server_port *port = evdns_add_server_port_with_base(base, fd, 0, asked, NULL);

	if (port == NULL)
		bench_die("no port");
	for (long i = bench_number(args[0]); i > 0; i--)
		ask_port(&addr);
	evdns_close_server_port(port);
}

/* The port closes its socket. */
static void port_and_request(char **args)
{
	struct evdns_server_port *port;
	struct sockaddr_in addr;
	int fd;

	for (long i = bench_number(args[0]); i > 0; i--) {
		fd = udp_socket(&addr);
		port = evdns_add_server_port_with_base(base, fd, 0, asked, NULL);
		if (port == NULL)
			bench_die("no port");
		ask_port(&addr);
		evdns_close_server_port(port);
		event_base_loop(base, EVLOOP_NONBLOCK);
	}
}

static const struct bench_shape shapes[] = {
	{ "query", 1, query, "N: questions to a nameserver, one after the other" },
	{ "lookup", 1, lookup, "N: evdns_getaddrinfo that asks a nameserver" },
	{ "newfree", 1, new_free, "N: evdns_base_new and evdns_base_free" },
	{ "newfreesystem", 1, new_free_system, "N: the same with the nameservers of this machine" },
	{ "numeric", 1, numeric, "N: evdns_getaddrinfo of an IPv4 address" },
	{ "numericany", 1, numeric_any, "N: the same without hints" },
	{ "numerichost", 1, numeric_host, "N: the same with EVUTIL_AI_NUMERICHOST" },
	{ "numeric6", 1, numeric_v6, "N: evdns_getaddrinfo of an IPv6 address" },
	{ "serve", 1, serve, "N: requests to one server port" },
	{ "port", 1, port_and_request, "N: server ports with a request each" },
};

int main(int argc, char **argv)
{
	const struct bench_shape *shape;

	shape = bench_shape_of(argc, argv, shapes, sizeof(shapes) / sizeof(shapes[0]), NULL);
	if (bench_setting("BENCH_LOCKS", 0) && evthread_use_pthreads() < 0)
		bench_die("no locks");
	base = event_base_new();
	if (base == NULL)
		bench_die("no event_base");
	peer_fd = udp_socket(&peer_addr);
	shape->run(argv + 2);
	event_base_free(base);
	close(peer_fd);
	return 0;
}
