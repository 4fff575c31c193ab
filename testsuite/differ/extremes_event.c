/*
 * Events, time, util: numbers at the ends of their types (extremes.h).
 */
#include "extremes.h"

#include <netinet/in.h>

/* ---------------------------------------------------------------- events and time */

static void fired_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	*(int *)arg |= what;
}

/* Far from now, whatever a library makes of it: its sign counts. */
static const char *distance(const struct timeval *at, const struct timeval *now)
{
	double s = (double)at->tv_sec - (double)now->tv_sec + (double)(at->tv_usec - now->tv_usec) / 1e6;

	return s < -1e-3 ? "past" : s < 1.5 ? "soon" : s < 3e6 ? "later" : "far";
}

static void timers(void)
{
	struct event_base *base = base_new();
	struct timeval at, now;
	struct event *ev;
	int fired, r;

	EACH(i, times) {
		if (!begin_row(is_time(&times[i])))
			continue;
		fired = 0;
		ev = ev_new(base, -1, 0, fired_cb, &fired);
		r = event_add(ev, &times[i]);
		memset(&at, 0, sizeof(at));
		evutil_gettimeofday(&now, NULL);
		event_pending(ev, EV_TIMEOUT, &at);
		turn(base);
		SAY("%ld.%ld: %d, %s, fired %s", TV(times[i]), r, distance(&at, &now), what_str(fired));
		r = event_add(ev, &hour_tv);
		SAY("  again %d, %s", r, pending_str(ev));
		event_free(ev);
	}
	event_base_free(base);
}

static void io_with_times(void)
{
	struct event_base *base = base_new();
	int fired, fd[2];
	struct event *ev;

	pipe_new(fd);
	EACH(i, times) {
		if (!begin_row(is_time(&times[i])))
			continue;
		fired = 0;
		ev = ev_new(base, fd[0], EV_READ | EV_PERSIST, fired_cb, &fired);
		(void)event_add(ev, NULL);
		(void)event_add(ev, &times[i]);
		turn(base);
		turn(base);
		SAY("%ld.%ld: fired %s, %s", TV(times[i]), what_str(fired), pending_str(ev));
		SAY("  without %d, %s", event_remove_timer(ev), pending_str(ev));
		event_free(ev);
	}
	event_base_free(base);
}

static void once_and_exit(void)
{
	EACH(i, times) {
		struct event_base *base;
		int fired = 0, r;

		if (!begin_row(is_time(&times[i])))
			continue;
		base = base_new();
		r = event_base_once(base, -1, EV_TIMEOUT, fired_cb, &fired, &times[i]);
		turn(base);
		SAY("%ld.%ld: once %d, %s", TV(times[i]), r, what_str(fired));
		r = event_base_loopexit(base, &times[i]);
		turn(base);
		SAY("  exit %d, %d", r, event_base_got_exit(base));
		event_base_free(base);
	}
}

static void intervals(void)
{
	EACH(i, times) {
		struct event_config *cfg = event_config_new();
		int r = event_config_set_max_dispatch_interval(cfg, &times[i], -1, 0), fired = 0;
		struct event_base *base = event_base_new_with_config(cfg);

		SAY("%ld.%ld: %d, %s", TV(times[i]), r, is_null(base));
		if (base != NULL) {
			(void)event_base_once(base, -1, EV_TIMEOUT, fired_cb, &fired, &zero_tv);
			turn(base);
			SAY("  %s", what_str(fired));
			event_base_free(base);
		}
		event_config_free(cfg);
	}
	is_silent = false;
	EACH(i, ints) {
		struct event_config *cfg = event_config_new();
		int r = event_config_set_max_dispatch_interval(cfg, NULL, ints[i], 0);
		struct event_base *base;

		SAY("%d callbacks: %d", ints[i], r);
		r = event_config_set_max_dispatch_interval(cfg, NULL, 7, ints[i]);
		SAY("  priority %d", r);
		SAY("  cpus %d, flag %d, features %d", event_config_set_num_cpus_hint(cfg, ints[i]),
		    event_config_set_flag(cfg, ints[i] & ~EVENT_BASE_FLAG_NOLOCK),
		    event_config_require_features(cfg, ints[i]));
		base = event_base_new_with_config(cfg);
		SAY("  %s", is_null(base));
		if (base != NULL) {
			turn(base);
			event_base_free(base);
		}
		event_config_free(cfg);
	}
}

static void common_timeouts(void)
{
	struct event_base *base = base_new();

	EACH(i, times) {
		const struct timeval *common;
		int fired = 0;
		struct event *ev;

		/* README.md: exactly a second in microseconds. */
		if (!begin_row(is_time(&times[i]) && times[i].tv_usec != 1000000 && times[i].tv_sec >= 0))
			continue;
		common = event_base_init_common_timeout(base, &times[i]);
		SAY("%ld.%ld: %s", TV(times[i]), is_null(common));
		if (common == NULL)
			continue;
		ev = ev_new(base, -1, 0, fired_cb, &fired);
		SAY("  add %d", event_add(ev, common));
		turn(base);
		SAY("  %s", what_str(fired));
		event_free(ev);
	}
	event_base_free(base);
}

static void priorities(void)
{
	is_silent = false;
	EACH(i, ints) {
		struct event_base *base = base_new();
		struct event *ev = ev_new(base, -1, 0, say_cb, "event");

		/* Stock allocates a queue for each; so many would be a test of the machine. */
		if (ints[i] < 65537)
			SAY("%d: init %d, %d", ints[i], event_base_priority_init(base, ints[i]),
			    event_base_get_npriorities(base));
		SAY("%d: set %d, %d", ints[i], event_priority_set(ev, ints[i]), event_get_priority(ev));
		event_free(ev);
		event_base_free(base);
	}
}

static void flags(void)
{
	struct event_base *base = base_new();
	struct event *ev = ev_new(base, -1, 0, say_cb, "event");

	(void)event_add(ev, &hour_tv);
	is_silent = false;
	EACH(i, ints) {
		unsigned flags = (unsigned)ints[i];

		SAY("%#x: now %d, most %d, %d", flags, event_base_get_num_events(base, flags),
		    event_base_get_max_events(base, flags, 0), event_base_get_max_events(base, flags, 1));
		SAY("  pending %s", what_str(event_pending(ev, (short)ints[i], NULL)));
		SAY("  loop %d", event_base_loop(base, ints[i] | EVLOOP_NONBLOCK));
	}
	event_free(ev);
	event_base_free(base);
}

static void activations(void)
{
	static const int results[] = { 0, EV_TIMEOUT, EV_READ, 0x7fff, -1, -32768, 0x100 };
	static const short calls[] = { 1, 0, 2, -1, SHRT_MAX, SHRT_MIN };
	struct event_base *base = base_new();
	int fired;

	EACH(i, results) {
		struct event *ev = ev_new(base, -1, 0, fired_cb, &fired);

		fired = 0;
		event_active(ev, results[i], 1);
		turn(base);
		SAY("%#x: %#x", results[i] & 0xffff, (unsigned)fired & 0xffff);
		event_free(ev);
	}
	EACH(i, calls) {
		struct event *ev = ev_new(base, SIGUSR1, EV_SIGNAL, fired_cb, &fired);

		fired = 0;
		event_active(ev, EV_SIGNAL, calls[i]);
		turn(base);
		SAY("%d calls: %s", calls[i], what_str(fired));
		event_free(ev);
	}
	is_silent = false;
	EACH(i, ints) {
		event_base_active_by_fd(base, ints[i], EV_READ | EV_WRITE);
		event_base_active_by_signal(base, ints[i]);
		event_base_active_by_fd(base, -1, (short)ints[i]);
		SAY("%d: loop %d", ints[i], turn(base));
	}
	event_base_free(base);
}

static void assignments(void)
{
	static const int fds[] = { -1, -2, INT_MIN, 900, 1 << 20 };
	static const int signals[] = { -1, 0, 1, 9, 19, 64, 65, 128, 255, 1000, INT_MIN };
	struct event_base *base = base_new();
	struct event *ev;

	is_silent = false;
	EACH(i, ints) {
		ev = event_new(base, -1, (short)(ints[i] & ~EV_FINALIZE), say_cb, "");
		SAY("%#x: %s", ints[i] & 0xffff, is_null(ev));
		if (ev == NULL)
			continue;
		SAY("  %#x", (unsigned)event_get_events(ev) & 0xffff);
		event_free(ev);
	}
	/* Numbers that the poller cannot know. */
	EACH(i, fds) {
		int r;

		/* Behind the end of stock's fd_set. */
		if (!begin_row(fds[i] < 1024))
			continue;
		ev = ev_new(base, fds[i], EV_READ, say_cb, "");
		r = event_add(ev, NULL);
		SAY("descriptor %d: %d, %s", fds[i], r, pending_str(ev));
		event_free(ev);
	}
	is_silent = false;
	EACH(i, signals) {
		int r = -1;

		ev = event_new(base, signals[i], EV_SIGNAL, say_cb, "");
		if (ev != NULL)
			r = event_add(ev, &hour_tv);
		SAY("signal %d: %s, %d", signals[i], is_null(ev), r);
		if (ev != NULL)
			event_free(ev);
	}
	event_base_free(base);
}

/* ---------------------------------------------------------------- util */

static void util(void)
{
	static const char *const addresses[] = { "1.2.3.4:65535",
						 "1.2.3.4:65536",
						 "1.2.3.4:0",
						 "1.2.3.4:-1",
						 "1.2.3.4:4294967297",
						 "[::1]:65536",
						 "[::1]:18446744073709551617",
						 "1.2.3.4:" };
	struct sockaddr_storage ss;
	char buf[64];
	int len, fd[2];

	EACH(i, addresses) {
		len = sizeof(ss);
		SAY("%s: %d", addresses[i], evutil_parse_sockaddr_port(addresses[i], (struct sockaddr *)&ss, &len));
	}
	is_silent = false;
	EACH(i, ints) {
		len = ints[i];
		if (len <= (int)sizeof(ss))
			SAY("%d: %d", ints[i],
			    evutil_parse_sockaddr_port("1.2.3.4:80", (struct sockaddr *)&ss, &len));
		SAY("%d: error %s", ints[i], is_null(evutil_gai_strerror(ints[i])));
		if (ints[i] < 0 || ints[i] > 1000) {
			SAY("  nonblocking %d, closeonexec %d", evutil_make_socket_nonblocking(ints[i]),
			    evutil_make_socket_closeonexec(ints[i]));
			SAY("  reuseable %d, port %d, ipv6only %d, deferred %d",
			    evutil_make_listen_socket_reuseable(ints[i]),
			    evutil_make_listen_socket_reuseable_port(ints[i]),
			    evutil_make_listen_socket_ipv6only(ints[i]),
			    evutil_make_tcp_listen_socket_deferred(ints[i]));
			SAY("  pair %d", evutil_socketpair(ints[i], SOCK_STREAM, 0, fd));
		}
	}
	EACH(i, sizes) {
		SAY("%zu: %d %d", sizes[i], evutil_ascii_strncasecmp("abc", "ABC", sizes[i]),
		    evutil_ascii_strncasecmp("abc", "abd", sizes[i]));
		if (sizes[i] <= sizeof(buf)) {
			SAY("  %d", evutil_snprintf(buf, sizes[i], "%d", 12345));
			SAY("  %s", is_null(evutil_inet_ntop(AF_INET, "\1\2\3\4", buf, sizes[i])));
		}
	}
	evutil_secure_rng_get_bytes(buf, 0);
	evutil_secure_rng_add_bytes(buf, 0);
}

static void dates(void)
{
	struct tm tm;
	char buf[64];

	EACH(i, sizes) {
		memset(&tm, 0, sizeof(tm));
		tm.tm_mday = 1;
		if (sizes[i] <= sizeof(buf))
			SAY("%zu: %d", sizes[i], evutil_date_rfc1123(buf, sizes[i], &tm));
	}
}

static void strings_of_numbers(void)
{
	static const char *const numbers[] = { "9223372036854775807",     "9223372036854775808",
					       "-9223372036854775808",    "-9223372036854775809",
					       "99999999999999999999999", "" };
	char *end;

	EACH(i, numbers) {
		ev_int64_t n = evutil_strtoll(numbers[i], &end, 10);

		SAY("<%s>: %lld, <%s>", numbers[i], (long long)n, end);
	}
}

static void getaddrinfo_numbers(void)
{
	static const char *const services[] = { "0", "65535", "65536", "-1", "4294967297", "99999999999999999999" };
	struct evutil_addrinfo hints, *res;
	int r;

	EACH(i, services) {
		memset(&hints, 0, sizeof(hints));
		hints.ai_family = AF_INET;
		hints.ai_socktype = SOCK_STREAM;
		hints.ai_flags = EVUTIL_AI_NUMERICHOST | EVUTIL_AI_NUMERICSERV;
		res = NULL;
		r = evutil_getaddrinfo("1.2.3.4", services[i], &hints, &res);
		SAY("%s: %d", services[i],
		    r == 0 ? ntohs(((struct sockaddr_in *)(void *)res->ai_addr)->sin_port) : -1);
		if (r == 0)
			evutil_freeaddrinfo(res);
	}
}

/* ---------------------------------------------------------------- */

int main(void)
{
	int failed = 0;

	signal(SIGPIPE, SIG_IGN);
	RUN(timers);
	RUN(io_with_times);
	RUN(once_and_exit);
	RUN(intervals);
	RUN(common_timeouts);
	RUN(priorities);
	RUN(flags);
	RUN(activations);
	RUN(assignments);
	RUN(util);
	RUN(dates);
	RUN(strings_of_numbers);
	RUN(getaddrinfo_numbers);
	return failed != 0;
}
