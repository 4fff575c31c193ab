/*
 * When a worker yields its CPU to other threads without going to sleep (sched_yield).
 *
 * With few CPUs, a client that waits for a CPU is about to send the worker's next requests. A worker that sleeps is
 * woken by the first request, preempts the client, and finds only that one. A worker that yields finds all requests
 * that the client had to send. So a worker yields when it runs out of work, before it searches. A worker whose runs
 * take long on average does not yield, because it would only come back later. A worker that never runs out of work
 * yields now and then. Otherwise clients wait for the scheduler's tick, which increases the 99th percentile of their
 * latency.
 *
 * A thread that computes keeps the CPU for milliseconds, and sends few requests or none. If much time is lost to such
 * threads, the worker does not yield for some time, and for longer if the next try loses as much.
 */
#ifndef EC_YIELD_H
#define EC_YIELD_H

#include <stdbool.h>
#include <stdint.h>

struct ec_yields {
	/* own */
	uint64_t at;			/* ticks: end of the last yield, sleep or pause; a pause may end later */
	uint64_t lost_ns;		/* lost in long yields, less a share of the time since */
	uint64_t pause_ns;		/* length of the last pause */
	uint64_t resumed_at;		/* ticks: end of the last pause */
};

/* At `now`: has enough time passed since the last one, for a worker with work? */
bool ec_yields_is_due(const struct ec_yields *y, uint64_t now);

/* The same for a worker that has run out of work, and whose runs take `run_ns` on average. */
bool ec_yields_is_due_idle(const struct ec_yields *y, uint64_t now, uint32_t run_ns);

/* A yield lasted from `start` to `end` (ticks), and the poll after it got `reports` reports. */
void ec_yields_note(struct ec_yields *y, uint64_t start, uint64_t end, uint32_t reports);

/* The worker has slept until `now`, so other threads had the CPU. */
void ec_yields_note_sleep(struct ec_yields *y, uint64_t now);

#endif
