/*
 * A worker switches what is observed: itself, and worker 0 what belongs to the base. See sched/observed.h.
 */
#ifndef EC_OBSERVING_H
#define EC_OBSERVING_H

#include "observe/call.h"
#include "sched/base.h"
#include "sched/worker.h"

/* The thread of `w`, before a poll and after it, while ec_control_attention(). No lock is held. */
void ec_observing_poll(struct ec_worker *w);
void ec_observing_turn(struct ec_worker *w);

/* The same before the first callbacks of a loop or thread: what the environment wants is then on for all of them. */
void ec_observing_begin(struct ec_worker *w);

/*
 * base.special, special_observed, fast_path, posts_pri_end and events_pri_end, from what they depend on. RUNQ of worker
 * 0, or no loop runs.
 */
void ec_base_set_paths(struct ec_base *base);

/* Not observed any more. The base is freed, and no thread uses it. */
void ec_observing_end(struct ec_base *base);

/* Makes the call of `ev`, which was popped, on a base with one worker. Of `ev` only the address is used. */
void ec_observing_call_slowly(struct ec_worker *w, const struct ec_call *called, const struct ec_event *ev,
			      uint32_t color);

/*
 * The same. With a trace only, a callback goes this short way: what the trace gets is in registers. Of `call` it sets
 * what others read while the callback runs, and the trace as it ends.
 */
static inline __attribute__((always_inline)) void ec_observing_call(struct ec_worker *w, struct ec_call called,
								    const struct ec_event *ev, uint32_t color)
{
	const uintptr_t fn = (uintptr_t)called.fn;
	struct ec_probe *p = w->probe;
	struct ec_probe_call call;
	uint64_t queued_at, at;

	if (__builtin_expect(!p->is_brief || p->call != NULL || *ec_plain_at(p, fn) != fn, 0)) {
		ec_observing_call_slowly(w, &(struct ec_call){ called.fn, called.arg, called.fd, called.res,
							       called.kind, false }, ev, color);
		return;
	}
	queued_at = ec_probe_queued_at(p, ev);
	at = ec_call_began_at(p, queued_at, ec_load_plain(&w->lanes_began));
	call.fn = fn;
	call.arg = (uintptr_t)called.arg;
	call.queued_at = queued_at;
	call.color = color;
	call.home = call.pri = 0;
	call.fd = called.fd;
	call.res = called.res;
	call.kind = called.kind;
	call.is_open = false;
	call.began_at = p->mark = at;
	call.outer = NULL;
	p->call = &call;
	ec_trace_open(p->trace, ec_trace_head_of(EC_TRACE_RUNS, at), ec_trace_word_1(fn, 0, called.res),
		      ec_trace_word_2(color, called.fd, called.kind, 0), ec_trace_word_3(queued_at, at));
	called.fn(called.fd, called.res, called.arg);
	ec_call_end(p, &call);
}

#endif
