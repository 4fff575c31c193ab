/*
 * Traces: each worker of an observed base writes what it does into a ring in a mapped file (trace_layout.h).
 *
 * A ring is written by its worker's thread alone. Nothing waits for a reader: the newest records are kept.
 */
#ifndef EC_TRACE_H
#define EC_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "probe.h"
#include "trace_layout.h"

/* The writer's side of a ring. */
struct ec_trace {
	/* const */
	struct ec_trace_ring *ring;
	uint64_t mask;			/* number of records - 1 */
	unsigned worker;
	bool has_objects;		/* they were asked for */
	struct ec_trace_file *file;	/* that has the ring */

	/* own */
	uint64_t num;			/* of records written */
	uint64_t poll_at, sleep_at, spin_at; /* ticks: when the last one began */
	uint64_t misses;		/* steals that found nothing, in this spin */
	uint64_t queue;			/* the length noted last */
	uint64_t clock_at;		/* ticks: of the last EC_TRACE_CLOCK */
};

void ec_trace_init(struct ec_trace *t, struct ec_trace_ring *ring, unsigned records_num, unsigned worker, uint64_t now);
void ec_trace_begin(struct ec_trace *t, const struct ec_probe_call *call);
void ec_trace_end(struct ec_trace *t, const struct ec_probe_call *call, uint64_t now);
void ec_trace_note(struct ec_trace *t, enum ec_probe_what what, uint32_t color, uint64_t value, uint64_t now);

extern const struct ec_consumer ec_trace_consumer;

#endif
