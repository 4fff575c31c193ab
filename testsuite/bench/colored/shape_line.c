/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/*
 * line: two threads, each on a CPU of its own, write a word by turns: what one cache line takes from one CPU to the
 * other, with neither task nor lock. On a virtual machine that depends on where the host runs the two.
 */
#include "shapes.h"

#include <pthread.h>
#include <stdatomic.h>

#include "futex.h"

enum { ROUNDS = 3 };

static _Alignas(64) _Atomic long turn;
static long hops;

/* Even hops are the first thread's, odd ones the other's. */
static void *player_main(void *arg)
{
	const unsigned *player = arg;
	long i;

	bench_pin(*player);
	for (i = (long)*player; i < hops; i += 2) {
		while (atomic_load_explicit(&turn, memory_order_acquire) != i)
			cpu_relax();
		atomic_store_explicit(&turn, i + 1, memory_order_release);
	}
	return NULL;
}

static double round_ns(void)
{
	static unsigned players[] = { 0, 1 };
	pthread_t other;
	uint64_t begin;

	atomic_store(&turn, 0);
	begin = bench_now_ns();
	if (pthread_create(&other, NULL, player_main, &players[1]) != 0)
		bench_die("no thread");
	player_main(&players[0]);
	pthread_join(other, NULL);
	return (double)(bench_now_ns() - begin);
}

void shape_line(char **args)
{
	double least = 0, ns;
	int i;

	if (workers_num != 2)
		bench_die("line is for two workers");
	hops = bench_number(args[0]);
	for (i = 0; i < ROUNDS; i++) {
		ns = round_ns() / (double)hops;
		if (i == 0 || ns < least)
			least = ns;
	}
	report("pingpong", "per hop", least, "ns");
}
