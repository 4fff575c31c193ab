/*
 * What evdns makes of a nameserver's packets: answers of every kind, malformed ones, errors; which
 * nameserver is asked when, and which names.
 */
#include "dns_peer.h"

static struct event_base *base;
static struct evdns_base *dns;
static struct peer one, two;
static bool server_is_back;

static void log_answers(int severity, const char *msg)
{
	server_is_back = server_is_back || strstr(msg, "is back up") != NULL;
	say_dns_log(severity, msg);
}

static void dns_open(const char *timeout)
{
	dns = dns_new(base);
	must(evdns_base_set_option(dns, "timeout", timeout) == 0, "set an option");
	peer_open(&one, "one", base, dns);
}

static void dns_close(void)
{
	evdns_base_free(dns, 1);
	turn(base);
	peer_close(&one);
}

/* ---------------------------------------------------------------- packets */

static void answer_a(struct peer *peer)
{
	struct packet p;

	answer_begin(peer, &p, 0x8180, 1);
	put_a(&p, NULL, "1.2.3.4", 77);
	answer_send(peer, &p);
}

static void answer_two_names(struct peer *peer)
{
	struct packet p;

	answer_begin(peer, &p, 0x8180, 2);
	put_a(&p, NULL, "1.2.3.4", 77);
	put_a(&p, "other.name", "1.2.3.5", 33);
	answer_send(peer, &p);
}

static void answer_other_type(struct peer *peer)
{
	struct packet p;

	answer_begin(peer, &p, 0x8180, 1);
	if (peer->type == 1)
		put_aaaa(&p, NULL, "::1", 77);
	else
		put_a(&p, NULL, "1.2.3.4", 77);
	answer_send(peer, &p);
}

static void answer_cname(struct peer *peer)
{
	struct packet p;

	answer_begin(peer, &p, 0x8180, 3);
	put_record(&p, NULL, 5, 20, 9);
	put_name(&p, "real.na");
	put_a(&p, "real.na", "1.2.3.4", 77);
	put_a(&p, "real.na", "1.2.3.5", 33);
	answer_send(peer, &p);
}

static void answer_packed(struct peer *peer)
{
	struct packet p;

	answer_begin(peer, &p, 0x8180, 1);
	put_record(&p, NULL, 1, 5, 8);
	put_u32(&p, 0x01020304);
	put_u32(&p, 0x01020305);
	answer_send(peer, &p);
}

static void answer_many(struct peer *peer)
{
	struct packet p;

	answer_begin(peer, &p, 0x8180, 40);
	for (int i = 0; i < 40; i++)
		put_a(&p, NULL, "1.2.3.4", 77);
	answer_send(peer, &p);
}

static void answer_odd_len(struct peer *peer)
{
	struct packet p;

	answer_begin(peer, &p, 0x8180, 1);
	put_record(&p, NULL, 1, 5, 6);
	put_u32(&p, 0x01020304);
	put_u16(&p, 0x0102);
	answer_send(peer, &p);
}

static void answer_less(struct peer *peer)
{
	struct packet p;

	answer_begin(peer, &p, 0x8180, 2);
	put_a(&p, NULL, "1.2.3.4", 77);
	answer_send(peer, &p);
}

static void answer_cut(struct peer *peer)
{
	struct packet p;

	answer_begin(peer, &p, 0x8180, 1);
	if (peer->type == 1)
		put_a(&p, NULL, "1.2.3.4", 77);
	else
		put_aaaa(&p, NULL, "::1", 77);
	p.len--;
	answer_send(peer, &p);
}

static void answer_trailing(struct peer *peer)
{
	struct packet p;

	answer_begin(peer, &p, 0x8180, 1);
	put_a(&p, NULL, "1.2.3.4", 77);
	put_u16(&p, 0x4711);
	answer_send(peer, &p);
}

static void answer_truncated(struct peer *peer)
{
	struct packet p;

	answer_begin(peer, &p, 0x8380, 1);
	put_a(&p, NULL, "1.2.3.4", 77);
	answer_send(peer, &p);
}

/* Not to this: no response, another's id. Then the right one. */
static void answer_late(struct peer *peer)
{
	struct packet p;

	answer_begin(peer, &p, 0x0180, 1);
	put_a(&p, NULL, "6.6.6.6", 77);
	answer_send(peer, &p);
	answer_begin(peer, &p, 0x8180, 1);
	p.bytes[1] ^= 1;
	put_a(&p, NULL, "6.6.6.6", 77);
	answer_send(peer, &p);
	answer_a(peer);
}

static void answer_folded(struct peer *peer)
{
	struct packet p;

	answer_begin(peer, &p, 0x8180, 1);
	for (size_t i = 12; i < p.len; i++)
		p.bytes[i] = (unsigned char)tolower(p.bytes[i]);
	put_a(&p, NULL, "1.2.3.4", 77);
	answer_send(peer, &p);
}

static void answer_error(struct peer *peer, unsigned rcode)
{
	struct packet p;

	answer_begin(peer, &p, 0x8180 | rcode, 0);
	answer_send(peer, &p);
}

static void answer_nodata(struct peer *peer)
{
	answer_error(peer, 0);
}

static void answer_format(struct peer *peer)
{
	answer_error(peer, 1);
}

static void answer_servfail(struct peer *peer)
{
	answer_error(peer, 2);
}

static void answer_notexist(struct peer *peer)
{
	answer_error(peer, 3);
}

static void answer_notimpl(struct peer *peer)
{
	answer_error(peer, 4);
}

static void answer_refused(struct peer *peer)
{
	answer_error(peer, 5);
}

static void answer_rcode_7(struct peer *peer)
{
	answer_error(peer, 7);
}

/* RFC 2308: the record's ttl is above its minimum, and below. */
static void answer_soa(struct peer *peer, unsigned rcode, unsigned ttl)
{
	struct packet p;

	answer_begin(peer, &p, 0x8580 | rcode, 0);
	p.bytes[9] = 1;
	put_record(&p, NULL, 6, ttl, 22);
	put_name(&p, "");
	put_name(&p, "");
	for (unsigned i = 0; i < 5; i++)
		put_u32(&p, i + 20);
	answer_send(peer, &p);
}

static void answer_soa_minimum(struct peer *peer)
{
	answer_soa(peer, 3, 99);
}

static void answer_soa_ttl(struct peer *peer)
{
	answer_soa(peer, 0, 9);
}

static void answer_ns(struct peer *peer)
{
	struct packet p;

	answer_begin(peer, &p, 0x8583, 0);
	p.bytes[9] = 1;
	put_record(&p, NULL, 2, 99, 4);
	put_name(&p, "ab");
	answer_send(peer, &p);
}

static void answer_ptr(struct peer *peer)
{
	struct packet p;

	answer_begin(peer, &p, 0x8180, 2);
	put_record(&p, NULL, 12, 9, 13);
	put_name(&p, "foo.bar.org");
	put_record(&p, NULL, 12, 19, 9);
	put_name(&p, "baz.org");
	answer_send(peer, &p);
}

static const struct {
	const char *name;
	void (*fn)(struct peer *peer);
} answers[] = {
	{ "address", answer_a },
	{ "two names", answer_two_names },
	{ "other type", answer_other_type },
	{ "cname", answer_cname },
	{ "addresses in one record", answer_packed },
	{ "more than are passed on", answer_many },
	{ "half an address", answer_odd_len },
	{ "fewer than promised", answer_less },
	{ "cut", answer_cut },
	{ "more than promised", answer_trailing },
	{ "truncated", answer_truncated },
	{ "others' before", answer_late },
	{ "lower case", answer_folded },
	{ "no data", answer_nodata },
	{ "format error", answer_format },
	{ "server failure", answer_servfail },
	{ "no such name", answer_notexist },
	{ "not implemented", answer_notimpl },
	{ "refused", answer_refused },
	{ "unknown error", answer_rcode_7 },
	{ "minimum of a SOA", answer_soa_minimum },
	{ "ttl of a SOA", answer_soa_ttl },
	{ "no SOA", answer_ns },
	{ "silence", NULL },
};

static void packets(void)
{
	section("packets");
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		say(" %s", answers[i].name);
		dns_open("0.05");
		one.fn = answers[i].fn;
		must(evdns_base_resolve_ipv4(dns, "www.example.com", 0, say_answer, "A") != NULL, "ask");
		await(base, 1);
		must(evdns_base_resolve_ipv6(dns, "www.example.com", 0, say_answer, "AAAA") != NULL, "ask");
		await(base, 1);
		say("  queries: %u", one.queries_num);
		dns_close();
	}
}

static void reverse(void)
{
	struct in_addr v4 = { htonl(0x01020304) };
	struct in6_addr v6;

	section("reverse");
	must(inet_pton(AF_INET6, "fe80::1:2345", &v6) == 1, "read an address");
	dns_open("0.05");
	one.fn = answer_ptr;
	evdns_base_resolve_reverse(dns, &v4, 0, say_answer, "v4");
	await(base, 1);
	evdns_base_resolve_reverse_ipv6(dns, &v6, 0, say_answer, "v6");
	await(base, 1);
	one.fn = answer_nodata;
	evdns_base_resolve_reverse(dns, &v4, DNS_QUERY_NO_SEARCH, say_answer, "v4");
	await(base, 1);
	dns_close();
}

/* ---------------------------------------------------------------- nameservers */

static void servers(const char *what, void (*fn)(struct peer *), void (*fn2)(struct peer *))
{
	say(" %s", what);
	dns_open("0.05");
	peer_open(&two, "two", base, dns);
	one.fn = fn;
	two.fn = fn2;
	evdns_base_resolve_ipv4(dns, "www.example.com", 0, say_answer, "first");
	await(base, 1);
	evdns_base_resolve_ipv4(dns, "www2.example.com", 0, say_answer, "second");
	await(base, 1);
	evdns_base_resolve_ipv4(dns, "www3.example.com", 0, say_answer, "third");
	await(base, 1);
	dns_close();
	peer_close(&two);
}

/* The first is down for good after two losses, and asked no more but by a probe. */
static void failing(void)
{
	dns_open("0.02");
	evdns_base_set_option(dns, "max-timeouts", "1");
	evdns_base_set_option(dns, "attempts", "10");
	evdns_base_set_option(dns, "initial-probe-timeout", "600");
	evdns_base_resolve_ipv4(dns, "w1.example.com", 0, say_answer, "first");
	await(base, 1);
	one.fn = answer_a;
	evdns_base_resolve_ipv4(dns, "w2.example.com", 0, say_answer, "second");
	await(base, 1);
	dns_close();
}

static void probing(void)
{
	dns_open("0.02");
	evdns_base_set_option(dns, "attempts", "1");
	evdns_base_set_option(dns, "initial-probe-timeout", "0.02");
	evdns_base_resolve_ipv4(dns, "w1.example.com", 0, say_answer, "first");
	await(base, 1);
	one.fn = answer_notexist;
	server_is_back = false;
	while (!server_is_back)
		event_base_loop(base, EVLOOP_ONCE);
	say("  queries: %u", one.queries_num);
	dns_close();
}

/* ---------------------------------------------------------------- names */

static void search(const char *name, const char *ndots, void (*fn)(struct peer *))
{
	struct evdns_request *req;

	say(" %s, ndots %s", name, ndots);
	dns_open("0.05");
	one.fn = fn;
	evdns_base_search_add(dns, "one.org");
	evdns_base_search_add(dns, ".two.org");
	evdns_base_search_add(dns, "three.org.");
	if (strcmp(ndots, "2") == 0)
		evdns_base_search_ndots_set(dns, 2);
	else
		evdns_base_set_option(dns, "ndots", ndots);
	req = evdns_base_resolve_ipv4(dns, name, 0, say_answer, "A");
	say("  asked: %d", req != NULL);
	if (req != NULL)
		await(base, 1);
	req = evdns_base_resolve_ipv4(dns, name, DNS_QUERY_NO_SEARCH, say_answer, "A without search");
	if (req != NULL)
		await(base, 1);
	evdns_base_search_clear(dns);
	req = evdns_base_resolve_ipv4(dns, name, 0, say_answer, "A after clear");
	if (req != NULL && *name != '\0')
		await(base, 1);
	dns_close();
}

static void searches(void)
{
	char label[65];

	section("search");
	search("host", "1", answer_notexist);
	search("host.", "1", answer_notexist);
	search("host.a", "1", answer_notexist);
	search("host.a", "2", answer_notexist);
	search("host.a.b", "2", answer_notexist);
	search("host", "0", answer_notexist);
	search("host", "1", answer_nodata);
	search("host", "1", answer_notimpl);
	search("host", "1", answer_servfail);
	search("host", "1", answer_a);
	search("192.168.1.1", "1", answer_notexist);
	memset(label, 'a', 64);
	label[64] = '\0';
	search(label, "1", answer_notexist);
	label[63] = '\0';
	search(label, "1", answer_a);
}

int main(void)
{
	base = base_new();
	event_set_log_callback(log_answers);
	packets();
	reverse();
	section("nameservers");
	servers("not implemented, address", answer_notimpl, answer_a);
	servers("refused, address", answer_refused, answer_a);
	servers("server failure, address", answer_servfail, answer_a);
	servers("silence, address", NULL, answer_a);
	servers("silence, silence", NULL, NULL);
	section("failing");
	failing();
	section("probing");
	probing();
	searches();
	event_base_free(base);
	return 0;
}
