/*
 * evdns from many colors at once, without evthread: each asks, cancels and is told on its own color, and of
 * each request exactly once. The responder is on color 0; some of its answers are given from elsewhere.
 */
#include "stress.h"

#include <netinet/in.h>

#include <event2/dns.h>
#include <event2/dns_struct.h>

enum { COLORS = 8 };

struct scene {
	struct event_base *base;
	struct evdns_base *dns;
	struct evdns_server_port *port;
	int fd;
	atomic_uint colors_left;
	atomic_uint answers;		/* of the responder */
};

/* One color's: only its callbacks touch it. */
struct asker {
	struct scene *scene;
	uint32_t color;
	unsigned left;			/* to ask */
	unsigned asked;
	unsigned told;
	unsigned canceled;
	struct evdns_getaddrinfo_request *gai;	/* of this round */
};

static void check_color(const struct asker *a)
{
	uint32_t color;

	CHECK(event_base_get_running_color(a->scene->base, &color) == 0);
	CHECK(color == a->color);
}

static void ask(struct asker *a);

static void one_told(struct asker *a)
{
	check_color(a);
	a->told++;
	CHECK(a->told <= a->asked);
	if (a->told < a->asked)
		return;
	if (a->left > 0)
		ask(a);
	else if (atomic_fetch_sub(&a->scene->colors_left, 1) == 1)
		event_base_loopbreak(a->scene->base);
}

static void told(int result, char type, int count, int ttl, void *addresses, void *arg)
{
	struct asker *a = arg;

	(void)type;
	(void)ttl;
	(void)addresses;
	CHECK(result == DNS_ERR_NONE || result == DNS_ERR_CANCEL);
	CHECK((result == DNS_ERR_NONE) == (count == 1));
	a->canceled += result == DNS_ERR_CANCEL;
	one_told(a);
}

static void told_list(int result, struct evutil_addrinfo *list, void *arg)
{
	struct asker *a = arg;

	CHECK(result == 0 || result == EVUTIL_EAI_CANCEL);
	CHECK((result == 0) == (list != NULL));
	evutil_freeaddrinfo(list);
	a->gai = NULL;
	one_told(a);
}

/* A plain one, one that is canceled at once, a list, and every third list canceled by a post, maybe too late. */
static void cancel_list(void *arg)
{
	struct asker *a = arg;

	check_color(a);
	if (a->gai != NULL)
		evdns_getaddrinfo_cancel(a->gai);
}

static void ask(struct asker *a)
{
	struct evdns_base *dns = a->scene->dns;
	struct evdns_request *req;

	a->left--;
	a->asked += 3;
	CHECK(evdns_base_resolve_ipv4(dns, "one.example.com", 0, told, a) != NULL);
	req = evdns_base_resolve_ipv6(dns, "two.example.com", 0, told, a);
	CHECK(req != NULL);
	evdns_cancel_request(dns, req);
	a->gai = evdns_getaddrinfo(dns, "three.example.com", "80", NULL, told_list, a);
	CHECK(a->gai != NULL);
	if (a->left % 3 == 0)
		CHECK(event_base_post(a->scene->base, a->color, cancel_list, a) == 0);
}

static void begin(void *arg)
{
	ask(arg);
}

/* ---------------------------------------------------------------- the responder */

static void respond(void *arg)
{
	CHECK(evdns_server_request_respond(arg, 0) == 0);
}

static void answer(struct evdns_server_request *req, void *arg)
{
	static const unsigned char addr[16] = { 1 };
	struct scene *s = arg;
	const struct evdns_server_question *question = req->questions[0];
	unsigned n = atomic_fetch_add(&s->answers, 1);

	if (question->type == EVDNS_TYPE_A)
		CHECK(evdns_server_request_add_a_reply(req, question->name, 1, addr, 5) == 0);
	else
		CHECK(evdns_server_request_add_aaaa_reply(req, question->name, 1, addr, 5) == 0);
	if (n % 2 == 0)
		respond(req);
	else
		CHECK(event_base_post(s->base, 1000 + n % COLORS, respond, req) == 0);
}

static void scene_open(struct scene *s)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sin);

	s->base = base_new(4);
	s->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	CHECK(s->fd >= 0);
	CHECK(bind(s->fd, (struct sockaddr *)&sin, sizeof(sin)) == 0);
	CHECK(getsockname(s->fd, (struct sockaddr *)&sin, &len) == 0);
	s->port = evdns_add_server_port_with_base(s->base, s->fd, 0, answer, s);
	CHECK(s->port != NULL);
	s->dns = evdns_base_new(s->base, 0);
	CHECK(s->dns != NULL);
	CHECK(evdns_base_nameserver_sockaddr_add(s->dns, (struct sockaddr *)&sin, len, 0) == 0);
	/* What the socket has no room for is lost: so few at once that it has. */
	CHECK(evdns_base_set_option(s->dns, "max-inflight", "16") == 0);
	atomic_init(&s->colors_left, COLORS);
	atomic_init(&s->answers, 0);
}

static void scene_close(struct scene *s)
{
	evdns_base_free(s->dns, 1);
	evdns_close_server_port(s->port);
	(void)event_base_loop(s->base, EVLOOP_NONBLOCK);
	close(s->fd);
	event_base_free(s->base);
}

static void test_many_colors(void **state)
{
	struct asker askers[COLORS];
	struct scene s;

	(void)state;
	scene_open(&s);
	for (uint32_t i = 0; i < COLORS; i++) {
		askers[i] = (struct asker){ .scene = &s, .color = 1 + i, .left = rounds(400) };
		CHECK(event_base_post(s.base, 1 + i, begin, &askers[i]) == 0);
	}
	assert_int_equal(event_base_dispatch(s.base), 0);
	for (uint32_t i = 0; i < COLORS; i++) {
		assert_int_equal(askers[i].told, askers[i].asked);
		assert_int_equal(askers[i].asked, 3 * rounds(400));
		/* An answer that had come, but was not told yet, is told. */
		assert_in_range(askers[i].canceled, 1, rounds(400));
	}
	scene_close(&s);
}

/* Freed by one color while others ask and are answered: nobody is told of anything but the end. */
struct ending {
	struct scene *scene;
	atomic_uint told;
};

static void told_end(int result, char type, int count, int ttl, void *addresses, void *arg)
{
	struct ending *e = arg;

	(void)type;
	(void)count;
	(void)ttl;
	(void)addresses;
	CHECK(result == DNS_ERR_NONE || result == DNS_ERR_SHUTDOWN);
	atomic_fetch_add(&e->told, 1);
}

static void ask_some(void *arg)
{
	struct ending *e = arg;

	for (int i = 0; i < 4; i++)
		CHECK(evdns_base_resolve_ipv4(e->scene->dns, "one.example.com", 0, told_end, e) != NULL);
	if (atomic_fetch_sub(&e->scene->colors_left, 1) > 1)
		return;
	/* The last to ask: answers to the others are on their way. */
	evdns_base_free(e->scene->dns, 1);
	evdns_close_server_port(e->scene->port);
}

static void test_freed_while_answered(void **state)
{
	struct ending e;
	struct scene s;

	(void)state;
	for (unsigned round = 0; round < rounds(100); round++) {
		scene_open(&s);
		e.scene = &s;
		atomic_init(&e.told, 0);
		for (uint32_t i = 0; i < COLORS; i++)
			CHECK(event_base_post(s.base, 1 + i, ask_some, &e) == 0);
		assert_int_equal(event_base_dispatch(s.base), 1);
		assert_int_equal(atomic_load(&e.told), 4 * COLORS);
		close(s.fd);
		event_base_free(s.base);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many_colors),
		cmocka_unit_test(test_freed_while_answered),
	};

	alarm(IS_SANITIZED ? 500 : 200);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
