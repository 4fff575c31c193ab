/*
 * The calls that set an evdns_base up, and what they return: nameservers, options, files, errors; suspending
 * and canceling; and the calls of libevent 1.4.
 */
#include "dns_peer.h"

#include <event2/dns_compat.h>
#include <event2/event_compat.h>

static struct event_base *base;
static struct evdns_base *dns;

static void say_servers(void)
{
	struct sockaddr_storage ss;
	const struct sockaddr_in *v4 = (void *)&ss;
	const struct sockaddr_in6 *v6 = (void *)&ss;
	char text[64];
	int len;

	say("  nameservers: %d", evdns_base_count_nameservers(dns));
	for (int i = 0;; i++) {
		len = evdns_base_get_nameserver_addr(dns, i, (void *)&ss, sizeof(ss));
		if (len < 0)
			break;
		inet_ntop(ss.ss_family, ss.ss_family == AF_INET ? (const void *)&v4->sin_addr : &v6->sin6_addr, text,
			  sizeof(text));
		say("    %s port %d, %d bytes", text, ntohs(v4->sin_port), len);
	}
}

static void nameservers(void)
{
	struct sockaddr_in sin = {
		.sin_family = AF_INET, .sin_port = htons(53), .sin_addr = { htonl(INADDR_LOOPBACK) }
	};
	static const char *const texts[] = {
		"127.0.0.1",
		"127.0.0.1:54",
		"[::1]:99",
		"::1",
		"[::2]",
		"foo",
		"",
		"1.2.3",
		"127.0.0.1:0",
		"127.0.0.1:99999",
	};

	section("nameservers");
	dns = dns_new(base);
	say("add: %d", evdns_base_nameserver_add(dns, sin.sin_addr.s_addr));
	say("again: %d", evdns_base_nameserver_sockaddr_add(dns, (void *)&sin, sizeof(sin), 0));
	sin.sin_port = htons(5353);
	say("other port: %d", evdns_base_nameserver_sockaddr_add(dns, (void *)&sin, sizeof(sin), 0));
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		say("\"%s\": %d", texts[i], evdns_base_nameserver_ip_add(dns, texts[i]));
	say_servers();
	say("too far: %d", evdns_base_get_nameserver_addr(dns, 100, (void *)&sin, sizeof(sin)));
	say("too short: %d", evdns_base_get_nameserver_addr(dns, 0, (void *)&sin, 3));
	say("clear: %d", evdns_base_clear_nameservers_and_suspend(dns));
	say_servers();
	say("resume: %d", evdns_base_resume(dns));
	evdns_base_free(dns, 0);
}

static void options(void)
{
	static const char *const names[] = {
		"ndots",
		"timeout",
		"getaddrinfo-allow-skew",
		"initial-probe-timeout",
		"max-timeouts",
		"max-inflight",
		"attempts",
		"so-rcvbuf",
		"so-sndbuf",
		"randomize-case",
		"bind-to",
		"no-such-option",
		"",
	};
	static const char *const values[] = {
		"0",
		"1",
		"-1",
		"300",
		"100000",
		"99999999999",
		"foo",
		"3.14",
		"0.001",
		"0.0001",
		"-0.5",
		"3600.5",
		"",
		"1x",
		"8.8.8.8",
		"8.8.8.8:80",
		"3::4",
	};
	char name[64];

	section("options");
	dns = dns_new(base);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		for (size_t j = 0; j < sizeof(values) / sizeof(values[0]); j++) {
			snprintf(name, sizeof(name), "%s:", names[i]);
			say("%s \"%s\": %d, %d", names[i], values[j], evdns_base_set_option(dns, names[i], values[j]),
			    evdns_base_set_option(dns, name, values[j]));
		}
	}
	evdns_base_free(dns, 0);
}

/* ---------------------------------------------------------------- files */

static int parse(const char *text, int flags)
{
	char path[] = "/tmp/differ-conf-XXXXXX";
	size_t len = strlen(text);
	int fd = mkstemp(path), r;

	must(fd >= 0 && write(fd, text, len) == (ssize_t)len, "write a file");
	close(fd);
	r = evdns_base_resolv_conf_parse(dns, flags, path);
	unlink(path);
	return r;
}

static void conf(const char *what, const char *text, int flags)
{
	struct peer peer;

	say(" %s", what);
	dns = dns_new(base);
	say("  parse: %d", parse(text, flags));
	say_servers();
	/* What was set shows in the names that are asked for. */
	evdns_base_clear_nameservers_and_suspend(dns);
	evdns_base_set_option(dns, "timeout", "0.02");
	peer_open(&peer, "peer", base, dns);
	evdns_base_resolve_ipv4(dns, "host.sub", 0, say_answer, "A");
	await(base, 1);
	evdns_base_free(dns, 0);
	peer_close(&peer);
}

static void files(void)
{
	static const char text[] =
		"# a comment\n"
		"; another\n"
		"nameserver 10.0.0.1\n"
		" nameserver\t10.0.0.2 10.0.0.3\n"
		"nameserver\n"
		"nameserver nonsense\n"
		"nameserver ::1\n"
		"nameserver [::2]:54\n"
		"search one.org two.org\n"
		"options ndots:2 attempts:2 rotate timeout:1\n"
		"options attempts:nonsense\n"
		"unknown line\n";

	section("resolv.conf");
	conf("all", text, DNS_OPTION_SEARCH | DNS_OPTION_NAMESERVERS | DNS_OPTION_MISC);
	conf("nameservers", text, DNS_OPTION_NAMESERVERS);
	conf("search", text, DNS_OPTION_SEARCH);
	conf("options", text, DNS_OPTION_MISC);
	conf("nothing", text, 0);
	conf("domain", "domain one.org\noptions ndots:3\n", DNS_OPTION_SEARCH);
	conf("search twice", "search one.org\nsearch two.org\noptions ndots:3", DNS_OPTION_SEARCH);
	conf("no server", "options attempts:1\n", DNS_OPTION_NAMESERVERS | DNS_OPTION_MISC);
	conf("no default", "options attempts:1\n",
	     DNS_OPTION_NAMESERVERS | DNS_OPTION_MISC | DNS_OPTION_NAMESERVERS_NO_DEFAULT);
	conf("empty", "", DNS_OPTION_NAMESERVERS);

	dns = dns_new(base);
	say("no file: %d", evdns_base_resolv_conf_parse(dns, DNS_OPTIONS_ALL, "/nonexistent/resolv.conf"));
	say_servers();
	say("no name: %d", evdns_base_resolv_conf_parse(dns, DNS_OPTION_MISC, NULL));
	say("a folder: %d", evdns_base_resolv_conf_parse(dns, DNS_OPTION_MISC, "/tmp"));
	evdns_base_free(dns, 0);
}

/* ---------------------------------------------------------------- requests */

static void answer_a(struct peer *peer)
{
	struct packet p;

	answer_begin(peer, &p, 0x8180, 1);
	put_a(&p, NULL, "1.2.3.4", 77);
	answer_send(peer, &p);
}

static void suspending(void)
{
	struct evdns_request *req;
	struct sockaddr_in sin;
	socklen_t len = sizeof(sin);
	struct peer peer;

	section("suspending");
	dns = dns_new(base);
	say("asked with no nameserver: %d", evdns_base_resolve_ipv4(dns, "early.org", 0, say_answer, "early") != NULL);
	peer_open(&peer, "peer", base, dns);
	turn(base);
	evdns_base_resume(dns);
	turn(base);
	evdns_base_clear_nameservers_and_suspend(dns);
	must(getsockname(peer.fd, (void *)&sin, &len) == 0, "ask for a name");
	evdns_base_nameserver_sockaddr_add(dns, (void *)&sin, len, 0);
	turn(base);
	peer.fn = answer_a;
	evdns_base_resume(dns);
	await(base, 1);

	section("canceling");
	peer.fn = NULL;
	answers_left = 100;
	req = evdns_base_resolve_ipv4(dns, "canceled.org", 0, say_answer, "canceled");
	evdns_cancel_request(dns, req);
	say("in the call: %d", answers_left != 100);
	turn(base);
	turn(base);
	req = evdns_base_resolve_ipv4(dns, "canceled.org", 0, say_answer, "canceled without a base");
	evdns_cancel_request(NULL, req);
	turn(base);
	turn(base);

	section("in flight");
	evdns_base_set_option(dns, "max-inflight", "1");
	peer.fn = answer_a;
	evdns_base_resolve_ipv4(dns, "one.org", 0, say_answer, "one");
	req = evdns_base_resolve_ipv4(dns, "two.org", 0, say_answer, "two");
	evdns_base_resolve_ipv4(dns, "three.org", 0, say_answer, "three");
	evdns_cancel_request(dns, req);
	await(base, 3);

	section("freeing");
	peer.fn = NULL;
	evdns_base_resolve_ipv4(dns, "one.org", 0, say_answer, "one");
	evdns_base_free(dns, 1);
	turn(base);
	dns = dns_new(base);
	evdns_base_resolve_ipv4(dns, "one.org", 0, say_answer, "nobody");
	evdns_base_free(dns, 0);
	turn(base);
	peer_close(&peer);
}

/* A loop with no question out ends. */
static void inactive(void)
{
	struct peer peer;

	section("inactive");
	dns = evdns_base_new(base, EVDNS_BASE_DISABLE_WHEN_INACTIVE);
	must(dns != NULL, "make an evdns_base");
	peer_open(&peer, "peer", base, dns);
	event_del(peer.ev);
	say("loop: %d", event_base_dispatch(base));
	event_add(peer.ev, NULL);
	peer.fn = answer_a;
	evdns_base_resolve_ipv4(dns, "one.org", 0, say_answer, "one");
	await(base, 1);
	event_del(peer.ev);
	say("loop: %d", event_base_dispatch(base));
	evdns_base_free(dns, 0);
	peer_close(&peer);
}

/* ---------------------------------------------------------------- libevent 1.4 */

static void say_message(int is_warning, const char *msg)
{
	if (is_warning)
		say("  warning: %s", msg);
}

static void old_calls(void)
{
	struct in_addr v4 = { htonl(INADDR_LOOPBACK) };
	struct in6_addr v6 = IN6ADDR_LOOPBACK_INIT;
	struct sockaddr_in sin;
	socklen_t len = sizeof(sin);
	struct peer peer;

	section("old calls");
	say("global: %d", evdns_get_global_base() != NULL);
	evdns_shutdown(0);
	evdns_set_transaction_id_fn(NULL);
	evdns_set_random_bytes_fn(NULL);
	evdns_set_log_fn(say_message);
	say("set: %d", evdns_set_option("timeout", "0.02", 0));
	say("global: %d", evdns_get_global_base() != NULL);
	dns = evdns_get_global_base();
	say("add: %d, %d, %d", evdns_nameserver_add(v4.s_addr), evdns_nameserver_ip_add("127.0.0.1:54"),
	    evdns_nameserver_ip_add("nonsense"));
	say("count: %d", evdns_count_nameservers());
	say("clear: %d", evdns_clear_nameservers_and_suspend());
	say("conf: %d", evdns_resolv_conf_parse(DNS_OPTION_NAMESERVERS, "/dev/null"));
	say("count: %d", evdns_count_nameservers());
	say("clear: %d", evdns_clear_nameservers_and_suspend());

	peer_open(&peer, "peer", base, NULL);
	must(getsockname(peer.fd, (void *)&sin, &len) == 0, "ask for a name");
	evdns_base_nameserver_sockaddr_add(dns, (void *)&sin, len, 0);
	say("resume: %d", evdns_resume());
	evdns_search_add("one.org");
	evdns_search_ndots_set(2);
	peer.fn = answer_a;
	say("ask: %d", evdns_resolve_ipv4("host", 0, say_answer, "v4"));
	await(base, 1);
	evdns_search_clear();
	say("ask: %d", evdns_resolve_ipv6("host", 0, say_answer, "v6"));
	await(base, 1);
	say("ask: %d", evdns_resolve_reverse(&v4, 0, say_answer, "v4 reverse"));
	await(base, 1);
	say("ask: %d", evdns_resolve_reverse_ipv6(&v6, 0, say_answer, "v6 reverse"));
	await(base, 1);
	evdns_shutdown(1);
	say("global: %d", evdns_get_global_base() != NULL);
	peer_close(&peer);
}

static void errors(void)
{
	section("errors");
	for (int i = -1; i < 75; i++)
		say("%d: %s", i, evdns_err_to_string(i));
}

int main(void)
{
	event_set_log_callback(say_dns_log);
	base = event_init();
	must(base != NULL, "make a base");
	nameservers();
	options();
	files();
	suspending();
	inactive();
	old_calls();
	errors();
	event_base_free(base);
	return 0;
}
