/*
 * compat/libevent/bev*.c and listener.c: what is left when memory runs out, who owns what, and what
 * differ/ cannot show, because stock spins or dies there.
 */
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
#include <sys/resource.h>
#include <sys/socket.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_struct.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <event2/smp.h>

#include "core/os/clock.h"
#include "failing_alloc.h"

static struct event_base *base;

static int setup(void **state)
{
	int r = failing_setup(state);

	base = event_base_new();
	return base == NULL ? -1 : r;
}

static int teardown(void **state)
{
	failing_from_now(0);
	event_base_free(base);
	return failing_teardown(state);
}

static void run(void)
{
	int i;

	for (i = 0; i < 5; i++)
		assert_true(event_base_loop(base, EVLOOP_NONBLOCK) >= 0);
}

/* The Nth allocation of `make` fails, for N = 1, 2, … until it needs fewer; what is left shows in teardown. */
static void fail_each(bool (*make)(void))
{
	bool is_made = false;
	size_t nth;

	for (nth = 1; nth < 100 && (!is_made || failing.calls >= nth - 1); nth++) {
		failing_from_now(nth);
		is_made = make();
		failing.fail_at = 0;
		run();
	}
	failing_from_now(0);
	assert_true(is_made);
}

/* ---------------------------------------------------------------- no memory */

static bool make_socket(void)
{
	struct bufferevent *bev = bufferevent_socket_new(base, -1, BEV_OPT_THREADSAFE);

	if (bev == NULL)
		return false;
	bufferevent_free(bev);
	return true;
}

static bool make_pair(void)
{
	struct bufferevent *pair[2];

	if (bufferevent_pair_new(base, 0, pair) < 0)
		return false;
	bufferevent_free(pair[0]);
	bufferevent_free(pair[1]);
	return true;
}

static struct bufferevent *below;

static bool make_filter(void)
{
	struct bufferevent *bev = bufferevent_filter_new(below, NULL, NULL, 0, NULL, NULL);

	if (bev == NULL)
		return false;
	bufferevent_free(bev);
	return true;
}

static bool make_group(void)
{
	struct ev_token_bucket_cfg *cfg = ev_token_bucket_cfg_new(10, 10, 10, 10, NULL);
	struct bufferevent_rate_limit_group *group;
	bool is_member;

	if (cfg == NULL)
		return false;
	group = bufferevent_rate_limit_group_new(base, cfg);
	if (group == NULL) {
		ev_token_bucket_cfg_free(cfg);
		return false;
	}
	is_member = bufferevent_add_to_rate_limit_group(below, group) == 0;
	if (is_member)
		assert_int_equal(bufferevent_remove_from_rate_limit_group(below), 0);
	bufferevent_rate_limit_group_free(group);
	ev_token_bucket_cfg_free(cfg);
	return is_member;
}

static void accepted(struct evconnlistener *lev, evutil_socket_t fd, struct sockaddr *addr, int len, void *arg)
{
	int *count = arg;

	(void)lev;
	(void)addr;
	(void)len;
	(*count)++;
	close(fd);
}

static int count;

static struct evconnlistener *listening(struct sockaddr_in *address)
{
	struct evconnlistener *lev;
	socklen_t len = sizeof(*address);

	memset(address, 0, sizeof(*address));
	address->sin_family = AF_INET;
	address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	lev = evconnlistener_new_bind(base, accepted, &count, LEV_OPT_CLOSE_ON_FREE, -1, (struct sockaddr *)address,
				      sizeof(*address));
	if (lev != NULL)
		assert_int_equal(getsockname(evconnlistener_get_fd(lev), (struct sockaddr *)address, &len), 0);
	return lev;
}

static bool make_listener(void)
{
	struct sockaddr_in address;
	struct evconnlistener *lev = listening(&address);
	int r;

	if (lev == NULL)
		return false;
	r = evconnlistener_set_color_policy(lev, EVCONNLISTENER_COLOR_FRESH, NULL, NULL);
	evconnlistener_free(lev);
	return r == 0;
}

static void nothing_is_left_when_memory_runs_out(void **state)
{
	(void)state;
	fail_each(make_socket);
	fail_each(make_pair);
	below = bufferevent_socket_new(base, -1, 0);
	assert_non_null(below);
	fail_each(make_filter);
	fail_each(make_group);
	bufferevent_free(below);
	fail_each(make_listener);
	run();
}

static void a_color_without_memory_for_its_lock_changes_nothing(void **state)
{
	struct bufferevent *bev = bufferevent_socket_new(base, -1, 0);

	(void)state;
	assert_non_null(bev);
	failing_from_now(1);
	assert_int_equal(bufferevent_set_color(bev, 5), -1);
	assert_int_equal(bufferevent_get_color(bev), 0);
	failing_from_now(0);
	assert_int_equal(bufferevent_set_color(bev, 5), 0);
	assert_int_equal(bufferevent_get_color(bev), 5);
	bufferevent_free(bev);
}

/* ---------------------------------------------------------------- colors */

static void what_is_on_each_other_has_one_color(void **state)
{
	struct bufferevent *bottom = bufferevent_socket_new(base, -1, 0), *middle, *top;

	(void)state;
	middle = bufferevent_filter_new(bottom, NULL, NULL, BEV_OPT_CLOSE_ON_FREE, NULL, NULL);
	top = bufferevent_filter_new(middle, NULL, NULL, BEV_OPT_CLOSE_ON_FREE, NULL, NULL);
	assert_non_null(top);
	assert_int_equal(bufferevent_set_color(middle, 9), 0);
	assert_int_equal(bufferevent_get_color(bottom), 9);
	assert_int_equal(bufferevent_get_color(top), 9);
	assert_int_equal(event_get_color(&bottom->ev_read), 9);
	bufferevent_free(top);
	run();
}

static void halves_of_a_pair_have_one_each(void **state)
{
	struct bufferevent *pair[2];

	(void)state;
	assert_int_equal(bufferevent_pair_new(base, 0, pair), 0);
	assert_int_equal(bufferevent_set_color(pair[0], 1), 0);
	assert_int_equal(bufferevent_get_color(pair[1]), 0);
	bufferevent_free(pair[0]);
	bufferevent_free(pair[1]);
	run();
}

static void no_policy_but_those_there_are(void **state)
{
	struct sockaddr_in address;
	struct evconnlistener *lev = listening(&address);

	(void)state;
	assert_non_null(lev);
	assert_int_equal(evconnlistener_set_color_policy(lev, EVCONNLISTENER_COLOR_ASK, NULL, NULL), -1);
	assert_int_equal(evconnlistener_set_color_policy(lev, (enum evconnlistener_color_policy)7, NULL, NULL), -1);
	evconnlistener_free(lev);
}

static ev_uint32_t asked(struct evconnlistener *lev, evutil_socket_t fd, struct sockaddr *addr, int len, void *arg)
{
	(void)lev;
	(void)fd;
	(void)addr;
	(void)len;
	return *(ev_uint32_t *)arg;
}

static ev_uint32_t seen_color;

static void note_color(struct evconnlistener *lev, evutil_socket_t fd, struct sockaddr *addr, int len, void *arg)
{
	(void)addr;
	(void)len;
	(void)arg;
	assert_int_equal(event_base_get_running_color(base, &seen_color), 0);
	close(fd);
	evconnlistener_free(lev);
}

static void a_connection_begins_in_the_color_that_was_asked_for(void **state)
{
	ev_uint32_t color = 77;
	struct sockaddr_in address;
	struct evconnlistener *lev = listening(&address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	(void)state;
	evconnlistener_set_cb(lev, note_color, NULL);
	assert_int_equal(evconnlistener_set_color_policy(lev, EVCONNLISTENER_COLOR_ASK, asked, &color), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(event_base_dispatch(base), 1);
	assert_int_equal(seen_color, 77);
	close(fd);
}

static void connections_that_nobody_was_told_of_are_closed(void **state)
{
	ev_uint32_t color = 0;
	struct sockaddr_in address;
	struct evconnlistener *lev = listening(&address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char byte;

	(void)state;
	count = 0;
	assert_int_equal(evconnlistener_set_color_policy(lev, EVCONNLISTENER_COLOR_ASK, asked, &color), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	/* One callback a loop: the arrival waits when this ends. */
	assert_int_equal(event_base_loopbreak(base), 0);
	evconnlistener_free(lev);
	run();
	assert_int_equal(count, 0);
	assert_true(recv(fd, &byte, 1, 0) <= 0);
	close(fd);
}

/* ---------------------------------------------------------------- no descriptors */

static int errors;

static void note_error(struct evconnlistener *lev, void *arg)
{
	(void)lev;
	(void)arg;
	errors++;
}

static void a_listener_without_descriptors_does_not_spin(void **state)
{
	struct rlimit old, none;
	struct sockaddr_in address;
	struct evconnlistener *lev = listening(&address);
	int fd = socket(AF_INET, SOCK_STREAM, 0), i;

	(void)state;
	errors = count = 0;
	evconnlistener_set_error_cb(lev, note_error);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = old;
	none.rlim_cur = (rlim_t)fd;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	for (i = 0; i < 20; i++)
		assert_int_equal(event_base_loop(base, EVLOOP_NONBLOCK), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(errors, 1);
	/* It tries again by itself. */
	while (count == 0)
		assert_int_equal(event_base_loop(base, EVLOOP_ONCE), 0);
	evconnlistener_free(lev);
	close(fd);
}

/* ---------------------------------------------------------------- high watermarks */

static int reads;

static void drain_some(struct bufferevent *bev, void *arg)
{
	(void)arg;
	reads++;
	assert_true(evbuffer_get_length(bufferevent_get_input(bev)) <= 30);
	evbuffer_drain(bufferevent_get_input(bev), 20);
}

static void a_full_input_rests_until_it_is_drained(void **state)
{
	struct bufferevent *pair[2];
	char block[100] = { 0 };

	(void)state;
	reads = 0;
	assert_int_equal(bufferevent_pair_new(base, 0, pair), 0);
	bufferevent_setcb(pair[1], drain_some, NULL, NULL, NULL);
	bufferevent_setwatermark(pair[1], EV_READ, 0, 30);
	assert_int_equal(bufferevent_enable(pair[1], EV_READ), 0);
	assert_int_equal(bufferevent_write(pair[0], block, sizeof(block)), 0);
	run();
	assert_int_equal(evbuffer_get_length(bufferevent_get_output(pair[0])), 0);
	assert_int_equal(evbuffer_get_length(bufferevent_get_input(pair[1])), 0);
	assert_true(reads >= 4);
	bufferevent_free(pair[0]);
	bufferevent_free(pair[1]);
	run();
}

/* ---------------------------------------------------------------- descriptors */

static void expect_input(struct bufferevent *bev, const char *text)
{
	char got[8] = "";

	run();
	assert_int_equal(bufferevent_read(bev, got, sizeof(got) - 1), strlen(text));
	assert_string_equal(got, text);
}

static void pipes_serve_as_well_as_sockets(void **state)
{
	struct bufferevent *in, *out;
	int pipes[2], pair[2];

	(void)state;
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	in = bufferevent_socket_new(base, pipes[0], 0);
	out = bufferevent_socket_new(base, pipes[1], 0);
	assert_non_null(in);
	assert_non_null(out);
	assert_int_equal(bufferevent_enable(in, EV_READ), 0);
	assert_int_equal(bufferevent_write(out, "one", 3), 0);
	expect_input(in, "one");
	assert_int_equal(bufferevent_write(out, "two", 3), 0);
	expect_input(in, "two");
	assert_int_equal(bufferevent_setfd(in, pair[0]), 0);
	assert_int_equal(bufferevent_setfd(out, pair[1]), 0);
	assert_int_equal(bufferevent_write(out, "three", 5), 0);
	expect_input(in, "three");
	bufferevent_free(in);
	bufferevent_free(out);
	run();
	close(pipes[0]);
	close(pipes[1]);
	close(pair[0]);
	close(pair[1]);
}

/* ---------------------------------------------------------------- tokens */

static int64_t now_ns;

static int64_t clock_ns(void)
{
	return now_ns;
}

/* What the program gives beyond the burst is there until the next tick; the largest number is one like others. */
static void a_tick_ends_what_is_beyond_the_burst(void **state)
{
	static const ev_ssize_t given[] = { 0, 990, 991, 5000, EV_SSIZE_MAX, EV_SSIZE_MAX - 1000 };
	struct ev_token_bucket_cfg *cfg = ev_token_bucket_cfg_new(1000, 1000, 1000, 1000, NULL);
	struct bufferevent *bev = bufferevent_socket_new(base, -1, 0);

	(void)state;
	now_ns = INT64_C(1) << 40;
	ec_clock_set_source(clock_ns);
	assert_int_equal(bufferevent_set_rate_limit(bev, cfg), 0);
	for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++) {
		assert_int_equal(bufferevent_decrement_read_limit(bev, -given[i]), 0);
		assert_true(bufferevent_get_read_limit(bev) >= given[i]);
		now_ns += INT64_C(1000000000);
		assert_int_equal(bufferevent_get_read_limit(bev), 1000);
	}
	bufferevent_free(bev);
	run();
	ev_token_bucket_cfg_free(cfg);
	ec_clock_set_source(NULL);
}

/* ---------------------------------------------------------------- the end */

static void free_parent(struct evbuffer *buf, const struct evbuffer_cb_info *info, void *arg)
{
	(void)info;
	bufferevent_free(arg);
	assert_int_equal(evbuffer_get_length(buf), 4);
}

/* Without a base it ends at once: the buffer, which is being told of a change, then ends after it. */
static void a_callback_of_its_buffer_may_free_it(void **state)
{
	struct bufferevent *bev = bufferevent_socket_new(NULL, -1, 0);

	(void)state;
	assert_non_null(bev);
	assert_non_null(evbuffer_add_cb(bufferevent_get_output(bev), free_parent, bev));
	assert_int_equal(bufferevent_write(bev, "last", 4), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(nothing_is_left_when_memory_runs_out),
		TEST(a_color_without_memory_for_its_lock_changes_nothing),
		TEST(what_is_on_each_other_has_one_color),
		TEST(halves_of_a_pair_have_one_each),
		TEST(no_policy_but_those_there_are),
		TEST(a_connection_begins_in_the_color_that_was_asked_for),
		TEST(connections_that_nobody_was_told_of_are_closed),
		TEST(a_listener_without_descriptors_does_not_spin),
		TEST(a_full_input_rests_until_it_is_drained),
		TEST(pipes_serve_as_well_as_sockets),
		TEST(a_tick_ends_what_is_beyond_the_burst),
		TEST(a_callback_of_its_buffer_may_free_it),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
