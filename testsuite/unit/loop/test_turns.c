/*
 * Posts that beget posts beside what becomes ready, on one worker and a clock that callbacks move: what
 * is ready runs within a millisecond and the callbacks already begun (core/loop/lanes.c, single.c, burst.h).
 */
#include "table.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <event2/event.h>
#include <event2/smp.h>
#include <event2/thread.h>

#include "core/os/clock.h"
#include "core/sched/base.h"

enum { MAX_NS = 1000000, READY_AT = 40, LOAD_MAX = 1000000 };

static _Atomic(int64_t) now_ns;		/* workers read it, too */

static int64_t virtual_clock(void)
{
	return now_ns;
}

enum waiter { TIMER, DESCRIPTOR, ACTIVE, SIGNAL, POST, EXIT, WAITERS };

static const char *const waiter_names[] = { "timer", "descriptor", "event", "signal", "post", "loopexit" };

/* How the base is: without colors, locked or not, or with colors. */
enum kind { UNCOLORED, COLORED };

struct scene {
	enum kind kind;
	bool is_ping_pong;
	uint32_t color, waiter_color;
	int priorities;
	int max_callbacks;		/* between two polls; 0: no limit */
	int64_t callback_ns;
	enum waiter waiter;

	struct event_base *base;
	struct event *ev;
	int fd[2];
	unsigned ran;
	bool is_over;
	int64_t ready_ns, late_ns;
};

/* max_callbacks: between two polls; 0: no limit. */
static struct event_base *base_new(unsigned workers, int max_callbacks)
{
	struct event_config *cfg = event_config_new();
	struct event_base *base;

	assert_non_null(cfg);
	assert_int_equal(event_config_set_workers(cfg, workers, NULL, NULL), 0);
	if (max_callbacks != 0)
		assert_int_equal(event_config_set_max_dispatch_interval(cfg, NULL, max_callbacks, 0), 0);
	base = event_base_new_with_config(cfg);
	event_config_free(cfg);
	assert_non_null(base);
	return base;
}

static void over(struct scene *s)
{
	s->late_ns = now_ns - s->ready_ns;
	s->is_over = true;
}

static void over_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	over(arg);
}

static void over_fn(void *arg)
{
	over(arg);
}

static void make_ready(struct scene *s)
{
	static const struct timeval tv = { 0, 300 };

	s->ready_ns = now_ns;
	switch (s->waiter) {
	case TIMER:
		assert_int_equal(event_add(s->ev, &tv), 0);
		s->ready_ns += 300000;
		break;
	case DESCRIPTOR:
		assert_int_equal(event_add(s->ev, NULL), 0);
		assert_int_equal(write(s->fd[1], "x", 1), 1);
		break;
	case SIGNAL:
		assert_int_equal(event_add(s->ev, NULL), 0);
		assert_int_equal(raise(SIGUSR1), 0);
		break;
	case ACTIVE:
		event_active(s->ev, EV_READ, 1);
		break;
	case POST:
		assert_int_equal(event_base_post(s->base, s->waiter_color, over_fn, s), 0);
		break;
	case EXIT:
		assert_int_equal(event_base_loopexit(s->base, NULL), 0);
		break;
	case WAITERS:
		break;
	}
}

static void load_fn(void *arg)
{
	struct scene *s = arg;
	uint32_t color = s->color;

	now_ns += s->callback_ns;
	if (++s->ran == READY_AT)
		make_ready(s);
	if (s->is_over || s->ran == LOAD_MAX)
		return;
	if (s->is_ping_pong)
		color += s->ran % 2 != 0;
	assert_int_equal(event_base_post(s->base, color, load_fn, s), 0);
}

static void scene_begin(struct scene *s)
{
	s->ran = 0;
	s->is_over = false;
	s->base = base_new(1, s->max_callbacks);
	assert_int_equal(event_base_priority_init(s->base, s->priorities), 0);
	assert_int_equal(pipe(s->fd), 0);
	s->ev = event_new(s->base, s->waiter == DESCRIPTOR ? s->fd[0] : s->waiter == SIGNAL ? SIGUSR1 : -1,
			  s->waiter == DESCRIPTOR ? EV_READ : s->waiter == SIGNAL ? EV_SIGNAL : 0, over_cb, s);
	assert_non_null(s->ev);
	if (s->kind == COLORED)
		assert_int_equal(event_set_color(s->ev, s->waiter_color), 0);
}

static void scene_run(struct scene *s)
{
	scene_begin(s);
	assert_int_equal(event_base_post(s->base, s->color, load_fn, s), 0);
	assert_int_equal(event_base_loop(s->base, 0), s->waiter == EXIT ? 0 : 1);
	if (s->waiter == EXIT && s->ran != LOAD_MAX)
		over(s);
	if (!s->is_over || s->late_ns > MAX_NS + 2 * s->callback_ns)
		fail_msg("a %s of color %u waits %lld ns behind callbacks of %lld ns, of color %u%s; %d priorities, "
			 "%d callbacks at most",
			 waiter_names[s->waiter], s->waiter_color, s->is_over ? (long long)s->late_ns : -1LL,
			 (long long)s->callback_ns, s->color, s->is_ping_pong ? " and the next" : "", s->priorities,
			 s->max_callbacks);
	event_free(s->ev);
	close(s->fd[0]);
	close(s->fd[1]);
	event_base_free(s->base);
}

static void all_waiters(struct scene s)
{
	static const int64_t callbacks_ns[] = { 100, 1000, 10000, 100000, 700000, 5000000 };
	size_t i;

	ec_clock_set_source(virtual_clock);
	for (s.priorities = 1; s.priorities <= 3; s.priorities += 2) {
		for (i = 0; i < ROWS(callbacks_ns); i++) {
			for (s.waiter = 0; s.waiter < WAITERS; s.waiter++) {
				s.callback_ns = callbacks_ns[i];
				scene_run(&s);
			}
		}
	}
	ec_clock_set_source(NULL);
}

static void all(struct scene s)
{
	static const int max_callbacks[] = { 0, 1, 4 };
	size_t i;

	for (i = 0; i < ROWS(max_callbacks); i++) {
		s.max_callbacks = max_callbacks[i];
		all_waiters(s);
	}
}

static void of_color_0_on_a_base_without_colors(void **state)
{
	(void)state;
	all((struct scene){ .kind = UNCOLORED });
}

static void of_another_color(void **state)
{
	(void)state;
	all((struct scene){ .kind = COLORED, .color = 1, .waiter_color = 9 });
	all((struct scene){ .kind = COLORED, .color = 1, .waiter_color = 9, .is_ping_pong = true });
}

static void of_color_0(void **state)
{
	(void)state;
	all((struct scene){ .kind = COLORED, .color = 1 });
	all((struct scene){ .kind = COLORED, .color = 1, .is_ping_pong = true });
}

static void of_the_color_that_posts(void **state)
{
	(void)state;
	all((struct scene){ .kind = COLORED, .color = 1, .waiter_color = 1 });
	all((struct scene){ .kind = COLORED, .color = 1, .waiter_color = 1, .is_ping_pong = true });
}

/* evthread is on for the rest of the process. */
static void of_color_0_on_a_locked_base_without_colors(void **state)
{
	(void)state;
	assert_int_equal(evthread_use_pthreads(), 0);
	all((struct scene){ .kind = UNCOLORED });
}

/* evthread is on. Such a loop ends before its first turn, and must still begin as any other. */
static void a_locked_loop_with_nothing_to_wait_for(void **state)
{
	static const int flags[] = { 0, EVLOOP_ONCE, EVLOOP_NONBLOCK };
	struct event_base *base = event_base_new();
	size_t i;

	(void)state;
	assert_non_null(base);
	for (i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		assert_int_equal(event_base_loopbreak(base), 0);
		assert_true(event_base_got_break(base));
		assert_int_equal(event_base_loop(base, flags[i]), 1);
		assert_false(event_base_got_break(base));
	}
	assert_int_equal(event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY | EVLOOP_NONBLOCK), 0);
	assert_int_equal(event_base_loop(base, 0), 1);
	event_base_free(base);
}

/* A post goes ahead of what waits already, however many wait, as long as there is no stream of them. */
struct order {
	struct event_base *base;
	struct event *ev;
	unsigned posts;
	bool has_run;
};

static void order_cb(evutil_socket_t fd, short what, void *arg)
{
	struct order *o = arg;

	(void)fd;
	(void)what;
	assert_int_equal(o->posts, 500);
	o->has_run = true;
}

static void order_fn(void *arg)
{
	struct order *o = arg;

	now_ns += 100;
	o->posts++;
}

static void order_first_fn(void *arg)
{
	struct order *o = arg;
	int i;

	event_active(o->ev, EV_READ, 1);
	for (i = 0; i < 500; i++)
		assert_int_equal(event_base_post(o->base, 3, order_fn, o), 0);
}

static void posts_go_ahead_of_what_waits(void **state)
{
	struct order o = { 0 };

	(void)state;
	ec_clock_set_source(virtual_clock);
	o.base = base_new(1, 0);
	o.ev = event_new(o.base, -1, 0, order_cb, &o);
	assert_non_null(o.ev);
	assert_int_equal(event_set_color(o.ev, 3), 0);
	assert_int_equal(event_base_post(o.base, 3, order_first_fn, &o), 0);
	assert_int_equal(event_base_loop(o.base, 0), 1);
	assert_true(o.has_run);
	ec_clock_set_source(NULL);
	event_free(o.ev);
	event_base_free(o.base);
}

/* Posts and an event of priority 1, which the events of priority 0 make, and are made ready by. */
struct urgency {
	struct event_base *base;
	struct event *urgent[3], *late;
	uint32_t color;
	unsigned posted, posts, lates;
};

static void less_urgent_fn(void *arg)
{
	struct urgency *u = arg;

	u->posts++;
}

/* The first of a row posts: the others come between. */
static void urgent_cb(evutil_socket_t fd, short what, void *arg)
{
	struct urgency *u = arg;

	(void)fd;
	(void)what;
	if (++u->posted % 3 == 1)
		assert_int_equal(event_base_post(u->base, u->color, less_urgent_fn, u), 0);
	event_active(u->late, EV_READ, 1);
}

static void late_cb(evutil_socket_t fd, short what, void *arg)
{
	struct urgency *u = arg;
	int i;

	(void)fd;
	(void)what;
	if (++u->lates > 100)
		return;
	for (i = 0; i < 3; i++)
		event_active(u->urgent[i], EV_READ, 1);
}

static struct event *urgency_event(struct urgency *u, event_callback_fn fn, int pri)
{
	struct event *ev = event_new(u->base, -1, EV_PERSIST, fn, u);

	assert_non_null(ev);
	assert_int_equal(event_priority_set(ev, pri), 0);
	if (u->color != 0)
		assert_int_equal(event_set_color(ev, u->color + (uint32_t)pri), 0);
	return ev;
}

/* is_alone: nothing but posts has their priority. */
static void urgency_run(uint32_t color, bool is_alone)
{
	struct urgency u = { .base = base_new(1, 0), .color = color };
	int i;

	assert_int_equal(event_base_priority_init(u.base, 3), 0);
	for (i = 0; i < 3; i++)
		u.urgent[i] = urgency_event(&u, urgent_cb, 0);
	u.late = urgency_event(&u, late_cb, is_alone ? 2 : 1);
	late_cb(-1, 0, &u);
	assert_int_equal(event_base_loop(u.base, 0), 1);
	assert_int_equal(u.lates, 101);
	assert_int_equal(u.posted, 300);
	assert_int_equal(u.posts, 100);
	for (i = 0; i < 3; i++)
		event_free(u.urgent[i]);
	event_free(u.late);
	event_base_free(u.base);
}

static void posts_follow_what_is_more_urgent(void **state)
{
	(void)state;
	urgency_run(0, true);
	urgency_run(0, false);
	urgency_run(4, true);
	urgency_run(4, false);
}

static void no_log(int severity, const char *msg)
{
	(void)severity;
	(void)msg;
}

/* A loop that is to return soon, in a stream of posts. */
struct brief {
	struct event_base *base;
	uint32_t color;
	unsigned posts;
};

static void brief_fn(void *arg)
{
	struct brief *b = arg;

	if (++b->posts < LOAD_MAX)
		assert_int_equal(event_base_post(b->base, b->color, brief_fn, b), 0);
}

static void brief_run(uint32_t color, int flags, int max_callbacks)
{
	struct brief b = { .base = base_new(1, max_callbacks), .color = color };

	assert_int_equal(event_base_post(b.base, color, brief_fn, &b), 0);
	assert_int_equal(event_base_loop(b.base, flags), 0);
	/* Without a limit, time counts, too. */
	assert_in_range(b.posts, max_callbacks != 0 ? 256 : 1, max_callbacks != 0 ? 512 : LOAD_MAX - 1);
	event_base_free(b.base);
}

static void a_brief_loop_returns(void **state)
{
	static const int flags[] = { EVLOOP_ONCE, EVLOOP_NONBLOCK, EVLOOP_ONCE | EVLOOP_NONBLOCK };
	static const int max_callbacks[] = { 0, 1, 4, 100 };
	size_t i, k;

	(void)state;
	event_set_log_callback(no_log);		/* a base with posts is freed */
	for (i = 0; i < ROWS(flags); i++) {
		for (k = 0; k < ROWS(max_callbacks); k++) {
			brief_run(0, flags[i], max_callbacks[k]);
			brief_run(5, flags[i], max_callbacks[k]);
		}
	}
	event_set_log_callback(NULL);
}

enum { ALWAYS = 400 };			/* descriptors that always are ready */

static _Atomic(unsigned) always_ran;

static void always_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	now_ns += 40000;
	if (++always_ran > 100 * ALWAYS)
		assert_int_equal(event_base_loopbreak(arg), 0);
}

static void always_run(unsigned workers, uint32_t color, int flags, int max_callbacks)
{
	struct event_base *base = base_new(workers, max_callbacks);
	struct event *ev[ALWAYS];
	unsigned i;

	for (i = 0; i < ALWAYS; i++) {
		ev[i] = event_new(base, eventfd(1, 0), EV_READ | EV_PERSIST, always_cb, base);
		assert_non_null(ev[i]);
		assert_int_equal(event_set_color(ev[i], i < 8 ? i : color), 0);
		assert_int_equal(event_add(ev[i], NULL), 0);
	}
	for (i = 0; i < 3; i++) {
		always_ran = 0;
		assert_int_equal(event_base_loop(base, flags), 0);
		assert_in_range(always_ran, 1, 20 * ALWAYS);
	}
	for (i = 0; i < ALWAYS; i++) {
		close(event_get_fd(ev[i]));
		event_free(ev[i]);
	}
	event_base_free(base);
}

/* With colors, the loop polls while it runs, and each poll finds more. */
static void a_brief_loop_returns_under_load(void **state)
{
	static const int flags[] = { EVLOOP_ONCE, EVLOOP_NONBLOCK, EVLOOP_ONCE | EVLOOP_NONBLOCK };
	unsigned workers;
	size_t i;

	(void)state;
	ec_clock_set_source(virtual_clock);
	for (i = 0; i < ROWS(flags); i++) {
		for (workers = 1; workers <= 2; workers++) {
			always_run(workers, 0, flags[i], 0);
			always_run(workers, 5, flags[i], 0);
			always_run(workers, 5, flags[i], 4);
		}
	}
	ec_clock_set_source(NULL);
}

static void nothing_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
}

/* What a loop returns does not depend on colors and workers. As libevent's: only EVLOOP_ONCE ends before it knows. */
static void nothing_left_is_told(void **state)
{
	static const struct {
		int flags, result;
	} rows[] = { { 0, 1 }, { EVLOOP_ONCE, 0 }, { EVLOOP_NONBLOCK, 1 }, { EVLOOP_ONCE | EVLOOP_NONBLOCK, 0 } };
	struct event_base *base;
	struct event *ev;
	uint32_t color;
	unsigned workers;
	size_t i;

	(void)state;
	for (workers = 1; workers <= 2; workers++) {
		for (color = 0; color <= 3; color += 3) {
			base = base_new(workers, 0);
			ev = event_new(base, -1, 0, nothing_cb, NULL);
			assert_non_null(ev);
			assert_int_equal(event_set_color(ev, color), 0);
			for (i = 0; i < ROWS(rows); i++) {
				event_active(ev, EV_READ, 1);
				assert_int_equal(event_base_loop(base, rows[i].flags), rows[i].result);
				assert_int_equal(event_base_loop(base, rows[i].flags), 1);
			}
			event_free(ev);
			event_base_free(base);
		}
	}
}

/* ---------------------------------------------------------------- many that wait */

enum { CROWD = 800, CROWD_NS = 20000 };

/* Each reads what has come to it, and then is over. Some post. */
struct crowd {
	struct event_base *base;
	struct event *ev[CROWD];
	unsigned ran, post_each;
};

static void crowd_fn(void *arg)
{
	(void)arg;
}

static void crowd_cb(evutil_socket_t fd, short what, void *arg)
{
	struct crowd *c = arg;
	uint64_t value;

	(void)what;
	now_ns += CROWD_NS;
	assert_int_equal(read(fd, &value, sizeof(value)), sizeof(value));
	c->ran++;
	if (c->post_each != 0 && c->ran % c->post_each == 0)
		assert_int_equal(event_base_post(c->base, 0, crowd_fn, NULL), 0);
}

static _Thread_local unsigned waits;		/* of this thread */

/* The library's calls come here. */
int epoll_wait(int epfd, struct epoll_event *events, int max, int timeout)
{
	waits++;
	return epoll_pwait(epfd, events, max, timeout, NULL);
}

/* How often the loop asks the kernel while all of them run, once each. */
static unsigned crowd_run(struct crowd *c)
{
	static const uint64_t one = 1;
	unsigned before, i;

	c->ran = 0;
	for (i = 0; i < CROWD; i++) {
		assert_int_equal(write(event_get_fd(c->ev[i]), &one, sizeof(one)), sizeof(one));
		assert_int_equal(event_add(c->ev[i], NULL), 0);
	}
	before = waits;
	assert_int_equal(event_base_dispatch(c->base), 1);
	assert_int_equal(c->ran, CROWD);
	return waits - before;
}

/* Of a base with colors, also if all of them have color 0. */
static unsigned crowd_polls(unsigned workers, uint32_t color, unsigned post_each)
{
	struct crowd c = { .post_each = post_each };
	struct event *colored;
	unsigned polls, i;

	c.base = base_new(workers, 0);
	colored = event_new(c.base, -1, 0, nothing_cb, NULL);
	assert_non_null(colored);
	assert_int_equal(event_set_color(colored, 7), 0);
	event_active(colored, EV_READ, 1);
	for (i = 0; i < CROWD; i++) {
		c.ev[i] = event_new(c.base, eventfd(0, 0), EV_READ, crowd_cb, &c);
		assert_non_null(c.ev[i]);
		assert_int_equal(event_set_color(c.ev[i], color), 0);
	}
	(void)crowd_run(&c);		/* a poll reports more after those that were full */
	polls = crowd_run(&c);
	for (i = 0; i < CROWD; i++) {
		close(event_get_fd(c.ev[i]));
		event_free(c.ev[i]);
	}
	event_free(colored);
	event_base_free(c.base);
	return polls;
}

/*
 * The kernel reports each descriptor that is still ready again. If many wait, and it were asked each 200 us, its
 * answers would take as long as the callbacks. Here it was asked 80 times in 16 ms.
 */
static void many_that_wait_are_not_polled_often(void **state)
{
	(void)state;
	ec_clock_set_source(virtual_clock);
	assert_in_range(crowd_polls(1, 0, 0), 1, 10);
	assert_in_range(crowd_polls(1, 5, 0), 1, 10);
	assert_in_range(crowd_polls(1, 5, 10), 1, 20);
	assert_in_range(crowd_polls(2, 0, 0), 1, 20);
	ec_clock_set_source(NULL);
}

/* ---------------------------------------------------------------- the end */

static unsigned last_ran;

static void last_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	if (last_ran++ == 0)
		assert_int_equal(event_base_loopexit(arg, NULL), 0);
}

/* What was ready then runs while the gate is closed. Nobody waits for the end of such a callback. */
static void the_end_of_a_loop_wakes_nobody(void **state)
{
	enum { NUM = 300 };
	struct event_base *base = base_new(2, 0);
	const struct ec_base *inside = (const struct ec_base *)base;
	struct event *ev[NUM];
	uint32_t seq;
	unsigned i;

	(void)state;
	last_ran = 0;
	for (i = 0; i < NUM; i++) {
		ev[i] = event_new(base, -1, 0, last_cb, base);
		assert_non_null(ev[i]);
		assert_int_equal(event_set_color(ev[i], 5), 0);
		event_active(ev[i], EV_READ, 1);
	}
	seq = atomic_load(&inside->gate_seq);
	assert_int_equal(event_base_dispatch(base), 0);
	assert_int_equal(last_ran, NUM);
	assert_in_range(atomic_load(&inside->gate_seq) - seq, 0, 20);
	for (i = 0; i < NUM; i++)
		event_free(ev[i]);
	event_base_free(base);
}

static _Thread_local const struct ec_base *tail_of;	/* in the loop's thread */
static _Atomic(unsigned) tail_ran;
static unsigned tail_alone;				/* while all other workers rest */

static void tail_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	now_ns += 10000;
	tail_ran++;
	if (tail_of != NULL && tail_of->zero.is_finishing)
		tail_alone++;
}

enum { TAIL = 10000 };

static void tail_run(void)
{
	enum { COLORS = 16 };
	struct event_base *base = base_new(2, 0);
	struct event **ev = calloc(TAIL, sizeof(*ev));
	unsigned i;

	assert_non_null(ev);
	tail_of = (const struct ec_base *)base;
	tail_ran = 0;
	for (i = 0; i < TAIL; i++) {
		ev[i] = event_new(base, -1, 0, tail_cb, NULL);
		assert_non_null(ev[i]);
		assert_int_equal(event_set_color(ev[i], 1 + i % COLORS), 0);
		event_active(ev[i], EV_READ, 1);
	}
	assert_int_equal(event_base_loop(base, EVLOOP_ONCE), 0);
	assert_int_equal(tail_ran, TAIL);
	tail_of = NULL;
	for (i = 0; i < TAIL; i++)
		event_free(ev[i]);
	free(ev);
	event_base_free(base);
}

/* A loop that ran enough runs what is left as it ran the rest, and not in its thread alone. */
static void what_is_left_runs_on_all_workers(void **state)
{
	enum { ROUNDS = 8 };
	unsigned i;

	(void)state;
	ec_clock_set_source(virtual_clock);
	tail_alone = 0;
	for (i = 0; i < ROUNDS; i++)
		tail_run();
	assert_in_range(tail_alone, 0, ROUNDS * TAIL / 5);
	ec_clock_set_source(NULL);
}

enum { CHAINS = 32, CHAIN_EVENTS = 15 };

static struct event_base *chain_base;
static _Atomic(unsigned) chain_ran;

static void chain_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	chain_ran++;
}

/* It goes on for ever. */
static void chain_fn(void *arg)
{
	const uint32_t *color = arg;

	now_ns += 10000;
	assert_int_equal(event_base_post(chain_base, *color, chain_fn, arg), 0);
}

/* What is ready when a short loop has run enough runs, although each color has posts that never end. */
static void posts_take_nobodys_place_at_the_end(void **state)
{
	struct event *ev[CHAINS * CHAIN_EVENTS];
	uint32_t color[CHAINS];
	unsigned i;

	(void)state;
	ec_clock_set_source(virtual_clock);
	event_set_log_callback(no_log);		/* a base with posts is freed */
	chain_base = base_new(2, 0);
	chain_ran = 0;
	for (i = 0; i < CHAINS; i++) {
		color[i] = i + 1;
		assert_int_equal(event_base_post(chain_base, color[i], chain_fn, &color[i]), 0);
	}
	for (i = 0; i < CHAINS * CHAIN_EVENTS; i++) {
		ev[i] = event_new(chain_base, -1, 0, chain_cb, NULL);
		assert_non_null(ev[i]);
		assert_int_equal(event_set_color(ev[i], color[i % CHAINS]), 0);
		event_active(ev[i], EV_READ, 1);
	}
	assert_int_equal(event_base_loop(chain_base, EVLOOP_ONCE), 0);
	assert_int_equal(chain_ran, CHAINS * CHAIN_EVENTS);
	for (i = 0; i < CHAINS * CHAIN_EVENTS; i++)
		event_free(ev[i]);
	event_base_free(chain_base);
	event_set_log_callback(NULL);
	ec_clock_set_source(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_color_0_on_a_base_without_colors),
		cmocka_unit_test(of_another_color),
		cmocka_unit_test(of_color_0),
		cmocka_unit_test(of_the_color_that_posts),
		cmocka_unit_test(posts_go_ahead_of_what_waits),
		cmocka_unit_test(posts_follow_what_is_more_urgent),
		cmocka_unit_test(a_brief_loop_returns),
		cmocka_unit_test(a_brief_loop_returns_under_load),
		cmocka_unit_test(nothing_left_is_told),
		cmocka_unit_test(many_that_wait_are_not_polled_often),
		cmocka_unit_test(the_end_of_a_loop_wakes_nobody),
		cmocka_unit_test(what_is_left_runs_on_all_workers),
		cmocka_unit_test(posts_take_nobodys_place_at_the_end),
		cmocka_unit_test(of_color_0_on_a_locked_base_without_colors),
		cmocka_unit_test(posts_follow_what_is_more_urgent),
		cmocka_unit_test(a_brief_loop_returns),
		cmocka_unit_test(a_locked_loop_with_nothing_to_wait_for),
	};

	return cmocka_run_group_tests_name("turns of posts and others", tests, NULL, NULL);
}
