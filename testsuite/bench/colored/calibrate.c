/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/* Prints BENCH_STEPS_PER_US for this machine, see work.h. */
#include <stdio.h>

#include "work.h"

int main(void)
{
	printf("%.0f\n", work_steps_per_us());
	return 0;
}
