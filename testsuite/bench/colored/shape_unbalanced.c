/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/*
 * unbalanced: one task posts EVENTS tasks of as many colors, all of one worker (Mely's shape). Of
 * 1000 of them LONG_PERMILLE are 100 to 500 times as long as the others, SHORT_NS.
 */
#include "shapes.h"

static struct job *jobs, *root;
static unsigned jobs_num;

static void event_run(void *arg)
{
	struct job *job = arg;

	job_work(job);
	latch_hit(done, job->i);
}

static void root_run(void *arg)
{
	unsigned i;

	(void)arg;
	for (i = 0; i < jobs_num; i++)
		rt_post(jobs[i].color, &jobs[i].task);
	latch_hit(done, jobs_num);
}

/* Returns the steps of all. */
static uint64_t vary(unsigned long_permille)
{
	uint64_t seed = 12345, total = 0;
	unsigned i;

	for (i = 0; i < jobs_num; i++) {
		jobs[i].color = rt_color_new(0);
		if (bench_random(&seed) % 1000 < long_permille)
			jobs[i].steps *= 100 + bench_random(&seed) % 401;
		total += jobs[i].steps;
	}
	return total;
}

/* A round begins as unbalanced as the one before, whatever the runtime has learnt. */
static void renew(void)
{
	unsigned i;

	root->color = rt_color_renew(root->color, 0);
	for (i = 0; i < jobs_num; i++)
		jobs[i].color = rt_color_renew(jobs[i].color, 0);
}

void shape_unbalanced(char **args)
{
	const unsigned rounds = (unsigned)bench_number(args[3]);
	double least = 0, ns, ideal;
	unsigned i;

	jobs_num = (unsigned)bench_number(args[0]);
	jobs = jobs_new(jobs_num, event_run, (double)bench_number(args[1]));
	root = jobs_new(1, root_run, 0);
	root->color = rt_color_new(0);
	ideal = (double)vary((unsigned)bench_number(args[2])) * 1000 / work_steps_per_us() / workers_num;
	/* The first round warms up. */
	for (i = 0; i <= rounds; i++) {
		renew();
		ns = (double)run_from(root, jobs_num + 1);
		if (i == 1 || (i > 1 && ns < least))
			least = ns;
	}
	report("unbalanced", "events/s", jobs_num * 1e9 / least, "1/s");
	report("unbalanced", "ideal/actual", ideal / least, "x");
}
