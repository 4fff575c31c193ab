/*
 * A base whose workers cannot be made when it gets its first color: worker 0 runs all colors until a later call makes
 * the others. These appear while the loop runs or looks for its end, and while another thread posts. No callback is
 * lost or runs twice, and those of a color stay in order.
 */
#include <stddef.h>
#include <stdlib.h>

#include "driver.h"
#include "engine.h"
#include "sched.h"

enum { COLORS = 3,
       POSTS = 3,
       FIRST_COLOR = 100 };

static struct {
	struct ec_base *base;
	struct ec_event ev, plain;
	bool is_short; /* of memory */
	struct lane {
		struct sim_mark mark;
		unsigned ran;
	} lanes[COLORS];
	unsigned events_ran;
} t;

struct ticket {
	struct lane *lane;
	unsigned number;
};

static struct ticket tickets[COLORS][POSTS];

static void *short_malloc(size_t size)
{
	return t.is_short ? NULL : malloc(size);
}

static void run_ticket(void *arg)
{
	const struct ticket *k = arg;
	struct lane *l = k->lane;

	sim_mark_enter(&l->mark);
	sim_check(k->number == l->ran);
	l->ran++;
	sim_mark_leave(&l->mark);
}

static void event_cb(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	__atomic_add_fetch(&t.events_ran, 1, __ATOMIC_RELAXED);
}

static void poster(void *arg)
{
	unsigned i, j;

	(void)arg;
	for (j = 0; j < POSTS; j++) {
		for (i = 0; i < COLORS; i++) {
			tickets[i][j] = (struct ticket){ .lane = &t.lanes[i], .number = j };
			sim_check(ec_base_post(t.base, FIRST_COLOR + i, run_ticket, &tickets[i][j]) == 0);
		}
	}
}

static void helper(void *arg)
{
	(void)arg;
	if (sim_random(2) == 0)
		sim_sleep(3000);
	t.is_short = false;
	sim_check(ec_base_prepare_colors(t.base) == 0);
}

/* Memory runs out, and an event of the first color is due. */
static void start_short(void)
{
	sim_check(ec_event_init(&t.plain, t.base, -1, 0, event_cb, NULL) == 0);
	ec_event_active(&t.plain, EC_READ, 1);
	sim_check(ec_event_init(&t.ev, t.base, -1, 0, event_cb, NULL) == 0);
	sim_check(ec_event_set_color(&t.ev, FIRST_COLOR) == 0);
	t.is_short = true;
	ec_event_active(&t.ev, EC_READ, 1);
	sim_check(sim_warnings() == 1);
}

/* `arg`: how many workers. */
static void begin(const void *arg)
{
	const unsigned *workers = arg;
	int i;

	t.is_short = false;
	t.events_ran = 0;
	for (i = 0; i < COLORS; i++)
		t.lanes[i] = (struct lane){ .ran = 0 };
	ec_mem_set_fns(short_malloc, realloc, free);
	t.base = sim_base_new(*workers, "epoll");
	start_short();
}

static void end(void)
{
	sim_base_free(t.base);
	ec_mem_set_fns(NULL, NULL, NULL);
}

static void body(const void *arg)
{
	int threads[2], i;

	begin(arg);
	threads[0] = sim_start("helper", helper, NULL);
	sim_check(ec_base_loop(t.base, 0) >= 0);
	sim_join(threads[0]);
	threads[1] = sim_start("poster", poster, NULL);
	sim_check(ec_base_loop(t.base, 0) >= 0);
	sim_join(threads[1]);
	sim_check(ec_base_loop(t.base, 0) >= 0);
	sim_check(t.events_ran == 2);
	for (i = 0; i < COLORS; i++)
		sim_check(t.lanes[i].ran == POSTS);
	end();
}

/* The workers appear while a thread posts: it began when memory was there again. */
static void posting_helper(void *arg)
{
	t.is_short = false;
	if (sim_random(2) == 0)
		poster(arg);
	else
		(void)sim_start("poster", poster, arg);
	sim_check(ec_base_prepare_colors(t.base) == 0);
}

static void beside_posts(const void *arg)
{
	int helper_id, i;

	begin(arg);
	helper_id = sim_start("helper", posting_helper, NULL);
	for (;;) {
		sim_check(ec_base_loop(t.base, 0) >= 0);
		for (i = 0; i < COLORS && t.lanes[i].ran == POSTS; i++)
			;
		if (i == COLORS)
			break;
		sim_sleep(1000);
	}
	sim_join(helper_id);
	sim_check(t.events_ran == 2);
	end();
}

/* A callback that waits for one of another color: a late worker has to run either. */
static _Atomic(bool) is_released;

static void stuck(void *arg)
{
	int tries;

	(void)arg;
	for (tries = 0; !is_released; tries++) {
		sim_check(tries < 20000);
		sim_sleep(1000);
	}
	sim_check(ec_base_loopbreak(t.base) == 0);
}

static void release(void *arg)
{
	(void)arg;
	is_released = true;
}

static void stuck_helper(void *arg)
{
	(void)arg;
	t.is_short = false;
	sim_check(ec_base_prepare_colors(t.base) == 0);
	sim_check(ec_base_post(t.base, FIRST_COLOR, stuck, NULL) == 0);
	sim_check(ec_base_post(t.base, FIRST_COLOR + 1, release, NULL) == 0);
}

static void beside_stuck(const void *arg)
{
	int id;

	is_released = false;
	begin(arg);
	id = sim_start("helper", stuck_helper, NULL);
	sim_check(ec_base_loop(t.base, EC_LOOP_NO_EXIT_ON_EMPTY) >= 0);
	sim_join(id);
	end();
}

/* ---------------------------------------------------------------- the first color, while worker 0 sleeps */

static void first_run(void *arg)
{
	(void)arg;
	if (__atomic_add_fetch(&t.events_ran, 1, __ATOMIC_RELAXED) == 2)
		sim_check(ec_base_loopbreak(t.base) == 0);
}

static void first_maker(void *arg)
{
	(void)arg;
	sim_check(ec_base_post(t.base, FIRST_COLOR + 1, first_run, NULL) == 0);
}

/* The hint makes the color, and wakes nobody. */
static void first_hinter(void *arg)
{
	(void)arg;
	sim_check(ec_color_set_cost(t.base, FIRST_COLOR, 1000) == 0);
	sim_check(ec_base_post(t.base, FIRST_COLOR, first_run, NULL) == 0);
}

static void first_asleep(const void *arg)
{
	int maker, hinter;

	(void)arg;
	sim_threads_on();
	t.events_ran = 0;
	t.base = sim_base_new(2, "epoll");
	maker = sim_start("maker", first_maker, NULL);
	hinter = sim_start("hinter", first_hinter, NULL);
	sim_check(ec_base_loop(t.base, EC_LOOP_NO_EXIT_ON_EMPTY) == 0);
	sim_join(maker);
	sim_join(hinter);
	sim_base_free(t.base);
}

int main(int argc, char **argv)
{
	static const unsigned two = 2, three = 3;
	const struct sim_case cases[] = {
		{ .name = "then-posts", .body = body, .arg = &two },
		{ .name = "then-posts-three", .body = body, .arg = &three },
		{ .name = "beside-posts", .body = beside_posts, .arg = &two },
		{ .name = "beside-stuck", .body = beside_stuck, .arg = &two },
		{ .name = "first-asleep", .body = first_asleep },
		{ .name = NULL },
	};

	return sim_main(argc, argv, cases);
}
