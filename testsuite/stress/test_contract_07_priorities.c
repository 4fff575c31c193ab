/*
 * 7. Priorities apply within a worker: the most urgent ready callback of any of its colors
 * goes first. Within one color, by priority, then in order. A color that always has work does
 * not starve the others. And a callback that is blocked holds up only its own color.
 */
#include "stress.h"

#define COLORS_NUM 16

struct trail {
	struct event_base *base;
	unsigned ids[COLORS_NUM * 4];
	unsigned num;
};

struct step {
	struct trail *trail;
	struct event *ev;
	unsigned id;
};

static void step_cb(evutil_socket_t fd, short what, void *arg)
{
	struct step *s = arg;

	(void)fd;
	(void)what;
	s->trail->ids[s->trail->num++] = s->id;
}

struct all {
	struct step *steps;
	unsigned num;
};

/* All become active at once, in an order that is no order of priority. */
static void activate_fn(void *arg)
{
	struct all *all = arg;

	for (unsigned i = 0; i < all->num; i++)
		event_active(all->steps[(i * 7) % all->num].ev, EV_READ, 1);
}

static void test_contract_07_priorities_among_colors_of_a_worker(void **state)
{
	struct event_base *base = base_new(1);
	struct trail trail = { .base = base };
	struct step steps[COLORS_NUM];
	struct all all = { steps, COLORS_NUM };

	(void)state;
	assert_int_equal(event_base_priority_init(base, COLORS_NUM), 0);
	for (unsigned i = 0; i < COLORS_NUM; i++) {
		steps[i] = (struct step){ &trail, NULL, i };
		steps[i].ev = ev_new(base, -1, 0, i + 1, step_cb, &steps[i]);
		assert_int_equal(event_priority_set(steps[i].ev, (int)i), 0);
	}
	for (unsigned round = 0; round < rounds(200); round++) {
		trail.num = 0;
		post(base, 1000, activate_fn, &all);
		assert_int_equal(event_base_dispatch(base), 1);
		assert_int_equal(trail.num, COLORS_NUM);
		for (unsigned i = 0; i < COLORS_NUM; i++)
			assert_int_equal(trail.ids[i], i);
	}
	for (unsigned i = 0; i < COLORS_NUM; i++)
		event_free(steps[i].ev);
	event_base_free(base);
}

/* Of one color, on any number of workers: by priority, then in the order they became active. */
static void test_contract_07_priorities_within_a_color(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 3; workers++) {
		struct event_base *base = base_new(workers);
		struct trail trail = { .base = base };
		struct step steps[COLORS_NUM];
		struct all all = { steps, COLORS_NUM };

		assert_int_equal(event_base_priority_init(base, 4), 0);
		for (unsigned i = 0; i < COLORS_NUM; i++) {
			unsigned place = i, priority;

			/* The place in the order of activation: the inverse of activate_fn's i * 7. */
			for (unsigned k = 0; k < COLORS_NUM; k++)
				if ((k * 7) % COLORS_NUM == i)
					place = k;
			priority = i % 4;
			steps[i] = (struct step){ &trail, NULL, priority * 100 + place };
			steps[i].ev = ev_new(base, -1, 0, 3, step_cb, &steps[i]);
			assert_int_equal(event_priority_set(steps[i].ev, (int)priority), 0);
		}
		for (unsigned round = 0; round < rounds(200); round++) {
			trail.num = 0;
			post(base, 3, activate_fn, &all);
			assert_int_equal(event_base_dispatch(base), 1);
			assert_int_equal(trail.num, COLORS_NUM);
			for (unsigned i = 1; i < COLORS_NUM; i++)
				assert_true(trail.ids[i - 1] < trail.ids[i]);
		}
		for (unsigned i = 0; i < COLORS_NUM; i++)
			event_free(steps[i].ev);
		event_base_free(base);
	}
}

/* A color that always has work, until the others have had theirs: one worker. */
struct greedy {
	struct event_base *base;
	struct event *ev;
	bool others_done;
	unsigned runs;
};

static void greedy_fn(void *arg)
{
	struct greedy *g = arg;

	g->runs++;
	if (!g->others_done)
		post(g->base, running_color(g->base), greedy_fn, g);
}

static void greedy_cb(evutil_socket_t fd, short what, void *arg)
{
	struct greedy *g = arg;

	(void)fd;
	(void)what;
	g->runs++;
	if (!g->others_done)
		event_active(g->ev, EV_READ, 1);
}

static void done_fn(void *arg)
{
	((struct greedy *)arg)->others_done = true;
}

static void done_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)what;
	if (fd >= 0)
		drain(fd);
	done_fn(arg);
}

/* What the greedy color must let through: each alone, or another's turn would come by way of it. */
enum other { OTHER_POST, OTHER_COLOR_0, OTHER_TIMER, OTHER_DESCRIPTOR };

static void let_through(enum other kind, void (*start)(struct greedy *g))
{
	struct event_base *base = base_new(1);
	struct greedy g = { .base = base };
	struct event *other;
	int fd[2];

	pipe_new(fd);
	g.ev = ev_new(base, -1, 0, 1, greedy_cb, &g);
	other = ev_new(base, kind == OTHER_DESCRIPTOR ? fd[0] : -1, kind == OTHER_DESCRIPTOR ? EV_READ : 0, 2, done_cb,
		       &g);
	for (unsigned i = 0; i < rounds(100); i++) {
		g.others_done = false;
		start(&g);
		switch (kind) {
		case OTHER_POST:
			post(base, 2, done_fn, &g);
			break;
		case OTHER_COLOR_0:
			post(base, 0, done_fn, &g);
			break;
		case OTHER_TIMER:
			event_add(other, &zero_tv);
			break;
		case OTHER_DESCRIPTOR:
			event_add(other, NULL);
			put(fd[1]);
			break;
		}
		assert_int_equal(event_base_dispatch(base), 1);
	}
	event_free(other);
	event_free(g.ev);
	pipe_close(fd);
	event_base_free(base);
}

static void start_posts(struct greedy *g)
{
	post(g->base, 1, greedy_fn, g);
}

static void start_event(struct greedy *g)
{
	event_active(g->ev, EV_READ, 1);
}

static void test_contract_07_priorities_greedy_posts_let_posts_through(void **state)
{
	(void)state;
	let_through(OTHER_POST, start_posts);
}

static void test_contract_07_priorities_greedy_posts_let_color_0_through(void **state)
{
	(void)state;
	let_through(OTHER_COLOR_0, start_posts);
}

static void test_contract_07_priorities_greedy_posts_let_timers_through(void **state)
{
	(void)state;
	let_through(OTHER_TIMER, start_posts);
}

static void test_contract_07_priorities_greedy_posts_let_descriptors_through(void **state)
{
	(void)state;
	let_through(OTHER_DESCRIPTOR, start_posts);
}

static void test_contract_07_priorities_greedy_event_lets_all_through(void **state)
{
	(void)state;
	let_through(OTHER_POST, start_event);
	let_through(OTHER_COLOR_0, start_event);
	let_through(OTHER_TIMER, start_event);
	let_through(OTHER_DESCRIPTOR, start_event);
}

/*
 * One callback stands still until callbacks of all other colors have run: posts, activations,
 * timers, and descriptors, wherever these live. Each color is the one that stands once, so at
 * some time it is the one whose worker watches the others.
 */
struct standing {
	struct event_base *base;
	struct latch others;
	struct event *evs[COLORS_NUM];
	int fd[COLORS_NUM][2];
	unsigned stands;
	void (*start)(struct standing *s, unsigned i);
};

struct standing_arg {
	struct standing *standing;
	unsigned i;
};

static struct standing_arg standing_args[COLORS_NUM];

static void other_fn(void *arg)
{
	struct standing_arg *a = arg;

	latch_down(&a->standing->others);
}

static void other_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)what;
	if (fd >= 0)
		drain(fd);
	other_fn(arg);
}

static void start_post(struct standing *s, unsigned i)
{
	post(s->base, i + 1, other_fn, &standing_args[i]);
}

static void start_active(struct standing *s, unsigned i)
{
	event_active(s->evs[i], EV_READ, 1);
}

static void start_timer(struct standing *s, unsigned i)
{
	CHECK(event_add(s->evs[i], &zero_tv) == 0);
}

/* Pending already when the one stands: see one_stands(). */
static void start_none(struct standing *s, unsigned i)
{
	(void)s;
	(void)i;
}

/* Added before, by each color itself, so that its home worker watches it. */
static void start_read(struct standing *s, unsigned i)
{
	put(s->fd[i][1]);
}

static void standing_fn(void *arg)
{
	struct standing *s = arg;

	for (unsigned i = 0; i < COLORS_NUM; i++)
		if (i != s->stands)
			s->start(s, i);
	latch_wait(&s->others);
	/* Descriptors that stay added would keep the loop. */
	if (s->start == start_read)
		CHECK(event_base_loopexit(s->base, NULL) == 0);
}

static void add_fn(void *arg)
{
	struct standing_arg *a = arg;

	CHECK(event_add(a->standing->evs[a->i], NULL) == 0);
}

static void one_stands(unsigned workers, void (*start)(struct standing *, unsigned))
{
	static const struct timeval soon = { 0, 20000 };
	struct standing s = { .base = base_new(workers), .start = start };

	for (unsigned i = 0; i < COLORS_NUM; i++) {
		standing_args[i] = (struct standing_arg){ &s, i };
		pipe_new(s.fd[i]);
		s.evs[i] = ev_new(s.base, start == start_read ? s.fd[i][0] : -1,
				  start == start_read ? EV_READ | EV_PERSIST : 0, i + 1, other_cb, &standing_args[i]);
		if (start == start_read)
			post(s.base, i + 1, add_fn, &standing_args[i]);
	}
	event_base_loop(s.base, EVLOOP_NONBLOCK);
	for (unsigned round = 0; round < rounds(40); round++) {
		s.stands = round % COLORS_NUM;
		latch_init(&s.others, COLORS_NUM - 1);
		post(s.base, s.stands + 1, standing_fn, &s);
		/* Of timers that are pending already, those of the color that stands are not waited for. */
		for (unsigned i = 0; start == start_none && i < COLORS_NUM; i++)
			if (i != s.stands)
				event_add(s.evs[i], &soon);
		assert_int_equal(event_base_dispatch(s.base), start == start_read ? 0 : 1);
		latch_fini(&s.others);
	}
	for (unsigned i = 0; i < COLORS_NUM; i++) {
		event_free(s.evs[i]);
		pipe_close(s.fd[i]);
	}
	event_base_free(s.base);
}

static void test_contract_07_priorities_a_blocked_callback_holds_up_no_post(void **state)
{
	(void)state;
	one_stands(2, start_post);
	one_stands(4, start_post);
}

static void test_contract_07_priorities_a_blocked_callback_holds_up_no_activation(void **state)
{
	(void)state;
	one_stands(2, start_active);
	one_stands(4, start_active);
}

static void test_contract_07_priorities_a_blocked_callback_holds_up_no_timer(void **state)
{
	(void)state;
	one_stands(2, start_timer);
	one_stands(4, start_timer);
}

static void test_contract_07_priorities_a_blocked_callback_holds_up_no_pending_timer(void **state)
{
	(void)state;
	one_stands(2, start_none);
	one_stands(4, start_none);
}

static void test_contract_07_priorities_a_blocked_callback_holds_up_no_descriptor(void **state)
{
	(void)state;
	one_stands(2, start_read);
	one_stands(4, start_read);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_contract_07_priorities_among_colors_of_a_worker),
		TEST(test_contract_07_priorities_within_a_color),
		TEST(test_contract_07_priorities_greedy_posts_let_posts_through),
		TEST(test_contract_07_priorities_greedy_posts_let_color_0_through),
		TEST(test_contract_07_priorities_greedy_posts_let_timers_through),
		TEST(test_contract_07_priorities_greedy_posts_let_descriptors_through),
		TEST(test_contract_07_priorities_greedy_event_lets_all_through),
		TEST(test_contract_07_priorities_a_blocked_callback_holds_up_no_post),
		TEST(test_contract_07_priorities_a_blocked_callback_holds_up_no_activation),
		TEST(test_contract_07_priorities_a_blocked_callback_holds_up_no_timer),
		TEST(test_contract_07_priorities_a_blocked_callback_holds_up_no_pending_timer),
		TEST(test_contract_07_priorities_a_blocked_callback_holds_up_no_descriptor),
	};

	return RUN(tests);
}
