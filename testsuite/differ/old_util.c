/* Helpers of libevent 1.4's time: <evutil.h> alone. */
#include <evutil.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int formatted(char *buf, size_t len, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = evutil_vsnprintf(buf, len, fmt, ap);
	va_end(ap);
	return r;
}

static void texts(void)
{
	char buf[8];
	int r;

	r = evutil_snprintf(buf, sizeof(buf), "%s %d", "text", 12345);
	printf("snprintf %d <%s>\n", r, buf);
	r = formatted(buf, sizeof(buf), "%d", -7);
	printf("vsnprintf %d <%s>\n", r, buf);
	r = evutil_snprintf(buf, 0, "x");
	printf("nothing %d\n", r);
	printf("number %lld\n", (long long)evutil_strtoll("-9223372036854775807x", NULL, 10));
}

static void times(void)
{
	struct timeval a = { 5, 700000 }, b = { 2, 800000 }, c = { 0, 0 };

	evutil_timeradd(&a, &b, &c);
	printf("sum %ld %ld\n", (long)c.tv_sec, (long)c.tv_usec);
	evutil_timersub(&a, &b, &c);
	printf("difference %ld %ld\n", (long)c.tv_sec, (long)c.tv_usec);
	printf("compared %d %d %d\n", evutil_timercmp(&a, &b, <), evutil_timercmp(&a, &b, >),
	       evutil_timercmp(&a, &a, ==));
	evutil_timerclear(&c);
	printf("set %d %d\n", evutil_timerisset(&a), evutil_timerisset(&c));
	printf("now %d\n", evutil_gettimeofday(&c, NULL));
	printf("is set %d\n", evutil_timerisset(&c));
}

static void sockets(void)
{
	int fd[2], r = evutil_socketpair(AF_UNIX, SOCK_STREAM, 0, fd);
	char c;

	printf("pair %d\n", r);
	printf("nonblocking %d\n", evutil_make_socket_nonblocking(fd[0]));
	printf("flag %d\n", (fcntl(fd[0], F_GETFL) & O_NONBLOCK) != 0);
	r = (int)read(fd[0], &c, 1);
	printf("read %d, error %d\n", r, EVUTIL_SOCKET_ERROR() == EAGAIN);
	EVUTIL_SET_SOCKET_ERROR(EPIPE);
	printf("error %s\n", evutil_socket_error_to_string(EVUTIL_SOCKET_ERROR()));
	printf("close %d %d\n", EVUTIL_CLOSESOCKET(fd[0]), EVUTIL_CLOSESOCKET(fd[1]));
}

int main(void)
{
	texts();
	times();
	sockets();
	return 0;
}
