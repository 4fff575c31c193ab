/*
 * A base made after evthread_use_pthreads(), without colors, as threaded servers use it: other threads activate, add
 * and delete its events, visit all of them, end its loop, give it its first color, or run its next loop. And its
 * bufferevents, whose priorities other threads change.
 */
#include <event2/bufferevent.h>
#include <event2/thread.h>

#include "stress.h"

enum { VISITORS = 3, EVENTS = 2, COLOR = 7, ROUNDS = 100000 };

struct bench;

/* An event, which one visitor uses. Its counts are plain: the callback's and, after event_del, the visitor's. */
struct visited {
	struct event *ev;
	struct bench *bench;
	unsigned calls;
};

struct bench {
	struct event_base *base;
	struct visited visited[VISITORS][EVENTS];
	unsigned all;			/* calls; of color 0 */
	struct event *stop;
	_Atomic(bool) is_over;
	_Atomic(unsigned) colored;	/* calls */
	unsigned color_at;		/* the round in which the first visitor sets the first color */
	pthread_mutex_t turn;		/* whose turn it is to run the loop */
};

static void visited_cb(evutil_socket_t fd, short what, void *arg)
{
	struct visited *v = arg;

	(void)fd;
	(void)what;
	v->calls++;
	v->bench->all++;
	if (v->calls % 16 == 0)
		CHECK(event_del(v->ev) == 0);
}

static void colored_cb(evutil_socket_t fd, short what, void *arg)
{
	struct bench *b = arg;

	(void)fd;
	(void)what;
	b->colored++;
}

static void stop_cb(evutil_socket_t fd, short what, void *arg)
{
	struct bench *b = arg;

	(void)fd;
	(void)what;
	b->is_over = true;
	CHECK(event_base_loopbreak(b->base) == 0);
}

/* A callback of the event that may run now has ended, and none follows. */
static void delete_and_look(struct visited *v)
{
	CHECK(event_del(v->ev) == 0);
	v->calls++;
}

static void visit(struct visited *v, unsigned round)
{
	static const struct timeval soon = { .tv_usec = 1 };
	struct timeval when;

	switch (round % 5) {
	case 0:
		delete_and_look(v);
		break;
	case 1:
		CHECK(event_add(v->ev, &soon) == 0);
		break;
	case 2:
		(void)event_pending(v->ev, EV_TIMEOUT, &when);
		break;
	default:
		event_active(v->ev, EV_TIMEOUT, 1);
	}
}

struct visitor {
	struct bench *bench;
	unsigned number;
};

static void *visitor_main(void *arg)
{
	const struct visitor *me = arg;
	struct bench *b = me->bench;
	struct event *colored = NULL;
	unsigned i;

	for (i = 0; i < rounds(ROUNDS); i++) {
		visit(&b->visited[me->number][i / 5 % EVENTS], i);
		if (me->number != 0 || i != b->color_at)
			continue;
		colored = ev_new(b->base, -1, 0, COLOR, colored_cb, b);
		event_active(colored, EV_TIMEOUT, 1);
	}
	for (i = 0; i < EVENTS; i++)
		delete_and_look(&b->visited[me->number][i]);
	if (colored != NULL)
		event_free(colored);
	return NULL;
}

static void *loop_main(void *arg)
{
	struct bench *b = arg;

	while (!b->is_over)
		CHECK(event_base_loop(b->base, EVLOOP_NO_EXIT_ON_EMPTY) >= 0);
	return NULL;
}

/* Loops of several threads, one at a time. */
static void *turns_main(void *arg)
{
	struct bench *b = arg;

	while (!b->is_over) {
		CHECK(pthread_mutex_lock(&b->turn) == 0);
		CHECK(event_base_loop(b->base, EVLOOP_NONBLOCK) >= 0);
		CHECK(pthread_mutex_unlock(&b->turn) == 0);
	}
	return NULL;
}

static void bench_init(struct bench *b, unsigned workers)
{
	struct visited *v;
	unsigned i, j;

	memset(b, 0, sizeof(*b));
	b->base = base_new(workers);
	b->color_at = UINT32_MAX;
	CHECK(pthread_mutex_init(&b->turn, NULL) == 0);
	for (i = 0; i < VISITORS; i++) {
		for (j = 0; j < EVENTS; j++) {
			v = &b->visited[i][j];
			v->bench = b;
			v->ev = event_new(b->base, -1, j == 0 ? EV_PERSIST : 0, visited_cb, v);
		}
	}
	b->stop = event_new(b->base, -1, 0, stop_cb, b);
}

static void bench_run(struct bench *b, void *(*loop)(void *), unsigned loops_num)
{
	struct visitor visitors[VISITORS];
	pthread_t threads[VISITORS], loops[5];
	unsigned i, j;

	for (i = 0; i < loops_num; i++)
		loops[i] = thread_start(loop, b);
	for (i = 0; i < VISITORS; i++) {
		visitors[i] = (struct visitor){ b, i };
		threads[i] = thread_start(visitor_main, &visitors[i]);
	}
	for (i = 0; i < VISITORS; i++)
		thread_join(threads[i]);
	event_active(b->stop, EV_TIMEOUT, 1);
	for (i = 0; i < loops_num; i++)
		thread_join(loops[i]);
	CHECK(b->is_over);
	for (i = 0; i < VISITORS; i++) {
		for (j = 0; j < EVENTS; j++)
			event_free(b->visited[i][j].ev);
	}
	event_free(b->stop);
	event_base_free(b->base);
	CHECK(pthread_mutex_destroy(&b->turn) == 0);
}

static void test_evthread_visitors(void **state)
{
	struct bench b;

	(void)state;
	bench_init(&b, 4);
	bench_run(&b, loop_main, 1);
}

static void test_evthread_first_color(void **state)
{
	struct bench b;
	unsigned i;

	(void)state;
	for (i = 0; i < 10; i++) {
		bench_init(&b, i % 2 == 0 ? 2 : 1);
		b.color_at = rounds(ROUNDS) / 12 * i;
		bench_run(&b, loop_main, 1);
	}
}

/* More threads than the bias has roles. */
static void test_evthread_loop_moves(void **state)
{
	struct bench b;

	(void)state;
	bench_init(&b, 4);
	bench_run(&b, turns_main, 5);
}

/*
 * Another thread brings the first colors, perhaps while the loop's thread sleeps. The last callback runs at another
 * worker; the loop must hear of it.
 */
struct first_colors {
	struct event_base *base;
	struct event *ev[2];
	struct latch begun;
	unsigned turns;
};

static void *first_colors_thread(void *arg)
{
	struct first_colors *f = arg;

	latch_wait(&f->begun);
	for (unsigned i = 0; i < f->turns; i++)
		sched_yield();
	event_add(f->ev[0], NULL);
	event_active(f->ev[1], EV_READ, 1);
	return NULL;
}

static void test_evthread_sleeping_loop_hears_of_the_first_colors(void **state)
{
	static const struct timeval ages = { 3600, 0 };

	(void)state;
	for (unsigned round = 0; round < rounds(200); round++) {
		struct first_colors f = { .base = base_new(3), .turns = round % 50 };
		struct event *keep = event_new(f.base, -1, EV_PERSIST, nothing_cb, NULL);
		pthread_t thread;
		int fd[2];

		pipe_new(fd);
		latch_init(&f.begun, 1);
		f.ev[0] = ev_new(f.base, fd[0], EV_READ, 1 + round % 7, nothing_cb, NULL);
		f.ev[1] = ev_new(f.base, -1, 0, 2 + round % 7, nothing_cb, NULL);
		event_add(keep, &ages);
		thread = thread_start(first_colors_thread, &f);
		assert_int_equal(event_base_loop(f.base, EVLOOP_NONBLOCK), 0);
		latch_down(&f.begun);		/* not before: its callback must run in the next loop */
		assert_int_equal(event_base_loop(f.base, EVLOOP_ONCE), 0);
		thread_join(thread);
		event_free(keep);
		event_free(f.ev[0]);
		event_free(f.ev[1]);
		event_base_free(f.base);
		latch_fini(&f.begun);
		pipe_close(fd);
	}
}

/* ---------------------------------------------------------------- the end of a base */

static void break_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	CHECK(event_base_loopbreak(arg) == 0);
}

static void break_post(void *arg)
{
	break_cb(-1, 0, arg);
}

static void never_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	CHECK(false);
}

enum ending { BREAKS, EXITS, ACTIVATES, ADDS, ONCE, POSTS, DELETES, ENDINGS };

struct ender {
	struct event_base *base;
	struct event ev;
	enum ending how;
	struct latch runs;
};

static void *end_loop(void *arg)
{
	static const struct timeval now = { 0, 0 };
	struct ender *e = arg;

	latch_wait(&e->runs);
	switch (e->how) {
	case BREAKS:
		CHECK(event_base_loopbreak(e->base) == 0);
		break;
	case EXITS:
		CHECK(event_base_loopexit(e->base, NULL) == 0);
		break;
	case ACTIVATES:
		event_active(&e->ev, EV_TIMEOUT, 1);
		break;
	case ADDS:
		CHECK(event_add(&e->ev, &now) == 0);
		break;
	case ONCE:
		CHECK(event_base_once(e->base, -1, EV_TIMEOUT, break_cb, e->base, &now) == 0);
		break;
	case POSTS:
		CHECK(event_base_post(e->base, 0, break_post, e->base) == 0);
		break;
	case DELETES:
		CHECK(event_del(&e->ev) == 0);
		break;
	case ENDINGS:
		break;
	}
	return NULL;
}

static void runs_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	latch_down_cb(arg);
}

/* The thread that ends the loop may still be in its call when the base is freed. */
static void free_after_loop(enum ending how)
{
	static const struct timeval hour = { 3600, 0 };
	struct ender e = { .base = event_base_new(), .how = how };
	struct event first;
	pthread_t ender;

	assert_non_null(e.base);
	latch_init(&e.runs, 1);
	assert_int_equal(event_assign(&first, e.base, -1, 0, runs_cb, &e.runs), 0);
	assert_int_equal(event_assign(&e.ev, e.base, -1, 0, how == DELETES ? never_cb : break_cb, e.base), 0);
	assert_int_equal(event_add(&e.ev, &hour), 0);
	event_active(&first, EV_TIMEOUT, 1);
	ender = thread_start(end_loop, &e);
	assert_true(event_base_dispatch(e.base) >= 0);
	event_base_free(e.base);
	CHECK(pthread_join(ender, NULL) == 0);
	latch_fini(&e.runs);
}

static void test_evthread_base_is_freed_when_its_loop_ends(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < rounds(1000) * ENDINGS; i++)
		free_after_loop((enum ending)(i % ENDINGS));
}

/* ---------------------------------------------------------------- bufferevents */

enum { PRIORITIES = 3 };

/* Two that send a message to each other, there and back, until it was read `left` times. */
struct ping {
	struct event_base *base;
	struct bufferevent *bev[2];
	unsigned left;
	_Atomic(bool) is_over;
};

static void pass_back(struct bufferevent *bev, void *arg)
{
	struct ping *p = arg;
	char byte;

	CHECK(bufferevent_read(bev, &byte, 1) == 1);
	if (--p->left == 0)
		CHECK(event_base_loopbreak(p->base) == 0);
	else
		CHECK(bufferevent_write(bev, &byte, 1) == 0);
}

/* It is refused while an event of the bufferevent is active. */
static void *change_priorities(void *arg)
{
	struct ping *p = arg;
	unsigned i;

	for (i = 0; !p->is_over; i++)
		(void)bufferevent_priority_set(p->bev[i % 2], (int)(i / 2 % PRIORITIES));
	return NULL;
}

static void test_evthread_priorities_of_bufferevents(void **state)
{
	struct ping p = { .base = event_base_new(), .left = rounds(ROUNDS) };
	evutil_socket_t fd[2];
	pthread_t changer;
	unsigned i;

	(void)state;
	assert_non_null(p.base);
	assert_int_equal(event_base_priority_init(p.base, PRIORITIES), 0);
	assert_int_equal(evutil_socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	for (i = 0; i < 2; i++) {
		assert_int_equal(evutil_make_socket_nonblocking(fd[i]), 0);
		p.bev[i] = bufferevent_socket_new(p.base, fd[i], BEV_OPT_THREADSAFE | BEV_OPT_CLOSE_ON_FREE);
		assert_non_null(p.bev[i]);
		bufferevent_setcb(p.bev[i], pass_back, NULL, NULL, &p);
		assert_int_equal(bufferevent_enable(p.bev[i], EV_READ), 0);
	}
	assert_int_equal(bufferevent_write(p.bev[0], "x", 1), 0);
	changer = thread_start(change_priorities, &p);
	assert_int_equal(event_base_dispatch(p.base), 0);
	assert_int_equal(p.left, 0);
	p.is_over = true;
	thread_join(changer);
	bufferevent_free(p.bev[0]);
	bufferevent_free(p.bev[1]);
	event_base_free(p.base);
}

/* ---------------------------------------------------------------- visits of all events */

/* One thread adds and deletes events, the loop ends and frees others, and the test's thread visits all of them. */
struct listing {
	struct event_base *base;
	_Atomic(bool) is_over;
	struct doomed {
		struct event ev;
		_Atomic(bool) is_gone;	/* as if it were freed */
	} doomed[4];
	unsigned seen;
};

static void doomed_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
}

/* The library frees the event that calls it. */
static void once_more_cb(evutil_socket_t fd, short what, void *arg)
{
	static const struct timeval soon = { 0, 50 };
	struct listing *l = arg;

	(void)fd;
	(void)what;
	if (l->is_over)
		CHECK(event_base_loopbreak(l->base) == 0);
	else
		CHECK(event_base_once(l->base, -1, EV_TIMEOUT, once_more_cb, l, &soon) == 0);
}

static void *listing_loop(void *arg)
{
	struct listing *l = arg;

	CHECK(event_base_loop(l->base, EVLOOP_NO_EXIT_ON_EMPTY) >= 0);
	return NULL;
}

static void *listing_changes(void *arg)
{
	static const struct timeval later = { 10, 0 };
	struct listing *l = arg;
	struct doomed *d;
	unsigned i;

	for (i = 0; !l->is_over; i++) {
		d = &l->doomed[i % 4];
		d->is_gone = false;
		CHECK(event_assign(&d->ev, l->base, -1, 0, doomed_cb, d) == 0);
		CHECK(event_add(&d->ev, &later) == 0);
		if (i % 16 == 0)
			sched_yield();
		CHECK(event_del(&d->ev) == 0);
		d->is_gone = true;
	}
	return NULL;
}

static int listing_look(const struct event_base *base, const struct event *ev, void *arg)
{
	struct listing *l = arg;
	const struct doomed *d;
	unsigned i;

	(void)base;
	if (event_get_callback(ev) != doomed_cb)
		return 0;
	d = event_get_callback_arg(ev);
	l->seen++;
	for (i = 0; i < 100; i++)
		CHECK(!d->is_gone);
	CHECK(event_pending(ev, EV_TIMEOUT, NULL) == EV_TIMEOUT);
	return 0;
}

static void test_evthread_no_visited_event_is_freed(void **state)
{
	struct listing l = { .base = event_base_new() };
	FILE *nowhere = fopen("/dev/null", "w");
	unsigned i, all = rounds(ROUNDS / 4);
	pthread_t loop, changer;

	(void)state;
	assert_non_null(l.base);
	assert_non_null(nowhere);
	for (i = 0; i < 4; i++)
		once_more_cb(-1, 0, &l);
	loop = thread_start(listing_loop, &l);
	changer = thread_start(listing_changes, &l);
	for (i = 0; i < all || l.seen == 0; i++) {
		assert_int_equal(event_base_foreach_event(l.base, listing_look, &l), 0);
		event_base_dump_events(l.base, nowhere);
	}
	l.is_over = true;
	thread_join(changer);
	thread_join(loop);
	fclose(nowhere);
	event_base_free(l.base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_evthread_visitors),
		TEST(test_evthread_first_color),
		TEST(test_evthread_sleeping_loop_hears_of_the_first_colors),
		TEST(test_evthread_loop_moves),
		TEST(test_evthread_base_is_freed_when_its_loop_ends),
		TEST(test_evthread_priorities_of_bufferevents),
		TEST(test_evthread_no_visited_event_is_freed),
	};

	CHECK(evthread_use_pthreads() == 0);
	return RUN(tests);
}
