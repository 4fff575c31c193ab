/*
 * evdns_getaddrinfo: what is answered at once, what the two questions come to, hints, and
 * errors by pairs. README.md says which of stock's answers are left out.
 */
#include "dns_peer.h"

#include <netdb.h>

static struct event_base *base;
static struct evdns_base *dns;
static struct peer peer;

static void say_list(const struct evutil_addrinfo *ai)
{
	char text[64];

	for (; ai != NULL; ai = ai->ai_next) {
		const struct sockaddr_in *v4 = (void *)ai->ai_addr;
		const struct sockaddr_in6 *v6 = (void *)ai->ai_addr;
		const void *addr = ai->ai_family == AF_INET ? (const void *)&v4->sin_addr : &v6->sin6_addr;

		inet_ntop(ai->ai_family, addr, text, sizeof(text));
		say("    %s port %d, family %d, type %d, protocol %d, len %d, %s", text, ntohs(v4->sin_port),
		    ai->ai_family, ai->ai_socktype, ai->ai_protocol, (int)ai->ai_addrlen,
		    ai->ai_canonname != NULL ? ai->ai_canonname : "no name");
	}
}

static void answered(int result, struct evutil_addrinfo *res, void *arg)
{
	say("  %s: %d (%s)%s", (const char *)arg, result, evutil_gai_strerror(result), res == NULL ? ", no list" : "");
	say_list(res);
	if (res != NULL)
		evutil_freeaddrinfo(res);
	if (--answers_left == 0)
		event_base_loopbreak(base);
}

static void ask_at_once(const char *what, const char *node, const char *service, const struct evutil_addrinfo *hints)
{
	struct evdns_getaddrinfo_request *req;

	answers_left = 2;
	req = evdns_getaddrinfo(dns, node, service, hints, answered, (void *)(uintptr_t)what);
	say("  %s: %s", what, req == NULL ? "no request" : "a request");
	if (req != NULL)
		evdns_getaddrinfo_cancel(req);
	turn(base);
	turn(base);
}

static struct evutil_addrinfo hints_of(int family, int type, int protocol, int flags)
{
	return (struct evutil_addrinfo){
		.ai_family = family, .ai_socktype = type, .ai_protocol = protocol, .ai_flags = flags
	};
}

static void answer_at_once(void)
{
	static const int families[] = { PF_UNSPEC, PF_INET, PF_INET6 };
	struct evutil_addrinfo hints;

	section("at once");
	ask_at_once("nothing", NULL, NULL, NULL);
	ask_at_once("no hints", "1.2.3.4", "80", NULL);
	ask_at_once("no service", "1.2.3.4", NULL, NULL);
	ask_at_once("service by name", "1.2.3.4", "http", NULL);
	ask_at_once("unknown service", "1.2.3.4", "no-such-service", NULL);
	ask_at_once("port 0", "1.2.3.4", "0", NULL);
	ask_at_once("port too large", "1.2.3.4", "65536", NULL);
	ask_at_once("port negative", "1.2.3.4", "-1", NULL);
	for (size_t i = 0; i < 3; i++) {
		hints = hints_of(families[i], SOCK_STREAM, 0, 0);
		say(" family %d", families[i]);
		ask_at_once("v4", "1.2.3.4", "80", &hints);
		ask_at_once("v6", "::1", "80", &hints);
		ask_at_once("any", NULL, "80", &hints);
		hints.ai_flags = EVUTIL_AI_PASSIVE;
		ask_at_once("passive", NULL, "80", &hints);
		hints.ai_flags = EVUTIL_AI_NUMERICHOST;
		ask_at_once("not numeric", "www.example.com", "80", &hints);
		hints.ai_flags = EVUTIL_AI_CANONNAME;
		ask_at_once("canonical", "1.2.3.4", "80", &hints);
	}
	hints = hints_of(PF_INET, SOCK_STREAM, IPPROTO_TCP, EVUTIL_AI_NUMERICSERV);
	ask_at_once("numeric service", "1.2.3.4", "http", &hints);
	hints = hints_of(PF_INET, SOCK_DGRAM, 0, 0);
	ask_at_once("datagram", "1.2.3.4", "domain", &hints);
	hints = hints_of(PF_INET, 0, IPPROTO_UDP, 0);
	ask_at_once("udp", "1.2.3.4", "53", &hints);
	hints = hints_of(PF_INET, SOCK_STREAM, IPPROTO_UDP, 0);
	ask_at_once("stream over udp", "1.2.3.4", "53", &hints);
	hints = hints_of(PF_INET, SOCK_RAW, 0, 0);
	ask_at_once("raw", "1.2.3.4", "53", &hints);
	hints = hints_of(AF_UNIX, 0, 0, 0);
	ask_at_once("unix", "1.2.3.4", "53", &hints);
	ask_at_once("a long name", "1234567890123456789012345678901234567890123456789012345678901234.a", "53", NULL);
}

/* Of the families that the file has for the name. */
/* All families, types and protocols there are, and some there are not. */
static void ask_all_kinds(const char *node, const char *service, int flags)
{
	static const int families[] = { PF_UNSPEC, PF_INET, PF_INET6, AF_UNIX, -1 };
	static const int types[] = { 0, SOCK_STREAM, SOCK_DGRAM, SOCK_RAW };
	static const int protocols[] = { 0, IPPROTO_TCP, IPPROTO_UDP, 255 };
	struct evutil_addrinfo hints;

	say(" %s, service %s, flags %x", node != NULL ? node : "no node", service != NULL ? service : "none", flags);
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		for (size_t j = 0; j < sizeof(types) / sizeof(types[0]); j++) {
			for (size_t k = 0; k < sizeof(protocols) / sizeof(protocols[0]); k++) {
				hints = hints_of(families[i], types[j], protocols[k], flags);
				ask_at_once("hints", node, service, &hints);
			}
		}
	}
}

static void numeric(void)
{
	static const char *const nodes[] = { "1.2.3.4", "::1", "fe80::1%1", "1.2.3", "[::1]", "1.2.3.4 ", "host", "" };
	static const char *const services[] = { NULL, "", "80", "0", "65535", "-1", " 80", "0x50", "http", "nosuch" };

	section("numeric hosts");
	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++)
		ask_all_kinds(nodes[i], "80", EVUTIL_AI_NUMERICHOST);
	for (size_t i = 0; i < sizeof(services) / sizeof(services[0]); i++) {
		ask_all_kinds("1.2.3.4", services[i], 0);
		ask_all_kinds("1.2.3.4", services[i], EVUTIL_AI_NUMERICHOST);
		ask_all_kinds(NULL, services[i], EVUTIL_AI_NUMERICHOST | EVUTIL_AI_PASSIVE);
	}
	ask_all_kinds("::1", "80", EVUTIL_AI_NUMERICHOST | EVUTIL_AI_CANONNAME);
	ask_all_kinds(NULL, "80", EVUTIL_AI_ADDRCONFIG);
	ask_all_kinds(NULL, "80", EVUTIL_AI_ADDRCONFIG | EVUTIL_AI_PASSIVE);
	ask_all_kinds("1.2.3.4", "80", EVUTIL_AI_V4MAPPED | EVUTIL_AI_ALL);
}

static void ask_hosts(const char *name, bool has_v4, bool has_v6)
{
	struct evutil_addrinfo hints = hints_of(PF_UNSPEC, SOCK_STREAM, 0, EVUTIL_AI_CANONNAME);

	say(" %s", name);
	ask_at_once("any", name, "80", &hints);
	hints.ai_family = PF_INET;
	if (has_v4)
		ask_at_once("v4", name, "80", &hints);
	hints.ai_family = PF_INET6;
	if (has_v6)
		ask_at_once("v6", name, "80", &hints);
}

static void answer_from_hosts(void)
{
	static const char text[] =
		"# a comment\n"
		"\n"
		"10.0.0.1\tone.example.com one # two\n"
		"  10.0.0.2   two\n"
		"10.0.0.3 one\n"
		"fe80::1 one six\n"
		"10.0.0.4:80 port\n"
		"[::2]:80 port\n"
		"[::3] bracket\n"
		"nonsense three\n"
		"10.0.0.5\n"
		"10.0.0.6 four";
	char path[] = "/tmp/differ-hosts-XXXXXX";
	int fd = mkstemp(path);

	section("hosts");
	must(fd >= 0 && write(fd, text, sizeof(text) - 1) == sizeof(text) - 1, "write a file");
	close(fd);
	say("load: %d", evdns_base_load_hosts(dns, path));
	unlink(path);
	ask_hosts("one", true, true);
	ask_hosts("ONE.example.com", true, false);
	ask_hosts("two", true, false);
	ask_hosts("six", false, true);
	ask_hosts("port", true, true);
	ask_hosts("bracket", false, true);
	ask_hosts("three", true, true);
	ask_hosts("four", true, false);
	evdns_base_clear_host_addresses(dns);
	ask_hosts("four", true, true);
	say("load none: %d", evdns_base_load_hosts(dns, "/nonexistent/hosts"));
	ask_hosts("localhost", true, true);
	evdns_base_clear_host_addresses(dns);
	ask_hosts("localhost", true, true);
	say("load minimal: %d", evdns_base_load_hosts(dns, NULL));
	ask_hosts("LocalHost", true, true);
}

/* ---------------------------------------------------------------- asked */

enum reply {
	REPLY_OK,
	REPLY_TWO,
	REPLY_CNAME,
	REPLY_NODATA,
	REPLY_FORMAT,
	REPLY_NOTEXIST,
	REPLY_REFUSED,
	REPLY_BAD,
	REPLY_TRUNCATED,
	REPLY_NONE,
	REPLIES
};

static const char *const reply_names[] = {
	"ok",
	"two",
	"cname",
	"nodata",
	"format",
	"notexist",
	"refused",
	"bad",
	"truncated",
	"none",
};

static enum reply replies[2]; /* to the questions for A and AAAA */

static void put_address(const struct peer *asked, struct packet *p, const char *name, unsigned last)
{
	char text[32];

	snprintf(text, sizeof(text), asked->type == 1 ? "10.1.1.%u" : "fe80::%u", last);
	if (asked->type == 1)
		put_a(p, name, text, 60);
	else
		put_aaaa(p, name, text, 60);
}

static void reply(struct peer *asked)
{
	static const unsigned flags[REPLIES] = {
		[REPLY_FORMAT] = 1,
		[REPLY_NOTEXIST] = 3,
		[REPLY_REFUSED] = 5,
		[REPLY_TRUNCATED] = 0x200,
	};
	static const unsigned records_num[REPLIES] = {
		[REPLY_OK] = 1,
		[REPLY_TWO] = 2,
		[REPLY_CNAME] = 2,
		[REPLY_BAD] = 1,
	};
	enum reply what = replies[asked->type == 28];
	struct packet p;

	if (what == REPLY_NONE)
		return;
	answer_begin(asked, &p, 0x8180 | flags[what], records_num[what]);
	if (what == REPLY_CNAME) {
		put_record(&p, NULL, 5, 60, 11);
		put_name(&p, "real.name");
	}
	if (what == REPLY_OK || what == REPLY_TWO || what == REPLY_CNAME)
		put_address(asked, &p, what == REPLY_CNAME ? "real.name" : NULL, 1);
	if (what == REPLY_TWO)
		put_address(asked, &p, NULL, 2);
	answer_send(asked, &p);
}

static void ask(const char *what, enum reply v4, enum reply v6, const struct evutil_addrinfo *hints)
{
	struct evdns_getaddrinfo_request *req;

	say(" %s: %s, %s", what, reply_names[v4], reply_names[v6]);
	replies[0] = v4;
	replies[1] = v6;
	req = evdns_getaddrinfo(dns, "www.example.com", "80", hints, answered, (void *)(uintptr_t)what);
	must(req != NULL, "ask");
	await(base, 1);
}

static void answer_pairs(void)
{
	struct evutil_addrinfo hints = hints_of(PF_UNSPEC, SOCK_STREAM, 0, 0);

	section("pairs");
	evdns_base_set_option(dns, "timeout", "0.05");
	evdns_base_set_option(dns, "attempts", "1");
	evdns_base_set_option(dns, "max-timeouts", "200");
	evdns_base_set_option(dns, "getaddrinfo-allow-skew", "0.01");
	peer.is_quiet = true;
	for (int v4 = 0; v4 < REPLIES; v4++)
		for (int v6 = 0; v6 < REPLIES; v6++)
			ask("pair", (enum reply)v4, (enum reply)v6, &hints);
	hints.ai_family = PF_INET;
	for (int v4 = 0; v4 < REPLIES; v4++)
		ask("v4", (enum reply)v4, REPLY_NONE, &hints);
	hints.ai_family = PF_INET6;
	for (int v6 = 0; v6 < REPLIES; v6++)
		ask("v6", REPLY_NONE, (enum reply)v6, &hints);
	hints = hints_of(PF_UNSPEC, 0, 0, EVUTIL_AI_CANONNAME);
	ask("canonical", REPLY_CNAME, REPLY_CNAME, &hints);
	ask("canonical", REPLY_CNAME, REPLY_OK, &hints);
	ask("canonical", REPLY_OK, REPLY_CNAME, &hints);
	ask("canonical", REPLY_OK, REPLY_OK, &hints);
	ask("canonical", REPLY_CNAME, REPLY_NODATA, &hints);
	ask("no hints", REPLY_TWO, REPLY_TWO, NULL);
}

static void cancel(void)
{
	struct evdns_getaddrinfo_request *req;

	section("cancel");
	replies[0] = replies[1] = REPLY_NONE;
	answers_left = 2;
	req = evdns_getaddrinfo(dns, "www.example.com", "80", NULL, answered, (void *)(uintptr_t) "canceled");
	evdns_getaddrinfo_cancel(req);
	say("told in the call: %d", answers_left != 2);
	turn(base);
	turn(base);
	say("left: %d", answers_left);
}

/* Nameservers come and go; dns_answers says how. */
static void ignore_log(int severity, const char *msg)
{
	(void)severity;
	(void)msg;
}

int main(void)
{
	base = base_new();
	event_set_log_callback(ignore_log);
	dns = dns_new(base);
	answer_at_once();
	numeric();
	answer_from_hosts();
	peer_open(&peer, "peer", base, dns);
	peer.fn = reply;
	answer_pairs();
	cancel();

	section("free");
	replies[0] = replies[1] = REPLY_NONE;
	must(evdns_getaddrinfo(dns, "www.example.com", "80", NULL, answered, (void *)(uintptr_t) "freed") != NULL,
	     "ask");
	evdns_base_free(dns, 1);
	turn(base);
	turn(base);
	peer_close(&peer);
	event_base_free(base);
	return 0;
}
