/*
 * evdns between two sockets that the input speaks through. The first byte says what the rest is:
 *   a response, in whose head and question the query's are put, so that it is believed;
 *   a response as it is;
 *   a request to a responder, which answers each question with what it can.
 * What must hold: a request is told of once, with no more than it may be; an answer of the responder is
 * at most 512 bytes, and a packet that our own side reads.
 */
#include "fuzz.h"
#include "quiet.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/dns.h>
#include <event2/dns_struct.h>
#include <event2/event.h>

enum { PACKET_MAX = 65507, HEADER_LEN = 12, ANSWER_MAX = 512 };

static const char *const names[] = { "a", "www.example.com", "host.sub" };

struct scene {
	struct event_base *base;
	struct evdns_base *dns;
	struct evdns_server_port *port;
	int fd;				/* the nameserver */
	int responder_fd;
	int client_fd;			/* of the responder */
	int told;
};

static struct scene scene;

static int udp_new(struct sockaddr_in *at)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sin);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	FUZZ_CHECK(fd >= 0);
	FUZZ_CHECK(bind(fd, (struct sockaddr *)&sin, sizeof(sin)) == 0);
	FUZZ_CHECK(getsockname(fd, (struct sockaddr *)&sin, &len) == 0);
	*at = sin;
	return fd;
}

static void answer(struct evdns_server_request *req, void *arg)
{
	static const unsigned char addr[16];
	const struct evdns_server_question *question;

	(void)arg;
	for (int i = 0; i < req->nquestions; i++) {
		question = req->questions[i];
		FUZZ_CHECK(strlen(question->name) < 255);
		FUZZ_CHECK(evdns_server_request_add_a_reply(req, question->name, 1, addr, question->type) == 0);
		FUZZ_CHECK(evdns_server_request_add_cname_reply(req, question->name, question->name, 1) == 0);
	}
	FUZZ_CHECK(evdns_server_request_respond(req, 0) == 0);
}

static void scene_open(void)
{
	struct sockaddr_in at;

	fuzz_be_quiet();
	scene.base = event_base_new();
	FUZZ_CHECK(scene.base != NULL);
	scene.fd = udp_new(&at);
	scene.dns = evdns_base_new(scene.base, 0);
	FUZZ_CHECK(scene.dns != NULL);
	FUZZ_CHECK(evdns_base_nameserver_sockaddr_add(scene.dns, (struct sockaddr *)&at, sizeof(at), 0) == 0);
	evdns_base_search_add(scene.dns, "org");
	scene.responder_fd = udp_new(&at);
	scene.port = evdns_add_server_port_with_base(scene.base, scene.responder_fd, 0, answer, NULL);
	FUZZ_CHECK(scene.port != NULL);
	scene.client_fd = udp_new(&(struct sockaddr_in){ .sin_family = AF_INET });
	FUZZ_CHECK(connect(scene.client_fd, (struct sockaddr *)&at, sizeof(at)) == 0);
}

static void turn(void)
{
	(void)event_base_loop(scene.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
}

/* ---------------------------------------------------------------- the asking side */

static void told(int result, char type, int count, int ttl, void *addresses, void *arg)
{
	static volatile unsigned char sum;
	size_t len;

	scene.told++;
	FUZZ_CHECK(count >= 0 && count <= 32);
	FUZZ_CHECK((result == DNS_ERR_NONE) == (addresses != NULL));
	FUZZ_CHECK((result == DNS_ERR_NONE) == (count > 0));
	FUZZ_CHECK(ttl >= 0);
	if (addresses == NULL)
		return;
	FUZZ_CHECK(type == *(const char *)arg);
	if (type == DNS_PTR) {
		FUZZ_CHECK(count == 1 && strlen(*(char **)addresses) < 255);
		return;
	}
	len = (size_t)count * (type == DNS_IPv4_A ? 4 : 16);
	for (size_t i = 0; i < len; i++)
		sum = (unsigned char)(sum + ((unsigned char *)addresses)[i]);
}

static void told_list(int result, struct evutil_addrinfo *list, void *arg)
{
	(void)arg;
	scene.told++;
	FUZZ_CHECK((result == 0) == (list != NULL));
	evutil_freeaddrinfo(list);
}

/*
 * The query with the input's flags and counts in its head (it is a response, to one question), and what
 * else there is of the input behind it.
 */
static size_t fit(unsigned char *packet, size_t query_len, const uint8_t *data, size_t size)
{
	size_t head_len = size < 8 ? size : 8;

	if (head_len > 0)
		memcpy(packet + 2, data, head_len);
	packet[2] |= 0x80;
	packet[4] = 0;
	packet[5] = 1;
	size -= head_len;
	if (size > PACKET_MAX - query_len)
		size = PACKET_MAX - query_len;
	if (size > 0)
		memcpy(packet + query_len, data + head_len, size);
	return query_len + size;
}

/* Every query gets the packet, until nobody asks any more. */
static void feed(const uint8_t *data, size_t size, int is_fitted)
{
	static unsigned char packet[PACKET_MAX];
	struct sockaddr_in from;
	socklen_t from_len = sizeof(from);
	size_t len;
	ssize_t n;

	for (;;) {
		n = recvfrom(scene.fd, packet, sizeof(packet), 0, (struct sockaddr *)&from, &from_len);
		if (n < HEADER_LEN)
			return;
		if (is_fitted) {
			len = fit(packet, (size_t)n, data, size);
		} else {
			len = size < PACKET_MAX ? size : PACKET_MAX;
			if (len > 0)
				memcpy(packet, data, len);
		}
		(void)sendto(scene.fd, packet, len, 0, (struct sockaddr *)&from, from_len);
		turn();
		turn();
	}
}

static void ask_type(const uint8_t *data, size_t size, const char *name, const char *type,
		     int is_fitted)
{
	struct in_addr in = { .s_addr = htonl(0x7f000001) };
	struct evdns_request *req = NULL;

	scene.told = 0;
	if (*type == DNS_IPv4_A)
		req = evdns_base_resolve_ipv4(scene.dns, name, 0, told, (void *)(uintptr_t)type);
	else if (*type == DNS_IPv6_AAAA)
		req = evdns_base_resolve_ipv6(scene.dns, name, 0, told, (void *)(uintptr_t)type);
	else
		req = evdns_base_resolve_reverse(scene.dns, &in, 0, told, (void *)(uintptr_t)type);
	FUZZ_CHECK(req != NULL);
	feed(data, size, is_fitted);
	if (scene.told == 0)
		evdns_cancel_request(scene.dns, req);
	turn();
	FUZZ_CHECK(scene.told == 1);
}

static void ask_both(const uint8_t *data, size_t size, const char *name, int is_fitted)
{
	struct evdns_getaddrinfo_request *gai;

	scene.told = 0;
	gai = evdns_getaddrinfo(scene.dns, name, "80", NULL, told_list, NULL);
	FUZZ_CHECK(gai != NULL);
	feed(data, size, is_fitted);
	if (scene.told == 0)
		evdns_getaddrinfo_cancel(gai);
	turn();
	FUZZ_CHECK(scene.told == 1);
	feed(NULL, 0, 0);
}

/* For one type of address, for all there are, or for the one after the other. */
static void ask(const uint8_t *data, size_t size, unsigned what, int is_fitted)
{
	static const char types[] = { DNS_IPv4_A, DNS_IPv6_AAAA, DNS_PTR };
	const char *name = names[what % 3];

	if (what / 9 % 3 != 1)
		ask_type(data, size, name, &types[what / 3 % 3], is_fitted);
	if (what / 9 % 3 != 2)
		ask_both(data, size, name, is_fitted);
}

/* ---------------------------------------------------------------- the answering side */

static void request(const uint8_t *data, size_t size)
{
	unsigned char got[ANSWER_MAX + 1];
	ssize_t n;

	if (size > PACKET_MAX)
		size = PACKET_MAX;
	(void)send(scene.client_fd, data, size, 0);
	turn();
	turn();
	n = recv(scene.client_fd, got, sizeof(got), 0);
	if (n < 0)
		return;
	FUZZ_CHECK(n >= HEADER_LEN && n <= ANSWER_MAX);
	FUZZ_CHECK(size >= HEADER_LEN && memcmp(got, data, 2) == 0);
	FUZZ_CHECK((got[2] & 0x80) != 0);
	got[2] &= 0x7f;
	/* As a request it is one again, unless nothing was left of it. */
	(void)send(scene.client_fd, got, (size_t)n, 0);
	turn();
	turn();
	FUZZ_CHECK(recv(scene.client_fd, got, sizeof(got), 0) >= HEADER_LEN);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (scene.base == NULL)
		scene_open();
	if (size == 0)
		return 0;
	switch (data[0] % 3) {
	case 0:
		ask(data + 1, size - 1, data[0] / 3, 1);
		break;
	case 1:
		ask(data + 1, size - 1, data[0] / 3, 0);
		break;
	default:
		request(data + 1, size - 1);
		break;
	}
	return 0;
}
