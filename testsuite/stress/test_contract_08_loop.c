/*
 * 8. Loop: event_base_loop() returns when stock would, counting colored events too; when it has
 * returned, no callback is running anywhere. loopbreak stops each worker after its current
 * callback, loopexit after the ready ones; the flags keep their meaning.
 */
#include "stress.h"

#define COLORS_NUM 8

/*
 * Work of many colors that goes on by itself; `running` is how many are inside a callback now.
 * Either posts, each of which posts the next; or descriptors that are always ready: these
 * become ready anew in each turn, so that there is an end to "the ready ones".
 */
struct load {
	struct event_base *base;
	struct event *readers[COLORS_NUM];
	int fd[2];
	atomic_int running;
	atomic_ulong runs;
	atomic_bool is_over;
	struct load_color {
		struct load *load;
		uint32_t color;
		bool is_queued;
		unsigned left;
	} colors[COLORS_NUM];
};

static void load_fn(void *arg)
{
	struct load_color *c = arg;
	struct load *load = c->load;

	atomic_fetch_add(&load->running, 1);
	spin(200);
	c->is_queued = false;
	if (c->left > 0 && !atomic_load(&load->is_over)) {
		c->left--;
		c->is_queued = true;
		post(load->base, c->color, load_fn, c);
	}
	atomic_fetch_add(&load->runs, 1);
	atomic_fetch_sub(&load->running, 1);
}

static void reader_cb(evutil_socket_t fd, short what, void *arg)
{
	struct load *load = arg;

	(void)fd;
	(void)what;
	atomic_fetch_add(&load->running, 1);
	spin(200);
	atomic_fetch_add(&load->runs, 1);
	atomic_fetch_sub(&load->running, 1);
}

static void readers_start(struct load *load)
{
	pipe_new(load->fd);
	put(load->fd[1]);
	for (unsigned i = 0; i < COLORS_NUM; i++) {
		load->readers[i] = ev_new(load->base, load->fd[0], EV_READ | EV_PERSIST, i + 1, reader_cb, load);
		event_add(load->readers[i], NULL);
	}
}

static void readers_end(struct load *load)
{
	for (unsigned i = 0; i < COLORS_NUM; i++)
		event_free(load->readers[i]);
	pipe_close(load->fd);
}

static void load_init(struct load *load, struct event_base *base, unsigned left)
{
	load->base = base;
	atomic_init(&load->running, 0);
	atomic_init(&load->runs, 0);
	atomic_init(&load->is_over, false);
	for (unsigned i = 0; i < COLORS_NUM; i++)
		load->colors[i] = (struct load_color){ load, i + 1, false, left };
}

/* Plain `is_queued`: the loop has returned, so whatever ran is seen here. */
static void load_start(struct load *load)
{
	for (unsigned i = 0; i < COLORS_NUM; i++) {
		if (load->colors[i].is_queued || load->colors[i].left == 0)
			continue;
		load->colors[i].left--;
		load->colors[i].is_queued = true;
		post(load->base, i + 1, load_fn, &load->colors[i]);
	}
}

static void test_contract_08_loop_ends_when_nothing_is_left(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 4; workers++) {
		struct event_base *base = base_new(workers);
		struct load load;

		for (unsigned round = 0; round < rounds(200); round++) {
			load_init(&load, base, 20);
			load_start(&load);
			assert_int_equal(event_base_dispatch(base), 1);
			assert_int_equal(atomic_load(&load.running), 0);
			assert_int_equal(atomic_load(&load.runs), 20 * COLORS_NUM);
		}
		assert_int_equal(event_base_dispatch(base), 1);
		event_base_free(base);
	}
}

/* One colored event that is pending keeps the loop; one that another color deletes ends it. */
struct keeper {
	struct event_base *base;
	struct event *keep;
	unsigned left;
};

static void let_go_fn(void *arg)
{
	struct keeper *k = arg;

	if (k->left-- > 0)
		post(k->base, k->left % 5, let_go_fn, k);
	else
		CHECK(event_del(k->keep) == 0);
}

static void test_contract_08_loop_ends_when_the_last_event_is_deleted(void **state)
{
	static const int kinds[] = { 0, EV_READ, EV_READ | EV_PERSIST };
	struct event_base *base = base_new(3);
	int fd[2];

	(void)state;
	pipe_new(fd);
	for (unsigned round = 0; round < rounds(300); round++) {
		struct keeper k = { .base = base, .left = 10 };
		int kind = kinds[round % 3];

		k.keep = ev_new(base, kind ? fd[0] : -1, kind, round % 7, nothing_cb, NULL);
		event_add(k.keep, kind ? NULL : &hour_tv);
		post(base, 1, let_go_fn, &k);
		assert_int_equal(event_base_dispatch(base), 1);
		event_free(k.keep);
	}
	pipe_close(fd);
	event_base_free(base);
}

/* Stopped by a callback of some color, by a foreign thread, by color 0; then going on. */
struct stopper {
	struct load *load;
	int (*stop)(struct event_base *base);
	uint32_t color;
	atomic_bool has_stopped;
};

static void stopper_fn(void *arg)
{
	struct stopper *s = arg;

	CHECK(s->stop(s->load->base) == 0);
	atomic_store(&s->has_stopped, true);
}

static int loop_exit(struct event_base *base)
{
	return event_base_loopexit(base, NULL);
}

enum kind { POSTS, DESCRIPTORS };

static void stop_by_callback(int (*stop)(struct event_base *), enum kind kind)
{
	struct event_base *base = base_new(4);
	struct load load;
	unsigned long runs;

	load_init(&load, base, UINT32_MAX);
	if (kind == DESCRIPTORS)
		readers_start(&load);
	for (unsigned round = 0; round < rounds(500); round++) {
		struct stopper s = { &load, stop, round % 3 == 0 ? 0 : 100 + round % 2, false };

		if (kind == POSTS)
			load_start(&load);
		post(base, s.color, stopper_fn, &s);
		assert_int_equal(event_base_dispatch(base), 0);
		assert_true(atomic_load(&s.has_stopped));
		assert_int_equal(!!event_base_got_break(base), stop == event_base_loopbreak);
		assert_int_equal(!!event_base_got_exit(base), stop == loop_exit);
		/* Nothing runs, and nothing starts. */
		runs = atomic_load(&load.runs);
		assert_int_equal(atomic_load(&load.running), 0);
		spin(2000);
		assert_int_equal(atomic_load(&load.running), 0);
		assert_int_equal(atomic_load(&load.runs), runs);
	}
	/* What was left behind is not lost. */
	atomic_store(&load.is_over, true);
	if (kind == DESCRIPTORS)
		readers_end(&load);
	assert_int_equal(event_base_dispatch(base), 1);
	for (unsigned i = 0; i < COLORS_NUM; i++)
		assert_false(load.colors[i].is_queued);
	event_base_free(base);
}

static void test_contract_08_loop_break_under_load(void **state)
{
	(void)state;
	stop_by_callback(event_base_loopbreak, POSTS);
	stop_by_callback(event_base_loopbreak, DESCRIPTORS);
}

static void test_contract_08_loop_exit_under_load(void **state)
{
	(void)state;
	stop_by_callback(loop_exit, DESCRIPTORS);
}

/* From another thread, told by a callback that the loop runs. */
struct foreign {
	struct load *load;
	int (*stop)(struct event_base *base);
	struct latch runs;
};

static void runs_fn(void *arg)
{
	struct foreign *f = arg;

	latch_down(&f->runs);
}

static void *foreign_main(void *arg)
{
	struct foreign *f = arg;

	latch_wait(&f->runs);
	CHECK(f->stop(f->load->base) == 0);
	return NULL;
}

static void stop_by_thread(int (*stop)(struct event_base *), enum kind kind)
{
	struct event_base *base = base_new(3);
	struct load load;

	load_init(&load, base, UINT32_MAX);
	if (kind == DESCRIPTORS)
		readers_start(&load);
	for (unsigned round = 0; round < rounds(300); round++) {
		struct foreign f = { .load = &load, .stop = stop };
		pthread_t thread;

		latch_init(&f.runs, 1);
		thread = thread_start(foreign_main, &f);
		if (kind == POSTS)
			load_start(&load);
		post(base, round % 4, runs_fn, &f);
		assert_int_equal(event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY), 0);
		assert_int_equal(atomic_load(&load.running), 0);
		thread_join(thread);
		latch_fini(&f.runs);
	}
	if (kind == DESCRIPTORS)
		readers_end(&load);
	event_base_free(base);
}

static void test_contract_08_loop_break_from_a_thread(void **state)
{
	(void)state;
	stop_by_thread(event_base_loopbreak, POSTS);
	stop_by_thread(event_base_loopbreak, DESCRIPTORS);
}

static void test_contract_08_loop_exit_from_a_thread(void **state)
{
	(void)state;
	stop_by_thread(loop_exit, DESCRIPTORS);
}

/* With a callback that stands in another worker, the loop does not return before it ends. */
struct standing {
	struct event_base *base;
	struct latch inside, go_on;
	atomic_bool has_ended;
};

static void standing_fn(void *arg)
{
	struct standing *s = arg;

	latch_down(&s->inside);
	latch_wait(&s->go_on);
	atomic_store(&s->has_ended, true);
}

static void break_fn(void *arg)
{
	struct standing *s = arg;

	latch_wait(&s->inside);
	CHECK(event_base_loopbreak(s->base) == 0);
	latch_down(&s->go_on);
}

static void test_contract_08_loop_returns_after_the_last_callback(void **state)
{
	struct event_base *base = base_new(2);

	(void)state;
	for (unsigned round = 0; round < rounds(500); round++) {
		struct standing s = { .base = base };

		latch_init(&s.inside, 1);
		latch_init(&s.go_on, 1);
		atomic_init(&s.has_ended, false);
		post(base, 1, standing_fn, &s);
		/* Not color 0: the one that stands may have the loop's thread. */
		post(base, 2, break_fn, &s);
		assert_int_equal(event_base_dispatch(base), 0);
		assert_true(atomic_load(&s.has_ended));
		latch_fini(&s.inside);
		latch_fini(&s.go_on);
	}
	event_base_free(base);
}

/* loopexit runs what is ready; loopbreak leaves it. */
struct ready {
	struct event_base *base;
	atomic_uint ran;
};

static void ready_cb(evutil_socket_t fd, short what, void *arg)
{
	struct ready *r = arg;

	(void)fd;
	(void)what;
	atomic_fetch_add(&r->ran, 1);
}

static void test_contract_08_loop_exit_runs_what_is_ready(void **state)
{
	struct event_base *base = base_new(3);
	struct ready r = { .base = base };
	struct event *evs[20], *keep = ev_new(base, -1, 0, 1, nothing_cb, NULL);

	(void)state;
	event_add(keep, &hour_tv);
	for (unsigned i = 0; i < 20; i++)
		evs[i] = ev_new(base, -1, 0, i % 10, ready_cb, &r);
	for (unsigned round = 0; round < rounds(200); round++) {
		atomic_store(&r.ran, 0);
		for (unsigned i = 0; i < 20; i++)
			event_active(evs[i], EV_READ, 1);
		assert_int_equal(event_base_loopexit(base, NULL), 0);
		assert_int_equal(event_base_dispatch(base), 0);
		assert_int_equal(atomic_load(&r.ran), 20);
	}
	for (unsigned i = 0; i < 20; i++)
		event_free(evs[i]);
	event_free(keep);
	event_base_free(base);
}

static void test_contract_08_loop_flags(void **state)
{
	struct event_base *base = base_new(3);
	struct ready r = { .base = base };
	struct event *ev = ev_new(base, -1, 0, 4, ready_cb, &r);
	struct event *far = ev_new(base, -1, 0, 5, ready_cb, &r);
	static const struct timeval soon = { 0, 1000 };

	(void)state;
	assert_int_equal(event_base_loop(base, EVLOOP_NONBLOCK), 1);
	assert_int_equal(event_base_loop(base, EVLOOP_ONCE), 1);
	event_add(far, &hour_tv);
	assert_int_equal(event_base_loop(base, EVLOOP_NONBLOCK), 0);
	assert_int_equal(atomic_load(&r.ran), 0);
	for (unsigned round = 0; round < rounds(200); round++) {
		atomic_store(&r.ran, 0);
		event_active(ev, EV_READ, 1);
		assert_int_equal(event_base_loop(base, EVLOOP_NONBLOCK), 0);
		assert_int_equal(atomic_load(&r.ran), 1);
		event_active(ev, EV_READ, 1);
		assert_int_equal(event_base_loop(base, EVLOOP_ONCE), 0);
		assert_int_equal(atomic_load(&r.ran), 2);
		/* It waits for the timer, and runs it. */
		event_add(ev, &soon);
		assert_int_equal(event_base_loop(base, EVLOOP_ONCE), 0);
		assert_int_equal(atomic_load(&r.ran), 3);
	}
	event_free(ev);
	event_free(far);
	event_base_free(base);
}

/* Descriptors of many colors are ready without end: a turn of the loop has one nevertheless. */
static void test_contract_08_loop_flags_under_load(void **state)
{
	struct event_base *base = base_new(2);
	struct load load;
	unsigned long runs;

	(void)state;
	load_init(&load, base, 0);
	readers_start(&load);
	for (unsigned round = 0; round < rounds(100); round++) {
		runs = atomic_load(&load.runs);
		assert_int_equal(event_base_loop(base, round % 2 == 0 ? EVLOOP_ONCE : EVLOOP_NONBLOCK), 0);
		assert_int_equal(atomic_load(&load.running), 0);
		assert_false(event_base_got_exit(base));
		assert_true(atomic_load(&load.runs) > runs);
	}
	readers_end(&load);
	event_base_free(base);
}

/* A loop that has nothing, kept by its flag, woken by a post from a thread, ended by another. */
static void *wake_main(void *arg)
{
	struct ready *r = arg;

	for (unsigned i = 0; i < 50; i++) {
		CHECK(event_base_once(r->base, -1, EV_TIMEOUT, ready_cb, r, NULL) == 0);
		while (atomic_load(&r->ran) <= i)
			sched_yield();
	}
	CHECK(event_base_loopexit(r->base, NULL) == 0);
	return NULL;
}

static void test_contract_08_loop_no_exit_on_empty(void **state)
{
	struct event_base *base = base_new(2);
	struct ready r = { .base = base };
	struct event *ev = ev_new(base, -1, 0, 4, ready_cb, &r);
	pthread_t thread;

	(void)state;
	event_active(ev, EV_READ, 1);
	assert_int_equal(event_base_dispatch(base), 1);
	atomic_store(&r.ran, 0);
	thread = thread_start(wake_main, &r);
	assert_int_equal(event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY), 0);
	assert_int_equal(atomic_load(&r.ran), 50);
	thread_join(thread);
	event_free(ev);
	event_base_free(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_contract_08_loop_ends_when_nothing_is_left),
		TEST(test_contract_08_loop_ends_when_the_last_event_is_deleted),
		TEST(test_contract_08_loop_break_under_load),
		TEST(test_contract_08_loop_exit_under_load),
		TEST(test_contract_08_loop_break_from_a_thread),
		TEST(test_contract_08_loop_exit_from_a_thread),
		TEST(test_contract_08_loop_returns_after_the_last_callback),
		TEST(test_contract_08_loop_exit_runs_what_is_ready),
		TEST(test_contract_08_loop_flags),
		TEST(test_contract_08_loop_flags_under_load),
		TEST(test_contract_08_loop_no_exit_on_empty),
	};

	return RUN(tests);
}
