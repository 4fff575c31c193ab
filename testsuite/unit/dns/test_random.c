/*
 * evdns as a whole, by seed: questions of all kinds, canceled in every state and from callbacks, among
 * nameservers that answer, refuse, repeat themselves, guess and are silent, that go and come, with
 * options that change, time that passes (it is the test's), no memory and no descriptors now and then.
 *
 * What is accepted is told of once, or not if it was waiting at evdns_base_free(…, 0); nothing is left.
 * DNS_SEED=n runs that seed alone; DNS_SEEDS=n runs n of them. DNS_SAY=1 tells how much happened.
 */
#include "peer.h"

#include <limits.h>

enum { SERVERS = 3,
       ASKED = 400,
       OPS = 400,
       SEEDS = 150 };

struct asked {
	struct world *world;
	struct evdns_request *req; /* NULL: it is told, or was never accepted */
	struct evdns_getaddrinfo_request *gai;
	bool is_accepted;
	int told;
};

struct world {
	uint64_t random;
	struct event_base *base;
	struct evdns_base *dns; /* NULL: freed */
	int fds[SERVERS];
	struct sockaddr_in at[SERVERS];
	struct asked asked[ASKED];
	unsigned asked_num;
	unsigned good_num; /* told an address */
	unsigned depth; /* of callbacks */
	bool is_silent; /* freed so that what waits is not told */
};

static unsigned any(struct world *w, unsigned num)
{
	w->random = w->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)((w->random >> 33) % num);
}

/* ---------------------------------------------------------------- being told */

static void act(struct world *w);

static void free_dns(struct world *w, int is_told)
{
	struct evdns_base *dns = w->dns;

	w->dns = NULL;
	w->is_silent = !is_told;
	evdns_base_free(dns, is_told);
}

static void note_told(struct asked *a, bool is_good)
{
	struct world *w = a->world;

	w->good_num += is_good;
	a->req = NULL;
	a->gai = NULL;
	assert_int_equal(++a->told, 1);
	w->depth++;
	if (w->dns != NULL && any(w, 200) == 0)
		free_dns(w, (int)any(w, 2));
	else if (w->depth < 3 && any(w, 3) == 0)
		act(w);
	w->depth--;
}

static void told_one(int result, char type, int count, int ttl, void *addresses, void *arg)
{
	(void)type;
	assert_true(ttl >= 0);
	assert_true((result == DNS_ERR_NONE) == (addresses != NULL));
	assert_true((result == DNS_ERR_NONE) == (count > 0));
	note_told(arg, result == DNS_ERR_NONE);
}

static void told_all(int result, struct evutil_addrinfo *list, void *arg)
{
	assert_true((result == 0) == (list != NULL));
	evutil_freeaddrinfo(list);
	note_told(arg, result == 0);
}

/* ---------------------------------------------------------------- asking */

static const char *const names[] = {
	"a", "host.org", "x.y.z", "localhost", "h1", "h2", "h3.net", "", "a..b",
	"12345678901234567890123456789012345678901234567890",
};

static void ask_list(struct world *w, struct asked *a, const char *name)
{
	static const int families[] = { PF_UNSPEC, PF_INET, PF_INET6, PF_UNIX };
	static const int types[] = { 0, SOCK_STREAM, SOCK_DGRAM };
	static const int flags[] = { 0, EVUTIL_AI_CANONNAME, EVUTIL_AI_NUMERICHOST, EVUTIL_AI_PASSIVE };
	static const char *const services[] = { "80", "http", NULL, "no-such-service" };
	const struct evutil_addrinfo hints = { .ai_family = families[any(w, 4)],
					       .ai_socktype = types[any(w, 3)],
					       .ai_flags = flags[any(w, 4)] };
	struct evdns_getaddrinfo_request *gai;

	/* It may be told within the call. */
	a->is_accepted = true;
	gai = evdns_getaddrinfo(w->dns, any(w, 9) == 0 ? NULL : name, services[any(w, 4)], &hints, told_all, a);
	assert_true(gai != NULL || a->told == 1);
	a->gai = a->told != 0 ? NULL : gai;
}

static void ask_one(struct world *w, struct asked *a, const char *name)
{
	const struct in_addr v4 = { .s_addr = htonl(0x01020304) };
	const struct in6_addr v6 = IN6ADDR_LOOPBACK_INIT;
	int flags = any(w, 2) ? DNS_QUERY_NO_SEARCH : 0;

	switch (any(w, 4)) {
	case 0: a->req = evdns_base_resolve_ipv4(w->dns, name, flags, told_one, a); break;
	case 1: a->req = evdns_base_resolve_ipv6(w->dns, name, flags, told_one, a); break;
	case 2: a->req = evdns_base_resolve_reverse(w->dns, &v4, flags, told_one, a); break;
	default: a->req = evdns_base_resolve_reverse_ipv6(w->dns, &v6, flags, told_one, a); break;
	}
	a->is_accepted = a->req != NULL;
}

static void op_ask(struct world *w)
{
	struct asked *a = &w->asked[w->asked_num];

	if (w->asked_num == ASKED)
		return;
	w->asked_num++;
	*a = (struct asked){ .world = w };
	if (any(w, 3) == 0)
		ask_list(w, a, names[any(w, ROWS(names))]);
	else
		ask_one(w, a, names[any(w, ROWS(names))]);
}

static void op_cancel(struct world *w)
{
	struct asked *a;

	if (w->asked_num == 0)
		return;
	a = &w->asked[any(w, w->asked_num)];
	if (a->req != NULL)
		evdns_cancel_request(any(w, 2) ? w->dns : NULL, a->req);
	else if (a->gai != NULL)
		evdns_getaddrinfo_cancel(a->gai);
}

/* ---------------------------------------------------------------- nameservers */

static void error_send(int fd, const struct query *q, unsigned rcode)
{
	unsigned char bytes[sizeof(q->bytes)];

	memcpy(bytes, q->bytes, q->len);
	bytes[2] |= 0x80;
	bytes[3] = (unsigned char)rcode;
	(void)sendto(fd, bytes, q->len, 0, (const struct sockaddr *)&q->from, sizeof(q->from));
}

static void respond(struct world *w, const struct query *q, unsigned i)
{
	unsigned num, kind = any(w, 16);

	if (kind < 8)
		answer_from(w->fds[i], q, 0, real);
	else if (kind < 9)
		answer_from(w->fds[any(w, SERVERS)], q, 0, forged); /* perhaps another's */
	else if (kind < 10)
		error_send(w->fds[i], q, any(w, 8)); /* refused, not there, … */
	else if (kind < 11)
		for (num = any(w, 40); num > 0; num--)
			answer_from(w->fds[i], q, num, forged);
	else if (kind < 12)
		for (num = 3; num > 0; num--)
			answer_from(w->fds[i], q, 0, real);
}

static void op_respond(struct world *w)
{
	struct query q;
	socklen_t len;
	ssize_t n;

	for (unsigned i = 0; i < SERVERS; i++) {
		for (;;) {
			len = sizeof(q.from);
			n = recvfrom(w->fds[i], q.bytes, sizeof(q.bytes), MSG_DONTWAIT, (struct sockaddr *)&q.from,
				     &len);
			if (n < 0)
				break;
			q.len = (size_t)n;
			respond(w, &q, i);
		}
	}
}

static void op_server(struct world *w)
{
	unsigned i = any(w, SERVERS);

	if (any(w, 8) != 0)
		(void)evdns_base_nameserver_sockaddr_add(w->dns, (struct sockaddr *)&w->at[i], sizeof(w->at[i]), 0);
	else
		(void)evdns_base_clear_nameservers_and_suspend(w->dns);
	if (any(w, 2))
		(void)evdns_base_resume(w->dns);
}

/* ---------------------------------------------------------------- all else */

static void op_option(struct world *w)
{
	static const struct {
		const char *name;
		const char *value;
	} options[] = {
		{ "timeout", "0.5" },	     { "timeout", "5" },	  { "timeout", "1e300" },
		{ "attempts", "1" },	     { "attempts", "3" },	  { "attempts", "255" },
		{ "max-inflight", "1" },     { "max-inflight", "64" },	  { "max-inflight", "65000" },
		{ "max-timeouts", "1" },     { "max-timeouts", "5" },	  { "initial-probe-timeout", "0.001" },
		{ "randomize-case", "0" },   { "randomize-case", "1" },	  { "edns-udp-size", "1232" },
		{ "edns-udp-size", "512" },  { "ndots", "0" },		  { "ndots", "3" },
		{ "so-rcvbuf", "100000" },   { "bind-to", "127.0.0.1" },  { "getaddrinfo-allow-skew", "0.1" },
		{ "attempts", "nonsense" },  { "no-such-option", "1" },
	};
	unsigned i = any(w, ROWS(options));

	(void)evdns_base_set_option(w->dns, options[i].name, options[i].value);
}

static void op_search(struct world *w)
{
	switch (any(w, 5)) {
	case 0: evdns_base_search_clear(w->dns); break;
	case 1: (void)evdns_base_load_hosts(w->dns, NULL); break;
	case 2: evdns_base_clear_host_addresses(w->dns); break;
	default: evdns_base_search_add(w->dns, names[any(w, ROWS(names))]); break;
	}
}

static void op_time(struct world *w)
{
	static const int64_t steps_ms[] = { 1, 100, 1000, 3000, 6000, 60000 };

	pass_ms(steps_ms[any(w, ROWS(steps_ms))]);
}

static void act(struct world *w)
{
	switch (w->dns == NULL ? 20 : any(w, 20)) {
	case 0:
	case 1:
	case 2:
	case 3: op_ask(w); break;
	case 4: op_cancel(w); break;
	case 5:
	case 6:
	case 7:
	case 8: op_respond(w); break;
	case 9: op_time(w); break;
	case 10: op_server(w); break;
	case 11: op_option(w); break;
	case 12: op_search(w); break;
	default:
		if (w->depth == 0)
			(void)event_base_loop(w->base, EVLOOP_NONBLOCK | EVLOOP_ONCE);
		break;
	}
}

static void act_with_fault(struct world *w)
{
	unsigned kind = any(w, 8);

	if (kind == 0)
		fault_alloc_at(1 + any(w, 4));
	else if (kind == 1)
		fault_call_always(FAULT_socket, EMFILE);
	else if (kind == 2)
		fault_call_at(FAULT_sendto, 1, ENETUNREACH);
	else if (kind == 3)
		fault_call_at(FAULT_connect, 1, ENETUNREACH);
	act(w);
	(void)fault_end();
}

static unsigned untold_num(const struct world *w)
{
	unsigned num = 0;

	for (unsigned i = 0; i < w->asked_num; i++)
		num += w->asked[i].is_accepted && w->asked[i].told == 0;
	return num;
}

/* With a nameserver there, if a silent one, and time enough every request ends by itself. */
static void settle(struct world *w)
{
	if (evdns_base_nameserver_sockaddr_add(w->dns, (struct sockaddr *)&w->at[0], sizeof(w->at[0]), 0) == 2)
		fail();
	assert_int_equal(evdns_base_set_option(w->dns, "timeout", "0.5"), 0);
	assert_int_equal(evdns_base_set_option(w->dns, "attempts", "2"), 0);
	assert_int_equal(evdns_base_resume(w->dns), 0);
	pass_ms((int64_t)INT_MAX * 1000); /* the longest deadline there is */
	for (int i = 0; i < 1000 && w->dns != NULL && untold_num(w) > 0; i++) {
		(void)event_base_loop(w->base, EVLOOP_NONBLOCK);
		pass_ms(1000);
	}
	assert_true(w->dns == NULL || untold_num(w) == 0);
}

static void world_run(uint64_t seed)
{
	static struct world w;
	int fds = fault_fds();

	memset(&w, 0, sizeof(w));
	w.random = seed * 2 + 1;
	peer_ns = (int64_t)1000 * 1000 * 1000 * 1000;
	w.base = event_base_new();
	assert_non_null(w.base);
	w.dns = evdns_base_new(w.base, any(&w, 2) ? EVDNS_BASE_DISABLE_WHEN_INACTIVE : 0);
	assert_non_null(w.dns);
	for (unsigned i = 0; i < SERVERS; i++)
		w.fds[i] = udp_new(&w.at[i]);
	for (unsigned i = 0; i < OPS; i++)
		act_with_fault(&w);
	if (w.dns != NULL) {
		w.depth = 3; /* callbacks do nothing more */
		settle(&w);
	}
	if (w.dns != NULL)
		free_dns(&w, (int)any(&w, 2));
	(void)event_base_loop(w.base, EVLOOP_NONBLOCK);
	event_base_free(w.base);
	for (unsigned i = 0; i < SERVERS; i++)
		close(w.fds[i]);
	for (unsigned i = 0; i < w.asked_num; i++) {
		assert_true(w.asked[i].told <= w.asked[i].is_accepted);
		assert_true(w.is_silent || w.asked[i].told == w.asked[i].is_accepted);
	}
	assert_int_equal(fault_alive(), 0);
	assert_int_equal(fault_fds(), fds);
	if (getenv("DNS_SAY") != NULL)
		print_message("seed %lu: asked %u, told %u well\n", (unsigned long)seed, w.asked_num, w.good_num);
}

static void quiet(int severity, const char *msg)
{
	(void)severity;
	(void)msg;
}

static void test_seeds(void **state)
{
	const char *seed = getenv("DNS_SEED"), *seeds = getenv("DNS_SEEDS");
	uint64_t num = seeds != NULL ? strtoull(seeds, NULL, 0) : SEEDS;

	(void)state;
	event_set_log_callback(quiet);
	ec_clock_set_source(peer_clock);
	for (uint64_t i = 0; seed == NULL && i < num; i++)
		world_run(i);
	if (seed != NULL)
		world_run(strtoull(seed, NULL, 0));
	ec_clock_set_source(NULL);
	event_set_log_callback(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_seeds),
	};

	return cmocka_run_group_tests(tests, fault_init, fault_fini);
}
