/*
 * event_base_inherit_colors: what a callback makes has its color, where the program asks for that, and only there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/dns.h>
#include <event2/event.h>
#include <event2/event_compat.h>
#include <event2/event_struct.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <event2/smp.h>

enum { COLOR = 7,
       NONE = 99 };

/* Filled in by callbacks, and looked at after the loop. */
static struct made {
	uint32_t new, assigned, reassigned, set, other_base, nested;
	uint32_t socket, pair, filter, http, once, deferred, accepted;
} made;

static struct event_base *base, *other;
static struct event own;

static uint32_t running_color(void)
{
	uint32_t color = NONE;

	return event_base_get_running_color(base, &color) == 0 ? color : NONE;
}

static void nothing(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
}

static void note_event(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	*(uint32_t *)arg = running_color();
}

static void note_change(struct evbuffer *buf, const struct evbuffer_cb_info *info, void *arg)
{
	(void)buf;
	(void)info;
	*(uint32_t *)arg = running_color();
}

static uint32_t color_of_new(struct event_base *of)
{
	struct event *ev = event_new(of, -1, 0, nothing, NULL);
	uint32_t color = ev == NULL ? NONE : event_get_color(ev);

	event_free(ev);
	return color;
}

static void make_bufferevents(void)
{
	struct bufferevent *socket = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE), *pair[2];
	struct bufferevent *filter = bufferevent_filter_new(socket, NULL, NULL, BEV_OPT_CLOSE_ON_FREE, NULL, NULL);

	made.socket = bufferevent_get_color(socket);
	made.filter = bufferevent_get_color(filter);
	bufferevent_free(filter);
	if (bufferevent_pair_new(base, 0, pair) == 0) {
		made.pair = bufferevent_get_color(pair[0]) == bufferevent_get_color(pair[1]) ?
				    bufferevent_get_color(pair[0]) :
				    NONE;
		bufferevent_free(pair[0]);
		bufferevent_free(pair[1]);
	}
}

static void defer_changes(void)
{
	struct evbuffer *buf = evbuffer_new();

	(void)evbuffer_defer_callbacks(buf, base);
	(void)evbuffer_add_cb(buf, note_change, &made.deferred);
	(void)evbuffer_add(buf, "x", 1);
	evbuffer_free(buf);
}

static void post_in_other(void *arg)
{
	*(uint32_t *)arg = color_of_new(base);
}

static void make_all(void *arg)
{
	struct event ev;
	struct evhttp_connection *conn = evhttp_connection_base_new(base, NULL, "127.0.0.1", 1);

	(void)arg;
	made.new = color_of_new(base);
	made.other_base = color_of_new(other);
	(void)event_assign(&ev, base, -1, 0, nothing, NULL);
	made.assigned = event_get_color(&ev);
	event_set(&ev, -1, 0, nothing, NULL);
	(void)event_base_set(base, &ev);
	made.set = event_get_color(&ev);
	make_bufferevents();
	made.http = evhttp_connection_get_color(conn);
	evhttp_connection_free(conn);
	defer_changes();
	(void)event_base_once(base, -1, EV_TIMEOUT, note_event, &made.once, NULL);
	(void)event_base_post(other, 0, post_in_other, &made.nested);
	(void)event_base_dispatch(other);
}

/* The event is assigned again in its own callback. */
static void assign_again(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	(void)event_assign(&own, base, -1, 0, nothing, NULL);
	made.reassigned = event_get_color(&own);
}

static void begin(unsigned workers)
{
	struct event_config *cfg = event_config_new();

	assert_int_equal(event_config_set_workers(cfg, workers, NULL, NULL), 0);
	base = event_base_new_with_config(cfg);
	other = event_base_new_with_config(cfg);
	event_config_free(cfg);
	assert_non_null(base);
	assert_non_null(other);
	memset(&made, 0x55, sizeof(made));
}

static void end(void)
{
	event_base_free(other);
	event_base_free(base);
}

static void run(uint32_t color)
{
	assert_int_equal(event_base_post(base, color, make_all, NULL), 0);
	assert_int_equal(event_assign(&own, base, -1, 0, assign_again, NULL), 0);
	assert_int_equal(event_set_color(&own, color), 0);
	event_active(&own, EV_TIMEOUT, 1);
	assert_true(event_base_dispatch(base) >= 0);
}

static void all_are(uint32_t color)
{
	assert_int_equal(made.new, color);
	assert_int_equal(made.assigned, color);
	assert_int_equal(made.reassigned, color);
	assert_int_equal(made.set, color);
	assert_int_equal(made.socket, color);
	assert_int_equal(made.pair, color);
	assert_int_equal(made.filter, color);
	assert_int_equal(made.http, color);
	assert_int_equal(made.once, color);
	assert_int_equal(made.deferred, color);
	assert_int_equal(made.nested, color);
	assert_int_equal(made.other_base, 0);
}

static void with_workers(unsigned workers)
{
	begin(workers);
	run(COLOR);
	all_are(0);
	assert_int_equal(event_base_inherit_colors(base, 1), 0);
	run(COLOR);
	all_are(COLOR);
	run(0);
	all_are(0);
	assert_int_equal(color_of_new(base), 0); /* outside of callbacks */
	assert_int_equal(event_base_inherit_colors(base, 0), 0);
	run(COLOR);
	all_are(0);
	end();
}

static void what_a_callback_makes_has_its_color(void **state)
{
	(void)state;
	with_workers(1);
	with_workers(2);
	with_workers(4);
}

/* ---------------------------------------------------------------- readers, and what stays in color 0 */

static void read_shared(evutil_socket_t fd, short what, void *arg)
{
	struct event *ev = event_new(base, -1, 0, nothing, NULL);

	(void)fd;
	(void)what;
	(void)arg;
	made.new = event_get_color(ev);
	/* A reader would make this fail: color 0 has none. */
	made.set = event_set_color(ev, 0) == 0 ? event_get_color(ev) : NONE;
	event_free(ev);
}

static void a_reader_hands_on_its_color(void **state)
{
	struct event *ev;

	(void)state;
	begin(2);
	assert_int_equal(event_base_inherit_colors(base, 1), 0);
	ev = event_new(base, -1, 0, read_shared, NULL);
	assert_int_equal(event_set_color_shared(ev, COLOR), 0);
	event_active(ev, EV_TIMEOUT, 1);
	assert_true(event_base_dispatch(base) >= 0);
	assert_int_equal(made.new, COLOR);
	assert_int_equal(made.set, 0);
	event_free(ev);
	end();
}

/* loopexit from a color, also one that is busy. */
static void exit_from_color(void *arg)
{
	(void)arg;
	(void)event_base_loopexit(base, NULL);
	(void)event_base_post(base, COLOR, exit_from_color, NULL);
}

static void loopexit_ends_the_loop(void **state)
{
	(void)state;
	begin(2);
	assert_int_equal(event_base_inherit_colors(base, 1), 0);
	assert_int_equal(event_base_post(base, COLOR, exit_from_color, NULL), 0);
	assert_int_equal(event_base_dispatch(base), 0);
	assert_true(event_base_got_exit(base));
	end();
}

static struct evconnlistener *listener;
static int client = -1;

static void accept_one(struct evconnlistener *lev, evutil_socket_t fd, struct sockaddr *addr, int len, void *arg)
{
	(void)addr;
	(void)len;
	(void)arg;
	made.accepted = running_color();
	evutil_closesocket(fd);
	evconnlistener_free(lev);
}

/* The listener is made in a color, and accepts in color 0. */
static void listen_in_color(void *arg)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sin);

	(void)arg;
	listener = evconnlistener_new_bind(base, accept_one, NULL, LEV_OPT_CLOSE_ON_FREE, -1, (struct sockaddr *)&sin,
					   (int)sizeof(sin));
	if (listener == NULL || getsockname(evconnlistener_get_fd(listener), (struct sockaddr *)&sin, &len) < 0 ||
	    connect(client, (struct sockaddr *)&sin, len) < 0)
		event_base_loopbreak(base);
}

static void listeners_have_color_0(void **state)
{
	(void)state;
	begin(2);
	assert_int_equal(event_base_inherit_colors(base, 1), 0);
	client = socket(AF_INET, SOCK_STREAM, 0);
	assert_true(client >= 0);
	assert_int_equal(event_base_post(base, COLOR, listen_in_color, NULL), 0);
	assert_int_equal(event_base_dispatch(base), 1);
	assert_int_equal(made.accepted, 0);
	close(client);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_callback_makes_has_its_color),
		cmocka_unit_test(a_reader_hands_on_its_color),
		cmocka_unit_test(loopexit_ends_the_loop),
		cmocka_unit_test(listeners_have_color_0),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
