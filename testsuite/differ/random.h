/*
 * What programs of random operations share: numbers that follow from a seed, and a run for each seed.
 */
#ifndef RANDOM_H
#define RANDOM_H

#include <event2/thread.h>

#include "trace.h"

static uint64_t random_state;

/* 0 to num - 1. */
static inline unsigned pick(unsigned num)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned)(random_state >> 33) % num;
}

/* From now on pick() follows from the seed; `salt`: of the program. */
static inline void random_begin(unsigned seed, unsigned salt)
{
	random_state = seed * 2654435761ULL + salt;
}

static inline void random_run(unsigned from, unsigned num, const char *how, void (*run)(unsigned seed))
{
	char name[64];

	for (unsigned seed = from; seed < from + num; seed++) {
		snprintf(name, sizeof(name), "seed %u, %s", seed, how);
		section(name);
		run(seed);
	}
}

/* PROGRAM [SEED [NUMBER]]: each of NUMBER seeds (`num`) from SEED on, without and then with locks. */
static inline void random_main(int argc, char **argv, unsigned num, void (*run)(unsigned seed))
{
	unsigned from = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 0) : 1;

	if (argc > 2)
		num = (unsigned)strtoul(argv[2], NULL, 0);
	random_run(from, num, "without locks", run);
	must(evthread_use_pthreads() == 0, "use threads");
	random_run(from, num, "with locks", run);
}

#endif
