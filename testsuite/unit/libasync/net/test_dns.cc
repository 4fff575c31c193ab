/*
 * dns.h: hosts, addresses, mail exchangers, services and texts, from a server of the test's own.
 */
#include "dns.h"

#include <set>

#include "dns_server.h"
#include "net/resolver.h"
#include "own_clock.h"
#include "turns.h"

#include "test.h"

namespace
{

dns_server *server;

const std::string loopback("\x7f\0\0\1", 4);

template <class T> struct answer {
	ptr<T> list;
	int err = -1, calls = 0, errno_seen = -1;

	void take(ptr<T> l, int e)
	{
		errno_seen = errno;
		list = l;
		err = e;
		calls++;
	}

	void await()
	{
		pass_time_until([this]() { return calls > 0; });
		turn_all();
		assert_int_equal(calls, 1);
		assert_int_equal(errno_seen, err);
	}
};

template <class T> auto to(answer<T> *a)
{
	return wrap(a, &answer<T>::take);
}

std::string file_with(const char *name, const char *text)
{
	FILE *f = fopen(name, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	return name;
}

int begin(void **)
{
	own_clock_begin();
	server = New dns_server;
	server->zone[{ "host.test", 1 }] = { loopback, std::string("\x7f\0\0\2", 4) };
	server->zone[{ "v6.test", 28 }] = { std::string(15, '\0') + "\1" };
	server->zone[{ "1.0.0.127.in-addr.arpa", 12 }] = { dns_server::name("host.test") };
	server->zone[{ "mail.test", 15 }] = {
		dns_server::words({ 20 }) + dns_server::name("b.test"),
		dns_server::words({ 10 }) + dns_server::name("a.test"),
	};
	server->zone[{ "big.test", 15 }] = { dns_server::words({ 5 }) + dns_server::name("tcp.test") };
	server->truncated["big.test"] = true;
	server->zone[{ "_http._tcp.svc.test", 33 }] = {
		dns_server::words({ 2, 0, 80 }) + dns_server::name("two.test"),
		dns_server::words({ 1, 5, 81 }) + dns_server::name("one.test"),
		dns_server::words({ 1, 0, 82 }) + dns_server::name("one.test"),
	};
	server->zone[{ "text.test", 16 }] = { std::string("\5hello\3you") };
	server->zone[{ "inner.sub.test", 15 }] = { dns_server::words({ 1 }) + dns_server::name("found.test") };
	server->zone[{ "short.sub.test", 1 }] = { loopback };
	server->zone[{ "slow.test", 1 }] = { loopback };
	server->failing["fail.test"] = true;
	file_with("dns-resolv.conf", "search sub.test\nnameserver 127.0.0.1\noptions timeout:1 attempts:1\n");
	file_with("dns-hosts", "127.0.0.9 inhosts # comment\n::1 inhosts\n");
	libasync::resolver_use("dns-resolv.conf", server->address.c_str(), "dns-hosts");
	return 0;
}

int end(void **)
{
	delete server;
	unlink("dns-resolv.conf");
	unlink("dns-hosts");
	return 0;
}

/* As long as it lives, the process can open no descriptor. */
class no_descriptors
{
	struct rlimit before;

public:
	no_descriptors()
	{
		getrlimit(RLIMIT_NOFILE, &before);
		const struct rlimit none = { 0, before.rlim_max };
		setrlimit(RLIMIT_NOFILE, &none);
	}
	~no_descriptors() { setrlimit(RLIMIT_NOFILE, &before); }
};

template <class T> void assert_lacked_descriptors(const answer<T> &a)
{
	assert_int_equal(a.calls, 1);
	assert_true(a.list == NULL);
	assert_int_equal(a.err, EMFILE);
	assert_int_equal(a.errno_seen, EMFILE);
	assert_true(dns_tmperr(a.err));
}

/* The first questions of the process. The servers are not known then, and are once there are descriptors. */
void dns_hostbyname_first_without_descriptors(void **)
{
	answer<hostent> a, by_address, later;
	answer<mxlist> m;

	if (!CAN_LACK_DESCRIPTORS)
		skip();
	{
		no_descriptors none;

		dns_hostbyname("host.test", to(&a));
		dns_hostbyaddr({ htonl(INADDR_LOOPBACK) }, to(&by_address));
		dns_mxbyname("mail.test", to(&m));
	}
	turn_all();
	own_clock_advance(100);
	turn_all();
	assert_lacked_descriptors(a);
	assert_lacked_descriptors(by_address);
	assert_lacked_descriptors(m);
	dns_hostbyname("short", to(&later), true);
	later.await();
	assert_int_equal(later.err, 0);
}

/* What the servers' file says now cannot be read: the servers stay as they are. */
void dns_hostbyname_keeps_servers_without_descriptors(void **)
{
	answer<hostent> waiting, a, later;

	if (!CAN_LACK_DESCRIPTORS)
		skip();
	server->slow["slow.test"] = true;
	dns_hostbyname("slow.test", to(&waiting));
	turn_until([]() { return server->held_num() > 0; });
	file_with("dns-resolv.conf", "search sub.test\nnameserver 127.0.0.1\noptions attempts:1 timeout:1\n");
	{
		no_descriptors none;

		dns_hostbyname("inhosts", to(&a));
		dns_hostbyaddr({ htonl(INADDR_LOOPBACK) }, to(&later));
	}
	server->release();
	waiting.await();
	later.await();
	assert_int_equal(waiting.err, 0);
	assert_int_equal(later.err, 0);
	assert_lacked_descriptors(a);
}

void dns_hostbyname_finds_addresses(void **)
{
	answer<hostent> a;

	assert_non_null(dns_hostbyname("host.test", to(&a)));
	assert_int_equal(a.calls, 0);
	a.await();
	assert_int_equal(a.err, 0);
	assert_string_equal(a.list->h_name, "host.test");
	assert_int_equal(a.list->h_addrtype, AF_INET);
	assert_int_equal(a.list->h_length, 4);
	assert_memory_equal(a.list->h_addr_list[0], loopback.data(), 4);
	assert_non_null(a.list->h_addr_list[1]);
	assert_null(a.list->h_addr_list[2]);
	assert_null(a.list->h_aliases[0]);
}

void dns_hostbyname_of_an_address_calls_back_at_once(void **)
{
	answer<hostent> a, b;

	assert_null(dns_hostbyname("10.1.2.3", to(&a)));
	assert_int_equal(a.calls, 1);
	assert_int_equal(a.err, 0);
	assert_int_equal(a.errno_seen, 0);
	assert_memory_equal(a.list->h_addr_list[0], "\x0a\1\2\3", 4);
	dns_hostbyname("10.1.2.3", to(&b), false, false);
	assert_int_equal(b.calls, 0);
	b.await();
	assert_int_equal(b.err, HOST_NOT_FOUND);
}

void dns_hostbyname_tells_apart_what_fails(void **)
{
	answer<hostent> none, failing, only_v6, empty;

	dns_hostbyname("none.test", to(&none));
	dns_hostbyname("fail.test", to(&failing));
	dns_hostbyname("v6.test", to(&only_v6));
	dns_hostbyname("", to(&empty));
	none.await();
	failing.await();
	only_v6.await();
	empty.await();
	assert_true(none.list == NULL);
	assert_int_equal(none.err, HOST_NOT_FOUND);
	assert_false(dns_tmperr(none.err));
	assert_true(dns_tmperr(failing.err));
	assert_true(only_v6.list == NULL);
	assert_int_equal(empty.err, ARERR_REQINVAL);
	assert_string_equal(dns_strerror(HOST_NOT_FOUND), "no such domain");
	assert_string_equal(dns_strerror(EMFILE), strerror(EMFILE));
}

/* A name that DNS has no form for does not become one later. */
void dns_hostbyname_refuses_what_is_no_name(void **)
{
	const std::string label(63, 'a'), longest = label + "." + label + "." + label + "." + std::string(61, 'b');
	const std::string names[] = { ".", "..", ".a", "a..b", "a..", label + "a", label + "a.test", longest + "b",
				      std::string("host.test\0x", 11), std::string("10.1.2.3\0x", 10) };
	answer<hostent> whole;

	for (const std::string &name : names) {
		for (bool search : { false, true }) {
			answer<hostent> a;

			dns_hostbyname(str(name.data(), name.size()), to(&a), search);
			a.await();
			assert_true(a.list == NULL);
			assert_int_equal(a.err, ARERR_REQINVAL);
			assert_false(dns_tmperr(a.err));
		}
	}
	/* With a domain it would be too long. */
	dns_hostbyname(longest.c_str(), to(&whole), true);
	whole.await();
	assert_int_equal(whole.err, HOST_NOT_FOUND);
}

void dns_hostbyname_searches_only_if_asked(void **)
{
	answer<hostent> with, without, hosts;

	dns_hostbyname("short", to(&with), true);
	dns_hostbyname("short", to(&without), false);
	dns_hostbyname("inhosts", to(&hosts));
	with.await();
	without.await();
	hosts.await();
	assert_int_equal(with.err, 0);
	assert_int_equal(without.err, HOST_NOT_FOUND);
	assert_memory_equal(hosts.list->h_addr_list[0], "\x7f\0\0\x09", 4);
}

void dns_hostbyname_reads_a_changed_file_again(void **)
{
	answer<hostent> before, after;

	dns_hostbyname("inner", to(&before), true);
	before.await();
	file_with("dns-resolv.conf",
		  "search other.test\nnameserver 127.0.0.1\noptions timeout:1 attempts:1 ndots:3\n");
	server->zone[{ "inner.other.test", 1 }] = { loopback };
	dns_hostbyname("inner", to(&after), true);
	after.await();
	assert_int_equal(before.err != 0, 1);
	assert_int_equal(after.err, 0);
	file_with("dns-resolv.conf", "search sub.test\nnameserver 127.0.0.1\noptions timeout:1 attempts:1\n");
}

void dns_hostbyname_cancelled_is_silent(void **)
{
	answer<hostent> a, b;
	answer<mxlist> m;
	dnsreq_t *q = dns_hostbyname("host.test", to(&a)), *r;

	dnsreq_cancel(q);
	server->slow["slow.test"] = true;
	r = dns_hostbyname("slow.test", to(&b));
	turn_until([]() { return server->held_num() > 0; });
	dnsreq_cancel(r);
	dnsreq_cancel(dns_mxbyname("mail.test", to(&m)));
	server->release();
	turn_all();
	assert_int_equal(a.calls + b.calls + m.calls, 0);
}

void dns_hostbyname_waits_for_a_slow_server(void **)
{
	answer<hostent> a, fast;

	server->slow["slow.test"] = true;
	dns_hostbyname("slow.test", to(&a));
	turn_until([]() { return server->held_num() > 0; });
	dns_hostbyname("host.test", to(&fast));
	fast.await();
	assert_int_equal(a.calls, 0);
	server->release();
	a.await();
	assert_int_equal(a.err, 0);
}

void dns_hostbyname_of_a_silent_server(void **)
{
	answer<hostent> a;

	server->slow["slow.test"] = true;
	dns_hostbyname("slow.test", to(&a));
	turn_until([]() { return server->held_num() > 0; });
	turn_all();
	assert_int_equal(a.calls, 0);
	own_clock_advance(1);
	a.await();
	assert_int_equal(a.err, ARERR_TIMEOUT);
	assert_true(dns_tmperr(a.err));
	/* The server counts as dead until it has answered. */
	server->release();
	own_clock_advance(100);
	turn_all();
}

/* Records are asked for three times, two seconds apart. */
void dns_hostbyname_co_of_a_silent_server(void **)
{
	answer<mxlist> a;

	server->slow["slow.test"] = true;
	dns_mxbyname("slow.test", to(&a));
	for (size_t i = 1; i <= 3; i++) {
		turn_until([i]() { return server->held_num() == i; });
		turn_all();
		assert_int_equal(a.calls, 0);
		own_clock_advance(2);
	}
	a.await();
	assert_int_equal(a.err, ARERR_TIMEOUT);
	server->release();
	turn_all();
}

void dns_hostbyname_co_of_a_failing_server(void **)
{
	answer<mxlist> a;
	size_t before = server->asked.size();

	dns_mxbyname("fail.test", to(&a));
	a.await();
	assert_int_equal(a.err, TRY_AGAIN);
	assert_int_equal(server->asked.size() - before, 3);
}

void dns_hostbyname_co_without_a_server(void **)
{
	/* A socket that is connected to another one: nobody else reaches it, and nobody else has its port. */
	int held = inetsocket(SOCK_DGRAM, 0, INADDR_LOOPBACK);
	sockaddr_in sin = {};
	socklen_t len = sizeof(sin);
	answer<mxlist> a;

	assert_int_equal(getsockname(held, reinterpret_cast<sockaddr *>(&sin), &len), 0);
	std::string address = "127.0.0.1:" + std::to_string(ntohs(sin.sin_port));
	assert_int_equal(connect(held, reinterpret_cast<sockaddr *>(&sin), len), 0);
	libasync::resolver_use("dns-resolv.conf", address.c_str(), "dns-hosts");
	dns_mxbyname("mail.test", to(&a));
	a.await();
	libasync::resolver_use("dns-resolv.conf", server->address.c_str(), "dns-hosts");
	assert_int_equal(a.err, ARERR_CANTSEND);
	close(held);
}

/* The stream ends before its answer, or holds another one. */
void dns_hostbyname_co_of_a_broken_stream(void **)
{
	answer<mxlist> ended, wrong;

	server->stream_len = 7;
	dns_mxbyname("big.test", to(&ended));
	ended.await();
	assert_int_equal(ended.err, ARERR_CANTSEND);
	server->stream_len = dns_server::WRONG;
	dns_mxbyname("big.test", to(&wrong));
	wrong.await();
	assert_int_equal(wrong.err, ARERR_RESPINVAL);
	server->stream_len = dns_server::WHOLE;
}

void dns_hostbyname_tells_what_failed(void **)
{
	std::set<std::string> texts;
	const int errors[] = { 0, HOST_NOT_FOUND, TRY_AGAIN, NO_RECOVERY, NO_DATA, ARERR_TIMEOUT, ARERR_CANTSEND,
			       ARERR_REQINVAL, ARERR_RESPINVAL, EMFILE };

	for (int err : errors)
		texts.insert(dns_strerror(err));
	assert_int_equal(texts.size(), sizeof(errors) / sizeof(errors[0]));
	assert_string_equal(dns_strerror(ARERR_NXREC), dns_strerror(NO_DATA));
}

void dns_hostbyname_and_back(void **)
{
	answer<hostent> a, none;
	in_addr addr, other;

	inet_aton("127.0.0.1", &addr);
	inet_aton("127.0.0.3", &other);
	dns_hostbyaddr(addr, to(&a));
	dns_hostbyaddr(other, to(&none));
	a.await();
	none.await();
	assert_int_equal(a.err, 0);
	assert_string_equal(a.list->h_name, "host.test");
	assert_memory_equal(a.list->h_addr_list[0], loopback.data(), 4);
	assert_int_equal(none.err, HOST_NOT_FOUND);
}

void dns_hostbyname_co_mx_by_preference(void **)
{
	answer<mxlist> a, searched, none, missing;

	dns_mxbyname("mail.test", to(&a));
	dns_mxbyname("inner", to(&searched), true);
	dns_mxbyname("none.test", to(&none));
	dns_mxbyname("host.test", to(&missing));
	a.await();
	searched.await();
	none.await();
	missing.await();
	assert_string_equal(a.list->m_name, "mail.test");
	assert_int_equal(a.list->m_nmx, 2);
	assert_int_equal(a.list->m_mxes[0].pref, 10);
	assert_string_equal(a.list->m_mxes[0].name, "a.test");
	assert_string_equal(a.list->m_mxes[1].name, "b.test");
	assert_string_equal(searched.list->m_name, "inner.sub.test");
	assert_int_equal(none.err, HOST_NOT_FOUND);
	assert_int_equal(missing.err, ARERR_NXREC);
}

void dns_hostbyname_co_truncated_goes_over_tcp(void **)
{
	answer<mxlist> a;

	server->tcp_answers = 0;
	dns_mxbyname("big.test", to(&a));
	a.await();
	assert_int_equal(a.err, 0);
	assert_string_equal(a.list->m_mxes[0].name, "tcp.test");
	assert_int_equal(server->tcp_answers, 1);
}

void dns_hostbyname_co_srv_by_priority(void **)
{
	answer<srvlist> a;

	dns_srvbyname("svc.test", "tcp", "http", to(&a));
	a.await();
	assert_int_equal(a.err, 0);
	assert_int_equal(a.list->s_nsrv, 3);
	assert_int_equal(a.list->s_srvs[0].prio, 1);
	assert_int_equal(a.list->s_srvs[1].prio, 1);
	assert_int_equal(a.list->s_srvs[2].port, 80);
	assert_string_equal(a.list->s_srvs[2].name, "two.test");
}

void dns_hostbyname_co_txt_joins_strings(void **)
{
	answer<txtlist> a, none;

	dns_txtbyname("text.test", to(&a));
	dns_txtbyname("a..b", to(&none));
	a.await();
	none.await();
	assert_int_equal(a.list->t_ntxt, 1);
	assert_string_equal(a.list->t_txts[0], "helloyou");
	assert_int_equal(none.err, ARERR_REQINVAL);
}

void dns_hostbyname_without_descriptors(void **)
{
	answer<mxlist> a;

	{
		no_descriptors none;

		dns_mxbyname("mail.test", to(&a));
	}
	a.await();
	assert_lacked_descriptors(a);
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dns_hostbyname_first_without_descriptors),
		cmocka_unit_test(dns_hostbyname_keeps_servers_without_descriptors),
		cmocka_unit_test(dns_hostbyname_finds_addresses),
		cmocka_unit_test(dns_hostbyname_of_an_address_calls_back_at_once),
		cmocka_unit_test(dns_hostbyname_tells_apart_what_fails),
		cmocka_unit_test(dns_hostbyname_refuses_what_is_no_name),
		cmocka_unit_test(dns_hostbyname_searches_only_if_asked),
		cmocka_unit_test(dns_hostbyname_reads_a_changed_file_again),
		cmocka_unit_test(dns_hostbyname_cancelled_is_silent),
		cmocka_unit_test(dns_hostbyname_waits_for_a_slow_server),
		cmocka_unit_test(dns_hostbyname_of_a_silent_server),
		cmocka_unit_test(dns_hostbyname_co_of_a_silent_server),
		cmocka_unit_test(dns_hostbyname_co_of_a_failing_server),
		cmocka_unit_test(dns_hostbyname_co_without_a_server),
		cmocka_unit_test(dns_hostbyname_co_of_a_broken_stream),
		cmocka_unit_test(dns_hostbyname_tells_what_failed),
		cmocka_unit_test(dns_hostbyname_and_back),
		cmocka_unit_test(dns_hostbyname_co_mx_by_preference),
		cmocka_unit_test(dns_hostbyname_co_truncated_goes_over_tcp),
		cmocka_unit_test(dns_hostbyname_co_srv_by_priority),
		cmocka_unit_test(dns_hostbyname_co_txt_joins_strings),
		cmocka_unit_test(dns_hostbyname_without_descriptors),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
