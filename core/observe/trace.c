#include "trace.h"

#include "ec.h"
#include "os/clock.h"

enum { CLOCK_EVERY_NS = 20000000 };

/* W1 and W2 of trace_layout.h. */
static inline void write_record(struct ec_trace *t, uint64_t w0, uint64_t w1, uint64_t w2, uint64_t w3)
{
	_Atomic(uint64_t) *r = ec_trace_place(t);

	if (__builtin_expect(t->open != NULL, 0))
		ec_trace_spill(t);
	ec_store_release(&r[0], w0);			/* W1, meets R2; C3, meets D3 */
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
	write_record(t, ec_trace_head_of(EC_TRACE_CLOCK, ec_clock_ticks()), ns, 0, 0);
}

static inline uint64_t address_of(uintptr_t p)
{
	return EC_TRACE_ADDRESS((uint64_t)p);
}

static void write_object(struct ec_trace *t, const struct ec_probe_call *call)
{
	write_record(t, ec_trace_head_of(EC_TRACE_OBJECT, call->began_at),
		     address_of(call->arg) | (uint64_t)call->object_kind << 48, address_of(call->fn),
		     address_of(call->event));
}

static void write_touch(struct ec_trace *t, const struct ec_event *ev, uint64_t now)
{
	write_record(t, ec_trace_head_of(EC_TRACE_TOUCH, now), address_of((uintptr_t)ev->task.arg),
		     ec_trace_at_most((uint64_t)(unsigned)ev->fd, EC_TRACE_NO_FD) << 32, address_of((uintptr_t)ev));
}

void ec_trace_init(struct ec_trace *t, struct ec_trace_ring *ring, unsigned records_num, unsigned worker, uint64_t now)
{
	*t = (struct ec_trace){ .ring = ring, .mask = records_num - 1, .worker = worker, .queue = UINT64_MAX };
	t->num = ec_load_relaxed(&ring->num);		/* what this thread wrote before it was switched off */
	ec_store_release(&ring->current[0], 0);
	write_clock(t, now);
}

/* ---------------------------------------------------------------- callbacks */

/* A reader that finds the same first word before and after has them all. */
static void set_current(struct ec_trace *t, uint64_t w0, uint64_t w1, uint64_t w2, uint64_t w3)
{
	_Atomic(uint64_t) *current = t->ring->current;

	ec_store_release(&current[0], 0);		/* meets the tool's loads */
	ec_store_release(&current[1], w1);
	ec_store_release(&current[2], w2);
	ec_store_release(&current[3], w3);
	ec_store_release(&current[0], w0);
}

static void set_current_call(struct ec_trace *t, const struct ec_probe_call *call)
{
	set_current(t, ec_trace_head_of(EC_TRACE_CALL, call->began_at),
		    ec_trace_word_1(call->fn, call->home, call->res),
		    ec_trace_word_2(call->color, call->fd, call->kind, call->pri),
		    ec_trace_word_3(call->queued_at, call->began_at));
}

void ec_trace_spill(struct ec_trace *t)
{
	_Atomic(uint64_t) *r = t->open;
	uint64_t ticks = ec_load_relaxed(&r[0]) >> 8;

	set_current(t, ec_trace_head_of(EC_TRACE_CALL, ticks), ec_load_relaxed(&r[1]), ec_load_relaxed(&r[2]),
		    ec_load_relaxed(&r[3]));
	ec_store_release(&r[0], 0);			/* C3, meets D3 */
	t->open = NULL;
}

void ec_trace_rename(struct ec_trace *t, const struct ec_probe_call *call)
{
	if (t->open == NULL) {
		set_current_call(t, call);
		return;
	}
	ec_store_release(&t->open[0], 0);		/* C3, meets D3 */
	t->open = NULL;
	ec_trace_begin(t, call);
}

/* What began last ends first: its words are in `current`, or where they began. */
void ec_trace_end_slowly(struct ec_trace *t, const struct ec_probe_call *call, uint64_t now)
{
	_Atomic(uint64_t) *current = t->ring->current;
	uint64_t ticks = now > call->began_at ? now - call->began_at : 0;

	if (t->open != NULL)
		ec_trace_spill(t);
	if (t->has_objects)
		write_object(t, call);
	write_record(t, ec_trace_head_of(EC_TRACE_CALL, call->began_at), ec_load_relaxed(&current[1]),
		     ec_load_relaxed(&current[2]), ec_load_relaxed(&current[3]) | ec_trace_pack(ticks));
	if (call->outer != NULL)
		set_current_call(t, call->outer);
	else
		ec_store_release(&current[0], 0);
}

/* ---------------------------------------------------------------- what else a worker does */

static void write_span(struct ec_trace *t, enum ec_trace_type type, uint64_t from, uint64_t to, uint64_t more)
{
	write_record(t, ec_trace_head_of(type, from), to > from ? to - from : 0, more, 0);
}

static void note_turn(struct ec_trace *t, uint64_t now)
{
	if (ec_clock_ticks_to_ns(now - t->clock_at) >= CLOCK_EVERY_NS)
		write_clock(t, now);
}

static void note_queue(struct ec_trace *t, uint64_t num, uint64_t now)
{
	if (num != t->queue)
		write_record(t, ec_trace_head_of(EC_TRACE_QUEUE, now), num, 0, 0);
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
	case EC_PROBE_STEAL: write_record(t, ec_trace_head_of(EC_TRACE_STEAL, now), value, color, 0); break;
	case EC_PROBE_STEAL_MISS: t->misses++; break;
	case EC_PROBE_POST: write_record(t, ec_trace_head_of(EC_TRACE_POST, now), value, color, 0); break;
	case EC_PROBE_WAKEUP: write_record(t, ec_trace_head_of(EC_TRACE_WAKEUP, now), value, 0, 0); break;
	case EC_PROBE_MOVE: write_record(t, ec_trace_head_of(EC_TRACE_MOVE, now), 0, color, 0); break;
	case EC_PROBE_QUEUE: note_queue(t, value, now); break;
	case EC_PROBE_TOUCH:
		if (t->has_objects)
			write_touch(t, (const struct ec_event *)(uintptr_t)value, now);
		break;
	}
}
