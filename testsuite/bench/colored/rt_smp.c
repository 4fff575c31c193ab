/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/*
 * libevent-smp, through its public API. Linked against any libevent 2.1 and run with ours: on one
 * without colors it says so. The loop has a thread of its own, worker 0; color 0, which only that
 * worker may run, is not used.
 */
#include "runtime.h"

#include <event2/event.h>
#include <event2/event_struct.h>
#include <pthread.h>
#include <stdlib.h>

#include "latch.h"

const char *const rt_name = "libevent-smp";

struct event_base *rt_smp_base;
static unsigned workers;
static ev_uint32_t numbers_used;

/*
 * What keeps a color at home: the engine forgets one that nothing refers to, and gives it some
 * worker when it comes again. A timer that does not fire stands for the descriptor that a
 * program's color would have. Places are numbered from 1; 0: has none.
 */
static struct event **places;
static unsigned places_num, places_max;

_Static_assert(sizeof(uintptr_t) == 8, "a pointer holds a color and its place");

static void *loop_main(void *unused)
{
	(void)unused;
	bench_pin(0);
	if (event_base_loop(rt_smp_base, EVLOOP_NO_EXIT_ON_EMPTY) != 0)
		bench_die("event_base_loop failed");
	return NULL;
}

/* Each to a CPU of its own, as libasync-like's are. */
static void worker_start(struct event_base *base, unsigned worker, void *arg)
{
	(void)base;
	(void)arg;
	bench_pin(worker);
}

static void warm_up_run(void *arg)
{
	latch_hit(arg, 0);
}

/* Workers start with the first colored work. Before that, every color would begin on worker 0. */
static void warm_up(void)
{
	struct latch *latch = latch_new();
	unsigned i;

	for (i = 0; i < 4 * workers; i++) {
		latch_set(latch, 1);
		if (event_base_post(rt_smp_base, ++numbers_used, warm_up_run, latch) != 0)
			bench_die("event_base_post failed");
		latch_wait(latch);
	}
}

void rt_start(unsigned workers_num)
{
	struct event_config *config;
	pthread_t thread;

	if (event_base_post == NULL)
		bench_skip("this libevent has no colors");
	config = event_config_new();
	if (config == NULL || event_config_set_workers(config, workers_num, worker_start, NULL) != 0)
		bench_die("no configuration with %u workers", workers_num);
	rt_smp_base = event_base_new_with_config(config);
	if (rt_smp_base == NULL)
		bench_die("event_base_new_with_config failed");
	event_config_free(config);
	workers = event_base_get_workers(rt_smp_base);
	if (pthread_create(&thread, NULL, loop_main, NULL) != 0)
		bench_die("no thread");
	warm_up();
}

static void never(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
}

/* Register `number` with `ev`, and tell where the engine put it. */
static unsigned settle(struct event *ev, ev_uint32_t number)
{
	static const struct timeval hour = { 3600, 0 };
	struct event_color_stats stats;

	if (event_assign(ev, rt_smp_base, -1, 0, never, NULL) != 0 ||
	    event_set_color(ev, number) != 0 || event_add(ev, &hour) != 0)
		bench_die("color %u cannot be registered", number);
	if (workers == 1)
		return 0;
	if (event_base_get_color_stats(rt_smp_base, number, &stats, sizeof(stats)) != 0)
		bench_die("event_base_get_color_stats failed");
	return stats.home;
}

/* New numbers, until one has its home where it is wanted. */
static struct color *settle_at(unsigned place, unsigned home)
{
	unsigned tries;

	for (tries = 0; tries < 1000 * workers; tries++) {
		if (settle(places[place], ++numbers_used) == home)
			return (struct color *)((uintptr_t)place << 32 | numbers_used);
		event_del(places[place]);
	}
	bench_die("no color comes to worker %u", home);
}

static unsigned place_new(void)
{
	if (places_num + 1 >= places_max) {
		places_max = places_max == 0 ? 64 : 2 * places_max;
		places = realloc(places, places_max * sizeof(struct event *));
		if (places == NULL)
			bench_die("no memory for %u colors", places_max);
	}
	places[++places_num] = bench_alloc(1, sizeof(struct event));
	return places_num;
}

struct color *rt_color_new(int home)
{
	if (home < 0)
		return (struct color *)(uintptr_t)++numbers_used;
	return settle_at(place_new(), (unsigned)home % workers);
}

struct color *rt_color_renew(struct color *color, int home)
{
	const unsigned place = (unsigned)((uintptr_t)color >> 32);

	if (place == 0)
		return rt_color_new(home);
	event_del(places[place]);
	return settle_at(place, (unsigned)home % workers);
}

void rt_wait(struct latch *latch)
{
	latch_wait(latch);
}

void rt_report(const char *shape)
{
	struct event_worker_stats stats;
	double steals = 0, steal_ns = 0, colors = 0;
	unsigned i;

	if (bench_setting("BENCH_COUNTERS", 0) == 0)
		return;
	for (i = 0; i < workers; i++) {
		if (event_base_get_stats(rt_smp_base, i, &stats, sizeof(stats)) != 0)
			bench_die("event_base_get_stats failed");
		steals += (double)stats.steals;
		colors += (double)stats.stolen_colors;
		steal_ns += (double)stats.steals * (double)stats.steal_ns;
	}
	if (steals == 0)
		return;
	bench_report(shape, rt_name, "steals", steals, "");
	bench_report(shape, rt_name, "colors per steal", colors / steals, "");
	bench_report(shape, rt_name, "cost of a steal", steal_ns / steals, "ns");
}
