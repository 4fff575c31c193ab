/*
 * The CPUs that this process may use, and which share a cache.
 */
#ifndef EC_TOPOLOGY_H
#define EC_TOPOLOGY_H

#include <stdint.h>

/* By affinity and cgroup quota, at least 1. */
unsigned ec_topology_cpus(void);

/* The other workers of `num` in the order in which `id` should rob them: `ret` has num - 1. */
void ec_topology_victims(unsigned id, unsigned num, uint16_t *ret);

#endif
