#include "clock.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

#include "atomic.h"

/* A test's clock, or NULL. Set before threads exist. */
static int64_t (*source)(void);

void ec_clock_set_source(int64_t (*fn)(void))
{
	source = fn;
}

static inline int64_t timespec_ns(const struct timespec *ts)
{
	return (int64_t)ts->tv_sec * 1000000000 + ts->tv_nsec;
}

int64_t ec_monotonic_ns(void)
{
	struct timespec ts;

	if (__builtin_expect(source != NULL, 0))
		return source();
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return timespec_ns(&ts);
}

#if defined(__x86_64__) && !defined(EC_SIM)

/* tick_mult: nanoseconds of a tick, times 2^32; 0: ticks are nanoseconds. ns_mult, written first: the reverse. */
static _Atomic(uint64_t) tick_mult, ns_mult;
static _Atomic(uint64_t) cycle_mult;	/* as tick_mult, also where that is 0 */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool is_tsc_constant(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d >> 8 & 1) != 0;
}

struct look {
	int64_t ns;
	uint64_t ticks;
};

/* Both at the same time. The thread may be preempted between the two, so the quickest of several looks counts. */
static struct look look(void)
{
	enum { LOOKS = 8 };
	uint64_t before, took, least = UINT64_MAX;
	struct look quickest = { 0 };
	struct timespec at;
	int i;

	for (i = 0; i < LOOKS; i++) {
		before = __rdtsc();
		clock_gettime(CLOCK_MONOTONIC, &at);
		took = __rdtsc() - before;
		if (took <= least) {
			least = took;
			quickest = (struct look){ timespec_ns(&at), before + took / 2 };
		}
	}
	return quickest;
}

/* Measures for a tenth of a millisecond. The error is a few parts in a thousand, enough for measuring costs. */
static void calibrate(void)
{
	enum { WINDOW_NS = 100000 };
	struct look start = look(), end;
	uint64_t ns, ticks;

	do {
		end = look();
	} while (end.ns - start.ns < WINDOW_NS || end.ticks == start.ticks);
	ns = (uint64_t)(end.ns - start.ns);
	ticks = end.ticks - start.ticks;
	ec_store_relaxed(&cycle_mult, (ns << 32) / ticks);
	if (!is_tsc_constant())
		return;
	ec_store_relaxed(&ns_mult, (ticks << 32) / ns);
	ec_store_release(&tick_mult, (ns << 32) / ticks);		/* meets the load in ec_clock_ns_to_ticks */
}

uint64_t ec_clock_cycles_to_ns(uint64_t cycles)
{
	pthread_once(&once, calibrate);
	return (uint64_t)((unsigned __int128)cycles * ec_load_relaxed(&cycle_mult) >> 32);
}

/*
 * The time, computed from the ticks since the thread last read the clock. Each thread measures a tick for itself,
 * between two of its reads that are at least a millisecond apart. So no thread waits for a measurement.
 *
 * The result must not be ahead of the clock, which would delay timers. A thread may be preempted between any two
 * steps, so each step errs to the same side:
 *
 *   - `mult` assumes the shortest tick: it divides by the ticks from before one read to after the next.
 *   - The time since a read is counted from after the read.
 *   - After a read that took long, the next call reads the clock again.
 *
 * The result is behind the clock by less than two steps of a tenth of a millisecond.
 */
static __thread __attribute__((tls_model("initial-exec"))) struct {
	uint64_t ticks, base_ticks;
	int64_t ns, base_ns;
	uint64_t mult;			/* as tick_mult; 0: not measured yet */
} near;

enum { STEP_TICKS = 1 << 18, BASE_NS = 1000000, BASE_MAX_NS = 1000000000 };

static void near_measure(int64_t ns, uint64_t before, uint64_t after)
{
	if (ns - near.base_ns < BASE_NS)
		return;
	if (ns - near.base_ns < BASE_MAX_NS && after > near.base_ticks)
		near.mult = ((uint64_t)(ns - near.base_ns) << 32) / (after - near.base_ticks);
	near.base_ticks = before;
	near.base_ns = ns;
}

static __attribute__((noinline)) int64_t near_look(void)
{
	static _Atomic(int) is_constant;	/* 0: not asked yet; asking twice does no harm */
	int is_known = ec_load_relaxed(&is_constant);
	uint64_t before, after;
	int64_t ns;

	if (__builtin_expect(is_known == 0, 0)) {
		is_known = is_tsc_constant() ? 1 : -1;
		ec_store_relaxed(&is_constant, is_known);
	}
	if (source != NULL || is_known < 0) {
		near.mult = 0;
		return ec_monotonic_ns();
	}
	before = __rdtsc();
	ns = ec_monotonic_ns();
	after = __rdtsc();
	near.ticks = after - before < STEP_TICKS ? after : after - STEP_TICKS;
	near.ns = ns;
	near_measure(ns, before, after);
	return ns;
}

int64_t ec_monotonic_near_ns(void)
{
	uint64_t ticks = __rdtsc() - near.ticks;

	if (__builtin_expect(ticks >= STEP_TICKS || near.mult == 0 || source != NULL, 0))
		return near_look();
	return near.ns + (int64_t)(ticks * near.mult >> 32);
}

uint64_t ec_clock_ticks(void)
{
	if (__builtin_expect(source != NULL || ec_load_relaxed(&tick_mult) == 0, 0)) {
		if (source == NULL)
			pthread_once(&once, calibrate);
		if (source != NULL || ec_load_relaxed(&tick_mult) == 0)
			return (uint64_t)ec_monotonic_ns();
	}
	return __rdtsc();
}

bool ec_clock_ticks_are_cycles(void)
{
	return source == NULL && ec_load_relaxed(&tick_mult) != 0;
}

uint64_t ec_clock_ticks_to_ns(uint64_t ticks)
{
	uint64_t mult = ec_load_relaxed(&tick_mult);

	if (mult == 0 || source != NULL)
		return ticks;
	return (uint64_t)((unsigned __int128)ticks * mult >> 32);
}

uint64_t ec_clock_ns_to_ticks(uint64_t ns)
{
	if (ec_load_acquire(&tick_mult) == 0 || source != NULL)		/* meets calibrate */
		return ns;
	return (uint64_t)((unsigned __int128)ns * ec_load_relaxed(&ns_mult) >> 32);
}

#else

int64_t ec_monotonic_near_ns(void)
{
	return ec_monotonic_ns();
}

/* A tick and a cycle are a nanosecond. */
uint64_t ec_clock_ticks(void)
{
	return (uint64_t)ec_monotonic_ns();
}

bool ec_clock_ticks_are_cycles(void)
{
	return source == NULL;
}

uint64_t ec_clock_ticks_to_ns(uint64_t ticks)
{
	return ticks;
}

uint64_t ec_clock_ns_to_ticks(uint64_t ns)
{
	return ns;
}

uint64_t ec_clock_cycles_to_ns(uint64_t cycles)
{
	return cycles;
}

#endif
