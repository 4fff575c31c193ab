/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/*
 * wake: a task keeps its worker busy for GAP_US, while the others go idle, then posts to another
 * color and holds its worker until that has run: how long until it starts? "same": the other
 * color lives on the busy worker, and must be taken from it.
 *
 * pingpong: two colors post to each other in turn.
 */
#include "shapes.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "futex.h"

/* A task that does not start within this is not going to: its worker is the one that waits. */
static const uint64_t never_ns = 20000000;

static struct job *busy, *woken;
static uint64_t gap_ns, *latency;
static unsigned latency_num, latency_max;

/* The woken task writes the time, then counts (release); the busy one reads them the other way. */
static _Atomic uint64_t woken_at, woken_num;

static void woken_run(void *arg)
{
	(void)arg;
	atomic_store_explicit(&woken_at, bench_now_ns(), memory_order_relaxed);
	atomic_fetch_add_explicit(&woken_num, 1, memory_order_release);
}

/* How long `woken` took to start; never_ns: it did not. */
static uint64_t wake_once(void)
{
	const uint64_t before = atomic_load_explicit(&woken_num, memory_order_relaxed);
	const uint64_t begin = bench_now_ns();

	rt_post(woken->color, &woken->task);
	while (atomic_load_explicit(&woken_num, memory_order_acquire) == before) {
		if (bench_now_ns() - begin > never_ns)
			return never_ns;
		cpu_relax();
	}
	return atomic_load_explicit(&woken_at, memory_order_relaxed) - begin;
}

static void busy_run(void *arg)
{
	const uint64_t until = bench_now_ns() + gap_ns;

	(void)arg;
	while (bench_now_ns() < until)
		cpu_relax();
	latency[latency_num] = wake_once();
	/* Once is enough for "never"; the woken task would still be queued at the next post. */
	if (latency[latency_num++] == never_ns || latency_num == latency_max)
		latch_hit(done, 0);
	else
		rt_post(busy->color, &busy->task);
}

void shape_wake(char **args)
{
	if (workers_num < 2)
		bench_skip("wake: needs two workers");
	gap_ns = (uint64_t)bench_number(args[1]) * 1000;
	latency_max = (unsigned)bench_number(args[2]);
	latency = bench_alloc(latency_max, sizeof(*latency));
	busy = jobs_new(1, busy_run, 0);
	woken = jobs_new(1, woken_run, 0);
	busy->color = rt_color_new(0);
	woken->color = rt_color_new(strcmp(args[0], "same") == 0 ? 0 : 1);
	run_from(busy, 1);
	if (latency[latency_num - 1] == never_ns)
		bench_skip("not while the poster runs");
	report("wake", "p50", (double)bench_percentile(latency, latency_num, 0.5), "ns");
	report("wake", "p99", (double)bench_percentile(latency, latency_num, 0.99), "ns");
}

static struct job *ping;		/* two */
static long hops_left;

static void ping_run(void *arg)
{
	const struct job *job = arg;
	struct job *other = &ping[1 - job->i];

	if (--hops_left > 0)
		rt_post(other->color, &other->task);
	else
		latch_hit(done, 0);
}

void shape_pingpong(char **args)
{
	const long hops = bench_number(args[0]);
	double least = 0, ns;
	int i;

	ping = jobs_new(2, ping_run, 0);
	ping[0].color = rt_color_new(0);
	ping[1].color = rt_color_new(1);
	for (i = 0; i < 3; i++) {
		hops_left = hops;
		ns = (double)run_from(&ping[0], 1) / (double)hops;
		if (i == 0 || ns < least)
			least = ns;
	}
	report("pingpong", "per hop", least, "ns");
}
