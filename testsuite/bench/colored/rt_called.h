/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef COLORED_RT_CALLED_H
#define COLORED_RT_CALLED_H

#include <stdint.h>

#include "../util.h"
#include "called.h"

extern struct called *rt_called;

/* A color is a number in disguise. */
static inline void rt_post(struct color *color, struct task *task)
{
	if (called_post(rt_called, (uint32_t)(uintptr_t)color, task->fn, task) != 0)
		bench_die("called_post failed");
}

#endif /* COLORED_RT_CALLED_H */
