/*
 * 13. Pause: event_base_pause() returns once no worker runs a callback, and none starts one
 * until event_base_resume(); from inside a callback it waits for all others. Pauses nest.
 */
#include "stress.h"

#define COLORS_NUM 8

/* A load that goes on until it is over. `running` counts who is inside a callback. */
struct load {
	struct event_base *base;
	atomic_int running;
	atomic_ulong runs;
	atomic_bool is_over;
	atomic_uint pausers_left;
};

struct load_color {
	struct load *load;
	uint32_t color;
};

/* What only a pause protects: plain. Callbacks read it, whoever pauses writes it. */
static unsigned plain[4];

static void load_fn(void *arg)
{
	struct load_color *c = arg;
	struct load *load = c->load;

	atomic_fetch_add(&load->running, 1);
	CHECK(plain[0] == plain[1] && plain[1] == plain[2]);
	spin(100);
	CHECK(plain[0] == plain[3]);
	atomic_fetch_add(&load->runs, 1);
	atomic_fetch_sub(&load->running, 1);
	if (!atomic_load(&load->is_over))
		post(load->base, c->color, load_fn, c);
}

static void load_start(struct load *load, struct load_color colors[COLORS_NUM], struct event_base *base)
{
	*load = (struct load){ .base = base };
	atomic_init(&load->running, 0);
	atomic_init(&load->runs, 0);
	atomic_init(&load->is_over, false);
	for (uint32_t i = 0; i < COLORS_NUM; i++) {
		colors[i] = (struct load_color){ load, i };
		post(base, i, load_fn, &colors[i]);
	}
}

/* `mine`: how many callbacks may be running, which is the one that pauses, if it counts itself. */
static void paused_work(struct load *load, int mine)
{
	unsigned long runs = atomic_load(&load->runs);

	CHECK(atomic_load(&load->running) == mine);
	for (unsigned i = 0; i < 4; i++) {
		plain[i]++;
		spin(50);
	}
	CHECK(atomic_load(&load->running) == mine);
	CHECK(atomic_load(&load->runs) == runs);
}

struct pauser {
	struct load *load;
	unsigned rounds;
};

static void pauser_done(struct load *load)
{
	if (atomic_fetch_sub(&load->pausers_left, 1) == 1)
		atomic_store(&load->is_over, true);
}

static void *pauser_main(void *arg)
{
	struct pauser *p = arg;

	for (unsigned i = 0; i < p->rounds; i++) {
		CHECK(event_base_pause(p->load->base) == 0);
		paused_work(p->load, 0);
		CHECK(event_base_resume(p->load->base) == 0);
	}
	pauser_done(p->load);
	return NULL;
}

static void pause_by_threads(unsigned workers, unsigned threads_num)
{
	struct event_base *base = base_new(workers);
	struct load_color colors[COLORS_NUM];
	pthread_t threads[4];
	struct pauser p;
	struct load load;

	load_start(&load, colors, base);
	p = (struct pauser){ &load, rounds(1000) };
	atomic_init(&load.pausers_left, threads_num);
	for (unsigned i = 0; i < threads_num; i++)
		threads[i] = thread_start(pauser_main, &p);
	assert_int_equal(event_base_dispatch(base), 1);
	for (unsigned i = 0; i < threads_num; i++)
		thread_join(threads[i]);
	event_base_free(base);
}

static void test_contract_13_pause_by_a_thread(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 4; workers++)
		pause_by_threads(workers, 1);
}

static void test_contract_13_pause_by_several_threads(void **state)
{
	(void)state;
	pause_by_threads(2, 4);
	pause_by_threads(4, 4);
}

/* From callbacks: of a color, of color 0, of several at once, whose turns come one by one. */
struct pausing {
	struct load *load;
	uint32_t color;
	unsigned left;
};

static void pausing_fn(void *arg)
{
	struct pausing *p = arg;

	CHECK(event_base_pause(p->load->base) == 0);
	paused_work(p->load, 0);
	/* Posting is allowed; it runs later. */
	CHECK(event_base_resume(p->load->base) == 0);
	if (--p->left > 0)
		post(p->load->base, p->color, pausing_fn, p);
	else
		pauser_done(p->load);
}

static void pause_by_callbacks(unsigned workers, const uint32_t *pause_colors, unsigned num)
{
	struct event_base *base = base_new(workers);
	struct load_color colors[COLORS_NUM];
	struct pausing pausing[4];
	struct load load;

	load_start(&load, colors, base);
	atomic_init(&load.pausers_left, num);
	for (unsigned i = 0; i < num; i++) {
		pausing[i] = (struct pausing){ &load, pause_colors[i], rounds(500) };
		post(base, pause_colors[i], pausing_fn, &pausing[i]);
	}
	assert_int_equal(event_base_dispatch(base), 1);
	event_base_free(base);
}

static void test_contract_13_pause_by_a_callback(void **state)
{
	static const uint32_t colored = 100, zero = 0;

	(void)state;
	for (unsigned workers = 1; workers <= 4; workers++) {
		pause_by_callbacks(workers, &colored, 1);
		pause_by_callbacks(workers, &zero, 1);
	}
}

static void test_contract_13_pause_by_several_callbacks(void **state)
{
	static const uint32_t colors[] = { 100, 101, 0, 3 };

	(void)state;
	pause_by_callbacks(2, colors, 4);
	pause_by_callbacks(4, colors, 4);
}

/* A callback that stands: the pause returns after it has ended, not before. */
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

static void *waits_main(void *arg)
{
	struct standing *s = arg;

	latch_wait(&s->inside);
	latch_down(&s->go_on);
	CHECK(event_base_pause(s->base) == 0);
	CHECK(atomic_load(&s->has_ended));
	CHECK(event_base_resume(s->base) == 0);
	return NULL;
}

static void test_contract_13_pause_waits_for_what_runs(void **state)
{
	struct event_base *base = base_new(3);

	(void)state;
	for (unsigned round = 0; round < rounds(500); round++) {
		struct standing s = { .base = base };
		pthread_t thread;

		latch_init(&s.inside, 1);
		latch_init(&s.go_on, 1);
		atomic_init(&s.has_ended, false);
		/* From the second round on color 0 stands too. */
		post(base, (round + 1) % 3, standing_fn, &s);
		thread = thread_start(waits_main, &s);
		assert_int_equal(event_base_dispatch(base), 1);
		thread_join(thread);
		latch_fini(&s.inside);
		latch_fini(&s.go_on);
	}
	event_base_free(base);
}

/* Nested: only the outermost resume lets go. */
static void *nests_main(void *arg)
{
	struct load *load = arg;

	for (unsigned i = 0; i < rounds(300); i++) {
		CHECK(event_base_pause(load->base) == 0);
		CHECK(event_base_pause(load->base) == 0);
		paused_work(load, 0);
		CHECK(event_base_resume(load->base) == 0);
		paused_work(load, 0);
		CHECK(event_base_pause(load->base) == 0);
		CHECK(event_base_resume(load->base) == 0);
		paused_work(load, 0);
		CHECK(event_base_resume(load->base) == 0);
		CHECK(event_base_resume(load->base) == -1);
	}
	pauser_done(load);
	return NULL;
}

static void test_contract_13_pause_nests(void **state)
{
	struct event_base *base = base_new(3);
	struct load_color colors[COLORS_NUM];
	struct load load;
	pthread_t thread;

	(void)state;
	load_start(&load, colors, base);
	atomic_init(&load.pausers_left, 1);
	thread = thread_start(nests_main, &load);
	assert_int_equal(event_base_dispatch(base), 1);
	thread_join(thread);
	event_base_free(base);
}

static void test_contract_13_pause_without_a_loop(void **state)
{
	struct event_base *base = base_new(2);

	(void)state;
	assert_int_equal(event_base_resume(base), -1);
	assert_int_equal(event_base_pause(base), 0);
	assert_int_equal(event_base_pause(base), 0);
	assert_int_equal(event_base_resume(base), 0);
	assert_int_equal(event_base_resume(base), 0);
	assert_int_equal(event_base_resume(base), -1);
	assert_int_equal(event_base_dispatch(base), 1);
	event_base_free(base);
}

/* A paused loop still takes loopbreak: it returns once resumed. */
static void *break_main(void *arg)
{
	struct load *load = arg;

	while (atomic_load(&load->runs) < 100)
		sched_yield();
	CHECK(event_base_pause(load->base) == 0);
	CHECK(event_base_loopbreak(load->base) == 0);
	paused_work(load, 0);
	CHECK(event_base_resume(load->base) == 0);
	return NULL;
}

static void test_contract_13_pause_and_break(void **state)
{
	(void)state;
	for (unsigned i = 0; i < rounds(200); i++) {
		struct event_base *base = base_new(3);
		struct load_color colors[COLORS_NUM];
		struct load load;
		pthread_t thread;

		load_start(&load, colors, base);
		thread = thread_start(break_main, &load);
		assert_int_equal(event_base_dispatch(base), 0);
		thread_join(thread);
		event_base_free(base);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_contract_13_pause_without_a_loop),
		TEST(test_contract_13_pause_by_a_thread),
		TEST(test_contract_13_pause_by_several_threads),
		TEST(test_contract_13_pause_by_a_callback),
		TEST(test_contract_13_pause_by_several_callbacks),
		TEST(test_contract_13_pause_waits_for_what_runs),
		TEST(test_contract_13_pause_nests),
		TEST(test_contract_13_pause_and_break),
	};

	return RUN(tests);
}
