/*
 * core/loop/start.c: the first color of a base when memory, descriptors or threads run out. A call that can report it
 * returns its cause and changes nothing; a callback that is due runs all the same.
 */
#include "table.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/smp.h>

#include "core/ec.h"
#include "core/sched/base.h"
#include "fault.h"

enum { WORKERS = 3,
       TRIES_MAX = 200,
       COLORS = 64,
       POSTS = 500 };

/* What runs out. */
static const struct shortage {
	const char *name;
	enum fault_call call;
	int err; /* 0: of memory */
} shortages[] = {
	{ "memory", 0, 0 },
	{ "epoll_create1", FAULT_epoll_create1, EMFILE },
	{ "eventfd", FAULT_eventfd, ENFILE },
	{ "epoll_ctl", FAULT_epoll_ctl, ENOSPC },
	{ "pthread_create", FAULT_pthread_create, EAGAIN },
};

static char logged[512];

static void note_log(int severity, const char *text)
{
	(void)severity;
	(void)snprintf(logged, sizeof(logged), "%s", text);
}

static struct event_base *base_new(unsigned workers)
{
	struct event_config *cfg = event_config_new();
	struct event_base *base;

	assert_non_null(cfg);
	assert_int_equal(event_config_set_workers(cfg, workers, NULL, NULL), 0);
	base = event_base_new_with_config(cfg);
	event_config_free(cfg);
	assert_non_null(base);
	return base;
}

static struct ec_base *engine(struct event_base *base)
{
	return (struct ec_base *)(void *)base;
}

/* The nth one fails; 0: all do. */
static void run_out(const struct shortage *s, unsigned nth)
{
	if (s->err == 0 && nth == 0)
		fault_alloc_always();
	else if (s->err == 0)
		fault_alloc_at(nth);
	else if (nth == 0)
		fault_call_always(s->call, s->err);
	else
		fault_call_at(s->call, nth, s->err);
}

/* With all of them failing; and with the first, the second, … until `fn` returns false: there was none any more. */
static void each(bool (*fn)(const struct shortage *s, unsigned nth))
{
	unsigned nth;
	size_t i;

	for (i = 0; i < ROWS(shortages); i++) {
		(void)fn(&shortages[i], 0);
		for (nth = 1; fn(&shortages[i], nth); nth++)
			assert_true(nth < TRIES_MAX);
	}
}

/* ---------------------------------------------------------------- what cannot report */

static atomic_uint ran;

static void count(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	ran++;
}

static void count_post(void *arg)
{
	(void)arg;
	ran++;
}

/* Posts to its own color, as each of them does once more. */
static void post_again(void *arg)
{
	struct event_base *base = arg;

	if (++ran < POSTS)
		assert_int_equal(event_base_post(base, 7, post_again, base), 0);
}

/* Without memory for the ring of posts, the base has none: all posts go to the queue. */
static void posts_still_run(struct event_base *base)
{
	ran = 0;
	assert_int_equal(event_base_post(base, 7, post_again, base), 0);
	assert_int_equal(event_base_post(base, 0, count_post, NULL), 0);
	assert_int_equal(event_base_loop(base, 0), 1);
	assert_in_range(ran, POSTS, POSTS + 1);
}

static bool active_is_not_lost_with(unsigned workers, const struct shortage *s, unsigned nth)
{
	struct event_base *base = base_new(workers);
	struct event *ev = event_new(base, -1, 0, count, NULL);
	const struct timeval soon = { 0, 1 };
	bool came;

	assert_non_null(ev);
	assert_int_equal(event_set_color(ev, 7), 0);
	ran = 0;
	run_out(s, nth);
	event_active(ev, EV_READ, 1);
	assert_int_equal(event_base_loop(base, 0), 1);
	if (ran != 1)
		fail_msg("%s %u: it ran %u times", s->name, nth, (unsigned)ran);
	came = fault_end();
	assert_int_equal(event_add(ev, &soon), 0);
	assert_int_equal(event_base_loop(base, 0), 1);
	assert_int_equal(ran, 2);
	posts_still_run(base);
	event_free(ev);
	event_base_free(base);
	return came;
}

static bool active_is_not_lost(const struct shortage *s, unsigned nth)
{
	bool came = active_is_not_lost_with(1, s, nth);

	return active_is_not_lost_with(WORKERS, s, nth) || came;
}

static void an_active_event_runs_whatever_is_short(void **state)
{
	(void)state;
	each(active_is_not_lost);
}

/* The library keeps the first slab of colors for that. */
static void so_do_many_colors(void **state)
{
	struct event_base *base = base_new(WORKERS);
	struct event *ev[COLORS];
	unsigned i;

	(void)state;
	for (i = 0; i < COLORS; i++) {
		ev[i] = event_new(base, -1, 0, count, NULL);
		assert_non_null(ev[i]);
		assert_int_equal(event_set_color(ev[i], i + 1), 0);
	}
	ran = 0;
	fault_alloc_always();
	for (i = 0; i < COLORS; i++)
		event_active(ev[i], EV_READ, 1);
	assert_int_equal(event_base_post(base, 1000, count_post, NULL), -1);
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(event_base_loop(base, 0), 1);
	assert_true(fault_end());
	assert_int_equal(ran, COLORS);
	for (i = 0; i < COLORS; i++)
		event_free(ev[i]);
	event_base_free(base);
}

/* Each base takes one of those that the library keeps for that; the last one finds none, until there is memory. */
static void so_do_many_bases(void **state)
{
	enum { SPARES = 64, BASES = SPARES + 1 };
	struct event_base *base[BASES];
	struct event *ev[BASES];
	int round, i;

	(void)state;
	for (round = 0; round < 2; round++) {
		for (i = 0; i < BASES; i++) {
			base[i] = base_new(WORKERS);
			ev[i] = event_new(base[i], -1, 0, count, NULL);
			assert_non_null(ev[i]);
			assert_int_equal(event_set_color(ev[i], 7), 0);
		}
		ran = 0;
		fault_alloc_always();
		for (i = 0; i < BASES; i++) {
			event_active(ev[i], EV_READ, 1);
			assert_int_equal(event_base_loop(base[i], 0), 1);
		}
		assert_true(fault_end());
		assert_int_equal(ran, SPARES);
		assert_non_null(strstr(logged, "memory"));
		assert_int_equal(event_base_loop(base[SPARES], 0), 1);
		event_active(ev[SPARES], EV_READ, 1);
		assert_int_equal(event_base_loop(base[SPARES], 0), 1);
		assert_int_equal(ran, BASES);
		for (i = 0; i < BASES; i++) {
			event_free(ev[i]);
			event_base_free(base[i]);
		}
	}
}

static void the_cause_is_told(void **state)
{
	struct event_base *base = base_new(WORKERS);
	struct event *ev = event_new(base, -1, 0, count, NULL);

	(void)state;
	assert_int_equal(event_set_color(ev, 7), 0);
	fault_call_always(FAULT_eventfd, EMFILE);
	event_active(ev, EV_READ, 1);
	(void)fault_end();
	if (strstr(logged, strerror(EMFILE)) == NULL || strstr(logged, "memory") != NULL)
		fail_msg("logged <%s>", logged);
	event_free(ev);
	event_base_free(base);
}

/* ---------------------------------------------------------------- later */

/* In its callback the loop runs in color 7, at worker 0: so no other callback of color 7 runs beside it. */
static void prepare_cb(evutil_socket_t fd, short what, void *arg)
{
	struct event_base *base = arg;

	(void)fd;
	(void)what;
	ran++;
	assert_int_equal(event_base_get_running_worker(base), 0);
	(void)fault_end();
	assert_int_equal(ec_base_prepare_colors(engine(base)), 0);
	assert_int_equal(engine(base)->workers_num, WORKERS);
}

static void workers_are_made_when_they_can_be(void **state)
{
	struct event_base *base = base_new(WORKERS);
	struct event *ev = event_new(base, -1, 0, prepare_cb, base);

	(void)state;
	assert_int_equal(event_set_color(ev, 7), 0);
	ran = 0;
	fault_call_always(FAULT_eventfd, EMFILE);
	event_active(ev, EV_READ, 1);
	assert_int_equal(engine(base)->workers_num, 1);
	assert_int_equal(event_base_get_workers(base), WORKERS);
	assert_int_equal(event_base_loop(base, 0), 1);
	assert_int_equal(ran, 1);
	event_free(ev);
	event_base_free(base);
}

static void the_next_loop_makes_them(void **state)
{
	struct event_base *base = base_new(WORKERS);
	struct event *ev = event_new(base, -1, 0, count, base);

	(void)state;
	assert_int_equal(event_set_color(ev, 7), 0);
	fault_call_always(FAULT_eventfd, EMFILE);
	event_active(ev, EV_READ, 1);
	assert_int_equal(event_base_loop(base, 0), 1);
	assert_int_equal(engine(base)->workers_num, 1);
	(void)fault_end();
	assert_int_equal(event_base_loop(base, 0), 1);
	assert_int_equal(engine(base)->workers_num, WORKERS);
	event_free(ev);
	event_base_free(base);
}

/* ---------------------------------------------------------------- what can report */

static int set_cost(struct event_base *base)
{
	return event_color_set_cost(base, 7, 1);
}

static int set_penalty(struct event_base *base)
{
	return event_color_set_penalty(base, 7, 1);
}

static int post(struct event_base *base)
{
	return event_base_post(base, 7, count_post, NULL);
}

static int (*const calls[])(struct event_base *base) = { set_cost, set_penalty, post };

static bool call_reports(const struct shortage *s, unsigned nth, int (*fn)(struct event_base *))
{
	int want = s->err == 0 ? ENOMEM : s->err, r, fds;
	struct event_base *base = base_new(WORKERS);
	bool came;

	ran = 0;
	fds = fault_fds();
	run_out(s, nth);
	errno = 0;
	r = fn(base);
	if (r < 0 && errno != want)
		fail_msg("%s %u: errno is %d, not %d", s->name, nth, errno, want);
	came = fault_end();
	if (r < 0) {
		assert_int_equal(fault_fds() != fds, engine(base)->workers[1] != NULL);
		assert_int_equal(fn(base), 0);
	}
	assert_int_equal(event_base_loop(base, 0), 1);
	assert_int_equal(ran, fn == post);
	event_base_free(base);
	return came;
}

static bool calls_report(const struct shortage *s, unsigned nth)
{
	bool came = false;
	size_t i;

	for (i = 0; i < ROWS(calls); i++)
		came |= call_reports(s, nth, calls[i]);
	return came;
}

static void calls_that_can_report_it_do(void **state)
{
	(void)state;
	each(calls_report);
}

/* The table of fork handlers is full for a moment. */
static void fork_handlers_are_installed_later(void **state)
{
	struct event_base *base = base_new(WORKERS);

	(void)state;
	fault_call_always(FAULT_pthread_atfork, ENOMEM);
	assert_int_equal(post(base), -1);
	assert_int_equal(errno, ENOMEM);
	(void)fault_end();
	assert_int_equal(post(base), 0);
	event_base_free(base);
}

static void priorities_may_be_set_after_it_was_prepared(void **state)
{
	struct event_base *base = base_new(WORKERS);

	(void)state;
	assert_int_equal(ec_base_prepare_colors(engine(base)), 0);
	assert_int_equal(event_base_priority_init(base, 5), 0);
	assert_int_equal(ec_base_prepare_colors(engine(base)), 0);
	ran = 0;
	assert_int_equal(event_base_post_priority(base, 7, 4, count_post, NULL), 0);
	assert_int_equal(event_base_loop(base, 0), 1);
	assert_int_equal(ran, 1);
	event_base_free(base);
}

/* ---------------------------------------------------------------- a bufferevent */

struct talk {
	struct bufferevent *bev;
	evutil_socket_t fd[2];
	short told;
};

/* The peer has it; EAGAIN: not. */
static bool has_come(struct talk *t)
{
	char c[4];

	return recv(t->fd[1], c, sizeof(c), MSG_DONTWAIT) == 1;
}

static void read_cb(struct bufferevent *bev, void *arg)
{
	ran++;
	(void)evbuffer_drain(bufferevent_get_input(bev), 100);
	(void)bufferevent_disable(bev, EV_READ);
	(void)arg;
}

static void event_cb(struct bufferevent *bev, short what, void *arg)
{
	(void)bev;
	((struct talk *)arg)->told |= what;
}

/* What the bufferevent took, it sends; and what was sent to it, it reads, or tells that it cannot. */
static bool data_is_not_lost(const struct shortage *s, unsigned nth)
{
	struct event_base *base = base_new(WORKERS);
	bool takes, reads, came;
	struct talk t;

	assert_int_equal(evutil_socketpair(AF_UNIX, SOCK_STREAM, 0, t.fd), 0);
	assert_int_equal(evutil_make_socket_nonblocking(t.fd[0]), 0);
	t.bev = bufferevent_socket_new(base, t.fd[0], BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
	assert_non_null(t.bev);
	bufferevent_setcb(t.bev, read_cb, NULL, event_cb, &t);
	t.told = 0;
	ran = 0;
	run_out(s, nth);
	if (bufferevent_set_color(t.bev, 9) < 0)
		assert_int_equal(bufferevent_get_color(t.bev), 0);
	reads = bufferevent_enable(t.bev, EV_READ) == 0;
	takes = bufferevent_write(t.bev, "x", 1) == 0;
	assert_int_equal(send(t.fd[1], "y", 1, 0), 1);
	(void)event_base_loop(base, EVLOOP_NONBLOCK);
	(void)event_base_loop(base, EVLOOP_NONBLOCK);
	came = fault_end();
	if (takes && !has_come(&t))
		fail_msg("%s %u: what was written is lost", s->name, nth);
	if (reads && ran == 0 && t.told != (BEV_EVENT_READING | BEV_EVENT_ERROR))
		fail_msg("%s %u: what came is not read", s->name, nth);
	bufferevent_free(t.bev);
	event_base_free(base);
	close(t.fd[1]);
	return came;
}

static void a_bufferevent_loses_no_data(void **state)
{
	(void)state;
	each(data_is_not_lost);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fork_handlers_are_installed_later),
		cmocka_unit_test(an_active_event_runs_whatever_is_short),
		cmocka_unit_test(so_do_many_colors),
		cmocka_unit_test(so_do_many_bases),
		cmocka_unit_test(the_cause_is_told),
		cmocka_unit_test(workers_are_made_when_they_can_be),
		cmocka_unit_test(the_next_loop_makes_them),
		cmocka_unit_test(calls_that_can_report_it_do),
		cmocka_unit_test(priorities_may_be_set_after_it_was_prepared),
		cmocka_unit_test(a_bufferevent_loses_no_data),
	};

	event_set_log_callback(note_log);
	return cmocka_run_group_tests_name("the first color", tests, fault_init, fault_fini);
}
