/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/* The limit of what is called through a shared library, see called.h; for shapes of one worker. */
#include "runtime.h"

#include "latch.h"

const char *const rt_name = "limit, called";

struct called *rt_called;

void rt_start(unsigned workers)
{
	if (workers != 1)
		bench_skip("has one worker");
	rt_called = called_new();
	if (rt_called == NULL)
		bench_die("no memory");
}

struct color *rt_color_new(int home)
{
	static uintptr_t made;

	(void)home;
	return (struct color *)++made;
}

struct color *rt_color_renew(struct color *color, int home)
{
	(void)home;
	return color;
}

/* The main thread is the worker. */
void rt_wait(struct latch *latch)
{
	called_run(rt_called);
	latch_wait(latch);
}

void rt_report(const char *shape)
{
	(void)shape;
}
