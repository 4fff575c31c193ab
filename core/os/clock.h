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

/*
 * For sums of differences that are only told: no call, no test, and a test's clock does not count. To nanoseconds
 * where they are asked for; the first time takes a tenth of a millisecond.
 */
#if defined(__x86_64__) && !defined(EC_SIM)
static inline uint64_t ec_clock_cycles(void)
{
	return __builtin_ia32_rdtsc();
}
#else
static inline uint64_t ec_clock_cycles(void)
{
	return (uint64_t)ec_monotonic_ns();
}
#endif

uint64_t ec_clock_cycles_to_ns(uint64_t cycles);

uint64_t ec_clock_ticks(void);
uint64_t ec_clock_ticks_to_ns(uint64_t ticks);
uint64_t ec_clock_ns_to_ticks(uint64_t ns);

/* Tests own time: all of the above then answer by `fn` (NULL: the real clocks again). */
void ec_clock_set_source(int64_t (*fn)(void));

#endif
