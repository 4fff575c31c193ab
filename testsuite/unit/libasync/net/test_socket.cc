/*
 * net/socket.cc, net/rwfd.cc, net/names.cc: descriptors, sockets, names of this machine.
 */
#include "amisc.h"
#include "rwfd.h"

#include <string>

#include "dies.h"
#include "test.h"

namespace
{

int flags_of(int fd)
{
	return fcntl(fd, F_GETFL);
}

sockaddr_in address_of(int fd)
{
	sockaddr_in sin = {};
	socklen_t len = sizeof(sin);

	assert_int_equal(getsockname(fd, reinterpret_cast<sockaddr *>(&sin), &len), 0);
	return sin;
}

int option_of(int fd, int level, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	assert_int_equal(getsockopt(fd, level, name, &value, &len), 0);
	return value;
}

/* A folder of this test's own, removed with what is in it at the end. */
std::string folder()
{
	static char name[] = "/tmp/libasync-socket-XXXXXX";
	static bool is_made;

	if (!is_made)
		assert_non_null(mkdtemp(name));
	is_made = true;
	return name;
}

void make_async_sets_nonblocking_and_keepalive(void **)
{
	int fds[2], s = socket(AF_INET, SOCK_STREAM, 0), d = socket(AF_INET, SOCK_DGRAM, 0);

	assert_int_equal(pipe(fds), 0);
	for (int fd : { fds[0], s, d }) {
		make_async(fd);
		assert_true(flags_of(fd) & O_NONBLOCK);
	}
	assert_int_equal(option_of(s, SOL_SOCKET, SO_KEEPALIVE), 1);
	assert_int_equal(option_of(d, SOL_SOCKET, SO_KEEPALIVE), 0);
	make_sync(s);
	assert_false(flags_of(s) & O_NONBLOCK);
	for (int fd : { fds[0], fds[1], s, d })
		close(fd);
}

void make_async_close_on_exec_and_back(void **)
{
	int fd = dup(0);

	close_on_exec(fd);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close_on_exec(fd, false);
	assert_int_equal(fcntl(fd, F_GETFD), 0);
	close(fd);
}

void make_async_of_no_descriptor_panics(void **)
{
	ended e = run_in_child([] { make_async(999); });

	assert_true(e.is_aborted());
	assert_true(e.says("make_async: descriptor 999: Bad file descriptor"));
}

void inetsocket_is_bound_and_does_not_listen(void **)
{
	int fd = inetsocket(SOCK_STREAM, 0, INADDR_LOOPBACK);
	sockaddr_in sin;

	assert_true(fd >= 0);
	sin = address_of(fd);
	assert_int_equal(ntohl(sin.sin_addr.s_addr), INADDR_LOOPBACK);
	assert_int_not_equal(sin.sin_port, 0);
	assert_int_equal(option_of(fd, SOL_SOCKET, SO_ACCEPTCONN), 0);
	assert_true(flags_of(fd) & O_NONBLOCK);
	close(fd);
}

void inetsocket_reuses_an_address_that_is_named(void **)
{
	int any = inetsocket(SOCK_STREAM, 0, INADDR_LOOPBACK), named, again;
	u_int16_t port = ntohs(address_of(any).sin_port);

	assert_int_equal(option_of(any, SOL_SOCKET, SO_REUSEADDR), 0);
	close(any);
	named = inetsocket(SOCK_STREAM, port, INADDR_LOOPBACK);
	assert_true(named >= 0);
	assert_int_equal(option_of(named, SOL_SOCKET, SO_REUSEADDR), 1);
	assert_int_equal(listen(named, 1), 0);
	errno = 0;
	again = inetsocket(SOCK_STREAM, port, INADDR_LOOPBACK);
	assert_int_equal(again, -1);
	assert_int_equal(errno, EADDRINUSE);
	close(named);
}

void inetsocket_takes_the_address_of_the_environment(void **)
{
	int fd;

	setenv("BINDADDR", "127.0.0.2", 1);
	fd = inetsocket(SOCK_DGRAM);
	assert_string_equal(inet_ntoa(address_of(fd).sin_addr), "127.0.0.2");
	close(fd);
	setenv("BINDADDR", "nonsense", 1);
	fd = inetsocket(SOCK_DGRAM);
	assert_string_equal(inet_ntoa(address_of(fd).sin_addr), "0.0.0.0");
	close(fd);
	unsetenv("BINDADDR");
	setenv("SFS_OPTIONS", "b", 1);
	fd = inetsocket(SOCK_DGRAM);
	assert_false(flags_of(fd) & O_NONBLOCK);
	close(fd);
	unsetenv("SFS_OPTIONS");
}

void inetsocket_without_descriptors_says_so(void **)
{
	struct rlimit before, none;

	getrlimit(RLIMIT_NOFILE, &before);
	none = { 0, before.rlim_max };
	setrlimit(RLIMIT_NOFILE, &none);
	errno = 0;
	assert_int_equal(inetsocket(SOCK_STREAM), -1);
	assert_int_equal(errno, EMFILE);
	assert_int_equal(unixsocket((folder() + "/none").c_str()), -1);
	assert_int_equal(unixsocket_connect((folder() + "/none").c_str()), -1);
	setrlimit(RLIMIT_NOFILE, &before);
}

void unixsocket_is_bound_and_connects(void **)
{
	std::string path = folder() + "/socket";
	int fd = unixsocket(path.c_str()), client, inet = inetsocket(SOCK_STREAM);
	int null = open("/dev/null", O_RDONLY);

	assert_true(fd >= 0);
	assert_int_equal(unixsocket(path.c_str()), -1);
	assert_int_equal(errno, EADDRINUSE);
	assert_int_equal(unixsocket_connect(path.c_str()), -1);
	assert_int_equal(errno, ECONNREFUSED);
	assert_int_equal(listen(fd, 1), 0);
	client = unixsocket_connect(path.c_str());
	assert_true(client >= 0);
	assert_true(isunixsocket(client));
	assert_false(isunixsocket(inet));
	assert_false(isunixsocket(null));
	assert_false(isunixsocket(999));
	close(null);
	close(client);
	close(inet);
	close(fd);
	unlink(path.c_str());
	assert_int_equal(unixsocket_connect(path.c_str()), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(unixsocket(std::string(200, 'x').c_str()), -1);
	assert_int_equal(errno, ENAMETOOLONG);
}

void make_async_tcp_abort_resets(void **)
{
	int listener = inetsocket(SOCK_STREAM, 0, INADDR_LOOPBACK), client, server;
	sockaddr_in sin = address_of(listener);
	char c;

	assert_int_equal(listen(listener, 1), 0);
	client = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(client, reinterpret_cast<sockaddr *>(&sin), sizeof(sin)), 0);
	assert_int_equal(fdwait(listener, selread), 1);
	server = accept(listener, nullptr, nullptr);
	tcp_nodelay(client);
	assert_int_equal(option_of(client, IPPROTO_TCP, TCP_NODELAY), 1);
	tcp_abort(client);
	assert_int_equal(fdwait(server, selread), 1);
	assert_int_equal(read(server, &c, 1), -1);
	assert_int_equal(errno, ECONNRESET);
	close(server);
	close(listener);
}

void fdwait_tells_what_is_ready(void **)
{
	timeval none = { 0, 0 };
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(fdwait(fds[0], selread, &none), 0);
	assert_int_equal(fdwait(fds[1], selwrite, &none), 1);
	v_write(fds[1], "x", 1);
	assert_int_equal(fdwait(fds[0], fds[1], true, true, &none), 2);
	assert_int_equal(fdwait(fds[0], true, false, &none), 1);
	assert_int_equal(fdwait(fds[0], fds[1], false, false, &none), 0);
	close(fds[0]);
	close(fds[1]);
}

void recvfd_gets_what_sendfd_sent(void **)
{
	int pair[2], fds[2], got, none;
	char buf[8];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(writefd(pair[0], "ab", 2, fds[1]), 2);
	assert_int_equal(readfd(pair[1], buf, sizeof(buf), &got), 2);
	assert_memory_equal(buf, "ab", 2);
	assert_true(got >= 0);
	assert_int_equal(fcntl(got, F_GETFD), FD_CLOEXEC);
	v_write(got, "via", 3);
	assert_int_equal(read(fds[0], buf, sizeof(buf)), 3);
	assert_int_equal(sendfd(pair[0], "c", 1, -1), 1);
	assert_int_equal(recvfd(pair[1], buf, sizeof(buf), &none), 1);
	assert_int_equal(none, -1);
	close(pair[0]);
	assert_int_equal(readfd(pair[1], buf, sizeof(buf), &none), 0);
	assert_int_equal(writefd(pair[1], "x", 1, 0), -1);
	assert_int_equal(errno, EPIPE);
	assert_int_equal(readfd(999, buf, sizeof(buf), &none), -1);
	assert_int_equal(none, -1);
	for (int fd : { pair[1], fds[0], fds[1], got })
		close(fd);
}

void myname_and_addresses(void **)
{
	char host[256];
	vec<in_addr> all;

	assert_int_equal(gethostname(host, sizeof(host)), 0);
	assert_true(myname() != NULL);
	assert_memory_equal(myname().cstr(), host, strlen(host));
	if (mydomain() != NULL && strchr(host, '.') == nullptr)
		assert_string_equal(myname().cstr(), (std::string(host) + "." + mydomain().cstr()).c_str());
	assert_true(myipaddrs(&all));
	for (size_t i = 0; i + 1 < all.size(); i++) {
		bool is_loopback = ntohl(all[static_cast<ptrdiff_t>(i)].s_addr) >> 24 == 127;
		bool is_next = ntohl(all[static_cast<ptrdiff_t>(i) + 1].s_addr) >> 24 == 127;

		assert_true(!is_loopback || is_next);
	}
}

void timespec_arithmetic(void **)
{
	timespec a = { 1, 600000000 }, b = { 2, 500000000 };
	in_addr x = { htonl(INADDR_LOOPBACK) }, y = { htonl(INADDR_ANY) };
	sockaddr_in s = {}, t = {};

	assert_true(a + b == (timespec{ 4, 100000000 }));
	assert_true(b - a == (timespec{ 0, 900000000 }));
	assert_true(a < b && b > a && a <= b && b >= a && a != b && a <= a && a >= a);
	assert_false(b < a || a > b || b <= a || a >= b || a == b);
	assert_true(x != y && x == x);
	s.sin_addr = x;
	t.sin_addr = x;
	assert_true(s == t);
	t.sin_port = 1;
	assert_true(s != t);
	assert_int_equal(hashfn<in_addr>()(x), hashfn<in_addr>()(x));
	assert_int_not_equal(hashfn<sockaddr_in>()(s), hashfn<sockaddr_in>()(t));
}

int remove_folder(void **)
{
	return rmdir(folder().c_str());
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(make_async_sets_nonblocking_and_keepalive),
		cmocka_unit_test(make_async_close_on_exec_and_back),
		cmocka_unit_test(make_async_of_no_descriptor_panics),
		cmocka_unit_test(make_async_tcp_abort_resets),
		cmocka_unit_test(inetsocket_is_bound_and_does_not_listen),
		cmocka_unit_test(inetsocket_reuses_an_address_that_is_named),
		cmocka_unit_test(inetsocket_takes_the_address_of_the_environment),
		cmocka_unit_test(inetsocket_without_descriptors_says_so),
		cmocka_unit_test(unixsocket_is_bound_and_connects),
		cmocka_unit_test(fdwait_tells_what_is_ready),
		cmocka_unit_test(recvfd_gets_what_sendfd_sent),
		cmocka_unit_test(myname_and_addresses),
		cmocka_unit_test(timespec_arithmetic),
	};

	return cmocka_run_group_tests(tests, nullptr, remove_folder);
}
