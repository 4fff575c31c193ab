/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/* One runtime, one shape, a number of workers; see shapes.h and runtime.h. */
#include "shapes.h"

#include <stdio.h>
#include <unistd.h>

unsigned workers_num;
struct latch *done;
_Thread_local uint64_t work_last = 1;

static const struct bench_shape shapes[] = {
	{ "chain", 4, shape_chain, "spread|skew COLORS WORK_NS TASKS" },
	{ "unbalanced", 4, shape_unbalanced, "EVENTS SHORT_NS LONG_PERMILLE ROUNDS" },
	{ "fanout", 3, shape_fanout, "COLORS WORK_NS ROUNDS" },
	{ "idle", 1, shape_idle, "COLORS" },
	{ "wake", 3, shape_wake, "same|other GAP_US COUNT" },
	{ "pingpong", 1, shape_pingpong, "HOPS" },
	{ "line", 1, shape_line, "HOPS" },
	{ "inject", 3, shape_inject, "TASKS COLORS WORK_NS" },
	{ "bare", 4, shape_bare, "sfs|unbalanced PARALLEL_NS SERIAL_NS TIMES" },
	{ "sfs", 4, shape_sfs, "CLIENTS PARALLEL_NS SERIAL_NS REQUESTS" },
};

struct job *jobs_new(unsigned count, void (*fn)(void *job), double work_ns)
{
	struct job *jobs = bench_alloc(count, sizeof(*jobs));
	unsigned i;

	for (i = 0; i < count; i++) {
		jobs[i].task.fn = fn;
		jobs[i].steps = work_steps_of(work_ns);
		jobs[i].i = i;
	}
	return jobs;
}

void report(const char *shape, const char *metric, double value, const char *unit)
{
	bench_report(shape, rt_name, metric, value, unit);
}

uint64_t run_from(struct job *first, unsigned hits)
{
	uint64_t begin;

	latch_set(done, hits);
	begin = bench_now_ns();
	rt_post(first->color, &first->task);
	rt_wait(done);
	return bench_now_ns() - begin;
}

int main(int argc, char **argv)
{
	const struct bench_shape *shape =
		bench_shape_of(argc, argv, shapes, sizeof(shapes) / sizeof(shapes[0]), "WORKERS");

	workers_num = (unsigned)bench_number(argv[2]);
	if (workers_num == 0)
		bench_die("at least one worker");
	work_steps_per_us();
	done = latch_new();
	rt_start(workers_num);
	shape->run(argv + 3);
	rt_report(argv[1]);

	/* The workers still run: nothing is taken down under them. */
	fflush(stdout);
	_exit(0);
}
