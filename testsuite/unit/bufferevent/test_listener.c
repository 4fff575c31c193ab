/*
 * compat/libevent/bufferevent/listener.c: the end of a listener, with evthread on.
 */
#include "table.h"
#include "failing_alloc.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>
#include <event2/listener.h>
#include <event2/thread.h>

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

#define TEST(name) cmocka_unit_test_setup_teardown(name, failing_setup, failing_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_freed_listener_is_gone_at_once),
		TEST(a_listener_may_free_itself),
	};

	if (evthread_use_pthreads() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
