/*
 * 14. Nobody starves. Posts go ahead of I/O, but not for ever: under any stream of posts a worker
 * still polls and runs what became ready, readers of a shared color pass a stream of exclusive
 * posts and the reverse, and loopexit and loopbreak end the loop.
 *
 * A load counts its callbacks and stops when the callback that must get through has run. No clock
 * decides: a load that reaches its limit names who starved and ends the process. A test that stands
 * still is ended by alarm(), which names the case, too.
 */
#include "stress.h"

/* So many callbacks take a second or so: a worker whose CPU was taken away for a while starves nobody. */
#define LOAD_MAX (IS_SANITIZED ? 2000000u : 10000000u)
#define LOADS_MAX 4

static char case_name[256];

/* Async-signal-safe: the case stands still. */
static void stalled(int sig)
{
	static const char what[] = "stands still: ";

	(void)sig;
	(void)!write(STDERR_FILENO, what, sizeof(what) - 1);
	(void)!write(STDERR_FILENO, case_name, strlen(case_name));
	(void)!write(STDERR_FILENO, "\n", 1);
	_exit(1);
}

static void case_begin(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void case_begin(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(case_name, sizeof(case_name), fmt, ap);
	va_end(ap);
	CHECK(signal(SIGALRM, stalled) != SIG_ERR);
}

static void starves(void)
{
	fprintf(stderr, "starves: %s\n", case_name);
	abort();
}

/* ---------------------------------------------------------------- loads */

enum load_kind { LOAD_SELF, LOAD_PING_PONG, LOAD_OUTSIDE };

static const char *const load_names[] = { "a color that posts to itself", "two colors that post to each other",
					  "posts by another thread" };

struct load {
	struct event_base *base;
	uint32_t colors[2];
	unsigned work;			/* of each callback */
	atomic_bool *is_over;
	atomic_uint ran, in_flight;
	pthread_t thread;
};

static void load_count(struct load *l)
{
	if (atomic_fetch_add_explicit(&l->ran, 1, memory_order_relaxed) == LOAD_MAX / (1 + l->work / 150))
		starves();
	if (l->work != 0 && !atomic_load(l->is_over))
		spin(l->work);
}

static void load_pong_fn(void *arg);

static void load_ping_fn(void *arg)
{
	struct load *l = arg;

	load_count(l);
	if (!atomic_load(l->is_over))
		post(l->base, l->colors[1], load_pong_fn, l);
}

static void load_pong_fn(void *arg)
{
	struct load *l = arg;

	load_count(l);
	if (!atomic_load(l->is_over))
		post(l->base, l->colors[0], load_ping_fn, l);
}

static void load_outside_fn(void *arg)
{
	struct load *l = arg;

	load_count(l);
	atomic_fetch_sub(&l->in_flight, 1);
}

static void load_outside_check_fn(void *arg)
{
	(void)arg;
}

/* There are always posts that wait, even if this thread has no CPU for a while. */
static void *load_outside_main(void *arg)
{
	enum { IN_FLIGHT = 1 << 14 };
	struct load *l = arg;

	while (!atomic_load(l->is_over)) {
		if (atomic_load(&l->in_flight) >= IN_FLIGHT)
			continue;
		atomic_fetch_add(&l->in_flight, 1);
		post(l->base, l->colors[0], load_outside_fn, l);
	}
	post(l->base, l->colors[0], load_outside_check_fn, l);
	return NULL;
}

static void load_start(struct load *l, enum load_kind kind, struct event_base *base, uint32_t color,
		       atomic_bool *is_over)
{
	l->base = base;
	l->colors[0] = color;
	l->colors[1] = kind == LOAD_PING_PONG ? color + 100 : color;
	l->is_over = is_over;
	atomic_init(&l->ran, 0);
	atomic_init(&l->in_flight, 0);
	if (kind == LOAD_OUTSIDE)
		l->thread = thread_start(load_outside_main, l);
	else
		post(base, l->colors[0], load_ping_fn, l);
}

static void load_end(struct load *l, enum load_kind kind)
{
	if (kind == LOAD_OUTSIDE)
		thread_join(l->thread);
}

/* ---------------------------------------------------------------- one that must get through */

enum waiter_kind { WAIT_DESCRIPTOR, WAIT_TIMER, WAIT_SIGNAL, WAIT_ACTIVE, WAITER_KINDS };

static const char *const waiter_names[] = { "a descriptor", "a timer", "a signal", "an event" };

struct waiter {
	struct event *ev;
	int fd[2];
	enum waiter_kind kind;
	atomic_bool is_over;
};

static void waiter_cb(evutil_socket_t fd, short what, void *arg)
{
	struct waiter *w = arg;

	(void)what;
	if (w->kind == WAIT_DESCRIPTOR)
		drain(fd);
	atomic_store(&w->is_over, true);
}

static void waiter_new(struct waiter *w, enum waiter_kind kind, struct event_base *base, uint32_t color, int pri)
{
	pipe_new(w->fd);
	w->kind = kind;
	atomic_init(&w->is_over, false);
	if (kind == WAIT_SIGNAL)
		w->ev = ev_new(base, SIGUSR1, EV_SIGNAL, color, waiter_cb, w);
	else
		w->ev = ev_new(base, kind == WAIT_DESCRIPTOR ? w->fd[0] : -1, kind == WAIT_DESCRIPTOR ? EV_READ : 0,
			       color, waiter_cb, w);
	if (pri >= 0)
		CHECK(event_priority_set(w->ev, pri) == 0);
}

/* In a callback, so that the load is under way. */
static void waiter_ready_fn(void *arg)
{
	static const struct timeval soon = { 0, 100 };
	struct waiter *w = arg;

	CHECK(w->kind == WAIT_ACTIVE || event_add(w->ev, w->kind == WAIT_TIMER ? &soon : NULL) == 0);
	switch (w->kind) {
	case WAIT_DESCRIPTOR:
		put(w->fd[1]);
		break;
	case WAIT_SIGNAL:
		CHECK(kill(getpid(), SIGUSR1) == 0);
		break;
	case WAIT_ACTIVE:
		event_active(w->ev, EV_READ, 1);
		break;
	case WAIT_TIMER:
	case WAITER_KINDS:
		break;
	}
}

static void waiter_free(struct waiter *w)
{
	event_free(w->ev);
	pipe_close(w->fd);
}

/* ---------------------------------------------------------------- streams of posts */

/* A base that was colored before, so that its workers are there. */
static struct event_base *base_ready(unsigned workers, int priorities)
{
	struct event_base *base = base_new(workers);

	if (priorities > 1)
		CHECK(event_base_priority_init(base, priorities) == 0);
	post(base, 1, load_outside_check_fn, NULL);
	CHECK(event_base_dispatch(base) == 1);
	return base;
}

/* `busy`: so many streams at the same time, one for each worker at least. */
static void one_waits(struct event_base *base, enum load_kind load, uint32_t load_color, unsigned work,
		      enum waiter_kind kind, uint32_t color, int pri)
{
	unsigned busy = load == LOAD_OUTSIDE ? 1 : event_base_get_workers(base);
	struct load l[LOADS_MAX] = { { .work = work } };
	struct waiter w;

	waiter_new(&w, kind, base, color, pri);
	for (unsigned i = 0; i < busy; i++) {
		l[i].work = work;
		load_start(&l[i], load, base, i == 0 ? load_color : load_color + i * 10, &w.is_over);
	}
	post(base, load_color, waiter_ready_fn, &w);
	/* The thread's posts may all have run, or not have begun: the loop is not to end for that. */
	CHECK(event_base_loop(base, 0) == 1 || load == LOAD_OUTSIDE);
	for (unsigned i = 0; i < busy; i++)
		load_end(&l[i], load);
	CHECK(event_base_loop(base, 0) >= 0);
	CHECK(atomic_load(&w.is_over));
	waiter_free(&w);
}

static void all_wait(enum load_kind load, uint32_t load_color, uint32_t color, unsigned work, int priorities)
{
	for (unsigned workers = 1; workers <= 3; workers++) {
		struct event_base *base = base_ready(workers, priorities);

		for (enum waiter_kind kind = 0; kind < WAITER_KINDS; kind++) {
			case_begin("%s of color %u waits for %s, colors from %u; %u workers, %d priorities, work %u",
				   waiter_names[kind], color, load_names[load], load_color, workers, priorities, work);
			for (unsigned i = 0; i < rounds(load == LOAD_OUTSIDE || work != 0 ? 4 : 20); i++)
				one_waits(base, load, load_color, work, kind, color, -1);
		}
		event_base_free(base);
	}
}

enum { COLOR_OTHER = 9, COLOR_LOAD = 1 };

/* Of another color, of color 0, of the color that posts; the last where color 0 itself is the load. */
static void all_colors(enum load_kind load, unsigned work, int priorities)
{
	all_wait(load, COLOR_LOAD, COLOR_OTHER, work, priorities);
	all_wait(load, COLOR_LOAD, 0, work, priorities);
	all_wait(load, COLOR_LOAD, COLOR_LOAD, work, priorities);
	all_wait(load, 0, COLOR_OTHER, work, priorities);
	all_wait(load, 0, 0, work, priorities);
}

static void test_contract_14_a_color_that_posts_to_itself(void **state)
{
	(void)state;
	all_colors(LOAD_SELF, 0, 1);
}

static void test_contract_14_two_colors_that_post_to_each_other(void **state)
{
	(void)state;
	all_colors(LOAD_PING_PONG, 0, 1);
}

/* A worker is slower than the thread that posts to it: there is always something in its queue. */
static void test_contract_14_posts_from_outside(void **state)
{
	(void)state;
	all_colors(LOAD_OUTSIDE, 2000, 1);
}

/* Callbacks of about a tenth of a millisecond: a limit by their number alone would be late. */
static void test_contract_14_long_callbacks(void **state)
{
	(void)state;
	all_colors(LOAD_SELF, 40000, 1);
	all_colors(LOAD_PING_PONG, 40000, 1);
}

static void test_contract_14_priorities(void **state)
{
	(void)state;
	all_colors(LOAD_SELF, 0, 3);
	all_colors(LOAD_PING_PONG, 0, 3);
	all_colors(LOAD_OUTSIDE, 2000, 3);
}

/* A base without colors: posts to color 0, without any lock; and before its first color. */
static void test_contract_14_uncolored(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 2; workers++) {
		for (enum waiter_kind kind = 0; kind < WAITER_KINDS; kind++) {
			struct event_base *base = base_new(workers);

			case_begin("%s waits for posts to color 0 of a base without colors, %u workers",
				   waiter_names[kind], workers);
			for (unsigned i = 0; i < rounds(20); i++) {
				atomic_bool is_over;
				struct load l = { .work = 0 };
				struct waiter w;

				atomic_init(&is_over, false);
				waiter_new(&w, kind, base, 0, -1);
				load_start(&l, LOAD_SELF, base, 0, &w.is_over);
				post(base, 0, waiter_ready_fn, &w);
				assert_int_equal(event_base_dispatch(base), 1);
				assert_true(atomic_load(&w.is_over));
				waiter_free(&w);
			}
			event_base_free(base);
		}
	}
}

/* ---------------------------------------------------------------- shared colors */

struct shared {
	struct event_base *base;
	struct event *readers[3];
	atomic_bool is_over, is_begun;
	atomic_uint ran;
};

static void reader_over_cb(evutil_socket_t fd, short what, void *arg)
{
	struct shared *s = arg;

	(void)fd;
	(void)what;
	atomic_store(&s->is_over, true);
}

static void reader_again_cb(evutil_socket_t fd, short what, void *arg)
{
	struct shared *s = arg;

	(void)fd;
	(void)what;
	if (atomic_fetch_add(&s->ran, 1) == LOAD_MAX)
		starves();
	if (!atomic_load(&s->is_over))
		event_active(event_base_get_running_event(s->base), EV_READ, 1);
}

static void writer_over_fn(void *arg)
{
	struct shared *s = arg;

	atomic_store(&s->is_over, true);
}

static void writer_over_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	writer_over_fn(arg);
}

static struct event *reader_new(struct event_base *base, uint32_t color, event_callback_fn fn, void *arg)
{
	struct event *ev = event_new(base, -1, EV_PERSIST, fn, arg);

	CHECK(ev != NULL);
	CHECK(event_set_color_shared(ev, color) == 0);
	return ev;
}

static void test_contract_14_readers_pass_exclusive_posts(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 3; workers++) {
		struct event_base *base = base_ready(workers, 1);

		for (enum load_kind kind = LOAD_SELF; kind <= LOAD_OUTSIDE; kind++) {
			case_begin("a reader waits for %s, %u workers", load_names[kind], workers);
			for (unsigned i = 0; i < rounds(40); i++) {
				struct shared s = { .base = base };
				struct load l = { .work = 0 };
				struct event *ev = reader_new(base, COLOR_LOAD, reader_over_cb, &s);

				load_start(&l, kind, base, COLOR_LOAD, &s.is_over);
				event_active(ev, EV_READ, 1);
				(void)event_base_loop(base, 0);
				load_end(&l, kind);
				(void)event_base_loop(base, 0);
				assert_true(atomic_load(&s.is_over));
				event_free(ev);
			}
		}
		event_base_free(base);
	}
}

static void test_contract_14_exclusive_callbacks_pass_readers(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 3; workers++) {
		struct event_base *base = base_ready(workers, 1);

		for (unsigned i = 0; i < rounds(40); i++) {
			struct shared s = { .base = base };
			struct event *ev = ev_new(base, -1, 0, COLOR_LOAD, writer_over_cb, &s);

			case_begin("an exclusive %s waits for readers, %u workers", i % 2 == 0 ? "post" : "event",
				   workers);
			for (unsigned k = 0; k < 3; k++)
				s.readers[k] = reader_new(base, COLOR_LOAD, reader_again_cb, &s);
			for (unsigned k = 0; k < 3; k++)
				event_active(s.readers[k], EV_READ, 1);
			if (i % 2 == 0)
				post(base, COLOR_LOAD, writer_over_fn, &s);
			else
				event_active(ev, EV_READ, 1);
			assert_int_equal(event_base_dispatch(base), 1);
			assert_true(atomic_load(&s.is_over));
			for (unsigned k = 0; k < 3; k++)
				event_free(s.readers[k]);
			event_free(ev);
		}
		event_base_free(base);
	}
}

/* ---------------------------------------------------------------- the loop's end */

struct end {
	struct event_base *base;
	struct latch begun;
	bool has_begun;
	bool is_break;
};

static void end_begun_fn(void *arg)
{
	struct end *e = arg;

	latch_down(&e->begun);
}

static void *end_main(void *arg)
{
	struct end *e = arg;

	latch_wait(&e->begun);
	CHECK((e->is_break ? event_base_loopbreak(e->base) : event_base_loopexit(e->base, NULL)) == 0);
	return NULL;
}

static void one_ends(unsigned workers, enum load_kind kind, uint32_t color, bool is_break)
{
	struct end e = { .base = base_ready(workers, 1), .is_break = is_break };
	struct load l = { .work = 0 };
	atomic_bool is_over;
	pthread_t thread;

	case_begin("%s ends a loop under %s of color %u, %u workers", is_break ? "loopbreak" : "loopexit",
		   load_names[kind], color, workers);
	atomic_init(&is_over, false);
	latch_init(&e.begun, 1);
	thread = thread_start(end_main, &e);
	load_start(&l, kind, e.base, color, &is_over);
	post(e.base, color, end_begun_fn, &e);
	assert_int_equal(event_base_loop(e.base, EVLOOP_NO_EXIT_ON_EMPTY), 0);
	thread_join(thread);
	atomic_store(&is_over, true);
	load_end(&l, kind);
	latch_fini(&e.begun);
	event_base_free(e.base);
}

static void test_contract_14_loopexit_and_loopbreak(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 3; workers++) {
		for (enum load_kind kind = LOAD_SELF; kind <= LOAD_OUTSIDE; kind++) {
			for (unsigned i = 0; i < rounds(5); i++) {
				one_ends(workers, kind, COLOR_LOAD, false);
				one_ends(workers, kind, COLOR_LOAD, true);
				one_ends(workers, kind, 0, false);
				one_ends(workers, kind, 0, true);
			}
		}
	}
}

/* On a base without colors the exit is a timer of the only thread. */
static void test_contract_14_loopexit_uncolored(void **state)
{
	static const struct timeval soon = { 0, 1000 };

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct event_base *base = base_new(2);
		struct load l = { .work = 0 };
		atomic_bool is_over;

		case_begin("loopexit ends a loop without colors under posts to color 0");
		atomic_init(&is_over, false);
		load_start(&l, LOAD_SELF, base, 0, &is_over);
		assert_int_equal(event_base_loopexit(base, i == 0 ? NULL : &soon), 0);
		assert_int_equal(event_base_loop(base, 0), 0);
		event_base_free(base);
	}
}

/* EVLOOP_ONCE and EVLOOP_NONBLOCK come back, too. */
static void test_contract_14_brief_loops(void **state)
{
	static const int flags[] = { EVLOOP_ONCE, EVLOOP_NONBLOCK };

	(void)state;
	for (unsigned workers = 1; workers <= 3; workers++) {
		for (unsigned i = 0; i < 4; i++) {
			struct event_base *base = i < 2 ? base_ready(workers, 1) : base_new(workers);
			struct load l = { .work = 0 };
			atomic_bool is_over;

			case_begin("a loop with flags %d comes back under posts, %u workers", flags[i % 2], workers);
			atomic_init(&is_over, false);
			load_start(&l, LOAD_SELF, base, 0, &is_over);
			assert_int_equal(event_base_loop(base, flags[i % 2]), 0);
			event_base_free(base);
		}
	}
}

/* ---------------------------------------------------------------- a worker that cannot look */

enum { PIPES = 16 };

struct piped {
	struct event_base *base;
	struct event *evs[PIPES];
	struct load load[LOADS_MAX];
	int fd[PIPES][2];
	struct latch others;
	atomic_bool is_over;
	unsigned stands;
	unsigned busy;
};

static struct piped *piped;

static void piped_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)what;
	(void)arg;
	if (take(fd))
		latch_down(&piped->others);
}

static void piped_add_fn(void *arg)
{
	CHECK(event_add(arg, NULL) == 0);
}

static void piped_init(struct piped *p)
{
	piped = p;
	for (unsigned i = 0; i < PIPES; i++) {
		pipe_new(p->fd[i]);
		p->evs[i] = ev_new(p->base, p->fd[i][0], EV_READ | EV_PERSIST, i + 200, piped_cb, NULL);
	}
}

static void piped_fini(struct piped *p)
{
	for (unsigned i = 0; i < PIPES; i++) {
		event_free(p->evs[i]);
		pipe_close(p->fd[i]);
	}
}

/* The others are busy with short callbacks all the time, of which each worker has some. */
static void busy_standing_fn(void *arg)
{
	struct piped *p = arg;

	for (unsigned i = 0; i < p->busy; i++)
		load_start(&p->load[i], LOAD_PING_PONG, p->base, 1 + i * 10, &p->is_over);
	for (unsigned i = 0; i < PIPES; i++)
		if (i != p->stands)
			put(p->fd[i][1]);
	latch_wait(&p->others);
	atomic_store(&p->is_over, true);
	CHECK(event_base_loopexit(p->base, NULL) == 0);
}

static void test_contract_14_descriptors_of_a_stuck_worker(void **state)
{
	(void)state;
	for (unsigned workers = 2; workers <= 3; workers++) {
		struct piped p = { .base = base_ready(workers, 1), .busy = workers };

		piped_init(&p);
		for (unsigned i = 0; i < PIPES; i++)
			post(p.base, i + 200, piped_add_fn, p.evs[i]);
		event_base_loop(p.base, EVLOOP_NONBLOCK);
		for (unsigned round = 0; round < rounds(40); round++) {
			case_begin("a descriptor waits for a stuck worker while %u are busy, round %u", workers - 1,
				   round);
			p.stands = round % PIPES;
			atomic_store(&p.is_over, false);
			latch_init(&p.others, PIPES - 1);
			post(p.base, p.stands + 200, busy_standing_fn, &p);
			assert_int_equal(event_base_dispatch(p.base), 0);
			event_base_loop(p.base, EVLOOP_NONBLOCK);
			latch_fini(&p.others);
		}
		piped_fini(&p);
		event_base_free(p.base);
	}
}

/* Start callbacks that do not return before the descriptors were served. */
static void start_waits(struct event_base *base, unsigned worker, void *arg)
{
	struct piped *p = arg;

	(void)base;
	if (worker != 0)
		latch_wait(&p->others);
}

/* Color 0: the workers have their threads by now, which are in their start callbacks. */
static void start_add_fn(void *arg)
{
	struct piped *p = arg;

	for (unsigned i = 0; i < PIPES; i++) {
		CHECK(event_add(p->evs[i], NULL) == 0);
		put(p->fd[i][1]);
	}
	if (p->busy != 0)
		load_start(&p->load[0], LOAD_PING_PONG, p->base, 1, &p->is_over);
}

static void piped_last_cb(evutil_socket_t fd, short what, void *arg)
{
	struct piped *p = arg;

	piped_cb(fd, what, NULL);
	pthread_mutex_lock(&p->others.mu);
	if (p->others.left == 0) {
		atomic_store(&p->is_over, true);
		CHECK(event_base_loopexit(p->base, NULL) == 0);
	}
	pthread_mutex_unlock(&p->others.mu);
}

static void test_contract_14_descriptors_behind_start_callbacks(void **state)
{
	(void)state;
	for (unsigned busy = 0; busy <= 1; busy++) {
		for (unsigned workers = 2; workers <= 4; workers++) {
			struct piped p = { .busy = busy };

			case_begin("a descriptor waits for a worker's start callback, %u workers, busy %u", workers,
				   busy);
			latch_init(&p.others, PIPES);
			atomic_init(&p.is_over, false);
			p.base = base_new_start(workers, start_waits, &p);
			piped_init(&p);
			for (unsigned i = 0; i < PIPES; i++)
				CHECK(event_assign(p.evs[i], p.base, p.fd[i][0], EV_READ | EV_PERSIST, piped_last_cb,
						   &p) == 0 &&
				      event_set_color(p.evs[i], i + 200) == 0);
			post(p.base, 500, load_outside_check_fn, NULL);
			post(p.base, 0, start_add_fn, &p);
			assert_int_equal(event_base_loop(p.base, EVLOOP_NO_EXIT_ON_EMPTY), 0);
			piped_fini(&p);
			event_base_free(p.base);
			latch_fini(&p.others);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_contract_14_a_color_that_posts_to_itself),
		TEST(test_contract_14_two_colors_that_post_to_each_other),
		TEST(test_contract_14_posts_from_outside),
		TEST(test_contract_14_long_callbacks),
		TEST(test_contract_14_priorities),
		TEST(test_contract_14_uncolored),
		TEST(test_contract_14_readers_pass_exclusive_posts),
		TEST(test_contract_14_exclusive_callbacks_pass_readers),
		TEST(test_contract_14_loopexit_and_loopbreak),
		TEST(test_contract_14_loopexit_uncolored),
		TEST(test_contract_14_brief_loops),
		TEST(test_contract_14_descriptors_of_a_stuck_worker),
		TEST(test_contract_14_descriptors_behind_start_callbacks),
	};

	return RUN(tests);
}
