/*
 * The CPUs that this process may use, and which share a cache.
 */
#ifndef EC_TOPOLOGY_H
#define EC_TOPOLOGY_H

#include <stdint.h>

/* How many CPUs' time the cgroup grants, rounded up; UINT32_MAX: as much as there is. Reads two files. */
unsigned ec_topology_quota(void);

/* Those that affinity allows now, but no more than `quota`; at least 1. */
unsigned ec_topology_cpus(unsigned quota);

/* The other workers of `num` in the order in which `id` should steal from them: `ret` has num - 1. */
void ec_topology_victims(unsigned id, unsigned num, uint16_t *ret);

#endif
