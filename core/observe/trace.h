/*
 * Traces: each worker of an observed base writes what it does into a ring in a mapped file (trace_layout.h).
 *
 * A ring is written by its worker's thread alone. Nothing waits for a reader: the newest records are kept.
 */
#ifndef EC_TRACE_H
#define EC_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "os/atomic.h"
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
	_Atomic(uint64_t) *open;	/* the place of record `num`, if it has the callback that runs; else NULL */
	uint64_t poll_at, sleep_at, spin_at; /* ticks: when the last one began */
	uint64_t misses;		/* steals that found nothing, in this spin */
	uint64_t queue;			/* the length noted last */
	uint64_t clock_at;		/* ticks: of the last EC_TRACE_CLOCK */
};

void ec_trace_init(struct ec_trace *t, struct ec_trace_ring *ring, unsigned records_num, unsigned worker, uint64_t now);
void ec_trace_note(struct ec_trace *t, enum ec_probe_what what, uint32_t color, uint64_t value, uint64_t now);

extern const struct ec_consumer ec_trace_consumer;

/* ---------------------------------------------------------------- callbacks: inline, for each one pays for it */

static inline _Atomic(uint64_t) *ec_trace_place(struct ec_trace *t)
{
	return &t->ring->records[(t->num & t->mask) * EC_TRACE_WORDS];
}

/* The first word of a record. */
static inline uint64_t ec_trace_head_of(enum ec_trace_type type, uint64_t ticks)
{
	return ticks << 8 | type;
}

static inline uint64_t ec_trace_at_most(uint64_t value, uint64_t max)
{
	return value < max ? value : max;
}

static inline uint64_t ec_trace_word_1(uintptr_t fn, unsigned home, int16_t res)
{
	return EC_TRACE_FN((uint64_t)fn) | ec_trace_at_most(home, 0xff) << 48 | (uint64_t)(uint8_t)res << 56;
}

static inline uint64_t ec_trace_word_2(uint32_t color, int fd, unsigned kind, unsigned pri)
{
	return color | ec_trace_at_most((uint64_t)(unsigned)fd, EC_TRACE_NO_FD) << 32 | (uint64_t)(kind & 0xf) << 56 |
	       ec_trace_at_most(pri, 0xf) << 60;
}

/* How long it waited, in its place. */
static inline uint64_t ec_trace_word_3(uint64_t queued_at, uint64_t began_at)
{
	uint32_t packed = EC_TRACE_UNKNOWN;

	/* Counters of different processors may differ by a little. */
	if (queued_at != 0)
		packed = began_at > queued_at ? ec_trace_pack(began_at - queued_at) : 0;
	return (uint64_t)packed << 32;
}

/* Another record comes before its end: its words move to `current`. */
void ec_trace_spill(struct ec_trace *t);

/* The end of one that has moved there, or that has an object. */
void ec_trace_end_slowly(struct ec_trace *t, const struct ec_probe_call *call, uint64_t now);

/* C1 and C2 of trace_layout.h; nothing is open. */
static inline void ec_trace_open(struct ec_trace *t, uint64_t w0, uint64_t w1, uint64_t w2, uint64_t w3)
{
	_Atomic(uint64_t) *r = ec_trace_place(t);

	ec_store_release(&r[1], w1);			/* C1, meets D2 */
	ec_store_release(&r[2], w2);
	ec_store_release(&r[3], w3);
	ec_store_release(&r[0], w0);			/* C2, meets D1 */
	t->open = r;
}

static inline void ec_trace_begin(struct ec_trace *t, const struct ec_probe_call *call)
{
	if (__builtin_expect(t->open != NULL, 0))
		ec_trace_spill(t);
	ec_trace_open(t, ec_trace_head_of(EC_TRACE_RUNS, call->began_at),
		      ec_trace_word_1(call->fn, call->home, call->res),
		      ec_trace_word_2(call->color, call->fd, call->kind, call->pri),
		      ec_trace_word_3(call->queued_at, call->began_at));
}

static inline void ec_trace_end(struct ec_trace *t, const struct ec_probe_call *call, uint64_t now)
{
	_Atomic(uint64_t) *r = t->open;
	uint64_t ticks = now > call->began_at ? now - call->began_at : 0;

	/* One that ran within another one, which is in `current`, may end here, too. */
	if (__builtin_expect(r == NULL, 0)) {
		ec_trace_end_slowly(t, call, now);
		return;
	}
	ec_store_release(&r[3], ec_load_relaxed(&r[3]) | ec_trace_pack(ticks));
	ec_store_release(&r[0], ec_trace_head_of(EC_TRACE_CALL, call->began_at));	/* C3, meets D3 */
	ec_store_release(&t->ring->num, ++t->num);	/* W2, meets R1 and R3 */
	t->open = NULL;
}

/* `call` runs, and its function is another one. */
void ec_trace_rename(struct ec_trace *t, const struct ec_probe_call *call);

#endif
