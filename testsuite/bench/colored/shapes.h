/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef COLORED_SHAPES_H
#define COLORED_SHAPES_H

/*
 * The shapes of colored work. Each is a function of its arguments, as text; their number has been
 * checked. ../README.md says what they are for.
 */

#include <stdint.h>

#include "../util.h"
#include "latch.h"
#include "runtime.h"
#include "work.h"

/* The tasks a shape posts embed this: color, work, its number for the latch. */
struct job {
	struct task task;		/* first: fn gets its address */
	struct color *color;
	uint64_t steps;
	long left;
	unsigned i;
};

extern unsigned workers_num;
extern struct latch *done;

/* Chained through the thread: the work of two tasks does not overlap in the processor. */
extern _Thread_local uint64_t work_last;

static inline void job_work(const struct job *job)
{
	if (job->steps > 0)
		work_last = work_steps(work_last, job->steps);
}

/* `count` jobs that run fn; colors are the caller's to give. */
struct job *jobs_new(unsigned count, void (*fn)(void *job), double work_ns);

void report(const char *shape, const char *metric, double value, const char *unit);

/* Post `first`, wait for `hits`, return how long that took. */
uint64_t run_from(struct job *first, unsigned hits);

void shape_bare(char **args);
void shape_chain(char **args);
void shape_fanout(char **args);
void shape_idle(char **args);
void shape_inject(char **args);
void shape_line(char **args);
void shape_pingpong(char **args);
void shape_sfs(char **args);
void shape_unbalanced(char **args);
void shape_wake(char **args);

#endif /* COLORED_SHAPES_H */
