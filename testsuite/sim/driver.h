/*
 * The command line of every simulation: runs each case for many seeds, in a child process, so
 * that a crash or a hang is a result like others and the next case still runs.
 *
 *   PROGRAM [--seeds N] [--from S] [--case NAME]    N schedules of each case (or of one)
 *   PROGRAM --case NAME --seed S [--trace]          one schedule again, in this process
 *   PROGRAM --must-fail …                           as if every case said must_fail
 *   PROGRAM --weak …                                with weakly ordered memory (weak.h)
 *   PROGRAM --list
 *
 * SIM_SEED=S and SIM_SEEDS=N in the environment are --seed and --seeds.
 */
#ifndef SIM_DRIVER_H
#define SIM_DRIVER_H

#include <stdbool.h>

struct sim_case {
	const char *name;		/* NULL ends the list */
	void (*body)(const void *arg);	/* of the first thread */
	const void *arg;
	bool is_weak;			/* as with --weak */
	bool must_fail;			/* a mutant, which some seed must catch */
	unsigned seeds;			/* at most so many for this case; 0: as many as asked for */
	unsigned steps_max;		/* 0: 100 000 */
};

/* For main() to return: 0 all as it should be, 1 not so, 2 the command line is wrong. */
int sim_main(int argc, char **argv, const struct sim_case *cases);

#endif
