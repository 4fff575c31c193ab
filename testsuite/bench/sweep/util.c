/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/* evutil. */
#include "sweep.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <event2/util.h>

static void monotonic(struct sweep *s)
{
	struct evutil_monotonic_timer *timer = evutil_monotonic_timer_new();
	struct timeval tv;

	evutil_configure_monotonic_time(timer, (int)s->num);
	while (sweep_next(s))
		evutil_gettime_monotonic(timer, &tv);
	evutil_monotonic_timer_free(timer);
}

static void monotonic_new_free(struct sweep *s)
{
	while (sweep_next(s)) {
		struct evutil_monotonic_timer *timer = evutil_monotonic_timer_new();

		evutil_configure_monotonic_time(timer, 0);
		evutil_monotonic_timer_free(timer);
	}
}

static void date(struct sweep *s)
{
	struct tm tm = { .tm_year = 126, .tm_mon = 10, .tm_mday = 24, .tm_hour = 18, .tm_min = 5, .tm_wday = 2 };
	char text[40];

	while (sweep_next(s))
		s->calls += evutil_date_rfc1123(text, sizeof(text), &tm);
}

static void inet(struct sweep *s)
{
	unsigned char addr[16], addr6[16];
	unsigned scope;
	char text[64];

	while (sweep_next(s)) {
		s->calls += evutil_inet_pton(AF_INET, "192.168.10.254", addr);
		s->calls += evutil_inet_ntop(AF_INET, addr, text, sizeof(text)) != NULL;
		s->calls += evutil_inet_pton(AF_INET6, "2001:db8::8a2e:370:7334", addr6);
		s->calls += evutil_inet_ntop(AF_INET6, addr6, text, sizeof(text)) != NULL;
		s->calls += evutil_inet_pton_scope(AF_INET6, "fe80::1", addr6, &scope);
	}
}

static void sockaddr(struct sweep *s)
{
	struct sockaddr_storage one, other;
	int len;

	while (sweep_next(s)) {
		len = sizeof(one);
		s->calls += evutil_parse_sockaddr_port("127.0.0.1:8080", (struct sockaddr *)&one, &len);
		len = sizeof(other);
		s->calls += evutil_parse_sockaddr_port("[2001:db8::1]:443", (struct sockaddr *)&other, &len);
		s->calls += evutil_sockaddr_cmp((struct sockaddr *)&one, (struct sockaddr *)&other, 1);
	}
}

static void print(struct sweep *s)
{
	char text[100];

	while (sweep_next(s))
		s->calls += evutil_snprintf(text, sizeof(text), "%s/%d.%d", "HTTP", 1, 1);
}

static void ascii(struct sweep *s)
{
	while (sweep_next(s)) {
		s->calls += evutil_ascii_strcasecmp("Content-Length", "content-length");
		s->calls += evutil_ascii_strncasecmp("Transfer-Encoding: chunked", "transfer-encoding", 17);
	}
}

static void strtoll_call(struct sweep *s)
{
	char *end;

	while (sweep_next(s))
		s->calls += (int)evutil_strtoll("1234567890", &end, 10);
}

static void sockets(struct sweep *s)
{
	evutil_socket_t pair[2];

	while (sweep_next(s)) {
		sweep_check(evutil_socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
		evutil_make_socket_nonblocking(pair[0]);
		evutil_make_socket_closeonexec(pair[0]);
		evutil_make_listen_socket_reuseable(pair[0]);
		evutil_closesocket(pair[0]);
		evutil_closesocket(pair[1]);
	}
}

static void listen_options(struct sweep *s)
{
	int fd = socket(AF_INET6, SOCK_STREAM, 0);

	while (sweep_next(s)) {
		evutil_make_listen_socket_reuseable(fd);
		evutil_make_listen_socket_reuseable_port(fd);
		evutil_make_listen_socket_ipv6only(fd);
		evutil_make_tcp_listen_socket_deferred(fd);
	}
	close(fd);
}

static void addrinfo(struct sweep *s)
{
	struct evutil_addrinfo hints = { .ai_family = AF_UNSPEC, .ai_flags = EVUTIL_AI_NUMERICHOST }, *info;

	hints.ai_socktype = SOCK_STREAM;
	while (sweep_next(s)) {
		sweep_check(evutil_getaddrinfo("127.0.0.1", "80", &hints, &info) == 0);
		evutil_freeaddrinfo(info);
		s->calls += evutil_gai_strerror(EVUTIL_EAI_NONAME) != NULL;
	}
}

static void random_bytes(struct sweep *s)
{
	char bytes[16];

	sweep_check(evutil_secure_rng_init() == 0);
	while (sweep_next(s))
		evutil_secure_rng_get_bytes(bytes, sizeof(bytes));
}

static void quiet(int severity, const char *text)
{
	(void)severity;
	(void)text;
}

static void log_calls(struct sweep *s)
{
	event_set_log_callback(quiet);
	while (sweep_next(s))
		event_enable_debug_logging(EVENT_DBG_NONE);
}

const struct sweep_pattern sweep_util[] = {
	{ "util/monotonic", monotonic, .ops = 500 },
	{ "util/monotonic-precise", monotonic, .ops = 500, .num = EV_MONOT_PRECISE },
	{ "util/monotonic-fallback", monotonic, .ops = 500, .num = EV_MONOT_FALLBACK },
	{ "util/monotonic-new-free", monotonic_new_free, .ops = 200 },
	{ "util/date-rfc1123", date, .ops = 200 },
	{ "util/inet", inet, .ops = 200 },
	{ "util/sockaddr", sockaddr, .ops = 200 },
	{ "util/snprintf", print, .ops = 200 },
	{ "util/ascii", ascii, .ops = 500 },
	{ "util/strtoll", strtoll_call, .ops = 500 },
	{ "util/sockets", sockets, .ops = 50 },
	{ "util/listen-options", listen_options, .ops = 50 },
	{ "util/getaddrinfo", addrinfo, .ops = 50 },
	{ "util/random", random_bytes, .ops = 200, .flags = SWEEP_UNEVEN },
	{ "util/log-calls", log_calls, .ops = 500 },
	{ NULL, NULL, 0, 0, 0, NULL },
};
