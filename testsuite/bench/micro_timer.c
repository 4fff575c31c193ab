/*
 * The timer heap alone (core/io/timer.c) beside libev's, in four shapes: add and del in random
 * order, rearm of random ones, fire of all. Both sides do what an event layer does: a call
 * through a function that the compiler can't see through, an owner with the callback in it,
 * and the callback itself. The two take turns, so that the machine's moods meet both, and time
 * is the thread's own, so that other programs cost at most cache misses.
 *
 * usage: micro_timer [ROUNDS [N ...]]
 */
#include <ev.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/io/timer.h"
#include "util.h"

#define NOINLINE __attribute__((noinline, noclone))

enum { ROUNDS = 7, ROUNDS_MAX = 101, OPS = 1000000, SPREAD_US = 999000000, FIRE_US = 10000, FIRE_REPEATS = 10 };
enum shape { ADD, DEL, REARM, FIRE, SHAPES };
enum side { OURS, LIBEV, SIDES };

static const char *const shape_names[SHAPES] = { "add", "del", "rearm", "fire" };
static const char *const side_names[SIDES] = { "ours", "libev" };

/* Both as large as an event is: what is armed is part of something larger as a rule. */
enum { OWNER = 128 };

struct owner {
	void (*fn)(struct owner *o);
	uint32_t slot;
	char rest[OWNER - sizeof(void *) - sizeof(uint32_t)];
};

struct watcher {
	ev_timer timer;
	char rest[OWNER - sizeof(ev_timer)];
};

static unsigned num;
static unsigned *order;
static uint32_t *due_us;
static unsigned long fired;

static struct ec_timers timers;
static struct owner *owners;

static struct ev_loop *loop;
static struct watcher *watchers;
static double *due_s;

/* ---------------------------------------------------------------- ours */

static void owner_fired(struct owner *o)
{
	(void)o;
	fired++;
}

static NOINLINE void owner_add(struct owner *o, uint64_t deadline_ns)
{
	if (ec_timers_arm(&timers, &o->slot, deadline_ns, o) < 0)
		bench_die("no memory");
}

static NOINLINE void owner_del(struct owner *o)
{
	ec_timers_disarm(&timers, &o->slot);
}

static NOINLINE void owners_expire(uint64_t now_ns)
{
	struct owner *o;

	while ((o = ec_timers_expire(&timers, now_ns)) != NULL) {
		o->slot = EC_TIMER_NONE;
		o->fn(o);
	}
}

static void ours_add(uint64_t from_ns)
{
	unsigned i;

	for (i = 0; i < num; i++)
		owner_add(&owners[i], from_ns + due_us[i] * UINT64_C(1000));
}

static void ours_del(void)
{
	unsigned i;

	for (i = 0; i < num; i++)
		owner_del(&owners[order[i]]);
}

static void ours_rearm(uint64_t from_ns)
{
	unsigned i;

	for (i = 0; i < num; i++)
		owner_add(&owners[order[i]], from_ns + due_us[order[num - 1 - i]] * UINT64_C(1000));
}

/* ---------------------------------------------------------------- libev */

static void watcher_fired(struct ev_loop *l, ev_timer *w, int what)
{
	(void)l;
	(void)w;
	(void)what;
	fired++;
}

static void libev_add(void)
{
	unsigned i;

	for (i = 0; i < num; i++) {
		ev_timer_set(&watchers[i].timer, due_s[i], 0);
		ev_timer_start(loop, &watchers[i].timer);
	}
}

static void libev_del(void)
{
	unsigned i;

	for (i = 0; i < num; i++)
		ev_timer_stop(loop, &watchers[order[i]].timer);
}

static void libev_rearm(void)
{
	unsigned i;

	for (i = 0; i < num; i++) {
		ev_timer *w = &watchers[order[i]].timer;

		w->repeat = due_s[order[num - 1 - i]];
		ev_timer_again(loop, w);
	}
}

/* ---------------------------------------------------------------- both */

static void draw(uint64_t *seed, uint64_t least_us, uint64_t span_us)
{
	unsigned i;

	for (i = 0; i < num; i++) {
		due_us[i] = (uint32_t)(least_us + bench_random(seed) % span_us);
		due_s[i] = due_us[i] * 1e-6;
	}
}

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static double each(uint64_t from_ns)
{
	return (double)(cpu_ns() - from_ns) / num;
}

static void run_ours(double *ns)
{
	uint64_t now_ns = bench_now_ns(), at = cpu_ns();

	ours_add(now_ns);
	ns[ADD] = each(at);
	at = cpu_ns();
	ours_rearm(now_ns);
	ns[REARM] = each(at);
	at = cpu_ns();
	ours_del();
	ns[DEL] = each(at);
}

static void run_libev(double *ns)
{
	uint64_t at;

	ev_now_update(loop);
	at = cpu_ns();
	libev_add();
	ns[ADD] = each(at);
	at = cpu_ns();
	libev_rearm();
	ns[REARM] = each(at);
	at = cpu_ns();
	libev_del();
	ns[DEL] = each(at);
}

static void wait_until(uint64_t ns)
{
	while (bench_now_ns() < ns)
		;
}

static void fire_ours(double *ns)
{
	uint64_t now_ns = bench_now_ns(), at;

	ours_add(now_ns);
	wait_until(bench_now_ns() + FIRE_US * UINT64_C(1100));
	fired = 0;
	at = cpu_ns();
	owners_expire(bench_now_ns());
	ns[FIRE] = each(at);
	if (fired != num)
		bench_die("ours fired %lu of %u", fired, num);
}

static void fire_libev(double *ns)
{
	uint64_t at;

	ev_now_update(loop);
	libev_add();
	wait_until(bench_now_ns() + FIRE_US * UINT64_C(1100));
	fired = 0;
	at = cpu_ns();
	while (fired < num)
		ev_run(loop, EVRUN_NOWAIT);
	ns[FIRE] = each(at);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print(double (*ns)[SHAPES][ROUNDS_MAX], unsigned rounds)
{
	unsigned shape, side;
	double *of;

	for (shape = 0; shape < SHAPES; shape++) {
		for (side = 0; side < SIDES; side++) {
			of = ns[side][shape];
			qsort(of, rounds, sizeof(*of), compare);
			printf("%8u %-6s %-6s %8.1f ns  (%.1f to %.1f)\n", num, shape_names[shape],
			       side_names[side], of[rounds / 2], of[0], of[rounds - 1]);
		}
		printf("%8u %-6s ratio  %8.2f\n", num, shape_names[shape],
		       ns[OURS][shape][rounds / 2] / ns[LIBEV][shape][rounds / 2]);
	}
}

static void setup(void)
{
	unsigned i;

	order = bench_shuffle(num);
	due_us = bench_alloc(num, sizeof(*due_us));
	due_s = bench_alloc(num, sizeof(*due_s));
	owners = bench_alloc(num, sizeof(*owners));
	watchers = bench_alloc(num, sizeof(*watchers));
	for (i = 0; i < num; i++) {
		owners[i].fn = owner_fired;
		owners[i].slot = EC_TIMER_NONE;
		ev_timer_init(&watchers[i].timer, watcher_fired, 0, 0);
	}
	ec_timers_init(&timers);
}

static void teardown(void)
{
	ec_timers_fini(&timers);
	free(watchers);
	free(owners);
	free(due_s);
	free(due_us);
	free(order);
}

static void measure(unsigned rounds)
{
	static double ns[SIDES][SHAPES][ROUNDS_MAX];
	unsigned round, repeat, repeats = num < OPS ? OPS / num : 1, side, shape;
	uint64_t seed = 88172645463325252u;
	double once[SIDES][SHAPES];

	setup();
	for (round = 0; round < rounds; round++) {
		for (side = 0; side < SIDES; side++)
			for (shape = 0; shape < SHAPES; shape++)
				ns[side][shape][round] = 0;
		/* Short ones are averaged; fire waits for its deadlines, so not as often. */
		for (repeat = 0; repeat < repeats; repeat++) {
			draw(&seed, 1000000, SPREAD_US);
			run_ours(once[OURS]);
			run_libev(once[LIBEV]);
			for (side = 0; side < SIDES; side++)
				for (shape = ADD; shape < FIRE; shape++)
					ns[side][shape][round] += once[side][shape] / repeats;
		}
		if (repeats > FIRE_REPEATS)
			repeats = FIRE_REPEATS;
		for (repeat = 0; repeat < repeats; repeat++) {
			draw(&seed, 1, FIRE_US);
			fire_ours(once[OURS]);
			fire_libev(once[LIBEV]);
			for (side = 0; side < SIDES; side++)
				ns[side][FIRE][round] += once[side][FIRE] / repeats;
		}
	}
	print(ns, rounds);
	teardown();
}

int main(int argc, char **argv)
{
	static const unsigned nums[] = { 1000, 100000, 1000000 };
	unsigned rounds = argc > 1 ? (unsigned)bench_number(argv[1]) : ROUNDS;
	size_t i;
	int a;

	if (rounds > ROUNDS_MAX)
		bench_die("at most %d rounds", ROUNDS_MAX);
	bench_pin(0);
	loop = ev_loop_new(EVBACKEND_EPOLL);
	if (loop == NULL)
		bench_die("no loop");
	for (a = 2; a < argc; a++) {
		num = (unsigned)bench_number(argv[a]);
		measure(rounds);
	}
	for (i = 0; argc <= 2 && i < sizeof(nums) / sizeof(*nums); i++) {
		num = nums[i];
		measure(rounds);
	}
	ev_loop_destroy(loop);
	return EXIT_SUCCESS;
}
