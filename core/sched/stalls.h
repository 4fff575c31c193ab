/*
 * What the scheduler tells the watchdog (observe/stall.h) of its workers.
 */
#ifndef EC_STALLS_H
#define EC_STALLS_H

#include "observe/stall.h"
#include "worker.h"

/* The thread of `w` has polled; `s` is its record. */
void ec_stalls_turn(struct ec_worker *w, struct ec_stall *s);

#endif
