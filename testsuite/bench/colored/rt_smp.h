/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef COLORED_RT_SMP_H
#define COLORED_RT_SMP_H

#define EVENT_SMP_WEAK
#include <event2/smp.h>
#include <stdint.h>

#include "../util.h"

extern struct event_base *rt_smp_base;

/*
 * A color is a number: the pointer is one in disguise, nothing is behind it. Above it is the
 * place of its registration, rt_smp.c.
 */
static inline ev_uint32_t rt_smp_number(const struct color *color)
{
	return (ev_uint32_t)(uintptr_t)color;
}

static inline void rt_post(struct color *color, struct task *task)
{
	if (event_base_post(rt_smp_base, rt_smp_number(color), task->fn, task) != 0)
		bench_die("event_base_post failed");
}

#endif /* COLORED_RT_SMP_H */
