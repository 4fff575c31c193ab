/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/* inject: a thread that is no worker posts TASKS tasks to COLORS colors, in turn. */
#include "shapes.h"

static void injected_run(void *arg)
{
	const struct job *job = arg;

	job_work(job);
	latch_hit(done, job->i);
}

static uint64_t inject_once(struct job *jobs, unsigned count)
{
	uint64_t begin;
	unsigned i;

	latch_set(done, count);
	begin = bench_now_ns();
	for (i = 0; i < count; i++)
		rt_post(jobs[i].color, &jobs[i].task);
	rt_wait(done);
	return bench_now_ns() - begin;
}

void shape_inject(char **args)
{
	const unsigned count = (unsigned)bench_number(args[0]);
	const unsigned colors = (unsigned)bench_number(args[1]);
	struct job *jobs = jobs_new(count, injected_run, (double)bench_number(args[2]));
	double least = 0, ns;
	unsigned i;

	for (i = 0; i < count; i++)
		jobs[i].color = i < colors ? rt_color_new(RT_ANY) : jobs[i - colors].color;
	for (i = 0; i < 3; i++) {
		ns = (double)inject_once(jobs, count) / count;
		if (i == 0 || ns < least)
			least = ns;
	}
	report("inject", "per task", least, "ns");
}
