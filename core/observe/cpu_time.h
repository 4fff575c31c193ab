/*
 * What a thread had of the CPUs, as the kernel tells it in /proc/PID/task/TID/schedstat. evsmp has this file, too.
 */
#ifndef EC_CPU_TIME_H
#define EC_CPU_TIME_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct ec_cpu_time {
	uint64_t ran_ns;
	uint64_t waited_ns;		/* runnable, without a CPU; but for the wait that goes on */
	uint64_t times;			/* that it got a CPU */
	uint64_t at_ns;			/* of the monotonic clock */
	bool is_runnable;		/* it sleeps in no system call */
};

/* False: `line` is not what the kernel writes. */
static inline bool ec_cpu_time_parse(const char *line, struct ec_cpu_time *ret)
{
	return sscanf(line, "%" SCNu64 " %" SCNu64 " %" SCNu64, &ret->ran_ns, &ret->waited_ns, &ret->times) == 3;
}

/* Of a thread of this process. False: the kernel does not tell. */
bool ec_cpu_time_of(pid_t tid, struct ec_cpu_time *ret);

/* From `from` to `to`: the time that it had no CPU, though it was runnable. */
uint64_t ec_cpu_time_missed_ns(const struct ec_cpu_time *from, const struct ec_cpu_time *to);

#endif
