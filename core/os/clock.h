/*
 * Clocks: nanoseconds of CLOCK_MONOTONIC, and ticks. Ticks are cheaper, and only good for
 * differences: they are the time stamp counter if that is constant, else the same clock.
 */
#ifndef EC_CLOCK_H
#define EC_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

int64_t ec_monotonic_ns(void);

/*
 * The same clock at a third of the cost, for deadlines. The result is never ahead of the clock. It is behind by about
 * a microsecond; if the thread was preempted, by less than a millisecond. The time stamp counters of all processors
 * must agree.
 */
int64_t ec_monotonic_near_ns(void);

/*
 * Cycles are for statistics: sums of differences, read without a call, a branch, or a test's clock. Only a program
 * that asks for the statistics pays for their conversion to nanoseconds. The first conversion takes a tenth of a
 * millisecond.
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
bool ec_clock_ticks_are_cycles(void);

uint64_t ec_clock_ticks(void);
uint64_t ec_clock_ticks_to_ns(uint64_t ticks);
uint64_t ec_clock_ns_to_ticks(uint64_t ns);

/* ec_clock_ticks_to_ns without a call; `mult` is what that makes of 2^32 ticks, once ticks have been read. */
static inline uint64_t ec_clock_ticks_by(uint64_t ticks, uint64_t mult)
{
#if defined(__x86_64__) && !defined(EC_SIM)
	return (uint64_t)((unsigned __int128)ticks * mult >> 32);
#else
	(void)mult;
	return ticks;
#endif
}

/*
 * Is `now` before `at`, which was set a second ahead at most? No, if it is so far before it that the counter must have
 * gone back: after a suspend to memory, or on another machine, time stamp counters begin anew.
 */
static inline bool ec_ticks_before(uint64_t now, uint64_t at)
{
	return at - now - 1 < UINT64_C(1) << 33;
}

/* For tests: all functions above then return the time of `fn`. NULL: the real clocks again. */
void ec_clock_set_source(int64_t (*fn)(void));

#endif
