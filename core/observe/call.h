/*
 * The begin and the end of a callback that is observed. If only a trace is on, they are inline: each callback pays for
 * them.
 */
#ifndef EC_CALL_H
#define EC_CALL_H

#include "os/clock.h"
#include "probe.h"
#include "trace.h"

/*
 * When a callback begins, unless it runs within another one. A look at the clock costs as much as all the rest. A trace
 * does without: nothing but the engine's choice of the next callback lies between the last look and this one, for
 * whatever takes longer ends with a look.
 */
static inline uint64_t ec_call_began_at(const struct ec_probe *p, uint64_t queued_at, uint64_t last_at)
{
	uint64_t at = last_at > p->mark ? last_at : p->mark;

	if (__builtin_expect(last_at == 0 || queued_at > at, 0))
		at = ec_clock_cycles();
	return at;
}

/* `inner` is for counters. */
static inline void ec_call_begin_brief(struct ec_probe *p, struct ec_probe_call *call, uint64_t last_at)
{
	uint64_t at = p->call != NULL ? ec_clock_cycles() : ec_call_began_at(p, call->queued_at, last_at);

	call->outer = p->call;
	call->began_at = p->mark = at;
	p->call = call;
	ec_trace_begin(p->trace, call);
}

static inline void ec_call_end_brief(struct ec_probe *p, const struct ec_probe_call *call)
{
	uint64_t now = ec_clock_cycles();

	p->now = p->mark = now;
	ec_trace_end(p->trace, call, now);
	p->call = call->outer;
}

/* last_at: the last time that the worker read the clock, in ticks; 0: not known. */
static inline void ec_call_begin(struct ec_probe *p, struct ec_probe_call *call, uint64_t last_at)
{
	if (p->is_brief)
		ec_call_begin_brief(p, call, last_at);
	else
		ec_probe_begin(p, call);
}

static inline void ec_call_end(struct ec_probe *p, struct ec_probe_call *call)
{
	if (p->is_brief)
		ec_call_end_brief(p, call);
	else
		ec_probe_end(p, call);
}

#endif
