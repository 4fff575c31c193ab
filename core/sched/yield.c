#include "yield.h"

#include "os/clock.h"

enum {
	IDLE_NS = 15000,		/* between two yields of an idle worker */
	IDLE_RUN_MAX_NS = 25000,	/* an idle worker with longer runs does not yield: two or three wake-ups */
	BUSY_NS = 100000,		/* between two yields of a worker with work */
	LONG_NS = 500000,		/* a longer yield loses time … */
	REPORT_NS = 200000,		/* … except so much for each report that the poll after it gets */
	LOST_SHARE = 8,			/* an eighth of the time may be lost … */
	LOST_MAX_NS = 12000000,		/* … and this time at once */
	PAUSE_NS = 64000000,
	PAUSE_MAX_NS = 1024000000,
};

/* 0 if `now` is before `then`. */
static uint64_t ns_since(uint64_t then, uint64_t now)
{
	return (int64_t)(now - then) <= 0 ? 0 : ec_clock_ticks_to_ns(now - then);
}

static bool has_passed(const struct ec_yields *y, uint64_t now, uint64_t ns)
{
	return (int64_t)(now - y->at) >= (int64_t)ec_clock_ns_to_ticks(ns);
}

bool ec_yields_is_due(const struct ec_yields *y, uint64_t now)
{
	return has_passed(y, now, BUSY_NS);
}

bool ec_yields_is_due_idle(const struct ec_yields *y, uint64_t now, uint32_t run_ns)
{
	return run_ns <= IDLE_RUN_MAX_NS && has_passed(y, now, IDLE_NS);
}

static void begin_pause(struct ec_yields *y, uint64_t now)
{
	bool is_soon = y->pause_ns != 0 && ns_since(y->resumed_at, now) < y->pause_ns;

	y->pause_ns = is_soon ? 2 * y->pause_ns : PAUSE_NS;
	if (y->pause_ns > PAUSE_MAX_NS)
		y->pause_ns = PAUSE_MAX_NS;
	y->at = y->resumed_at = now + ec_clock_ns_to_ticks(y->pause_ns);
	y->lost_ns = 0;
}

void ec_yields_note(struct ec_yields *y, uint64_t start, uint64_t end, uint32_t reports)
{
	uint64_t took_ns = ns_since(start, end), paid_ns = (uint64_t)reports * REPORT_NS;
	uint64_t made_up = ns_since(y->at, end) / LOST_SHARE;

	y->at = end;
	y->lost_ns -= made_up < y->lost_ns ? made_up : y->lost_ns;
	if (took_ns < LONG_NS || took_ns <= paid_ns)
		return;
	y->lost_ns += took_ns - paid_ns;
	if (y->lost_ns > LOST_MAX_NS)
		begin_pause(y, end);
}

void ec_yields_note_sleep(struct ec_yields *y, uint64_t now)
{
	if ((int64_t)(now - y->at) > 0)
		y->at = now;
}
