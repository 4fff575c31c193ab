/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/*
 * fanout: a task of one color posts to COLORS others, each of which posts back; when all have,
 * the next round begins.
 */
#include "shapes.h"

static struct job *root, *out, *back;
static unsigned colors_num, backs_left;

static void back_run(void *arg)
{
	(void)arg;
	if (--backs_left > 0)
		return;
	if (--root->left > 0)
		rt_post(root->color, &root->task);
	else
		latch_hit(done, 0);
}

static void out_run(void *arg)
{
	struct job *job = arg;

	job_work(job);
	rt_post(root->color, &back[job->i].task);
}

static void root_run(void *arg)
{
	unsigned i;

	(void)arg;
	backs_left = colors_num;
	for (i = 0; i < colors_num; i++)
		rt_post(out[i].color, &out[i].task);
}

void shape_fanout(char **args)
{
	const long rounds = bench_number(args[2]);
	double least = 0, ns;
	unsigned i;

	colors_num = (unsigned)bench_number(args[0]);
	out = jobs_new(colors_num, out_run, (double)bench_number(args[1]));
	back = jobs_new(colors_num, back_run, 0);
	root = jobs_new(1, root_run, 0);
	root->color = rt_color_new(RT_ANY);
	for (i = 0; i < colors_num; i++)
		out[i].color = rt_color_new(RT_ANY);
	for (i = 0; i < 3; i++) {
		root->left = rounds;
		ns = (double)run_from(root, 1) / (double)rounds / colors_num;
		if (i == 0 || ns < least)
			least = ns;
	}
	report("fanout", "per color", least, "ns");
}
