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
#include <pthread.h>

#include "latch.h"

const char *const rt_name = "libevent-smp";

struct event_base *rt_smp_base;
static unsigned workers;

static void *loop_main(void *unused)
{
	(void)unused;
	if (event_base_loop(rt_smp_base, EVLOOP_NO_EXIT_ON_EMPTY) != 0)
		bench_die("event_base_loop failed");
	return NULL;
}

void rt_start(unsigned workers_num)
{
	struct event_config *config;
	pthread_t thread;

	if (event_base_post == NULL)
		bench_skip("this libevent has no colors");
	config = event_config_new();
	if (config == NULL || event_config_set_workers(config, workers_num, NULL, NULL) != 0)
		bench_die("no configuration with %u workers", workers_num);
	rt_smp_base = event_base_new_with_config(config);
	if (rt_smp_base == NULL)
		bench_die("event_base_new_with_config failed");
	event_config_free(config);
	workers = event_base_get_workers(rt_smp_base);
	if (pthread_create(&thread, NULL, loop_main, NULL) != 0)
		bench_die("no thread");
}

/* Numbers are spread over the workers by their remainder. */
struct color *rt_color_new(int home)
{
	static unsigned made;
	const unsigned row = ++made;
	const unsigned column = home < 0 ? row % workers : (unsigned)home % workers;

	return (struct color *)(uintptr_t)(row * workers + column);
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
