/*
 * The loop's time, which the test advances. Each look at it takes OWN_CLOCK_LOOK_NS, so that a worker that waits
 * for a moment before it sleeps comes to the end of it. It does not go back to the real time within a process,
 * where timers of both would mix.
 */
#ifndef LIBASYNC_OWN_CLOCK_H
#define LIBASYNC_OWN_CLOCK_H

#include <atomic>
#include <cstdint>

#include "turns.h"

extern "C" {
#include "core/os/clock.h"
}

enum { OWN_CLOCK_LOOK_NS = 100 };
inline std::atomic<int64_t> own_clock_ns;

inline void own_clock_begin()
{
	own_clock_ns = ec_monotonic_ns();
	ec_clock_set_source([]() -> int64_t { return own_clock_ns += OWN_CLOCK_LOOK_NS; });
}

inline void own_clock_advance(int64_t seconds)
{
	own_clock_ns += seconds * 1000000000;
}

/* Let time pass whenever nothing else happens, until is_done(). All that is waited for is of this thread. */
template <class F> inline void pass_time_until(F is_done)
{
	for (turn_all(); !is_done(); turn_all())
		own_clock_advance(1);
}

#endif
