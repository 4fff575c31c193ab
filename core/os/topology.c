#include "topology.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <stdbool.h>

#include "thread.h"

enum {
	LINE = 256,
	ASK_MAX = 64,			/* workers: reading sysfs for more would cost more than it saves */
};

/* A machine that does not tell is no error: both functions keep errno. */
static bool read_line(const char *path, char *line)
{
	int saved_errno = errno, state = ec_cancel_hold();
	FILE *f = fopen(path, "re");
	bool ok = f != NULL && fgets(line, LINE, f) != NULL;

	if (f != NULL)
		fclose(f);
	ec_cancel_release(state);
	errno = saved_errno;
	return ok;
}

static bool read_affinity(cpu_set_t *set)
{
	int saved_errno = errno;
	bool ok = sched_getaffinity(0, sizeof(*set), set) == 0;

	errno = saved_errno;
	return ok;
}

static unsigned affinity_cpus(void)
{
	cpu_set_t set;

	if (!read_affinity(&set))
		return 1;
	return (unsigned)CPU_COUNT(&set);
}

/* cgroup v2 cpu.max: "max 100000" or "quota period". Rounded up: half a CPU is one worker. */
unsigned ec_topology_quota(void)
{
	char group[LINE], path[LINE + 64], line[LINE];
	unsigned long quota, period;
	char *end;

	if (!read_line("/proc/self/cgroup", group) || strncmp(group, "0::", 3) != 0)
		return UINT32_MAX;
	end = strchr(group, '\n');
	if (end != NULL)
		*end = '\0';
	snprintf(path, sizeof(path), "/sys/fs/cgroup%s/cpu.max", group + 3);
	if (!read_line(path, line) && !read_line("/sys/fs/cgroup/cpu.max", line))
		return UINT32_MAX;
	if (sscanf(line, "%lu %lu", &quota, &period) != 2 || period == 0)
		return UINT32_MAX;
	return (unsigned)((quota + period - 1) / period);
}

unsigned ec_topology_cpus(unsigned quota)
{
	unsigned cpus = affinity_cpus();

	if (quota < cpus)
		cpus = quota;
	return cpus == 0 ? 1 : cpus;
}

/* The CPU that worker `id` most likely runs on: the id-th of those allowed. */
static int cpu_of(unsigned id)
{
	cpu_set_t set;
	int cpu;

	if (!read_affinity(&set))
		return -1;
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET((size_t)cpu, &set) && id-- == 0)
			return cpu;
	}
	return -1;
}

/* The CPUs that share the cache `index` with `cpu`, as text to compare; "": sysfs does not say. */
static void cache_group(int cpu, int index, char *line)
{
	char path[128];

	line[0] = '\0';
	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/cache/index%d/shared_cpu_list", cpu, index);
	if (cpu >= 0)
		(void)read_line(path, line);
}

/* 0: shares the second-level cache, 1: the last-level cache, 2: neither. */
static unsigned distance(int a, int b)
{
	char la[LINE], lb[LINE];
	int index;

	for (index = 2; index <= 3; index++) {
		cache_group(a, index, la);
		cache_group(b, index, lb);
		if (la[0] != '\0' && strcmp(la, lb) == 0)
			return (unsigned)index - 2;
	}
	return 2;
}

/* Computes each distance once: if sysfs changes meanwhile, a worker must not be listed twice. */
void ec_topology_victims(unsigned id, unsigned num, uint16_t *ret)
{
	unsigned far[ASK_MAX], d, i, n = 0;
	int self = cpu_of(id);

	for (i = 1; i < num; i++)
		far[i % ASK_MAX] = num > ASK_MAX ? 0 : distance(self, cpu_of((id + i) % num));
	for (d = 0; d <= 2; d++) {
		for (i = 1; i < num; i++) {
			if (far[i % ASK_MAX] == d)
				ret[n++] = (uint16_t)((id + i) % num);
		}
	}
}
