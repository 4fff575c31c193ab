/*
 * Listeners and connecting bufferevents when a system call fails: what is told, and that no
 * descriptor is left.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
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
#include <event2/smp.h>
#include <event2/thread.h>

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

/* ---------------------------------------------------------------- connections with a color */

static _Atomic(int) accepted_num, error_num, error_errno;

static void count_accepted(struct evconnlistener *lev, evutil_socket_t fd, struct sockaddr *addr, int len, void *arg)
{
	accepted(lev, fd, addr, len, arg);
	accepted_num++;
}

static void count_error(struct evconnlistener *lev, void *arg)
{
	(void)lev;
	(void)arg;
	error_errno = errno;
	error_num++;
}

struct colored {
	struct event_base *base;
	struct evconnlistener *lev;
	int client;
};

static struct event_base *base_with_workers(void)
{
	struct event_config *cfg = event_config_new();
	struct event_base *base;

	assert_non_null(cfg);
	assert_int_equal(event_config_set_workers(cfg, 2, NULL, NULL), 0);
	base = event_base_new_with_config(cfg);
	event_config_free(cfg);
	return base;
}

/* A listener, and a connection that waits for its accept. Setting priorities gives the workers back. */
static void colored_begin(struct colored *c)
{
	accepted_num = error_num = error_errno = 0;
	c->base = base_with_workers();
	assert_non_null(c->base);
	c->lev = listening(c->base);
	assert_non_null(c->lev);
	evconnlistener_set_cb(c->lev, count_accepted, NULL);
	evconnlistener_set_error_cb(c->lev, count_error);
	assert_int_equal(evconnlistener_set_color_policy(c->lev, EVCONNLISTENER_COLOR_FRESH, NULL, NULL), 0);
	assert_int_equal(event_base_priority_init(c->base, 2), 0);
	assert_int_equal(getsockname(evconnlistener_get_fd(c->lev), (struct sockaddr *)&address,
				     &(socklen_t){ sizeof(address) }),
			 0);
	c->client = socket(AF_INET, SOCK_STREAM, 0);
	assert_true(c->client >= 0);
	assert_int_equal(connect(c->client, (struct sockaddr *)&address, sizeof(address)), 0);
}

static void colored_end(struct colored *c)
{
	evconnlistener_free(c->lev);
	event_base_free(c->base);
	close(c->client);
}

/* It was told once, then waits; the connection is still there, and accepted when there is no shortage any more. */
static void is_kept(struct colored *c, int want)
{
	char byte;

	assert_int_equal(event_base_loop(c->base, EVLOOP_NONBLOCK), 0);
	assert_int_equal(event_base_loop(c->base, EVLOOP_NONBLOCK), 0);
	assert_true(fault_end());
	assert_int_equal(error_num, 1);
	assert_int_equal(error_errno, want);
	assert_int_equal(accepted_num, 0);
	assert_int_equal(recv(c->client, &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(evconnlistener_disable(c->lev), 0); /* ends the pause */
	assert_int_equal(evconnlistener_enable(c->lev), 0);
	while (accepted_num == 0)
		assert_int_equal(event_base_loop(c->base, EVLOOP_ONCE), 0);
	assert_int_equal(accepted_num, 1);
	assert_int_equal(error_num, 1);
}

static void a_connection_waits_for_descriptors_of_workers(void **state)
{
	struct colored c;

	(void)state;
	colored_begin(&c);
	fault_call_always(FAULT_eventfd, EMFILE);
	is_kept(&c, EMFILE);
	colored_end(&c);
	colored_begin(&c);
	fault_call_always(FAULT_epoll_ctl, ENOSPC);
	is_kept(&c, ENOSPC);
	colored_end(&c);
}

static void a_policy_that_cannot_hold_is_refused(void **state)
{
	struct event_base *base = base_with_workers();
	struct evconnlistener *lev = listening(base);

	(void)state;
	assert_non_null(lev);
	fault_call_always(FAULT_eventfd, EMFILE);
	errno = 0;
	assert_int_equal(evconnlistener_set_color_policy(lev, EVCONNLISTENER_COLOR_FRESH, NULL, NULL), -1);
	assert_int_equal(errno, EMFILE);
	assert_int_equal(evconnlistener_set_color_policy(lev, EVCONNLISTENER_COLOR_NONE, NULL, NULL), 0);
	assert_true(fault_end());
	evconnlistener_free(lev);
	event_base_free(base);
}

/* The nth allocation fails; false: there are fewer. The connection is accepted, or the program is told. */
static bool accept_colored(unsigned nth)
{
	struct colored c;
	bool came;
	int i;

	colored_begin(&c);
	fault_alloc_at(nth);
	for (i = 0; i < 2; i++)
		assert_true(event_base_loop(c.base, EVLOOP_NONBLOCK) >= 0);
	came = fault_end();
	if (accepted_num + error_num == 0)
		fail_msg("allocation %u: the connection is lost", nth);
	colored_end(&c);
	return came;
}

static void no_connection_is_lost_or_left(void **state)
{
	long alive = fault_alive();
	int fds = fault_fds();
	unsigned nth;

	(void)state;
	for (nth = 1; accept_colored(nth); nth++) {
		assert_in_range(nth, 1, 200);
		assert_int_equal(fault_alive(), alive);
		assert_int_equal(fault_fds(), fds);
	}
	assert_true(nth > 5);
}

/* It ends the loop: so the connection's callback is due, and does not run. */
static ev_uint32_t color_and_break(struct evconnlistener *lev, evutil_socket_t fd, struct sockaddr *addr, int len,
				   void *arg)
{
	(void)lev;
	(void)addr;
	(void)len;
	event_base_loopbreak(arg);
	return (ev_uint32_t)fd;
}

static void one_that_was_not_reported_goes_with_the_listener(void **state)
{
	long alive = fault_alive();
	int fds = fault_fds();
	struct colored c;

	(void)state;
	colored_begin(&c);
	assert_int_equal(evconnlistener_set_color_policy(c.lev, EVCONNLISTENER_COLOR_ASK, color_and_break, c.base), 0);
	fault_call_always(FAULT_pthread_create, EAGAIN);
	assert_int_equal(event_base_loop(c.base, 0), 0);
	assert_true(fault_end());
	assert_int_equal(accepted_num, 0);
	fault_alloc_always();
	colored_end(&c);
	(void)fault_end();
	assert_int_equal(fault_alive(), alive);
	assert_int_equal(fault_fds(), fds);
}

/* ---------------------------------------------------------------- colors from outside */

struct outside {
	struct event_base *base;
	evutil_socket_t fd[2];
	int result[3], err;
};

static struct bufferevent *bev_new(struct outside *o, int options)
{
	assert_int_equal(evutil_socketpair(AF_UNIX, SOCK_STREAM, 0, o->fd), 0);
	return bufferevent_socket_new(o->base, o->fd[0], options | BEV_OPT_CLOSE_ON_FREE);
}

static void *color_from_outside(void *arg)
{
	struct outside *o = arg;
	struct bufferevent *bev = bev_new(o, 0);

	o->result[0] = bufferevent_set_color(bev, 5);		/* nothing waits yet */
	bufferevent_free(bev);
	close(o->fd[1]);
	bev = bev_new(o, 0);
	(void)bufferevent_enable(bev, EV_READ);
	errno = 0;
	o->result[1] = bufferevent_set_color(bev, 5);
	o->err = errno;
	assert_int_equal(bufferevent_get_color(bev), 0);
	(void)bufferevent_disable(bev, EV_READ);
	bufferevent_free(bev);
	close(o->fd[1]);
	bev = bev_new(o, BEV_OPT_THREADSAFE);
	(void)bufferevent_enable(bev, EV_READ);
	o->result[2] = bufferevent_set_color(bev, 5);		/* has a lock */
	bufferevent_free(bev);
	close(o->fd[1]);
	(void)event_base_loopbreak(o->base);
	return NULL;
}

static void start_thread(void *arg)
{
	struct outside *o = arg;
	static pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, color_from_outside, o), 0);
	assert_int_equal(pthread_detach(thread), 0);
}

static void a_thread_colors_what_waits_for_nothing(void **state)
{
	struct outside o = { .base = base_with_workers(), .result = { 7, 7, 7 } };

	(void)state;
	assert_int_equal(evthread_use_pthreads(), 0);	/* BEV_OPT_THREADSAFE gives a lock */
	assert_int_equal(event_base_post(o.base, 3, start_thread, &o), 0);
	assert_int_equal(event_base_loop(o.base, EVLOOP_NO_EXIT_ON_EMPTY), 0);
	event_base_free(o.base);
	assert_int_equal(o.result[0], 0);
	assert_int_equal(o.result[1], -1);
	assert_int_equal(o.err, EBUSY);
	assert_int_equal(o.result[2], 0);
}

/* ---------------------------------------------------------------- a new color without memory */

enum moving { MOVE_SOCKET, MOVE_FILTER, MOVE_TIMEOUT };

struct mover {
	struct outside o;
	enum moving how;
	unsigned nth;
	struct bufferevent *bev;
	int reads;
	short told;
	int told_errno;
};

static void move_on(struct mover *m)
{
	const struct timeval tv = { .tv_usec = 1000 };

	fault_alloc_at(m->nth);
	(void)bufferevent_set_color(m->bev, 7);
	if (m->how == MOVE_TIMEOUT)
		(void)bufferevent_set_timeouts(m->bev, &tv, NULL);
	else
		assert_int_equal(write(m->o.fd[1], "more", 4), 4);
}

/* The first input moves it, the second is what shows that it lives. */
static void mover_read(struct bufferevent *bev, void *arg)
{
	struct mover *m = arg;
	char got[16];

	(void)bufferevent_read(bev, got, sizeof(got));
	if (m->reads++ == 0)
		move_on(m);
	else
		(void)bufferevent_disable(bev, EV_READ);
}

static void mover_event(struct bufferevent *bev, short what, void *arg)
{
	struct mover *m = arg;

	m->told_errno = errno;
	m->told = (short)(m->told | what);
	(void)bufferevent_disable(bev, EV_READ | EV_WRITE);
}

static void mover_start(void *arg)
{
	struct mover *m = arg;

	assert_int_equal(bufferevent_set_color(m->bev, 5), 0);
	bufferevent_setcb(m->bev, mover_read, NULL, mover_event, m);
	assert_int_equal(bufferevent_enable(m->bev, EV_READ), 0);
	assert_int_equal(write(m->o.fd[1], "first", 5), 5);
}

/* False: there are fewer allocations. The loop ends when nothing is watched any more. */
static bool move_with_fault(enum moving how, unsigned nth)
{
	struct mover m = { .o.base = base_with_workers(), .how = how, .nth = nth };
	bool came;

	m.bev = bev_new(&m.o, BEV_OPT_THREADSAFE);
	assert_int_equal(evutil_make_socket_nonblocking(m.o.fd[0]), 0);
	if (how == MOVE_FILTER)
		m.bev = bufferevent_filter_new(m.bev, NULL, NULL, BEV_OPT_CLOSE_ON_FREE, NULL, NULL);
	assert_non_null(m.bev);
	assert_int_equal(event_base_post(m.o.base, 5, mover_start, &m), 0);
	assert_true(event_base_loop(m.o.base, 0) >= 0);
	came = fault_end();
	if (m.reads < 2 && m.told == 0)
		fail_msg("allocation %u: neither input nor an error", nth);
	if ((m.told & BEV_EVENT_ERROR) != 0)
		assert_int_equal(m.told_errno, ENOMEM);
	if (!came)
		assert_int_equal(m.told, how == MOVE_TIMEOUT ? BEV_EVENT_READING | BEV_EVENT_TIMEOUT : 0);
	bufferevent_free(m.bev);
	close(m.o.fd[1]);
	event_base_free(m.o.base);
	return came;
}

static void a_move_without_memory_is_an_error(void **state)
{
	long alive = fault_alive();
	int fds = fault_fds();
	enum moving how;
	unsigned nth;

	(void)state;
	for (how = MOVE_SOCKET; how <= MOVE_TIMEOUT; how++) {
		for (nth = 1; move_with_fault(how, nth); nth++) {
			assert_in_range(nth, 1, 200);
			assert_int_equal(fault_alive(), alive);
			assert_int_equal(fault_fds(), fds);
		}
		assert_true(nth > 3);
	}
}

/* ---------------------------------------------------------------- descriptors without memory */

static void loop_some(struct event_base *base)
{
	int i;

	for (i = 0; i < 5; i++)
		assert_true(event_base_loop(base, EVLOOP_NONBLOCK) >= 0);
}

/* As many bytes as the other end wrote since. */
static void assert_reads(struct event_base *base, struct bufferevent *bev, evutil_socket_t other)
{
	char got[8];

	assert_int_equal(write(other, "text", 4), 4);
	loop_some(base);
	assert_int_equal(bufferevent_read(bev, got, sizeof(got)), 4);
}

/* False: there are fewer allocations. `is_second`: it has a descriptor, and gets another one. */
static bool set_fd_with_fault(unsigned nth, bool is_second)
{
	struct outside o = { .base = event_base_new() };
	struct bufferevent *bev = bufferevent_socket_new(o.base, -1, BEV_OPT_CLOSE_ON_FREE);
	evutil_socket_t old[2] = { -1, -1 };
	bool came;
	int r;

	assert_non_null(bev);
	assert_int_equal(evutil_socketpair(AF_UNIX, SOCK_STREAM, 0, o.fd), 0);
	if (is_second) {
		assert_int_equal(evutil_socketpair(AF_UNIX, SOCK_STREAM, 0, old), 0);
		assert_int_equal(bufferevent_setfd(bev, old[0]), 0);
	}
	assert_int_equal(bufferevent_enable(bev, EV_READ), 0);
	fault_alloc_at(nth);
	errno = 0;
	r = bufferevent_setfd(bev, o.fd[0]);
	came = fault_end();
	if (r < 0) {
		assert_true(came);
		assert_int_equal(errno, ENOMEM);
		assert_int_equal(bufferevent_getfd(bev), old[0]);
		close(o.fd[0]);
		if (is_second)
			assert_reads(o.base, bev, old[1]);
	} else {
		assert_reads(o.base, bev, o.fd[1]);
		if (is_second)
			close(old[0]);
	}
	bufferevent_free(bev);
	close(o.fd[1]);
	if (is_second)
		close(old[1]);
	event_base_free(o.base);
	return came;
}

static void a_descriptor_without_memory_is_refused(void **state)
{
	long alive = fault_alive();
	int fds = fault_fds(), i;
	unsigned nth;

	(void)state;
	for (i = 0; i < 2; i++) {
		for (nth = 1; set_fd_with_fault(nth, i == 1); nth++) {
			assert_in_range(nth, 1, 200);
			assert_int_equal(fault_alive(), alive);
			assert_int_equal(fault_fds(), fds);
		}
	}
}

/* A listener begins when it has a callback. Without memory for that it tries again, as after other failures. */
static bool set_callback_with_fault(unsigned nth)
{
	struct event_base *base = event_base_new();
	struct evconnlistener *lev;
	bool came;
	int fd;

	accepted_num = 0;
	address = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	lev = evconnlistener_new_bind(base, NULL, NULL, LEV_OPT_CLOSE_ON_FREE, -1, (struct sockaddr *)&address,
				      sizeof(address));
	assert_non_null(lev);
	assert_int_equal(getsockname(evconnlistener_get_fd(lev), (struct sockaddr *)&address,
				     &(socklen_t){ sizeof(address) }),
			 0);
	fault_alloc_at(nth);
	evconnlistener_set_cb(lev, count_accepted, NULL);
	came = fault_end();
	fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	while (accepted_num == 0)
		assert_int_equal(event_base_loop(base, EVLOOP_ONCE), 0);
	close(fd);
	evconnlistener_free(lev);
	event_base_free(base);
	return came;
}

static void a_listener_without_memory_begins_later(void **state)
{
	unsigned nth;

	(void)state;
	for (nth = 1; set_callback_with_fault(nth); nth++)
		assert_in_range(nth, 1, 200);
	assert_true(nth > 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_listener_needs_each_of_its_calls),
		cmocka_unit_test(a_connect_that_fails_is_told),
		cmocka_unit_test(memory_that_runs_out_leaves_nothing),
		cmocka_unit_test(a_connection_waits_for_descriptors_of_workers),
		cmocka_unit_test(a_policy_that_cannot_hold_is_refused),
		cmocka_unit_test(no_connection_is_lost_or_left),
		cmocka_unit_test(a_move_without_memory_is_an_error),
		cmocka_unit_test(a_descriptor_without_memory_is_refused),
		cmocka_unit_test(a_listener_without_memory_begins_later),
		cmocka_unit_test(a_thread_colors_what_waits_for_nothing),
		cmocka_unit_test(one_that_was_not_reported_goes_with_the_listener),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, fault_init, fault_fini);
}
