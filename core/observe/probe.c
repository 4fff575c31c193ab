#include "probe.h"

#include "os/clock.h"

void ec_probe_begin(struct ec_probe *p, struct ec_probe_call *call)
{
	unsigned i;

	call->outer = p->call;
	call->began_at = p->now = ec_clock_ticks();
	call->inner = 0;
	p->call = call;
	for (i = 0; i < p->consumers_num; i++)
		p->consumers[i]->begin(p, call);
	p->mark = p->now;
}

void ec_probe_end(struct ec_probe *p, struct ec_probe_call *call)
{
	unsigned i;

	p->now = ec_clock_ticks();
	for (i = 0; i < p->consumers_num; i++)
		p->consumers[i]->end(p, call);
	p->mark = p->now;
	p->call = call->outer;
	if (call->outer != NULL)
		call->outer->inner += p->now - call->began_at;
}

static void tell(struct ec_probe *p, enum ec_probe_what what, uint32_t color, uint64_t value)
{
	unsigned i;

	for (i = 0; i < p->consumers_num; i++)
		p->consumers[i]->note(p, what, color, value);
}

/* Is its value the time, which was just read? */
static bool is_time(enum ec_probe_what what)
{
	return what == EC_PROBE_POST || what == EC_PROBE_SPIN_BEGIN || what == EC_PROBE_SPIN_END;
}

void ec_probe_note(struct ec_probe *p, enum ec_probe_what what, uint32_t color, uint64_t value)
{
	p->now = is_time(what) ? value : ec_clock_ticks();
	if (what == EC_PROBE_SPIN_BEGIN || what == EC_PROBE_SPIN_END)
		p->is_spinning = what == EC_PROBE_SPIN_BEGIN;
	tell(p, what, color, value);
	if (what == EC_PROBE_SPIN_BEGIN || what == EC_PROBE_SPIN_END)
		p->mark = value;
}

void ec_probe_rename(struct ec_probe *p, uintptr_t fn, bool is_open)
{
	unsigned i;

	p->call->fn = fn;
	p->call->is_open = is_open;
	for (i = 0; i < p->consumers_num; i++)
		p->consumers[i]->rename(p, p->call);
}

void ec_probe_polled(struct ec_probe *p, uint64_t sleeps, uint64_t waiting_num, unsigned mode)
{
	bool has_slept = sleeps != p->sleeps;

	p->sleeps = sleeps;
	p->now = ec_clock_ticks();
	tell(p, has_slept ? EC_PROBE_SLEEP_BEGIN : EC_PROBE_POLL_BEGIN, 0, p->mark);
	tell(p, has_slept ? EC_PROBE_SLEEP_END : EC_PROBE_POLL_END, 0, p->now);
	p->mark = p->now;
	tell(p, EC_PROBE_TURN, 0, mode);
	tell(p, EC_PROBE_QUEUE, 0, waiting_num);
}
