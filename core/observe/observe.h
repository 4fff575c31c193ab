/*
 * Switching the observation of a base on and off.
 *
 * One load after each poll (control.h) finds out that somebody wants to observe. Then each worker of the base switches
 * its own probe, under a lock for which it does not wait: without it, it tries again after its next poll.
 *
 * The probes of a base lie in memory that the kernel clears in a child. So a child finds probes that have nothing on,
 * does not write to its parent's files, and begins anew when it polls.
 */
#ifndef EC_OBSERVE_H
#define EC_OBSERVE_H

#include "probe.h"

/*
 * The thread of a worker, after a poll, while ec_control_attention(): switches what is wanted on, and the rest off.
 * `slot` is the base's. While another thread switches, it waits if it may, and else leaves it to the next poll.
 * Returns the worker's probe; NULL: it is not observed.
 */
struct ec_probe *ec_observe_turn(_Atomic(struct ec_observer *) *slot, unsigned worker, unsigned workers_max,
				 bool may_wait);

/* The base is freed; no thread uses it. NULL: it was never observed. */
void ec_observer_free(struct ec_observer *o);

#endif
