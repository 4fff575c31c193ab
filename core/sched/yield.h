/*
 * When a worker offers its CPU to other threads without going to sleep (sched_yield).
 *
 * Where CPUs are short, a client that waits for one is who makes the worker's next work. A worker that sleeps instead
 * is woken for the first request, preempts the client there, and finds that one request; one that has yielded finds
 * all that the client had to send. So it yields when it runs out of work, before it looks for more; unless a request
 * takes it longer than all that saves, for then it only comes back later. One that never runs out of work yields now
 * and then: else clients wait for the scheduler's tick, which is the 99th percentile of their latency.
 *
 * A thread that computes takes the CPU for a slice of the scheduler's, milliseconds, and brings little or nothing.
 * Where much of the time is lost so there are no offers for a while, and for longer if it was no better after.
 */
#ifndef EC_YIELD_H
#define EC_YIELD_H

#include <stdbool.h>
#include <stdint.h>

struct ec_yields {
	uint64_t at;			/* ticks: when the last one ended, or a sleep, or when a pause will have */
	uint64_t every_ns;		/* from one to the next while there is work; rarer while none takes it */
	uint64_t lost_ns;		/* what long ones took for nothing, less a share of the time since */
	uint64_t pause_ns;		/* how long the last pause was, */
	uint64_t resumed_at;		/* ticks: and when it ended, or will */
};

/* Has enough time passed, at `now`, since the last one, for a worker with work? */
bool ec_yields_is_due(const struct ec_yields *y, uint64_t now);

/* … for one that has run out of it? What it ran last took `run_ns` at a time, on average. */
bool ec_yields_is_due_idle(const struct ec_yields *y, uint64_t now, uint32_t run_ns);

/* One lasted from `start` to `end`, ticks, and the next look at the poller gave so many reports. */
void ec_yields_note(struct ec_yields *y, uint64_t start, uint64_t end, uint32_t reports);

/* The worker has slept until `now`: others had the CPU. */
void ec_yields_note_sleep(struct ec_yields *y, uint64_t now);

#endif
