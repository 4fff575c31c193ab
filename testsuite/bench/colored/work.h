/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef COLORED_WORK_H
#define COLORED_WORK_H

/*
 * Work of a given length that touches no memory: steps of a linear congruence, each of which
 * needs the one before, about 4 cycles a step on any core.
 */

#include <stdint.h>

static inline uint64_t work_steps(uint64_t x, uint64_t steps)
{
	uint64_t i;

	for (i = 0; i < steps; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}

/*
 * Steps per microsecond: BENCH_STEPS_PER_US where the runner measured it, so that all programs of a
 * comparison do the same work; else measured now.
 */
double work_steps_per_us(void);

static inline uint64_t work_steps_of(double ns)
{
	return (uint64_t)(ns * work_steps_per_us() / 1000);
}

#endif /* COLORED_WORK_H */
