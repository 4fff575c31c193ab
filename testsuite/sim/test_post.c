/*
 * Posts from several threads to colors that are stolen: each runs once, those of one poster to
 * one color in order, two of one color never at once, and color 0 on the loop's thread only.
 */
#include <stddef.h>

#include "core/sched/base.h"
#include "core/sched/worker.h"
#include "core/lock/sync.h"
#include "driver.h"
#include "engine.h"
#include "sched.h"

enum { POSTERS_MAX = 3, COLORS_MAX = 4, POSTS = 3 };

struct shape {
	unsigned workers, posters, colors;
	bool has_color0;		/* the first color is 0 */
	bool has_priorities;
	bool is_before;			/* all posts are made before the loop runs */
	bool is_chain;			/* each callback posts the next to its own color */
	bool is_relay;			/* … to the next color */
	bool is_costly;			/* colors are worth stealing */
	bool is_unstolen;		/* stealing is off: each worker depends on its own wake-ups */
	bool is_wandering;		/* after each callback, its color goes to the other worker */
	bool is_evthread;		/* the base is locked from the start */
	bool is_poll;			/* the poller that keeps no set in the kernel */
};

/*
 * A post to a color that runs, and then one of its own callback, which knows of the first. Or two by the
 * same thread, the first of which is the less urgent.
 */
static struct {
	struct ec_base *base;
	bool has_priorities;
	_Atomic(bool) is_running, is_posted;
	unsigned ran;
} a;

struct post {
	unsigned poster, color, seq;
};

static struct {
	const struct shape *shape;
	struct ec_base *base;
	struct sim_mark mark[COLORS_MAX];
	unsigned next[POSTERS_MAX][COLORS_MAX];
	_Atomic(unsigned) ran;
	unsigned expected;
	struct post posts[POSTERS_MAX][COLORS_MAX][POSTS];
} t;

static uint32_t color_number(unsigned i)
{
	return t.shape->has_color0 && i == 0 ? 0 : 100 + i;
}

static void post(unsigned poster, unsigned color, unsigned seq);

/* The home of the running color is the other worker of two. */
static void move_home(void)
{
	struct ec_worker *w = ec_worker_self(t.base);

	ec_store_relaxed(&w->current->home, (uint16_t)(1 - w->id));
}

static void run(void *arg)
{
	const struct post *p = arg;
	uint32_t color;

	sim_note("runs %u of poster %u in color %u", p->seq, p->poster, p->color);
	sim_mark_enter(&t.mark[p->color]);
	sim_check(t.next[p->poster][p->color]++ == p->seq);
	sim_check(ec_base_running_color(t.base, &color) == 0 && color == color_number(p->color));
	if (color == 0)
		sim_check(ec_base_running_worker(t.base) == 0);
	if (t.shape->is_chain && p->seq + 1 < POSTS)
		post(p->poster, p->color, p->seq + 1);
	if (t.shape->is_relay && p->color + 1 < t.shape->colors)
		post(p->poster, p->color + 1, p->seq);
	sim_mark_leave(&t.mark[p->color]);
	if (t.shape->is_wandering)
		move_home();
	if (ec_add_acq_rel(&t.ran, 1) + 1 == t.expected && !t.shape->is_before)
		sim_check(ec_base_loopbreak(t.base) == 0);
}

static void post(unsigned poster, unsigned color, unsigned seq)
{
	struct post *p = &t.posts[poster][color][seq];

	*p = (struct post){ poster, color, seq };
	sim_check(ec_base_post(t.base, color_number(color), run, p) == 0);
}

static void poster_main(void *arg)
{
	unsigned poster = (unsigned)(uintptr_t)arg, color, seq;
	unsigned colors = t.shape->is_relay ? 1 : t.shape->colors;

	for (seq = 0; seq < (t.shape->is_chain ? 1 : POSTS); seq++) {
		for (color = 0; color < colors; color++)
			post(poster, color, seq);
	}
}

static void body(const void *arg)
{
	int ids[POSTERS_MAX] = { 0 };
	unsigned i, j;

	t.shape = arg;
	if (t.shape->is_evthread)
		sim_threads_on();
	t.base = sim_base_new(t.shape->workers, t.shape->is_poll ? "poll" : "epoll");
	sim_check(!t.shape->has_priorities || ec_base_priority_init(t.base, 3) == 0);
	t.base->steals = !t.shape->is_unstolen;
	for (i = 0; i < t.shape->colors && t.shape->is_costly; i++) {
		if (color_number(i) != 0)
			sim_check(ec_color_set_cost(t.base, color_number(i), 100000) == 0);
	}
	t.ran = 0;
	t.expected = t.shape->posters * t.shape->colors * POSTS;
	for (i = 0; i < t.shape->posters; i++) {
		for (j = 0; j < t.shape->colors; j++)
			t.next[i][j] = 0;
	}
	for (i = 0; i < t.shape->posters; i++)
		ids[i] = sim_start("poster", poster_main, (void *)(uintptr_t)i);
	for (i = 0; i < t.shape->posters && t.shape->is_before; i++)
		sim_join(ids[i]);
	if (t.shape->is_before)
		sim_check(ec_base_loop(t.base, 0) == 1);
	else
		sim_check(ec_base_loop(t.base, EC_LOOP_NO_EXIT_ON_EMPTY) == 0);
	for (i = 0; i < t.shape->posters && !t.shape->is_before; i++)
		sim_join(ids[i]);
	sim_check(t.ran == t.expected);
	sim_base_free(t.base);
}

static void answered_first(void *arg)
{
	(void)arg;
	sim_check(a.ran++ == 0);
}

static void answered_second(void *arg)
{
	(void)arg;
	sim_check(a.ran++ == 1);
	sim_check(ec_base_loopbreak(a.base) == 0);
}

static void answered_run(void *arg)
{
	(void)arg;
	ec_store_release(&a.is_running, true);			/* meets answered_poster */
	while (!ec_load_acquire(&a.is_posted))			/* meets answered_poster */
		ec_cpu_relax();
	if (!a.has_priorities)
		sim_check(ec_base_post(a.base, 100, answered_second, NULL) == 0);
}

static void answered_poster(void *arg)
{
	(void)arg;
	sim_check(ec_base_post(a.base, 100, answered_run, NULL) == 0);
	while (!ec_load_acquire(&a.is_running))			/* meets answered_run */
		ec_cpu_relax();
	if (a.has_priorities)
		sim_check(ec_base_post_priority(a.base, 100, 2, answered_second, NULL) == 0);
	sim_check(ec_base_post(a.base, 100, answered_first, NULL) == 0);
	ec_store_release(&a.is_posted, true);			/* meets answered_run */
}

/* Takes the lock that guards the color now and then. */
static void answered_looker(void *arg)
{
	struct ec_color_stats stats;
	int i;

	(void)arg;
	for (i = 0; i < 4; i++)
		(void)ec_base_color_stats(a.base, 100, &stats);
}

static void answered(const void *arg)
{
	int poster, looker;

	a.has_priorities = arg != NULL;
	a.ran = 0;
	ec_store_relaxed(&a.is_running, false);
	ec_store_relaxed(&a.is_posted, false);
	a.base = sim_base_new(2, "epoll");
	sim_check(!a.has_priorities || ec_base_priority_init(a.base, 3) == 0);
	a.base->steals = false;
	poster = sim_start("poster", answered_poster, NULL);
	looker = sim_start("looker", answered_looker, NULL);
	sim_check(ec_base_loop(a.base, EC_LOOP_NO_EXIT_ON_EMPTY) == 0);
	sim_join(poster);
	sim_join(looker);
	sim_check(a.ran == 2);
	sim_base_free(a.base);
}

int main(int argc, char **argv)
{
	static const struct shape two = { .workers = 2, .posters = 2, .colors = 2 };
	static const struct shape three = { .workers = 3, .posters = 1, .colors = 4 };
	static const struct shape poll = { .workers = 2, .posters = 2, .colors = 2, .is_poll = true };
	static const struct shape zero = {
		.workers = 2, .posters = 2, .colors = 2, .has_color0 = true
	};
	static const struct shape chain = {
		.workers = 2, .posters = 2, .colors = 2, .is_chain = true
	};
	static const struct shape before = {
		.workers = 3, .posters = 1, .colors = 3, .is_before = true
	};
	static const struct shape single = {
		.workers = 1, .posters = 2, .colors = 2, .has_color0 = true
	};
	static const struct shape costly = {
		.workers = 3, .posters = 2, .colors = 3, .is_costly = true, .has_color0 = true
	};
	static const struct shape relay = {
		.workers = 3, .posters = 1, .colors = 4, .is_relay = true, .is_costly = true, .is_before = true
	};
	static const struct shape costly_before = {
		.workers = 2, .posters = 1, .colors = 3, .is_costly = true, .is_before = true
	};
	static const struct shape unstolen = {
		.workers = 2, .posters = 2, .colors = 2, .is_unstolen = true
	};
	static const struct shape wandering = {
		.workers = 2, .posters = 2, .colors = 2, .is_unstolen = true, .is_costly = true, .is_wandering = true
	};
	static const struct shape ends = { .workers = 2, .posters = 2, .colors = 4, .is_unstolen = true };
	static const struct shape serial = { .workers = 2, .posters = 2, .colors = 1, .has_color0 = true };
	static const struct shape serial_locked = {
		.workers = 2, .posters = 2, .colors = 1, .has_color0 = true, .is_evthread = true
	};
	static const struct shape locked = {
		.workers = 2, .posters = 2, .colors = 2, .has_color0 = true, .is_evthread = true
	};
	static const struct shape priorities = {
		.workers = 2, .posters = 2, .colors = 2, .has_color0 = true, .has_priorities = true
	};
	static const struct sim_case cases[] = {
		{ .name = "two-posters", .body = body, .arg = &two },
		{ .name = "three-workers", .body = body, .arg = &three },
		{ .name = "poll", .body = body, .arg = &poll },
		{ .name = "color-0", .body = body, .arg = &zero },
		{ .name = "chain", .body = body, .arg = &chain },
		{ .name = "empty-loop-ends", .body = body, .arg = &before },
		{ .name = "one-worker", .body = body, .arg = &single },
		{ .name = "serial", .body = body, .arg = &serial },
		{ .name = "serial-evthread", .body = body, .arg = &serial_locked },
		{ .name = "evthread", .body = body, .arg = &locked },
		{ .name = "priorities", .body = body, .arg = &priorities },
		{ .name = "steal", .body = body, .arg = &costly },
		{ .name = "steal-empty-loop-ends", .body = body, .arg = &costly_before },
		{ .name = "relay", .body = body, .arg = &relay },
		{ .name = "unstolen", .body = body, .arg = &unstolen },
		{ .name = "wandering", .body = body, .arg = &wandering },
		{ .name = "colors-end", .body = body, .arg = &ends },
		{ .name = "answered", .body = answered },
		{ .name = "urgent", .body = answered, .arg = &priorities },
		{ .name = NULL },
	};

	return sim_main(argc, argv, cases);
}
