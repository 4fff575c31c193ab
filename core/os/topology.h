/*
 * The CPUs that this process may use, and the caches that they share.
 */
#ifndef EC_TOPOLOGY_H
#define EC_TOPOLOGY_H

#include <stdint.h>

/* The cgroup's quota in CPUs, rounded up; UINT32_MAX: no quota. Reads two files. */
unsigned ec_topology_quota(void);

/* The number of CPUs that affinity allows now, at most `quota`, at least 1. */
unsigned ec_topology_cpus(unsigned quota);

/* Writes the other num - 1 workers to `ret`, in the order in which worker `id` should steal from them. */
void ec_topology_victims(unsigned id, unsigned num, uint16_t *ret);

#endif
