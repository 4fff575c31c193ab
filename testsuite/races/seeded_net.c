/*
 * Races of servers. The clients are in the same thread, and each one waits for the server's answer.
 */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/http.h>

#include "seeded.h"

enum { CLIENTS = 3 };

static unsigned clients_left;
static struct evconnlistener *listener;

/* ---------------------------------------------------------------- clients, of color 0 */

static void on_answer(struct bufferevent *bev, void *arg)
{
	(void)arg;
	bufferevent_free(bev);
	if (--clients_left == 0)
		event_base_loopexit(base, NULL);
}

static void client_start(const struct sockaddr_in *at, const char *text)
{
	struct bufferevent *bev = must(bufferevent_socket_new(base, connect_to(at), BEV_OPT_CLOSE_ON_FREE));

	evutil_make_socket_nonblocking(bufferevent_getfd(bev));
	bufferevent_setcb(bev, on_answer, NULL, NULL, NULL);
	CHECK(bufferevent_write(bev, text, strlen(text)) == 0);
	CHECK(bufferevent_enable(bev, EV_READ) == 0);
	clients_left++;
}

static void serve(evconnlistener_cb on_accept, const char *text)
{
	struct sockaddr_in at;
	unsigned i;

	listener = must(listen_any(base, on_accept, &at));
	for (i = 0; i < CLIENTS; i++)
		client_start(&at, text);
	CHECK(event_base_loop(base, 0) == 0 && clients_left == 0);
	evconnlistener_free(listener);
}

/* ---------------------------------------------------------------- stats: a color for each connection */

static unsigned long requests;		/* the race of `stats` */
static unsigned open_num;		/* that of `accept` */

static void on_request(struct bufferevent *bev, void *arg)
{
	char buf[64];

	(void)arg;
	bufferevent_read(bev, buf, sizeof(buf));
	if (!is_repaired)
		requests++;
	bufferevent_write(bev, "ok", 2);
}

static struct bufferevent *session_new(evutil_socket_t fd, bufferevent_data_cb on_read)
{
	struct bufferevent *bev = must(bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE));

	CHECK(bufferevent_set_color(bev, (uint32_t)fd + 100) == 0);
	bufferevent_setcb(bev, on_read, NULL, NULL, NULL);
	CHECK(bufferevent_enable(bev, EV_READ) == 0);
	return bev;
}

static void on_accept_stats(struct evconnlistener *lev, evutil_socket_t fd, struct sockaddr *addr, int len, void *arg)
{
	(void)lev;
	(void)addr;
	(void)len;
	(void)arg;
	session_new(fd, on_request);
}

/* Each connection writes to a socket before the next one reads from another: that orders nothing. */
static void stats_of_connections(void)
{
	serve(on_accept_stats, "x");
	CHECK(requests == (is_repaired ? 0 : CLIENTS));
	run();
}

/* ---------------------------------------------------------------- accept: a count with the listener */

static void close_one(void *arg)
{
	(void)arg;
	open_num--;
}

static void on_request_last(struct bufferevent *bev, void *arg)
{
	char buf[64];

	(void)arg;
	bufferevent_read(bev, buf, sizeof(buf));
	if (is_repaired)
		post(base, 0, close_one, NULL);
	else
		open_num--;
	bufferevent_write(bev, "ok", 2);
}

static void on_accept_count(struct evconnlistener *lev, evutil_socket_t fd, struct sockaddr *addr, int len, void *arg)
{
	(void)lev;
	(void)addr;
	(void)len;
	(void)arg;
	session_new(fd, on_request_last);
	open_num++;
}

static void count_of_listener(void)
{
	serve(on_accept_count, "x");
	run();
}

/* ---------------------------------------------------------------- http: a handler in its connection's color */

static unsigned long visits;

static void on_visit(struct evhttp_request *req, void *arg)
{
	(void)arg;
	if (!is_repaired)
		visits++;
	evhttp_send_reply(req, 200, "OK", NULL);
}

static void handler_of_http(void)
{
	struct evhttp *http = must(evhttp_new(base));
	struct evhttp_bound_socket *bound;
	struct sockaddr_in at;
	unsigned i;

	CHECK(evhttp_set_color_policy(http, EVCONNLISTENER_COLOR_FRESH, NULL, NULL) == 0);
	evhttp_set_gencb(http, on_visit, NULL);
	bound = must(evhttp_bind_socket_with_handle(http, "127.0.0.1", 0));
	at = address_of(evhttp_bound_socket_get_fd(bound));
	for (i = 0; i < CLIENTS; i++)
		client_start(&at, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
	CHECK(event_base_loop(base, 0) == 0 && visits == (is_repaired ? 0 : CLIENTS));
	evhttp_free(http);
	run();
}

/* ---------------------------------------------------------------- peers: a connection writes to others */

static unsigned long sent[CLIENTS];	/* by connection */
static unsigned accepted;

static void note_sent(void *arg)
{
	++*(unsigned long *)arg;
}

static void on_chat(struct bufferevent *bev, void *arg)
{
	unsigned i, me = (unsigned)(uintptr_t)arg;
	char buf[64];

	bufferevent_read(bev, buf, sizeof(buf));
	for (i = 0; i < CLIENTS; i++) {
		if (is_repaired)
			post(base, i + 1, note_sent, &sent[i]);
		else
			sent[i]++;
	}
	sent[me]++;
	bufferevent_write(bev, "ok", 2);
}

static void on_accept_chat(struct evconnlistener *lev, evutil_socket_t fd, struct sockaddr *addr, int len, void *arg)
{
	struct bufferevent *bev = must(bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE));

	(void)lev;
	(void)addr;
	(void)len;
	(void)arg;
	CHECK(bufferevent_set_color(bev, accepted + 1) == 0);
	bufferevent_setcb(bev, on_chat, NULL, NULL, (void *)(uintptr_t)accepted);
	CHECK(bufferevent_enable(bev, EV_READ) == 0);
	accepted++;
}

static void state_of_peers(void)
{
	serve(on_accept_chat, "hello");
	run();
}

/* ---------------------------------------------------------------- close: another color closes the descriptor */

static int pair[2];

static void close_it(void *arg)
{
	(void)arg;
	close(pair[1]);
}

static void use_it(void *arg)
{
	(void)arg;
	CHECK(write(pair[1], "x", 1) == 1);
}

static void closed_by_other(void)
{
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	post(base, 1, use_it, NULL);
	post(base, color_or(2, 1), close_it, NULL);
	run();
	close(pair[0]);
}

const struct seeded seeded_net[] = {
	{ "stats", stats_of_connections }, { "accept", count_of_listener }, { "http", handler_of_http },
	{ "peers", state_of_peers }, { "close", closed_by_other }, { NULL, NULL },
};
