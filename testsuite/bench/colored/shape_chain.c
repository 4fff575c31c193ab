/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/*
 * chain: each color's task posts itself to its color again, TASKS times altogether (the
 * libasync-smp paper's Table 2). skew: all colors begin on one worker. Fewer than TASKS where they
 * would take longer than a moment, since some runtimes are a hundred times as slow as others;
 * unless BENCH_EXACT=1, for who counts instructions.
 */
#include "shapes.h"

#include <string.h>

enum { PROBE_EACH = 64 };

static const double moment_ns = 300e6;

static void link_run(void *arg)
{
	struct job *job = arg;

	job_work(job);
	if (--job->left > 0)
		rt_post(job->color, &job->task);
	else
		latch_hit(done, job->i);
}

static uint64_t chain_once(struct job *jobs, unsigned colors, long each, int home)
{
	uint64_t begin;
	unsigned i;

	latch_set(done, colors);
	for (i = 0; i < colors; i++) {
		jobs[i].left = each;
		jobs[i].color = rt_color_renew(jobs[i].color, home);
	}
	begin = bench_now_ns();
	for (i = 0; i < colors; i++)
		rt_post(jobs[i].color, &jobs[i].task);
	rt_wait(done);
	return bench_now_ns() - begin;
}

void shape_chain(char **args)
{
	const int home = strcmp(args[0], "skew") == 0 ? 0 : RT_ANY;
	const unsigned colors = (unsigned)bench_number(args[1]);
	struct job *jobs = jobs_new(colors, link_run, (double)bench_number(args[2]));
	long each = bench_number(args[3]) / colors;
	double best = 0, rate, expected_ns;
	unsigned i;

	for (i = 0; i < colors; i++)
		jobs[i].color = rt_color_new(home);
	chain_once(jobs, colors, PROBE_EACH, home);
	expected_ns = (double)chain_once(jobs, colors, PROBE_EACH, home);
	expected_ns *= (double)each / PROBE_EACH;
	if (expected_ns > moment_ns && bench_setting("BENCH_EXACT", 0) == 0)
		each = (long)((double)each * moment_ns / expected_ns) + 1;
	for (i = 0; i < 3; i++) {
		rate = (double)each * colors * 1e9 / (double)chain_once(jobs, colors, each, home);
		if (rate > best)
			best = rate;
	}
	report("chain", "tasks/s", best, "1/s");
}
