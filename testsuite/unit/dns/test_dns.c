/*
 * evdns as a whole, asking a responder of its own: every allocation and every system call that it makes
 * fails once. Each request that was accepted is told of exactly once, and nothing is left.
 */
#include "table.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <strings.h>
#include <unistd.h>

#include <event2/dns.h>
#include <event2/dns_struct.h>
#include <event2/event.h>

#include "core/os/clock.h"
#include "fault.h"

struct scene {
	struct event_base *base;
	struct evdns_base *dns;
	struct evdns_server_port *port;
	int fd;
	int asked;
	int told;
	int failed; /* of those told */
};

/* So many addresses that the request needs more memory for them. */
enum { MANY = 12 };

static const unsigned char addr[MANY * 16] = { 1, 2, 3, 4, [(MANY - 1) * 16] = 5 };

static void answer(struct evdns_server_request *req, void *arg)
{
	const struct evdns_server_question *question = req->questions[0];

	(void)arg;
	if (question->type == EVDNS_TYPE_A && strncasecmp(question->name, "long.", 5) != 0)
		(void)evdns_server_request_add_a_reply(req, question->name, 1, addr, 5);
	if (question->type == EVDNS_TYPE_AAAA)
		(void)evdns_server_request_add_aaaa_reply(req, question->name, MANY, addr, 5);
	if (question->type == EVDNS_TYPE_PTR)
		(void)evdns_server_request_add_ptr_reply(req, NULL, question->name, "host.org", 5);
	assert_int_equal(evdns_server_request_respond(req, 0), 0);
}

static void told(int result, char type, int count, int ttl, void *addresses, void *arg)
{
	struct scene *s = arg;

	(void)ttl;
	assert_true((result == DNS_ERR_NONE) == (addresses != NULL));
	assert_true((result == DNS_ERR_NONE) == (count > 0));
	if (result == DNS_ERR_NONE && type == DNS_IPv6_AAAA) {
		assert_int_equal(count, MANY);
		assert_memory_equal(addresses, addr, sizeof(addr));
	} else if (result == DNS_ERR_NONE && type == DNS_IPv4_A) {
		assert_int_equal(count, 1);
		assert_memory_equal(addresses, addr, 4);
	} else if (result == DNS_ERR_NONE) {
		assert_string_equal(*(char **)addresses, "host.org");
	}
	s->told++;
	s->failed += result != DNS_ERR_NONE;
}

static void told_list(int result, struct evutil_addrinfo *list, void *arg)
{
	struct scene *s = arg;

	assert_true((result == 0) == (list != NULL));
	if (list != NULL && (list->ai_next == NULL || list->ai_next->ai_next == NULL))
		s->failed++; /* not all of them */
	evutil_freeaddrinfo(list);
	s->told++;
	s->failed += result != 0;
}

static int open_port(struct scene *s)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sin);

	s->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	if (s->fd < 0)
		return -1;
	assert_int_equal(bind(s->fd, (struct sockaddr *)&sin, sizeof(sin)), 0);
	assert_int_equal(getsockname(s->fd, (struct sockaddr *)&sin, &len), 0);
	s->port = evdns_add_server_port_with_base(s->base, s->fd, 0, answer, s);
	if (s->port == NULL)
		goto close_fd;
	if (evdns_base_nameserver_sockaddr_add(s->dns, (struct sockaddr *)&sin, len, 0) != 0)
		goto close_port;
	return 0;

close_port:
	evdns_close_server_port(s->port);
	return -1;
close_fd:
	close(s->fd);
	return -1;
}

static int open_scene(struct scene *s)
{
	s->base = event_base_new();
	if (s->base == NULL)
		return -1;
	s->dns = evdns_base_new(s->base, 0);
	if (s->dns == NULL)
		goto free_base;
	evdns_base_search_add(s->dns, "example.com");
	if (evdns_base_set_option(s->dns, "timeout", "0.01") < 0 || open_port(s) < 0)
		goto free_dns;
	return 0;

free_dns:
	evdns_base_free(s->dns, 0);
free_base:
	event_base_free(s->base);
	return -1;
}

static void close_scene(struct scene *s)
{
	evdns_close_server_port(s->port);
	evdns_base_free(s->dns, 1);
	event_base_loop(s->base, EVLOOP_NONBLOCK);
	event_base_free(s->base);
}

/* A request that was not accepted counts as one that failed. */
static void count(struct scene *s, bool is_accepted)
{
	s->asked += is_accepted;
	s->failed += !is_accepted;
}

static void ask(struct scene *s)
{
	const struct in_addr in = { .s_addr = htonl(0x01020304) };
	const struct evutil_addrinfo hints = { .ai_family = PF_UNSPEC };
	struct evdns_request *req;
	int before = s->told;

	count(s, evdns_base_resolve_ipv4(s->dns, "host", 0, told, s) != NULL);
	count(s, evdns_base_resolve_ipv6(s->dns, "host.org", 0, told, s) != NULL);
	count(s, evdns_base_resolve_reverse(s->dns, &in, 0, told, s) != NULL);
	/* At once or not: told once. */
	count(s, evdns_getaddrinfo(s->dns, "host.org", "80", &hints, told_list, s) != NULL || s->told > before);
	before = s->told;
	count(s, evdns_getaddrinfo(s->dns, NULL, "80", &hints, told_list, s) != NULL || s->told > before);
	req = evdns_base_resolve_ipv4(s->dns, "long.org", 0, told, s);
	if (req != NULL) {
		evdns_cancel_request(s->dns, req);
		s->asked++;
		s->failed--;
	}
}

/* Atomic: all workers of the base read it. */
static _Atomic(int64_t) now_ns = (int64_t)1000 * 1000 * 1000 * 1000;

static int64_t clock_now(void)
{
	return now_ns;
}

/* The time is the test's, a millisecond a turn: so no request times out because the machine is late. */
static void until_all_told(struct scene *s)
{
	while (s->told < s->asked) {
		assert_true(event_base_loop(s->base, EVLOOP_NONBLOCK) >= 0);
		now_ns += 1000 * 1000;
	}
	assert_int_equal(s->told, s->asked);
}

static int ask_all(void *arg)
{
	struct scene s = { .fd = -1 };
	int r;

	(void)arg;
	if (open_scene(&s) < 0)
		return -1;
	ask(&s);
	until_all_told(&s);
	r = s.failed == 0 ? 0 : -1;
	close_scene(&s);
	return r;
}

static void test_no_fault(void **state)
{
	(void)state;
	assert_int_equal(ask_all(NULL), 0);
}

static void test_no_memory(void **state)
{
	(void)state;
	assert_true(fault_each_alloc(ask_all, NULL, -1) > 20);
}

static void test_calls(void **state)
{
	(void)state;
	assert_true(fault_each_call_as(FAULT_socket, EMFILE, ask_all, NULL, -1) >= 2);
	assert_true(fault_each_call_as(FAULT_sendto, ENETUNREACH, ask_all, NULL, -1) >= 10);
	assert_true(fault_each_call_as(FAULT_sendto, EAGAIN, ask_all, NULL, -1) >= 10);
	assert_true(fault_each_call_as(FAULT_sendto, EINTR, ask_all, NULL, -1) >= 10);
	assert_true(fault_each_call_as(FAULT_recvfrom, EINTR, ask_all, NULL, -1) >= 10);
	assert_true(fault_each_call_as(FAULT_recvfrom, EAGAIN, ask_all, NULL, -1) >= 10);
	assert_true(fault_each_call_as(FAULT_recvfrom, ENOMEM, ask_all, NULL, -1) >= 10);
}

/* Nobody is asked or told any more, wherever a request was. */
static void test_freed(void **state)
{
	struct scene s = { .fd = -1 };

	(void)state;
	assert_int_equal(open_scene(&s), 0);
	assert_int_equal(evdns_base_set_option(s.dns, "max-inflight", "2"), 0);
	ask(&s);
	evdns_base_free(s.dns, 0);
	event_base_loop(s.base, EVLOOP_NONBLOCK);
	/* The list that needs nobody, and the one that was canceled before. */
	assert_int_equal(s.told, 2);
	evdns_close_server_port(s.port);
	event_base_loop(s.base, EVLOOP_NONBLOCK);
	event_base_free(s.base);
	assert_int_equal(fault_alive(), 0);
}

/* CVE-2016-10197: an empty name with search domains. And others that nobody can be asked for. */
static void test_no_name(void **state)
{
	static const char *const none[] = { "", ".", "a..b", ".a" };
	struct scene s = { .fd = -1 };

	(void)state;
	assert_int_equal(open_scene(&s), 0);
	for (size_t i = 0; i < ROWS(none); i++) {
		assert_null(evdns_base_resolve_ipv4(s.dns, none[i], 0, told, &s));
		assert_null(evdns_base_resolve_ipv4(s.dns, none[i], DNS_QUERY_NO_SEARCH, told, &s));
		assert_null(evdns_getaddrinfo(s.dns, none[i], "80", NULL, told_list, &s));
		assert_int_equal(s.told, i + 1);
	}
	assert_int_equal(s.failed, ROWS(none));
	close_scene(&s);
	assert_int_equal(fault_alive(), 0);
}

/* With no event_base at all there is nothing to watch a nameserver with. */
static void test_no_base_given(void **state)
{
	struct evdns_base *dns = evdns_base_new(NULL, 0);

	(void)state;
	assert_non_null(dns);
	assert_int_equal(evdns_base_nameserver_ip_add(dns, "127.0.0.1"), 2);
	evdns_base_free(dns, 0);
	assert_int_equal(fault_alive(), 0);
}

static void hold(struct evdns_server_request *req, void *arg)
{
	*(struct evdns_server_request **)arg = req;
}

static bool fd_is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* As in libevent: at once, or with the last request. */
static void a_closed_port_closes_its_socket(void **state)
{
	static const unsigned char packet[] = "\x12\x34\x01\0\0\1\0\0\0\0\0\0\3www\3org\0\0\1\0";
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct event_base *base = event_base_new();
	struct evdns_server_request *held = NULL;
	socklen_t len = sizeof(at);
	struct evdns_server_port *port;
	int fd;

	(void)state;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	port = evdns_add_server_port_with_base(base, fd, 0, hold, &held);
	assert_non_null(port);
	evdns_close_server_port(port);
	assert_false(fd_is_open(fd));

	fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	port = evdns_add_server_port_with_base(base, fd, 0, hold, &held);
	assert_int_equal(sendto(fd, packet, sizeof(packet), 0, (struct sockaddr *)&at, len), sizeof(packet));
	while (held == NULL)
		event_base_loop(base, EVLOOP_ONCE);
	evdns_close_server_port(port);
	assert_true(fd_is_open(fd));
	assert_int_equal(evdns_server_request_drop(held), 0);
	assert_false(fd_is_open(fd));
	event_base_loop(base, EVLOOP_NONBLOCK);
	event_base_free(base);
}

static int init(void **state)
{
	ec_clock_set_source(clock_now);
	return fault_init(state);
}

static int fini(void **state)
{
	ec_clock_set_source(NULL);
	return fault_fini(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_closed_port_closes_its_socket),
		cmocka_unit_test(test_no_fault),
		cmocka_unit_test(test_freed),
		cmocka_unit_test(test_no_name),
		cmocka_unit_test(test_no_base_given),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, init, fini);
}
