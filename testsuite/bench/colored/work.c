/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#include "work.h"

#include "../util.h"

enum { CALIBRATION_STEPS = 2000000, CALIBRATION_ROUNDS = 7 };

/* The best of some rounds: anything else that runs only makes it slower. */
static double measure(void)
{
	double best = 0, found;
	uint64_t begin, x = 1;
	int i;

	for (i = 0; i < CALIBRATION_ROUNDS; i++) {
		begin = bench_now_ns();
		x = work_steps(x, CALIBRATION_STEPS);
		found = CALIBRATION_STEPS * 1000.0 / (double)(bench_now_ns() - begin);
		if (found > best)
			best = found;
	}
	return best;
}

double work_steps_per_us(void)
{
	static double known;

	if (known == 0)
		known = (double)bench_setting("BENCH_STEPS_PER_US", 0);
	if (known == 0)
		known = measure();
	return known;
}
