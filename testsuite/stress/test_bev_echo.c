/*
 * A color for each connection: a listener that gives fresh ones, an echo server, clients in colors of their
 * own in the same base. Each byte comes back, in order, and what a connection's callbacks share is
 * plain memory. evthread_use_pthreads() is never called.
 */
#include "stress.h"

enum { CLIENTS = 24, WORDS = IS_SANITIZED ? 2000 : 20000, BURST = 64 };

#include "echo.h"

static const short greeting = 0;

static struct bufferevent *socket_new(evutil_socket_t fd, ev_uint32_t color)
{
	struct bufferevent *bev = bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);

	CHECK(bev != NULL);
	CHECK(bufferevent_set_color(bev, color) == 0);
	return bev;
}

static struct bufferevent *server_new(evutil_socket_t fd)
{
	return socket_new(fd, color_now());
}

static struct bufferevent *client_new(struct client *c)
{
	return socket_new(-1, c->color);
}

static void before_burst(struct client *c)
{
	(void)c;
}

static void echo_on_two_workers(void **state)
{
	(void)state;
	echo(2);
}

static void echo_on_four_workers(void **state)
{
	(void)state;
	echo(4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(echo_on_two_workers),
		cmocka_unit_test(echo_on_four_workers),
	};

	signal(SIGPIPE, SIG_IGN);
	alarm(300);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
