/*
 * Listeners and connecting bufferevents when a system call fails: what is told, and that no
 * descriptor is left.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>

#include "fault.h"

static struct sockaddr_in address;

static void accepted(struct evconnlistener *lev, evutil_socket_t fd, struct sockaddr *addr, int len, void *arg)
{
	(void)lev;
	(void)addr;
	(void)len;
	(void)arg;
	close(fd);
}

static struct evconnlistener *listening(struct event_base *base)
{
	address = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	return evconnlistener_new_bind(base, accepted, NULL,
				       LEV_OPT_CLOSE_ON_FREE | LEV_OPT_REUSEABLE | LEV_OPT_REUSEABLE_PORT,
				       -1, (struct sockaddr *)&address, sizeof(address));
}

/* -1: it could not be made, because of the fault. */
static int listen_once(void *arg)
{
	struct event_base *base = event_base_new();
	struct evconnlistener *lev;

	(void)arg;
	if (base == NULL)
		return -1;
	lev = listening(base);
	if (lev != NULL)
		evconnlistener_free(lev);
	event_base_free(base);
	return lev == NULL ? -1 : 0;
}

static void a_listener_needs_each_of_its_calls(void **state)
{
	(void)state;
	assert_int_equal(fault_each_call_as(FAULT_socket, EMFILE, listen_once, NULL, -1), 1);
	assert_int_equal(fault_each_call_as(FAULT_setsockopt, EINVAL, listen_once, NULL, -1), 3);
	assert_int_equal(fault_each_call_as(FAULT_bind, EADDRINUSE, listen_once, NULL, -1), 1);
	assert_int_equal(fault_each_call_as(FAULT_listen, EADDRINUSE, listen_once, NULL, -1), 1);
}

static short told;

static void note_event(struct bufferevent *bev, short what, void *arg)
{
	(void)bev;
	(void)arg;
	told = what;
}

/* -1: it is not connected, and the caller or the callback was told so. */
static int connect_once(void *arg)
{
	struct event_base *base = event_base_new();
	struct bufferevent *bev = NULL;
	struct evconnlistener *lev;
	int r = -1;

	(void)arg;
	if (base == NULL)
		return -1;
	told = 0;
	lev = listening(base);
	bev = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
	if (lev == NULL || bev == NULL)
		goto end;
	bufferevent_setcb(bev, NULL, NULL, note_event, NULL);
	if (getsockname(evconnlistener_get_fd(lev), (struct sockaddr *)&address, &(socklen_t){ sizeof(address) }) < 0)
		goto end;
	r = bufferevent_socket_connect(bev, (struct sockaddr *)&address, sizeof(address));
	while (r == 0 && told == 0 && event_base_loop(base, EVLOOP_ONCE) == 0)
		;
	if (r == 0 && told != BEV_EVENT_CONNECTED) {
		assert_int_equal(told, BEV_EVENT_ERROR);
		r = -1;
	}
end:
	if (bev != NULL)
		bufferevent_free(bev);
	if (lev != NULL)
		evconnlistener_free(lev);
	event_base_free(base);
	return r;
}

static void a_connect_that_fails_is_told(void **state)
{
	(void)state;
	assert_int_equal(fault_each_call_as(FAULT_socket, EMFILE, connect_once, NULL, -1), 2);
	assert_int_equal(fault_each_call_as(FAULT_connect, ENETUNREACH, connect_once, NULL, -1), 1);
	assert_int_equal(fault_each_call_as(FAULT_connect, ECONNREFUSED, connect_once, NULL, -1), 1);
	assert_int_equal(fault_each_call_as(FAULT_getsockopt, ENOBUFS, connect_once, NULL, -1), 1);
}

/* No memory, at any place: as above, and nothing is left. */
static void memory_that_runs_out_leaves_nothing(void **state)
{
	(void)state;
	assert_true(fault_each_alloc(listen_once, NULL, -1) > 2);
	assert_true(fault_each_alloc(connect_once, NULL, -1) > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_listener_needs_each_of_its_calls),
		cmocka_unit_test(a_connect_that_fails_is_told),
		cmocka_unit_test(memory_that_runs_out_leaves_nothing),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, fault_init, fault_fini);
}
