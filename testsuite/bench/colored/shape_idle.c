/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/* idle: what COLORS colors cost that have run one task each and are kept for more. */
#include "shapes.h"

enum { BATCH = 1024 };

static void idle_run(void *arg)
{
	const struct job *job = arg;

	latch_hit(done, job->i);
}

/* In small batches: only the colors are to stay, not room for a million tasks at once. */
static void run_each_once(struct color **colors, unsigned count, struct job *jobs)
{
	unsigned i, first, size;

	for (first = 0; first < count; first += size) {
		size = count - first < BATCH ? count - first : BATCH;
		latch_set(done, size);
		for (i = 0; i < size; i++)
			rt_post(colors[first + i], &jobs[i].task);
		rt_wait(done);
	}
}

void shape_idle(char **args)
{
	const unsigned count = (unsigned)bench_number(args[0]);
	struct color **colors = bench_alloc(count, sizeof(struct color *));
	struct job *jobs = jobs_new(BATCH, idle_run, 0);
	size_t before, after;
	uint64_t begin;
	unsigned i;

	/* One batch beforehand, for what the runtime allocates with its first tasks. */
	for (i = 0; i < BATCH && i < count; i++)
		colors[i] = rt_color_new(RT_ANY);
	run_each_once(colors, i, jobs);

	before = bench_resident();
	begin = bench_now_ns();
	for (i = 0; i < count; i++)
		colors[i] = rt_color_new(RT_ANY);
	run_each_once(colors, count, jobs);
	report("idle", "first task", (double)(bench_now_ns() - begin) / count, "ns");
	after = bench_resident();
	report("idle", "per color", after > before ? (double)(after - before) / count : 0, "B");
}
