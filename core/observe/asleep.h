/*
 * The system call that a thread of this process sleeps in, as the kernel tells it in /proc/self/task/TID/syscall.
 */
#ifndef EC_ASLEEP_H
#define EC_ASLEEP_H

#include <stdint.h>
#include <sys/types.h>

struct ec_asleep {
	long nr;			/* of the system call; -1: it sleeps in none, or that is not known */
	uintptr_t arg;			/* the first argument */
	uintptr_t sp, pc;		/* where it goes on */
};

/* What `line`, as the kernel writes it, says. */
struct ec_asleep ec_asleep_parse(const char *line);

/* A thread that runs, one that is not there, and a kernel that does not tell: nr is -1. */
struct ec_asleep ec_asleep_of(pid_t tid);

#endif
