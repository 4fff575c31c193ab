/*
 * A test for each vulnerability of libevent that has a CVE number. Bytes that may not be read beyond
 * their end lie before a page that nobody may read, so that this needs no sanitizer.
 */
#include "http/peer.h"

#include <limits.h>
#include <sys/mman.h>
#include <sys/un.h>

#include <arpa/inet.h>

#include <event2/dns.h>
#include <event2/dns_struct.h>
#include <event2/listener.h>
#include <event2/tag.h>
#include <event2/util.h>

enum { PAGE = 4096, TURNS = 200 };

/* ---------------------------------------------------------------- at the end of what may be read */

struct guarded {
	unsigned char *pages;
	unsigned char *bytes;		/* behind the last of them is what may not be read */
};

static void guarded_init(struct guarded *g, const void *bytes, size_t len)
{
	assert_true(len <= PAGE);
	g->pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(g->pages != MAP_FAILED);
	assert_int_equal(mprotect(g->pages + PAGE, PAGE, PROT_NONE), 0);
	g->bytes = g->pages + PAGE - len;
	memcpy(g->bytes, bytes, len);
}

static void guarded_fini(struct guarded *g)
{
	munmap(g->pages, 2 * PAGE);
}

/* ---------------------------------------------------------------- evbuffer */

/* Sizes whose sum with what is there, or with what a chunk needs besides, is too large for a number. */
static void cve_2014_6272(void **state)
{
	static const size_t sizes[] = { SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - 64, SIZE_MAX / 2 + 1, SIZE_MAX / 2 };
	struct evbuffer *buf = evbuffer_new();
	struct evbuffer_iovec vec[2];
	size_t i;

	(void)state;
	assert_int_equal(evbuffer_add(buf, "there", 5), 0);
	for (i = 0; i < ROWS(sizes); i++) {
		assert_int_equal(evbuffer_expand(buf, sizes[i]), -1);
		assert_int_equal(evbuffer_add(buf, "x", sizes[i]), -1);
		assert_int_equal(evbuffer_prepend(buf, "x", sizes[i]), -1);
		assert_true(evbuffer_reserve_space(buf, (ev_ssize_t)sizes[i], vec, 2) <= 0);
		assert_int_equal(evbuffer_get_length(buf), 5);
	}
	assert_memory_equal(evbuffer_pullup(buf, -1), "there", 5);
	evbuffer_free(buf);
}

/* A reference to a buffer without bytes, of which nothing may be left to be used later. */
static void cve_2026_63381(void **state)
{
	struct evbuffer *to = evbuffer_new(), *from = evbuffer_new(), *other = evbuffer_new();

	(void)state;
	assert_int_equal(evbuffer_add_buffer_reference(to, from), 0);
	assert_int_equal(evbuffer_add(from, "later", 5), 0);
	evbuffer_free(from);
	assert_int_equal(evbuffer_get_length(to), 0);
	assert_int_equal(evbuffer_add(to, "a", 1), 0);
	assert_int_equal(evbuffer_add_buffer_reference(to, other), 0);
	assert_int_equal(evbuffer_add(to, "b", 1), 0);
	assert_int_equal(evbuffer_prepend_buffer(other, to), 0);
	assert_memory_equal(evbuffer_pullup(other, -1), "ab", 2);
	evbuffer_free(to);
	evbuffer_free(other);
}

/* ---------------------------------------------------------------- addresses and names */

static void cve_2016_10196(void **state)
{
	struct sockaddr_storage to;
	char text[600];
	size_t i;
	int len;

	(void)state;
	for (i = 1; i < sizeof(text) - 3; i++) {
		text[0] = '[';
		memset(text + 1, i % 2 != 0 ? '1' : ':', i);
		strcpy(text + 1 + i, "]");
		len = sizeof(to);
		/* [1] and so on are no addresses either; only [::] is. */
		assert_int_equal(evutil_parse_sockaddr_port(text, (struct sockaddr *)&to, &len), i == 2 ? 0 : -1);
		memset(text, '1', i);
		strcpy(text + i, ":80");
		len = sizeof(to);
		assert_int_equal(evutil_parse_sockaddr_port(text, (struct sockaddr *)&to, &len), -1);
	}
}

static void no_answer(int result, char type, int count, int ttl, void *addresses, void *arg)
{
	(void)type;
	(void)count;
	(void)ttl;
	(void)addresses;
	assert_int_not_equal(result, DNS_ERR_NONE);
	++*(int *)arg;
}

/* The empty name, with domains to search. */
static void cve_2016_10197(void **state)
{
	struct event_base *base = event_base_new();
	struct evdns_base *dns = evdns_base_new(base, 0);
	int told = 0;

	(void)state;
	assert_int_equal(evdns_base_nameserver_ip_add(dns, "127.0.0.1:9"), 0);
	evdns_base_search_add(dns, "example");
	evdns_base_search_ndots_set(dns, 0);
	assert_null(evdns_base_resolve_ipv4(dns, "", 0, no_answer, &told));
	event_base_loop(base, EVLOOP_NONBLOCK);
	/* Who is refused at once is not told again. */
	assert_int_equal(told, 0);
	evdns_base_free(dns, 0);
	event_base_free(base);
}

/* ---------------------------------------------------------------- evdns, both sides */

/* A nameserver, or whoever answers as one, and who talks to it, by datagrams. */
struct names {
	struct event_base *base;
	struct evdns_server_port *port;
	int fd, peer;
	struct sockaddr_in addr;
	size_t extra;			/* bytes of data before the name that ends an answer */
	unsigned served;
};

static int udp_socket(struct sockaddr_in *addr)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(*addr);

	*addr = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)addr, sizeof(*addr)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)addr, &len), 0);
	return fd;
}

/* Of about `extra` bytes and one name at the end. */
static void serve_long(struct evdns_server_request *req, void *arg)
{
	static const char filler[60000];
	struct names *n = arg;
	size_t left = n->extra, len;

	n->served++;
	for (; left > 0; left -= len) {
		len = left < sizeof(filler) ? left : sizeof(filler);
		(void)evdns_server_request_add_reply(req, EVDNS_ANSWER_SECTION, "a", EVDNS_TYPE_A, 1, 1, (int)len, 0,
						     filler);
	}
	(void)evdns_server_request_add_reply(req, EVDNS_ANSWER_SECTION, "a", EVDNS_TYPE_CNAME, 1, 1, -1, 1,
					     "name.example");
	if (evdns_server_request_respond(req, 0) < 0)
		(void)evdns_server_request_drop(req);
}

static void names_init(struct names *n, evdns_request_callback_fn_type fn)
{
	struct sockaddr_in peer;

	*n = (struct names){ .base = event_base_new() };
	assert_non_null(n->base);
	n->fd = udp_socket(&n->addr);
	n->peer = udp_socket(&peer);
	n->port = evdns_add_server_port_with_base(n->base, n->fd, 0, fn, n);
	assert_non_null(n->port);
}

static void names_fini(struct names *n)
{
	evdns_close_server_port(n->port);
	event_base_free(n->base);
	close(n->fd);
	close(n->peer);
}

static void names_say(struct names *n, const void *packet, size_t len)
{
	int i;

	assert_int_equal(sendto(n->peer, packet, len, 0, (struct sockaddr *)&n->addr, sizeof(n->addr)), len);
	for (i = 0; i < 5; i++)
		event_base_loop(n->base, EVLOOP_NONBLOCK);
}

static const unsigned char question[] = "\0\1\1\0\0\1\0\0\0\0\0\0" "\1a\0" "\0\1\0\1";
enum { QUESTION_LEN = sizeof(question) - 1 };

/* Answers that end with a name a byte before, at and behind the largest size that a packet can have. */
static void cve_2026_63387(void **state)
{
	struct names n;
	unsigned char answer[PAGE];
	size_t extra;

	(void)state;
	names_init(&n, serve_long);
	for (extra = 65536 - 80; extra < 65536 + 20; extra++) {
		n.extra = extra;
		names_say(&n, question, QUESTION_LEN);
		while (recv(n.peer, answer, sizeof(answer), 0) >= 0)
			;
	}
	assert_int_equal(n.served, 100);
	n.extra = 0;
	names_say(&n, question, QUESTION_LEN);
	assert_true(recv(n.peer, answer, sizeof(answer), 0) > QUESTION_LEN);
	names_fini(&n);
}

/* Names in packets whose labels and pointers lead beyond the packet, asked of a server and told a resolver. */
static const struct {
	const char *bytes;
	size_t len;
} bad_names[] = {
	{ "\77", 1 },			/* a label that is not there */
	{ "\77xx", 3 },
	{ "\1a", 2 },			/* no end */
	{ "\300", 1 },			/* half a pointer */
	{ "\300\377", 2 },		/* behind the packet */
	{ "\377\377", 2 },
	{ "\300\014", 2 },		/* itself */
	{ "\1a\300\014", 4 },		/* a loop */
	{ "\100abc", 4 },		/* no kind of label */
	{ "\200abc", 4 },
};

static void cve_2016_10195(void **state)
{
	unsigned char packet[64], answer[PAGE];
	struct names n;
	size_t i;

	(void)state;
	names_init(&n, serve_long);
	for (i = 0; i < ROWS(bad_names); i++) {
		memcpy(packet, question, 12);
		memcpy(packet + 12, bad_names[i].bytes, bad_names[i].len);
		names_say(&n, packet, 12 + bad_names[i].len);
		memcpy(packet + 12 + bad_names[i].len, "\0\1\0\1", 4);
		names_say(&n, packet, 16 + bad_names[i].len);
	}
	assert_int_equal(n.served, 0);
	names_say(&n, question, QUESTION_LEN);
	assert_int_equal(n.served, 1);
	assert_true(recv(n.peer, answer, sizeof(answer), 0) > 0);
	names_fini(&n);
}

/* A resolver that is told such names in an answer to its question fails or waits; it reads nothing else. */
static void cve_2016_10195_of_answers(void **state)
{
	struct event_base *base = event_base_new();
	struct evdns_base *dns = evdns_base_new(base, 0);
	struct sockaddr_in addr, from;
	unsigned char packet[PAGE];
	socklen_t from_len;
	ssize_t len;
	int told = 0;
	size_t i, j;
	int fd = udp_socket(&addr);

	(void)state;
	assert_int_equal(evdns_base_nameserver_sockaddr_add(dns, (struct sockaddr *)&addr, sizeof(addr), 0), 0);
	for (i = 0; i < ROWS(bad_names); i++) {
		assert_non_null(evdns_base_resolve_ipv4(dns, "a.example", DNS_QUERY_NO_SEARCH, no_answer, &told));
		for (j = 0; j < 5; j++)
			event_base_loop(base, EVLOOP_NONBLOCK);
		from_len = sizeof(from);
		len = recvfrom(fd, packet, sizeof(packet) - 16, 0, (struct sockaddr *)&from, &from_len);
		assert_true(len > 12);
		packet[2] |= 0x80;
		packet[7] = 1;
		memcpy(packet + len, bad_names[i].bytes, bad_names[i].len);
		len += (ssize_t)bad_names[i].len;
		assert_true(sendto(fd, packet, (size_t)len, 0, (struct sockaddr *)&from, from_len) == len);
		for (j = 0; j < 5; j++)
			event_base_loop(base, EVLOOP_NONBLOCK);
	}
	evdns_base_free(dns, 1);
	for (j = 0; j < 5; j++)
		event_base_loop(base, EVLOOP_NONBLOCK);
	assert_int_equal(told, ROWS(bad_names));
	event_base_free(base);
	close(fd);
}

/* ---------------------------------------------------------------- tags */

/* Tags and lengths that go on behind the last byte. */
static void cve_2026_63383(void **state)
{
	unsigned char bytes[8];
	struct evbuffer *buf;
	struct guarded g;
	ev_uint32_t tag;
	size_t len, i;

	(void)state;
	for (len = 0; len <= sizeof(bytes); len++) {
		for (i = 0; i < 4; i++) {
			memset(bytes, i % 2 != 0 ? 0x80 : 0xff, sizeof(bytes));
			if (i >= 2 && len > 0)
				bytes[0] = 1;
			guarded_init(&g, bytes, len);
			buf = evbuffer_new();
			assert_int_equal(evbuffer_add_reference(buf, g.bytes, len, NULL, NULL), 0);
			assert_int_equal(evtag_peek(buf, &tag), i >= 2 && len > 0 ? 1 : -1);
			assert_int_equal(evtag_peek_length(buf, &tag), -1);
			assert_int_equal(evtag_payload_length(buf, &tag), -1);
			assert_int_equal(evtag_unmarshal_header(buf, &tag), -1);
			evbuffer_free(buf);
			guarded_fini(&g);
		}
	}
}

/* A payload longer than an int can say, which is there. */
static void cve_2026_63384(void **state)
{
	const size_t len = (size_t)1 << 30;
	void *block = mmap(NULL, len, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct evbuffer *buf = evbuffer_new();
	ev_uint32_t tag;
	int i;

	(void)state;
	if (sizeof(size_t) == 4)
		skip();		/* no buffer can hold so much */
	assert_true(block != MAP_FAILED);
	/* The tag 7, and the length in nibbles, the number of them first. */
	assert_int_equal(evbuffer_add(buf, "\7", 1), 0);
	evtag_encode_int(buf, UINT32_C(0x80000005));
	for (i = 0; i < 3; i++)
		assert_int_equal(evbuffer_add_reference(buf, block, len, NULL, NULL), 0);
	assert_int_equal(evtag_unmarshal_header(buf, &tag), -1);
	evbuffer_free(buf);
	munmap(block, len);
}

/* ---------------------------------------------------------------- evhttp */

static struct peer peer;

#define HEAD "POST /a HTTP/1.1\r\nHost: h\r\n"

/* What comes behind the last chunk is no header. */
static void cve_2026_63379(void **state)
{
	static const char text[] = HEAD "Transfer-Encoding: chunked\r\n\r\n"
				   "3\r\nabc\r\n0\r\nX-Secret: yes\r\nHost: i\r\n\r\n";

	(void)state;
	peer_init(&peer);
	peer_connect(&peer);
	peer_send(&peer, text, sizeof(text) - 1);
	peer_run_until(&peer, "<3>");
	assert_int_equal(peer.handled, 1);
	assert_string_equal(peer.headers, "Host=h|Transfer-Encoding=chunked|");
	peer_fini(&peer);
}

/* Two readers could differ about where these end. */
static void cve_2026_63382(void **state)
{
	static const char *const texts[] = {
		HEAD "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		HEAD "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
		HEAD "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
		HEAD "Content-Length: 3, 4\r\n\r\nabcd",
		HEAD "Content-Length: +3\r\n\r\nabc",
		HEAD "Content-Length: 0x3\r\n\r\nabc",
		HEAD "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
		HEAD "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
		HEAD "Transfer-Encoding: gzip\r\n\r\nabc",
		HEAD "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
		"POST /a HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	};
	size_t i;

	(void)state;
	peer_init(&peer);
	for (i = 0; i < ROWS(texts); i++) {
		peer_connect(&peer);
		peer_send(&peer, texts[i], strlen(texts[i]));
		peer_run_until_closed(&peer);
		assert_row(peer.handled == 0 && strstr(peer.text, "HTTP/1.1 400") == peer.text, texts[i]);
	}
	peer_fini(&peer);
}

/* No value has the end of a line in it, whether it came so or is to be sent so. */
static void cve_2026_63385(void **state)
{
	static const char *const values[] = { "a\r\nX: y", "a\nX: y", "a\rX: y", "a\r\n b", "a\n\tb", "\r\n" };
	static const char folded[] = HEAD "X: a\r\n b\r\nContent-Length: 0\r\n\r\n";
	static const char bare[] = HEAD "X: a\rY: b\r\n\r\n";
	struct evkeyvalq headers = TAILQ_HEAD_INITIALIZER(headers);
	size_t i;

	(void)state;
	for (i = 0; i < ROWS(values); i++) {
		assert_row(evhttp_add_header(&headers, "X", values[i]) == -1, values[i]);
		assert_row(evhttp_add_header(&headers, values[i], "X") == -1, values[i]);
	}
	assert_true(TAILQ_EMPTY(&headers));
	peer_init(&peer);
	peer_connect(&peer);
	peer_send(&peer, folded, sizeof(folded) - 1);
	peer_run_until(&peer, "<0>");
	assert_string_equal(peer.headers, "Host=h|X=a b|Content-Length=0|");
	peer_connect(&peer);
	peer_send(&peer, bare, sizeof(bare) - 1);
	peer_run_until_closed(&peer);
	assert_int_equal(peer.handled, 0);
	peer_fini(&peer);
}

/* A peer whose address is as long as one of AF_UNIX can be, which is longer than that of any other family. */
static void cve_2026_63388(void **state)
{
	struct sockaddr_un server = { .sun_family = AF_UNIX }, client = { .sun_family = AF_UNIX };
	static const char request[] = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n";
	struct evconnlistener *lev;
	socklen_t len = sizeof(server);

	(void)state;
	peer_init(&peer);
	/* Names that begin with NUL are in no folder. */
	server.sun_path[0] = client.sun_path[0] = '\0';
	(void)snprintf(server.sun_path + 1, sizeof(server.sun_path) - 1, "test_cve-%d", (int)getpid());
	memset(client.sun_path + 1, 'c', sizeof(client.sun_path) - 1);
	memcpy(client.sun_path + 1, &(pid_t){ getpid() }, sizeof(pid_t));
	lev = evconnlistener_new_bind(peer.base, NULL, NULL, LEV_OPT_CLOSE_ON_FREE, -1, (struct sockaddr *)&server,
				      (int)len);
	assert_non_null(lev);
	assert_non_null(evhttp_bind_listener(peer.http, lev));
	peer.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(peer.fd, (struct sockaddr *)&client, sizeof(client)), 0);
	assert_int_equal(connect(peer.fd, (struct sockaddr *)&server, len), 0);
	assert_int_equal(fcntl(peer.fd, F_SETFL, O_NONBLOCK), 0);
	peer_send(&peer, request, sizeof(request) - 1);
	peer_run_until(&peer, "<0>");
	assert_int_equal(peer.handled, 1);
	peer_fini(&peer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cve_2014_6272),
		cmocka_unit_test(cve_2016_10195),
		cmocka_unit_test(cve_2016_10195_of_answers),
		cmocka_unit_test(cve_2016_10196),
		cmocka_unit_test(cve_2016_10197),
		cmocka_unit_test(cve_2026_63379),
		cmocka_unit_test(cve_2026_63381),
		cmocka_unit_test(cve_2026_63382),
		cmocka_unit_test(cve_2026_63383),
		cmocka_unit_test(cve_2026_63384),
		cmocka_unit_test(cve_2026_63385),
		cmocka_unit_test(cve_2026_63387),
		cmocka_unit_test(cve_2026_63388),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
