/*
 * When a worker yields its CPU to other threads without going to sleep (sched_yield).
 *
 * With few CPUs, a client that waits for one is about to send the worker's next request. A worker that sleeps instead
 * is woken for the first request, preempts the client, and finds that one request. A worker that yields finds all
 * that the client had to send. So a worker yields when it runs out of work, before it searches. A worker whose runs
 * take long on average does not: it would only come back later. A worker that never runs out of work yields now and
 * then. Otherwise clients wait for the scheduler's tick, which shows in the 99th percentile of their latency.
 *
 * A thread that computes keeps the CPU for milliseconds, and brings little or nothing. If much time is lost so,
 * the worker does not yield for a while, and for longer if the next try loses as much.
 */
#ifndef EC_YIELD_H
#define EC_YIELD_H

#include <stdbool.h>
#include <stdint.h>

struct ec_yields {
	/* own */
	uint64_t at;			/* ticks: end of the last yield, sleep or pause; a pause may end later */
	uint64_t lost_ns;		/* lost in long yields, less a share of the time since */
	uint64_t pause_ns;		/* length of the last pause, */
	uint64_t resumed_at;		/* ticks: and its end */
};

/* At `now`: has enough time passed since the last one, for a worker with work? */
bool ec_yields_is_due(const struct ec_yields *y, uint64_t now);

/* The same for a worker that has run out of work, and whose runs take `run_ns` on average. */
bool ec_yields_is_due_idle(const struct ec_yields *y, uint64_t now, uint32_t run_ns);

/* A yield lasted from `start` to `end` (ticks), and the poll after it gave so many reports. */
void ec_yields_note(struct ec_yields *y, uint64_t start, uint64_t end, uint32_t reports);

/* The worker has slept until `now`: others had the CPU. */
void ec_yields_note_sleep(struct ec_yields *y, uint64_t now);

#endif
