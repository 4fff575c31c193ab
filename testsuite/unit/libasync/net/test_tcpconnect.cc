/*
 * tcpconnect and what is built on it: tcpconnect_srv, ifchgcb.
 */
#include "amisc.h"
#include "async.h"
#include "dns.h"

#include <algorithm>
#include <atomic>

#include <event2/smp.h>

#include "dns_server.h"
#include "listener.h"
#include "net/ifchg.h"
#include "net/resolver.h"
#include "own_clock.h"
#include "turns.h"

#include "test.h"

namespace
{

dns_server *server;

struct result {
	int fd = -2, err = 0, calls = 0;
	bool is_own = false;

	void take(int f)
	{
		err = errno;
		fd = f;
		is_own = libasync::is_own_color(expected);
		cpucb(wrap(this, &result::count));
	}
	/* In the loop's own thread, which may sleep in acheck meanwhile: what another worker runs does not end that. */
	void count() { calls++; }
	cbi cb(uint32_t number = 0)
	{
		expected = number;
		return cwrap(this, &result::take, color(number));
	}
	void await()
	{
		turn_until([this]() { return calls > 0; });
		turn_all();
		assert_int_equal(calls, 1);
		assert_true(is_own);
	}

private:
	uint32_t expected = 0;
};

in_addr loopback()
{
	in_addr addr;

	addr.s_addr = htonl(INADDR_LOOPBACK);
	return addr;
}

int begin(void **)
{
	FILE *f = fopen("tcp-resolv.conf", "w");

	fputs("search sub.test\nnameserver 127.0.0.1\noptions timeout:0.2 attempts:1\n", f);
	fclose(f);
	server = New dns_server;
	server->zone[{ "host.test", 1 }] = { std::string("\x7f\0\0\1", 4) };
	server->zone[{ "short.sub.test", 1 }] = { std::string("\x7f\0\0\1", 4) };
	server->zone[{ "six.test", 28 }] = { std::string(15, '\0') + "\1" };
	server->failing["fail.test"] = true;
	libasync::resolver_use("tcp-resolv.conf", server->address.c_str(), "/dev/null");
	return 0;
}

int end(void **)
{
	delete server;
	return unlink("tcp-resolv.conf");
}

void tcpconnect_gives_an_async_descriptor(void **)
{
	listener l;
	result r;

	assert_non_null(tcpconnect(loopback(), l.port, r.cb()));
	assert_int_equal(r.calls, 0);
	r.await();
	assert_true(r.fd >= 0);
	assert_int_equal(r.err, 0);
	assert_true(fcntl(r.fd, F_GETFL) & O_NONBLOCK);
	assert_int_equal(fcntl(r.fd, F_GETFD), FD_CLOEXEC);
	close(r.fd);
}

void tcpconnect_refused_has_errno(void **)
{
	result r;

	tcpconnect(loopback(), free_port(), r.cb());
	assert_int_equal(r.calls, 0);
	r.await();
	assert_int_equal(r.fd, -1);
	assert_int_equal(r.err, ECONNREFUSED);
}

/* A name that was never set: not the address 0.0.0.0, which is this machine. */
void tcpconnect_to_no_name_has_errno(void **)
{
	listener l;
	result own, other;

	assert_non_null(tcpconnect(str(), l.port, own.cb()));
	assert_int_equal(own.calls, 0);
	own.await();
	assert_int_equal(own.fd, -1);
	assert_int_equal(own.err, ENOENT);
	tcpconnect(str(), l.port, other.cb(5));
	other.await();
	assert_int_equal(other.fd, -1);
	assert_int_equal(other.err, ENOENT);
	tcpconnect_cancel(tcpconnect(str(), l.port, cwrap([](int) { fail(); }, color(0))));
	turn_all();
}

/* No name: too long, without letters, or with a zero byte. */
void tcpconnect_to_what_is_no_name_has_errno(void **)
{
	listener l;
	const str names[] = { "", ".", "a..b", std::string(64, 'a').c_str(), str("127.0.0.1\0x", 11),
			      str("host.test\0x", 11) };

	for (const str &name : names) {
		result r;

		tcpconnect(name, l.port, r.cb());
		r.await();
		assert_int_equal(r.fd, -1);
		assert_int_equal(r.err, ENOENT);
	}
}

void tcpconnect_without_descriptors_has_errno(void **)
{
	struct rlimit before, none;
	listener l;
	result r, by_name;

	getrlimit(RLIMIT_NOFILE, &before);
	none = { 0, before.rlim_max };
	setrlimit(RLIMIT_NOFILE, &none);
	tcpconnect(loopback(), l.port, r.cb());
	tcpconnect("host.test", l.port, by_name.cb());
	setrlimit(RLIMIT_NOFILE, &before);
	assert_int_equal(r.calls + by_name.calls, 0);
	turn_all();
	for (const result *failed : { &r, &by_name }) {
		assert_int_equal(failed->calls, 1);
		assert_int_equal(failed->fd, -1);
		assert_int_equal(failed->err, EMFILE);
	}
}

void tcpconnect_cancelled_is_silent(void **)
{
	listener l;
	result by_address, by_name;

	tcpconnect_cancel(nullptr);
	tcpconnect_cancel(tcpconnect(loopback(), l.port, by_address.cb()));
	tcpconnect_cancel(tcpconnect("host.test", l.port, by_name.cb()));
	tcpconnect_cancel(tcpconnect(loopback(), free_port(), by_address.cb()));
	turn_all();
	assert_int_equal(by_address.calls + by_name.calls, 0);
}

void tcpconnect_to_names(void **)
{
	listener l;
	result plain, searched, literal, none, failing;
	str name, short_name;

	tcpconnect("host.test", l.port, plain.cb(), true, &name);
	tcpconnect("short", l.port, searched.cb(), true, &short_name);
	tcpconnect("127.0.0.1", l.port, literal.cb());
	tcpconnect("none.test", l.port, none.cb());
	tcpconnect("fail.test", l.port, failing.cb(), false);
	for (result *r : { &plain, &searched, &literal, &none })
		r->await();
	/* The resolver asks again before it gives up. */
	pass_time_until([&failing]() { return failing.calls > 0; });
	failing.await();
	assert_true(plain.fd >= 0 && searched.fd >= 0 && literal.fd >= 0);
	assert_string_equal(name.cstr(), "host.test");
	assert_string_equal(short_name.cstr(), "short.sub.test");
	assert_int_equal(none.fd, -1);
	assert_int_equal(none.err, ENOENT);
	assert_int_equal(failing.fd, -1);
	assert_int_equal(failing.err, EAGAIN);
	for (result *r : { &plain, &searched, &literal })
		close(r->fd);
}

void tcpconnect_to_ipv6(void **)
{
	sockaddr_in6 sin = {};
	socklen_t len = sizeof(sin);
	int fd = socket(AF_INET6, SOCK_STREAM, 0);
	result literal, named;

	sin.sin6_family = AF_INET6;
	sin.sin6_addr = in6addr_loopback;
	if (fd < 0 || bind(fd, reinterpret_cast<sockaddr *>(&sin), sizeof(sin)) < 0) {
		close(fd);
		skip();
	}
	listen(fd, 5);
	getsockname(fd, reinterpret_cast<sockaddr *>(&sin), &len);
	tcpconnect("::1", ntohs(sin.sin6_port), literal.cb());
	tcpconnect("six.test", ntohs(sin.sin6_port), named.cb());
	literal.await();
	named.await();
	assert_true(literal.fd >= 0 && named.fd >= 0);
	close(literal.fd);
	close(named.fd);
	close(fd);
}

void tcpconnect_calls_back_in_its_color(void **)
{
	listener l;
	result good, refused, by_name;

	tcpconnect(loopback(), l.port, good.cb(7));
	tcpconnect(loopback(), free_port(), refused.cb(8));
	tcpconnect("host.test", l.port, by_name.cb(9));
	good.await();
	refused.await();
	by_name.await();
	assert_true(good.fd >= 0 && by_name.fd >= 0);
	assert_int_equal(refused.err, ECONNREFUSED);
	close(good.fd);
	close(by_name.fd);
}

void tcpconnect_srv_tries_one_after_the_other(void **)
{
	listener l;
	result r, again;
	ptr<srvlist> left;
	str name;

	server->zone[{ "_echo._tcp.svc.test", 33 }] = {
		dns_server::words({ 1, 0, free_port() }) + dns_server::name("host.test"),
		dns_server::words({ 2, 0, l.port }) + dns_server::name("host.test"),
	};
	tcpconnect_srv("svc.test", "echo", 1, r.cb(), false, &left, &name);
	assert_int_equal(r.calls, 0);
	r.await();
	assert_true(r.fd >= 0);
	assert_string_equal(name.cstr(), "host.test");
	assert_int_equal(left->s_nsrv, 0);
	tcpconnect_srv_retry(ref<srvlist>(left), again.cb());
	again.await();
	assert_int_equal(again.fd, -1);
	close(r.fd);
}

/* Of "svc.test": two servers, in this order, which have names of their own. */
void serve_two(u_int16_t first, u_int16_t second)
{
	server->zone[{ "one.test", 1 }] = server->zone[{ "two.test", 1 }] = { std::string("\x7f\0\0\1", 4) };
	server->zone[{ "_two._tcp.svc.test", 33 }] = {
		dns_server::words({ 1, 0, first }) + dns_server::name("one.test"),
		dns_server::words({ 2, 0, second }) + dns_server::name("two.test"),
	};
}

bool is_asked(const char *name)
{
	return std::find(server->asked.begin(), server->asked.end(), name) != server->asked.end();
}

/* The first server is asked at once, and the second when the first has been silent for 4 seconds. */
void let_first_be_silent(const result *r)
{
	turn_until([] { return is_asked("one.test"); });
	turn_all();
	own_clock_advance(3);
	turn_all();
	assert_false(is_asked("two.test"));
	own_clock_advance(1);
	turn_until([] { return is_asked("two.test"); });
	assert_int_equal(r->calls, 0);
}

void tcpconnect_srv_tries_the_next_beside_a_silent_one(void **)
{
	silent_listener silent;
	listener l;
	result r;
	ptr<srvlist> left;
	str name;

	serve_two(silent.port, l.port);
	server->asked.clear();
	tcpconnect_srv("svc.test", "two", 1, r.cb(), false, &left, &name);
	let_first_be_silent(&r);
	r.await();
	assert_true(r.fd >= 0);
	assert_string_equal(name.cstr(), "two.test");
	assert_int_equal(left->s_nsrv, 0);
	close(r.fd);
}

/* The system tries again to connect to the first one, which then answers before the second. */
void tcpconnect_srv_takes_the_first_that_connects(void **)
{
	silent_listener first, second;
	result r;
	str name;

	serve_two(first.port, second.port);
	server->asked.clear();
	tcpconnect_srv("svc.test", "two", 1, r.cb(), false, nullptr, &name);
	let_first_be_silent(&r);
	first.accept_all();
	r.await();
	assert_true(r.fd >= 0);
	assert_string_equal(name.cstr(), "one.test");
	close(r.fd);
}

void tcpconnect_srv_without_records_uses_the_host(void **)
{
	listener l;
	result r, none, refused;

	tcpconnect_srv("host.test", "echo", l.port, r.cb(), false);
	tcpconnect_srv("none.test", "echo", l.port, none.cb(), false);
	server->zone[{ "_no._tcp.host.test", 33 }] = { dns_server::words({ 0, 0, 0 }) + std::string(1, '\0') };
	tcpconnect_srv("host.test", "no", l.port, refused.cb(), false);
	r.await();
	none.await();
	refused.await();
	assert_true(r.fd >= 0);
	assert_int_equal(none.err, ENOENT);
	assert_int_equal(refused.err, ENOENT);
	close(r.fd);
}

void tcpconnect_srv_cancelled_is_silent(void **)
{
	listener l;
	result r, early;
	tcpconnect_t *tc = tcpconnect_srv("host.test", "echo", l.port, r.cb(), false);

	tcpconnect_cancel(tcpconnect_srv("host.test", "echo", l.port, early.cb(), false));
	server->asked.clear();
	turn_until([]() { return !server->asked.empty(); });
	tcpconnect_cancel(tc);
	turn_all();
	assert_int_equal(r.calls + early.calls, 0);
}

/* In another color: the question begins there too. */
void dns_hostbyname_in_another_color(void **)
{
	std::atomic<int> calls = { 0 };
	bool is_done = false;
	auto finish = [&]() { is_done = true; };
	auto take = [&](ptr<hostent>, int err) {
		uint32_t here = 0;

		(void)event_base_get_running_color(libasync::base(), &here);
		calls += err == 0 && here == 5 ? 1 : 100;
		cpucb(wrap(finish));
	};
	auto never = [&](ptr<hostent>, int) { calls += 100; };

	dnsreq_cancel(dns_hostbyname("host.test", cwrap(never, (color)6)));
	dns_hostbyname("host.test", cwrap(take, (color)5));
	turn_until([&]() { return is_done; });
	assert_int_equal(calls, 1);
}

void ifchgcb_calls_when_addresses_change(void **)
{
	int calls = 0, others = 0;
	ifchgcb_t *a = ifchgcb(wrap([&calls]() { calls++; })), *b = ifchgcb(wrap([&others]() { others++; }));

	libasync::interfaces_compare({ 1 });
	turn_all();
	assert_int_equal(calls, 1);
	libasync::interfaces_compare({ 1 });
	turn_all();
	assert_int_equal(calls, 1);
	libasync::interfaces_compare({ 1, 2 });
	ifchgcb_remove(b);
	turn_all();
	assert_int_equal(calls, 2);
	assert_int_equal(others, 1);
	ifchgcb_remove(a);
	ifchgcb_remove(nullptr);
	libasync::interfaces_compare({});
	turn_all();
	assert_int_equal(calls, 2);
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tcpconnect_gives_an_async_descriptor),
		cmocka_unit_test(tcpconnect_refused_has_errno),
		cmocka_unit_test(tcpconnect_to_no_name_has_errno),
		cmocka_unit_test(tcpconnect_to_what_is_no_name_has_errno),
		cmocka_unit_test(tcpconnect_without_descriptors_has_errno),
		cmocka_unit_test(tcpconnect_cancelled_is_silent),
		cmocka_unit_test(tcpconnect_to_names),
		cmocka_unit_test(tcpconnect_to_ipv6),
		cmocka_unit_test(tcpconnect_srv_tries_one_after_the_other),
		cmocka_unit_test(tcpconnect_srv_tries_the_next_beside_a_silent_one),
		cmocka_unit_test(tcpconnect_srv_takes_the_first_that_connects),
		cmocka_unit_test(tcpconnect_srv_without_records_uses_the_host),
		cmocka_unit_test(tcpconnect_srv_cancelled_is_silent),
		cmocka_unit_test(ifchgcb_calls_when_addresses_change),
		cmocka_unit_test(tcpconnect_calls_back_in_its_color),
		cmocka_unit_test(dns_hostbyname_in_another_color),
	};

	own_clock_begin();
	return cmocka_run_group_tests(tests, begin, end);
}
