#include "trace.h"

#include "ec.h"
#include "os/clock.h"

enum { CLOCK_EVERY_NS = 20000000 };

/* The first word of a record. */
static inline uint64_t head_of(enum ec_trace_type type, uint64_t ticks)
{
	return ticks << 8 | type;
}

/* W1 and W2 of trace_layout.h. */
static inline void write_record(struct ec_trace *t, uint64_t w0, uint64_t w1, uint64_t w2, uint64_t w3)
{
	_Atomic(uint64_t) *r = &t->ring->records[(t->num & t->mask) * EC_TRACE_WORDS];

	ec_store_release(&r[0], w0);			/* W1, meets R2 */
	ec_store_release(&r[1], w1);
	ec_store_release(&r[2], w2);
	ec_store_release(&r[3], w3);
	ec_store_release(&t->ring->num, ++t->num);	/* W2, meets R1 and R3 */
}

static void write_clock(struct ec_trace *t, uint64_t now)
{
	uint64_t ns = (uint64_t)ec_monotonic_ns();

	t->clock_at = now;
	/* The thread may have been preempted since `now`. */
	write_record(t, head_of(EC_TRACE_CLOCK, ec_clock_ticks()), ns, 0, 0);
}

static inline uint64_t at_most(uint64_t value, uint64_t max)
{
	return value < max ? value : max;
}

static inline uint64_t address_of(uintptr_t p)
{
	return EC_TRACE_ADDRESS((uint64_t)p);
}

static void write_object(struct ec_trace *t, const struct ec_probe_call *call)
{
	write_record(t, head_of(EC_TRACE_OBJECT, call->began_at),
		     address_of(call->arg) | (uint64_t)call->object_kind << 48, address_of(call->fn),
		     address_of(call->event));
}

static void write_touch(struct ec_trace *t, const struct ec_event *ev, uint64_t now)
{
	write_record(t, head_of(EC_TRACE_TOUCH, now), address_of((uintptr_t)ev->task.arg),
		     at_most((uint64_t)(unsigned)ev->fd, EC_TRACE_NO_FD) << 32, address_of((uintptr_t)ev));
}

void ec_trace_init(struct ec_trace *t, struct ec_trace_ring *ring, unsigned records_num, unsigned worker, uint64_t now)
{
	*t = (struct ec_trace){ .ring = ring, .mask = records_num - 1, .worker = worker, .queue = UINT64_MAX };
	t->num = ec_load_relaxed(&ring->num);		/* what this thread wrote before it was switched off */
	ec_store_release(&ring->current[0], 0);
	write_clock(t, now);
}

/* ---------------------------------------------------------------- callbacks */

static inline uint64_t word_1(const struct ec_probe_call *call)
{
	return EC_TRACE_FN((uint64_t)call->fn) | at_most(call->home, 0xff) << 48 | (uint64_t)(uint8_t)call->res << 56;
}

static inline uint64_t word_2(const struct ec_probe_call *call)
{
	return call->color | at_most((uint64_t)(unsigned)call->fd, EC_TRACE_NO_FD) << 32 |
	       (uint64_t)(call->kind & 0xf) << 56 | at_most(call->pri, 0xf) << 60;
}

/* How long it waited, in its place. */
static inline uint64_t word_3(const struct ec_probe_call *call)
{
	uint32_t packed = EC_TRACE_UNKNOWN;

	/* Counters of different processors may differ by a little. */
	if (call->queued_at != 0)
		packed = call->began_at > call->queued_at ? ec_trace_pack(call->began_at - call->queued_at) : 0;
	return (uint64_t)packed << 32;
}

/* A reader that finds the same first word before and after has them all. */
static inline void set_current(struct ec_trace *t, const struct ec_probe_call *call)
{
	_Atomic(uint64_t) *current = t->ring->current;

	ec_store_release(&current[0], 0);		/* meets the tool's loads */
	ec_store_release(&current[1], word_1(call));
	ec_store_release(&current[2], word_2(call));
	ec_store_release(&current[3], word_3(call));
	ec_store_release(&current[0], head_of(EC_TRACE_CALL, call->began_at));
}

void ec_trace_begin(struct ec_trace *t, const struct ec_probe_call *call)
{
	set_current(t, call);
}

/* What began last ends first: its words are in `current`. */
void ec_trace_end(struct ec_trace *t, const struct ec_probe_call *call, uint64_t now)
{
	_Atomic(uint64_t) *current = t->ring->current;
	uint64_t ticks = now > call->began_at ? now - call->began_at : 0;

	if (t->has_objects)
		write_object(t, call);
	write_record(t, head_of(EC_TRACE_CALL, call->began_at), ec_load_relaxed(&current[1]),
		     ec_load_relaxed(&current[2]), ec_load_relaxed(&current[3]) | ec_trace_pack(ticks));
	if (__builtin_expect(call->outer != NULL, 0))
		set_current(t, call->outer);
	else
		ec_store_release(&current[0], 0);
}

/* ---------------------------------------------------------------- what else a worker does */

static void write_span(struct ec_trace *t, enum ec_trace_type type, uint64_t from, uint64_t to, uint64_t more)
{
	write_record(t, head_of(type, from), to > from ? to - from : 0, more, 0);
}

static void note_turn(struct ec_trace *t, uint64_t now)
{
	if (ec_clock_ticks_to_ns(now - t->clock_at) >= CLOCK_EVERY_NS)
		write_clock(t, now);
}

static void note_queue(struct ec_trace *t, uint64_t num, uint64_t now)
{
	if (num != t->queue)
		write_record(t, head_of(EC_TRACE_QUEUE, now), num, 0, 0);
	t->queue = num;
}

void ec_trace_note(struct ec_trace *t, enum ec_probe_what what, uint32_t color, uint64_t value, uint64_t now)
{
	switch (what) {
	case EC_PROBE_TURN: note_turn(t, now); break;
	case EC_PROBE_POLL_BEGIN: t->poll_at = value; break;
	case EC_PROBE_POLL_END: write_span(t, EC_TRACE_POLL, t->poll_at, value, 0); break;
	case EC_PROBE_SLEEP_BEGIN: t->sleep_at = value; break;
	case EC_PROBE_SLEEP_END: write_span(t, EC_TRACE_SLEEP, t->sleep_at, value, 0); break;
	case EC_PROBE_SPIN_BEGIN:
		t->spin_at = value;
		t->misses = 0;
		break;
	case EC_PROBE_SPIN_END: write_span(t, EC_TRACE_SPIN, t->spin_at, value, t->misses); break;
	case EC_PROBE_STEAL: write_record(t, head_of(EC_TRACE_STEAL, now), value, color, 0); break;
	case EC_PROBE_STEAL_MISS: t->misses++; break;
	case EC_PROBE_POST: write_record(t, head_of(EC_TRACE_POST, now), value, color, 0); break;
	case EC_PROBE_WAKEUP: write_record(t, head_of(EC_TRACE_WAKEUP, now), value, 0, 0); break;
	case EC_PROBE_MOVE: write_record(t, head_of(EC_TRACE_MOVE, now), 0, color, 0); break;
	case EC_PROBE_QUEUE: note_queue(t, value, now); break;
	case EC_PROBE_TOUCH:
		if (t->has_objects)
			write_touch(t, (const struct ec_event *)(uintptr_t)value, now);
		break;
	}
}
