/*
 * compat/libevent/bufferevent/listener.c: its end, its pauses and its memory, with evthread on.
 */
#include "table.h"
#include "failing_alloc.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>
#include <event2/listener.h>
#include <event2/smp.h>
#include <event2/thread.h>

#include "core/os/clock.h"

enum { LISTENERS = 100 };

static void on_accept(struct evconnlistener *lev, evutil_socket_t fd, struct sockaddr *sa, int len, void *arg)
{
	(void)sa;
	(void)len;
	close(fd);
	evconnlistener_free(lev);
	*(int *)arg += 1;
}

static struct evconnlistener *listener_new(struct event_base *base, unsigned flags, void *arg)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	struct evconnlistener *lev;

	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	lev = evconnlistener_new_bind(base, on_accept, arg, flags | LEV_OPT_CLOSE_ON_FREE, -1,
				      (struct sockaddr *)&sin, sizeof(sin));
	assert_non_null(lev);
	return lev;
}

/* Without a turn of the loop. */
static void a_freed_listener_is_gone_at_once(void **state)
{
	struct event_base *base = event_base_new();
	long before = 0;
	int i;

	(void)state;
	for (i = 0; i < LISTENERS; i++) {
		evconnlistener_free(listener_new(base, i % 2 == 0 ? 0 : LEV_OPT_THREADSAFE, NULL));
		if (i == 1)
			before = failing.live;
	}
	assert_int_equal(failing.live, before);
	event_base_free(base);
}

static int connect_to(struct evconnlistener *lev)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in sin;
	socklen_t len = sizeof(sin);

	assert_int_equal(getsockname(evconnlistener_get_fd(lev), (struct sockaddr *)&sin, &len), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&sin, len), 0);
	return fd;
}

static void a_listener_may_free_itself(void **state)
{
	struct event_base *base = event_base_new();
	int calls = 0, fd = connect_to(listener_new(base, LEV_OPT_THREADSAFE, &calls));

	(void)state;
	assert_int_equal(event_base_dispatch(base), 1); /* nothing is left to wait for */
	assert_int_equal(calls, 1);
	close(fd);
	event_base_free(base);
}

/* ---------------------------------------------------------------- pauses */

enum { PAUSE_NS = 100 * 1000 * 1000, TURNS = 10 };

static int64_t now_ns = (int64_t)1000 * 1000 * 1000 * 1000;

static int64_t clock_now(void)
{
	return now_ns;
}

/* A listener with a connection in the kernel's queue, and no descriptor for it. */
struct short_of {
	struct event_base *base;
	struct evconnlistener *lev;
	int client;
	int accepted, failures;
	struct rlimit was;
};

static void on_connection(struct evconnlistener *lev, evutil_socket_t fd, struct sockaddr *sa, int len, void *arg)
{
	(void)lev;
	(void)sa;
	(void)len;
	close(fd);
	((struct short_of *)arg)->accepted++;
}

static void on_failure(struct evconnlistener *lev, void *arg)
{
	(void)lev;
	assert_int_equal(errno, EMFILE);
	((struct short_of *)arg)->failures++;
}

static void turns(struct short_of *s)
{
	int i;

	for (i = 0; i < TURNS; i++)
		(void)event_base_loop(s->base, EVLOOP_NONBLOCK);
}

static void shortage_begin(struct short_of *s)
{
	struct rlimit none;
	int next = dup(0);

	close(next);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &s->was), 0);
	none = s->was;
	none.rlim_cur = (rlim_t)next;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
}

static void shortage_end(const struct short_of *s)
{
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &s->was), 0);
}

static void open_short(struct short_of *s)
{
	memset(s, 0, sizeof(*s));
	ec_clock_set_source(clock_now);
	s->base = event_base_new();
	s->lev = listener_new(s->base, LEV_OPT_THREADSAFE, s);
	evconnlistener_set_cb(s->lev, on_connection, s);
	evconnlistener_set_error_cb(s->lev, on_failure);
	turns(s);
	s->client = connect_to(s->lev);
	shortage_begin(s);
}

static void close_short(struct short_of *s)
{
	close(s->client);
	event_base_free(s->base);
	ec_clock_set_source(NULL);
}

static void a_lack_of_descriptors_is_a_pause(void **state)
{
	int listening, round;
	struct short_of s;

	(void)state;
	open_short(&s);
	listening = evconnlistener_get_fd(s.lev);
	for (round = 1; round <= 3; round++) {
		turns(&s);
		assert_int_equal(s.failures, round);
		assert_int_equal(evconnlistener_get_fd(s.lev), listening);
		assert_ptr_equal(evconnlistener_get_base(s.lev), s.base);
		now_ns += PAUSE_NS;
	}
	shortage_end(&s);
	assert_int_equal(s.accepted, 0);
	turns(&s);
	assert_int_equal(s.failures, 3);
	assert_int_equal(s.accepted, 1);
	evconnlistener_free(s.lev);
	close_short(&s);
}

static void enabling_it_anew_ends_the_pause(void **state)
{
	struct short_of s;

	(void)state;
	open_short(&s);
	turns(&s);
	shortage_end(&s);
	assert_int_equal(evconnlistener_enable(s.lev), 0);
	turns(&s);
	assert_int_equal(s.accepted, 0);
	assert_int_equal(evconnlistener_disable(s.lev), 0);
	now_ns += 2 * PAUSE_NS;
	turns(&s);
	assert_int_equal(s.accepted, 0);
	assert_int_equal(evconnlistener_enable(s.lev), 0);
	turns(&s);
	assert_int_equal(s.accepted, 1);
	evconnlistener_free(s.lev);
	close_short(&s);
}

static void it_may_be_freed_in_a_pause(void **state)
{
	struct short_of s;

	(void)state;
	open_short(&s);
	turns(&s);
	evconnlistener_free(s.lev);
	shortage_end(&s);
	assert_int_equal(event_base_dispatch(s.base), 1);
	close_short(&s);
}

/* Then there is no pause, and the next try comes at once. */
static void without_memory_for_a_pause_it_still_listens(void **state)
{
	struct short_of s;

	(void)state;
	open_short(&s);
	failing_from_now(2);		/* the first one is for the change of interest */
	turns(&s);
	assert_true(failing.calls >= failing.fail_at);
	failing_from_now(0);
	assert_int_equal(s.failures, 2);
	shortage_end(&s);
	now_ns += PAUSE_NS;
	turns(&s);
	assert_int_equal(s.accepted, 1);
	evconnlistener_free(s.lev);
	close_short(&s);
}

/* ---------------------------------------------------------------- colors */

static void a_policy_needs_memory(void **state)
{
	struct event_base *base = event_base_new();
	struct evconnlistener *lev = listener_new(base, 0, NULL);
	size_t nth;
	int r = -1;

	(void)state;
	assert_int_equal(evconnlistener_set_color_policy(lev, EVCONNLISTENER_COLOR_NONE, NULL, NULL), 0);
	for (nth = 1; r < 0; nth++) {
		failing_from_now(nth);
		errno = 0;
		r = evconnlistener_set_color_policy(lev, EVCONNLISTENER_COLOR_FRESH, NULL, NULL);
		if (r < 0)
			assert_int_equal(errno, ENOMEM);
	}
	assert_true(nth > 3);
	failing_from_now(0);
	assert_int_equal(evconnlistener_set_color_policy(lev, EVCONNLISTENER_COLOR_NONE, NULL, NULL), 0);
	evconnlistener_free(lev);
	event_base_free(base);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, failing_setup, failing_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_freed_listener_is_gone_at_once),
		TEST(a_listener_may_free_itself),
		TEST(a_lack_of_descriptors_is_a_pause),
		TEST(enabling_it_anew_ends_the_pause),
		TEST(it_may_be_freed_in_a_pause),
		TEST(without_memory_for_a_pause_it_still_listens),
		TEST(a_policy_needs_memory),
	};

	if (evthread_use_pthreads() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
