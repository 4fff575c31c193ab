/*
 * compat/libevent/util/sock.c: what is set is seen by the kernel, and failures have an errno.
 */
#include "table.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/util.h>

#include "core/ec.h"
#include "emulated.h"

static char last_text[1024];

static void keep(int severity, const char *msg)
{
	assert_int_equal(severity, EC_LOG_WARN);
	strcpy(last_text, msg);
}

static int setup(void **state)
{
	(void)state;
	last_text[0] = '\0';
	ec_log_set_fn(keep);
	return 0;
}

/* A number at which nothing is open. */
static int closed_fd(void)
{
	int fd = dup(STDERR_FILENO);

	assert_true(fd >= 0);
	close(fd);
	return fd;
}

static int option(int fd, int level, int name)
{
	socklen_t len = sizeof(int);
	int value = -1;

	assert_int_equal(getsockopt(fd, level, name, &value, &len), 0);
	return value;
}

static void a_pair_is_connected(void **state)
{
	evutil_socket_t fds[2];
	char byte;

	(void)state;
	assert_int_equal(evutil_socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	assert_int_equal(write(fds[0], "a", 1), 1);
	assert_int_equal(read(fds[1], &byte, 1), 1);
	assert_int_equal(write(fds[1], "b", 1), 1);
	assert_int_equal(read(fds[0], &byte, 1), 1);
	assert_int_equal(byte, 'b');
	assert_int_equal(evutil_closesocket(fds[0]), 0);
	assert_int_equal(read(fds[1], &byte, 1), 0);
	assert_int_equal(evutil_closesocket(fds[1]), 0);
}

static void a_pair_fails_as_the_kernel_says(void **state)
{
	evutil_socket_t fds[2];

	(void)state;
	errno = 0;
	assert_int_equal(evutil_socketpair(AF_INET, SOCK_STREAM, 0, fds), -1);
	assert_int_equal(errno, EOPNOTSUPP);
	if (has_socket_type_errors(99))
		assert_int_equal(evutil_socketpair(AF_UNIX, 99, 0, fds), -1);
	assert_int_equal(evutil_socketpair(AF_UNIX, SOCK_STREAM, 0, NULL), -1);
	assert_int_equal(errno, EFAULT);
}

static void flags_are_added_to_the_others(void **state)
{
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(fcntl(fds[1], F_SETFL, O_APPEND), 0);
	assert_int_equal(evutil_make_socket_nonblocking(fds[1]), 0);
	assert_int_equal(fcntl(fds[1], F_GETFL) & (O_NONBLOCK | O_APPEND), O_NONBLOCK | O_APPEND);
	assert_int_equal(evutil_make_socket_nonblocking(fds[1]), 0);
	assert_int_equal(fcntl(fds[0], F_GETFL) & O_NONBLOCK, 0);
	assert_int_equal(evutil_make_socket_closeonexec(fds[0]), 0);
	assert_int_equal(evutil_make_socket_closeonexec(fds[0]), 0);
	assert_int_equal(fcntl(fds[0], F_GETFD), FD_CLOEXEC);
	assert_int_equal(fcntl(fds[1], F_GETFD), 0);
	assert_string_equal(last_text, "");
	close(fds[0]);
	close(fds[1]);
}

static void flags_of_nothing_fail_aloud(void **state)
{
	char text[64];
	int fd = closed_fd();

	(void)state;
	assert_int_equal(evutil_make_socket_nonblocking(fd), -1);
	snprintf(text, sizeof(text), "fcntl(%d, F_GETFL): Bad file descriptor", fd);
	assert_string_equal(last_text, text);
	assert_int_equal(evutil_make_socket_closeonexec(fd), -1);
	snprintf(text, sizeof(text), "fcntl(%d, F_GETFD): Bad file descriptor", fd);
	assert_string_equal(last_text, text);
}

/* A descriptor that only names a file has flags, but they can't be set. */
static void a_flag_that_cannot_be_set_fails_aloud(void **state)
{
	char text[64];
	int fd = open("/", O_PATH);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(evutil_make_socket_nonblocking(fd), -1);
	snprintf(text, sizeof(text), "fcntl(%d, F_SETFL): Bad file descriptor", fd);
	assert_string_equal(last_text, text);
	close(fd);
}

static void listeners_get_their_options(void **state)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(evutil_make_listen_socket_reuseable(fd), 0);
	assert_int_equal(option(fd, SOL_SOCKET, SO_REUSEADDR), 1);
	assert_int_equal(evutil_make_listen_socket_reuseable_port(fd), 0);
	assert_int_equal(option(fd, SOL_SOCKET, SO_REUSEPORT), 1);
	assert_int_equal(evutil_make_tcp_listen_socket_deferred(fd), 0);
	assert_true(option(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT) > 0);
	assert_int_equal(evutil_make_listen_socket_ipv6only(fd), -1);
	assert_int_equal(evutil_closesocket(fd), 0);
}

static void an_ipv6_listener_is_only_that(void **state)
{
	int fd = socket(AF_INET6, SOCK_STREAM, 0);

	(void)state;
	if (fd < 0)
		skip(); /* a kernel without IPv6 */
	assert_int_equal(evutil_make_listen_socket_ipv6only(fd), 0);
	assert_int_equal(option(fd, IPPROTO_IPV6, IPV6_V6ONLY), 1);
	assert_int_equal(evutil_closesocket(fd), 0);
}

static void options_of_nothing_fail(void **state)
{
	int fd = closed_fd();

	(void)state;
	errno = 0;
	assert_int_equal(evutil_make_listen_socket_reuseable(fd), -1);
	assert_int_equal(errno, EBADF);
	assert_int_equal(evutil_make_listen_socket_reuseable_port(fd), -1);
	assert_int_equal(evutil_make_listen_socket_ipv6only(fd), -1);
	assert_int_equal(evutil_make_tcp_listen_socket_deferred(fd), -1);
	errno = 0;
	assert_int_equal(evutil_closesocket(fd), -1);
	assert_int_equal(errno, EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_pair_is_connected, setup),
		cmocka_unit_test_setup(a_pair_fails_as_the_kernel_says, setup),
		cmocka_unit_test_setup(flags_are_added_to_the_others, setup),
		cmocka_unit_test_setup(flags_of_nothing_fail_aloud, setup),
		cmocka_unit_test_setup(a_flag_that_cannot_be_set_fails_aloud, setup),
		cmocka_unit_test_setup(listeners_get_their_options, setup),
		cmocka_unit_test_setup(an_ipv6_listener_is_only_that, setup),
		cmocka_unit_test_setup(options_of_nothing_fail, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
