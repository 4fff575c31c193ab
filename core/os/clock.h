/*
 * Clocks: nanoseconds of CLOCK_MONOTONIC, and ticks, which are cheaper and only good for
 * differences (the time stamp counter where it is constant, else the same clock).
 */
#ifndef EC_CLOCK_H
#define EC_CLOCK_H

#include <stdint.h>

int64_t ec_monotonic_ns(void);

/*
 * The same at a third of the price, for deadlines: never ahead, and behind by less than a millisecond
 * (a microsecond or so, unless the thread was interrupted). As ever, where processors' counters agree.
 */
int64_t ec_monotonic_near_ns(void);

uint64_t ec_clock_ticks(void);
uint64_t ec_clock_ticks_to_ns(uint64_t ticks);
uint64_t ec_clock_ns_to_ticks(uint64_t ns);

/* Tests own time: all of the above then answer by `fn` (NULL: the real clocks again). */
void ec_clock_set_source(int64_t (*fn)(void));

#endif
