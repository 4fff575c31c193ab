/*
 * A clock that stands still until someone advances it, for all of the process: then time is a part of a schedule, and
 * not of the machine's load (loop/virtual.h).
 */
#ifndef EC_VIRTUAL_CLOCK_H
#define EC_VIRTUAL_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* From now on, the clocks of clock.h show virtual time. It begins at a fixed time, later than that of a real clock. */
void ec_virtual_clock_start(void);

bool ec_virtual_clock_is_on(void);

/* To `ns`, unless it is later already. any thread */
void ec_virtual_clock_advance(int64_t ns);

/* The wall clock: as far from the virtual one as the real ones were at the start. While the clock is virtual. */
int64_t ec_virtual_clock_wall_ns(void);

#endif
