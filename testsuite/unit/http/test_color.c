/*
 * compat/libevent/http/color.c: the color of a connection, as the program reads and sets it.
 */
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include <event2/event.h>
#include <event2/http.h>
#include <event2/smp.h>

#include "failing_alloc.h"

enum { CLIENT_COLOR = 55 };

static struct event_base *base;
static struct evhttp *http;
static struct evhttp_connection *client;
static uint16_t port;
static uint32_t color_handled, color_answered;
static int set_by_handler, set_by_answer;

static uint32_t running_color(void)
{
	uint32_t color = 0;

	assert_int_equal(event_base_get_running_color(base, &color), 0);
	return color;
}

static void handle(struct evhttp_request *req, void *arg)
{
	struct evhttp_connection *conn = evhttp_request_get_connection(req);

	(void)arg;
	if (evhttp_connection_get_color(conn) == running_color())
		color_handled = running_color();
	errno = 0;
	if (evhttp_connection_set_color(conn, 3) < 0)
		set_by_handler = errno;
	evhttp_send_reply(req, 200, "OK", NULL);
}

static void answered(struct evhttp_request *req, void *arg)
{
	(void)arg;
	assert_non_null(req);
	if (evhttp_connection_get_color(client) == running_color())
		color_answered = running_color();
	errno = 0;
	if (evhttp_connection_set_color(client, 3) < 0)
		set_by_answer = errno;
	event_base_loopbreak(base);
}

static void ask(void)
{
	struct evhttp_request *req = evhttp_request_new(answered, NULL);

	assert_non_null(req);
	assert_int_equal(evhttp_make_request(client, req, EVHTTP_REQ_GET, "/"), 0);
	assert_int_equal(event_base_loop(base, 0), 0);
}

static void client_new(void)
{
	client = evhttp_connection_base_new(base, NULL, "127.0.0.1", port);
	assert_non_null(client);
}

static int setup(void **state)
{
	struct event_config *cfg = event_config_new();
	struct evhttp_bound_socket *bound;
	struct sockaddr_in at;
	socklen_t len = sizeof(at);
	evutil_socket_t fd;

	failing_setup(state);
	color_handled = color_answered = 0;
	set_by_handler = set_by_answer = 0;
	assert_non_null(cfg);
	assert_int_equal(event_config_set_workers(cfg, 2, NULL, NULL), 0);
	base = event_base_new_with_config(cfg);
	event_config_free(cfg);
	http = evhttp_new(base);
	assert_non_null(http);
	bound = evhttp_bind_socket_with_handle(http, "127.0.0.1", 0);
	assert_non_null(bound);
	fd = evhttp_bound_socket_get_fd(bound);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	evhttp_set_gencb(http, handle, NULL);
	port = ntohs(at.sin_port);
	client_new();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	evhttp_connection_free(client);
	evhttp_free(http);
	event_base_free(base);
	return 0;
}

static void a_client_runs_in_the_color_that_it_was_given(void **state)
{
	(void)state;
	assert_int_equal(evhttp_connection_get_color(client), 0);
	assert_int_equal(evhttp_connection_set_color(client, CLIENT_COLOR), 0);
	assert_int_equal(evhttp_connection_get_color(client), CLIENT_COLOR);
	ask();
	assert_int_equal(color_answered, CLIENT_COLOR);
	assert_int_equal(set_by_answer, EBUSY);
	assert_int_equal(evhttp_connection_get_color(client), CLIENT_COLOR);
}

static void a_servers_connection_has_the_color_of_its_policy(void **state)
{
	(void)state;
	assert_int_equal(evhttp_set_color_policy(http, EVCONNLISTENER_COLOR_FRESH, NULL, NULL), 0);
	ask();
	assert_true(color_handled >= 0x80000000u);
	assert_int_equal(set_by_handler, EBUSY);
	assert_int_equal(color_answered, 0);
	assert_int_equal(set_by_answer, EBUSY);
}

/* Of two listeners the first one needs no memory for the policy. The second one fails to take it. */
static void a_policy_that_fails_changes_nothing(void **state)
{
	size_t nth;
	int r;

	(void)state;
	assert_int_equal(evhttp_set_color_policy(http, EVCONNLISTENER_COLOR_FRESH, NULL, NULL), 0);
	assert_int_equal(evhttp_set_color_policy(http, EVCONNLISTENER_COLOR_NONE, NULL, NULL), 0);
	assert_non_null(evhttp_bind_socket_with_handle(http, "127.0.0.1", 0));
	for (nth = 1;; nth++) {
		failing_from_now(nth);
		r = evhttp_set_color_policy(http, EVCONNLISTENER_COLOR_FRESH, NULL, NULL);
		failing_from_now(0);
		if (r == 0)
			break;
		color_handled = CLIENT_COLOR;
		ask();
		assert_int_equal(color_handled, 0);
		evhttp_connection_free(client);
		client_new();
	}
	assert_true(nth > 2);
	ask();
	assert_true(color_handled >= 0x80000000u);
}

static void none_has_no_color(void **state)
{
	(void)state;
	assert_int_equal(evhttp_connection_get_color(NULL), 0);
	errno = 0;
	assert_int_equal(evhttp_connection_set_color(NULL, 1), -1);
	assert_int_equal(errno, EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_client_runs_in_the_color_that_it_was_given, setup, teardown),
		cmocka_unit_test_setup_teardown(a_servers_connection_has_the_color_of_its_policy, setup, teardown),
		cmocka_unit_test_setup_teardown(a_policy_that_fails_changes_nothing, setup, teardown),
		cmocka_unit_test(none_has_no_color),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
