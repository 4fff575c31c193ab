/*
 * Callbacks of a color that were cheap, thousands of times, and then take long, on a clock that they move. What is
 * expected of a color may shorten its runs, but the clock ends them: the others have their turn after the first slow
 * callbacks, on one worker (core/loop/lanes.c) and on several (core/sched/run.c).
 */
#include "table.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include <event2/event.h>
#include <event2/smp.h>

#include "core/os/clock.h"

enum {
	CHEAP = 20000, /* callbacks, */
	SLOW = 400, /* and then so many, */
	CHEAP_NS = 10, /* which took so long each, */
	SLOW_NS = 100000000, /* and take so long */
	LOAD_COLOR = 5,
	OTHERS = 8, /* colors with work meanwhile: a post and an event each */
	FEW = 2, /* a run looks at the clock after so many callbacks at first, */
	BURST = 64, /* and at most so many later; one worker, also at first */
};

static _Atomic(int64_t) now_ns;

static int64_t virtual_clock(void)
{
	return atomic_load(&now_ns);
}

/* When a run finds out: it begins after the last cheap callback, or they became slow under way. */
enum change { BETWEEN_RUNS,
	      WITHIN_A_RUN,
	      CHANGES };

/* The slow callbacks: posts or events that wait all at once, or posts that post the next one. */
enum load { CHAIN,
	    POSTS,
	    EVENTS,
	    LOADS };

struct other {
	struct scene *scene;
	uint32_t color;
	struct event *ev;
	pthread_t thread;
	int runs_left; /* of a post, and of the event */
	unsigned last_at; /* slow callbacks had begun when the last of them ran */
};

struct scene {
	unsigned workers;
	enum change change;
	enum load load;

	struct event_base *base;
	struct event *evs[SLOW], *keeper;
	struct other others[OTHERS];
	pthread_t thread;
	unsigned cheap;
	atomic_uint slow;
	atomic_int left;
};

static void other_ran(struct other *o)
{
	o->thread = pthread_self();
	o->last_at = atomic_load(&o->scene->slow);
	o->runs_left--;
	atomic_fetch_sub(&o->scene->left, 1);
}

static void other_fn(void *arg)
{
	other_ran(arg);
}

static void other_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	other_ran(arg);
}

/* One worker runs all posts in the order in which they came: among them, only a stream can starve others. */
static bool is_fair_to_posts(const struct scene *s)
{
	return s->workers != 1 || s->load == CHAIN;
}

static void other_begin(struct scene *s, struct other *o)
{
	atomic_fetch_add(&s->left, 1);
	o->runs_left = 1;
	event_active(o->ev, EV_READ, 1);
	if (!is_fair_to_posts(s))
		return;
	atomic_fetch_add(&s->left, 1);
	o->runs_left++;
	assert_int_equal(event_base_post(s->base, o->color, other_fn, o), 0);
}

static void others_begin(struct scene *s)
{
	int i;

	for (i = 0; i < OTHERS; i++)
		other_begin(s, &s->others[i]);
}

/* The others wait behind a run that has begun. */
static void slow_fn(void *arg)
{
	struct scene *s = arg;
	unsigned ran = atomic_fetch_add(&s->slow, 1) + 1;

	s->thread = pthread_self();
	atomic_fetch_add(&now_ns, SLOW_NS);
	if (ran == 1)
		others_begin(s);
	if (s->load == CHAIN && ran < SLOW)
		assert_int_equal(event_base_post(s->base, LOAD_COLOR, slow_fn, s), 0);
}

static void slow_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	slow_fn(arg);
}

static void slow_begin(struct scene *s)
{
	int i, num = s->load == CHAIN ? 1 : SLOW;

	for (i = 0; i < num; i++) {
		if (s->load != EVENTS)
			assert_int_equal(event_base_post(s->base, LOAD_COLOR, slow_fn, s), 0);
		else
			event_active(s->evs[i], EV_READ, 1);
	}
}

static void cheap_fn(void *arg)
{
	struct scene *s = arg;

	atomic_fetch_add(&now_ns, CHEAP_NS);
	if (++s->cheap == CHEAP && s->change == WITHIN_A_RUN)
		slow_begin(s);
}

static void nothing_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
}

/* Added for long, so that its color, and the worker where it is at home, stay. */
static struct event *event_that_stays(struct scene *s, uint32_t color, event_callback_fn fn, void *arg)
{
	static const struct timeval hour = { 3600, 0 };
	struct event *ev = event_new(s->base, -1, EV_PERSIST, fn, arg);

	assert_non_null(ev);
	assert_int_equal(event_set_color(ev, color), 0);
	assert_int_equal(event_add(ev, &hour), 0);
	return ev;
}

static void scene_begin(struct scene *s)
{
	struct event_config *cfg = event_config_new();
	int i;

	assert_non_null(cfg);
	assert_int_equal(event_config_set_workers(cfg, s->workers, NULL, NULL), 0);
	s->base = event_base_new_with_config(cfg);
	event_config_free(cfg);
	assert_non_null(s->base);
	s->keeper = event_that_stays(s, LOAD_COLOR, nothing_cb, NULL);
	for (i = 0; i < SLOW; i++) {
		s->evs[i] = event_new(s->base, -1, 0, slow_cb, s);
		assert_non_null(s->evs[i]);
		assert_int_equal(event_set_color(s->evs[i], LOAD_COLOR), 0);
	}
	for (i = 0; i < OTHERS; i++) {
		s->others[i] = (struct other){ .scene = s, .color = LOAD_COLOR + 1 + (uint32_t)i };
		s->others[i].ev = event_that_stays(s, s->others[i].color, other_cb, &s->others[i]);
	}
}

static void scene_end(struct scene *s)
{
	int i;

	for (i = 0; i < SLOW; i++)
		event_free(s->evs[i]);
	for (i = 0; i < OTHERS; i++)
		event_free(s->others[i].ev);
	event_free(s->keeper);
	event_base_free(s->base);
}

/* Until all that waits has run. */
static void drain_fn(void *arg)
{
	struct scene *s = arg;

	if (s->cheap < CHEAP || atomic_load(&s->slow) < SLOW || atomic_load(&s->left) > 0)
		assert_int_equal(event_base_post(s->base, 0, drain_fn, s), 0);
	else
		assert_int_equal(event_base_loopbreak(s->base), 0);
}

static void cheap_then_slow(struct scene *s)
{
	int i;

	for (i = 0; i < CHEAP; i++)
		assert_int_equal(event_base_post(s->base, LOAD_COLOR, cheap_fn, s), 0);
	if (s->change == BETWEEN_RUNS) {
		while (s->cheap < CHEAP)
			assert_true(event_base_loop(s->base, EVLOOP_NONBLOCK) >= 0);
		slow_begin(s);
	}
	assert_int_equal(event_base_post(s->base, 0, drain_fn, s), 0);
	assert_int_equal(event_base_loop(s->base, 0), 0);
}

static void scene_run(struct scene s)
{
	bool is_found_late = s.workers == 1 || (s.load != EVENTS && s.change == WITHIN_A_RUN);
	unsigned beside = 0, max = is_found_late ? 1 + BURST : FEW;
	int i;

	scene_begin(&s);
	cheap_then_slow(&s);
	for (i = 0; i < OTHERS; i++) {
		assert_int_equal(s.others[i].runs_left, 0);
		if (!pthread_equal(s.others[i].thread, s.thread))
			continue;
		beside++;
		if (s.others[i].last_at > max)
			fail_msg("%u workers, change %d, load %d: color %u waits for %u slow callbacks of color %d",
				 s.workers, (int)s.change, (int)s.load, s.others[i].color, s.others[i].last_at,
				 LOAD_COLOR);
	}
	assert_true(beside > 0);
	scene_end(&s);
}

static void others_have_their_turn(void **state)
{
	struct scene s = { 0 };

	(void)state;
	ec_clock_set_source(virtual_clock);
	for (s.workers = 1; s.workers <= 2; s.workers++) {
		for (s.change = 0; s.change < CHANGES; s.change++) {
			/* Events, too, have one order on one worker. */
			for (s.load = CHAIN; s.load < (s.workers == 1 ? EVENTS : LOADS); s.load++)
				scene_run(s);
		}
	}
	ec_clock_set_source(NULL);
}

static void move_clock(void *arg)
{
	(void)arg;
	atomic_fetch_add(&now_ns, SLOW_NS);
}

static void move_clock_and_post(void *arg)
{
	atomic_fetch_add(&now_ns, SLOW_NS);
	assert_int_equal(event_base_post(arg, 0, move_clock_and_post, arg), 0);
}

/* EVLOOP_NONBLOCK ends with 1 if no event is left, however long the last callbacks took; else with 0. */
static void a_slow_post_may_be_the_last(void **state)
{
	struct event_config *cfg = event_config_new();
	struct event_base *base;
	uint32_t color;
	int num, i;

	(void)state;
	assert_int_equal(event_config_set_workers(cfg, 1, NULL, NULL), 0);
	ec_clock_set_source(virtual_clock);
	for (color = 0; color <= LOAD_COLOR; color += LOAD_COLOR) {
		base = event_base_new_with_config(cfg);
		assert_non_null(base);
		for (num = 1; num <= 2 * BURST; num++) {
			for (i = 0; i < num; i++)
				assert_int_equal(event_base_post(base, color, move_clock, NULL), 0);
			assert_int_equal(event_base_loop(base, EVLOOP_NONBLOCK), 1);
		}
		assert_int_equal(event_base_post(base, 0, move_clock_and_post, base), 0);
		assert_int_equal(event_base_loop(base, EVLOOP_NONBLOCK), 0);
		event_base_free(base);
	}
	ec_clock_set_source(NULL);
	event_config_free(cfg);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slow_post_may_be_the_last),
		cmocka_unit_test(others_have_their_turn),
	};

	/* A worker with nothing to do leaves the others' colors where they are. */
	if (setenv("EVENT_STEAL", "0", 1) != 0)
		return 1;
	return cmocka_run_group_tests_name("cheap callbacks that become slow", tests, NULL, NULL);
}
