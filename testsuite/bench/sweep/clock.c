/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/*
 * The clock of both libraries. The loader finds a program's functions ahead of libc's. Time goes on by a fixed step
 * for each read, so what a library does does not depend on how long the machine takes.
 *
 * Our library also reads the CPU's counter, once it has measured it: over a time of 1 ms to 1 s between two reads of
 * this clock (core/os/clock.c). Here it never does: steps are short, and sweep_advance_us() moves by a second or more.
 * So each read of the clock is a call, as it is without such a counter.
 */
#include "sweep.h"

#include <sys/time.h>
#include <time.h>

enum { START_S = 1000000,
       STEP_NS = 10,
       ADVANCE_MIN_US = 1000000 };

static int64_t now_ns = (int64_t)START_S * 1000000000;
static uint64_t reads;

void sweep_advance_us(int64_t us)
{
	sweep_check(us >= ADVANCE_MIN_US);
	__atomic_add_fetch(&now_ns, us * 1000, __ATOMIC_RELAXED);
}

uint64_t sweep_clock_reads(void)
{
	return __atomic_load_n(&reads, __ATOMIC_RELAXED);
}

static int64_t read_ns(void)
{
	__atomic_add_fetch(&reads, 1, __ATOMIC_RELAXED);
	return __atomic_add_fetch(&now_ns, STEP_NS, __ATOMIC_RELAXED);
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *ts)
{
	int64_t ns = read_ns();

	(void)id;
	ts->tv_sec = ns / 1000000000;
	ts->tv_nsec = ns % 1000000000;
	return 0;
}

__attribute__((visibility("default"))) int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
	int64_t ns = read_ns();

	(void)zone;
	tv->tv_sec = ns / 1000000000;
	tv->tv_usec = ns % 1000000000 / 1000;
	return 0;
}

__attribute__((visibility("default"))) time_t time(time_t *ret)
{
	time_t now = (time_t)(read_ns() / 1000000000);

	if (ret != NULL)
		*ret = now;
	return now;
}
