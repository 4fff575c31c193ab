#include "observing.h"

#include <limits.h>

#include "ec.h"
#include "observe/call.h"
#include "observe/observe.h"
#include "observe/stall.h"
#include "observe/stats.h"
#include "observe/subject.h"
#include "observe/trace.h"
#include "os/clock.h"
#include "poller.h"
#include "sched/observed.h"
#include "sched/ready.h"
#include "sched/stalls.h"
#include "sched/task.h"

/* ---------------------------------------------------------------- callbacks */

static bool is_alone(struct ec_base *base)
{
	return ec_is_colored(base) && ec_load_relaxed(&base->sleepers) + ec_load_relaxed(&base->searchers) + 1 >=
					      ec_workers_num(base);
}

/* The tasks that wait at `w`. */
static uint64_t waiting_num(const struct ec_worker *w)
{
	return ec_load_relaxed(&w->active_num) + (uint64_t)ec_worker_messages(w);
}

/* Callbacks of faces have the name of what they call. */
static __attribute__((noinline)) void ask_subject(uintptr_t *plain, struct ec_probe_call *call)
{
	struct ec_subject s = { .fn = call->fn, .object = call->arg };

	ec_subject_find(&s, call->res);
	if (s.fn == call->fn && !s.is_open)
		*plain = call->fn;
	call->is_open = s.is_open;
	call->fn = s.fn;
	call->object_kind = s.kind;
}

static inline void note_subject(struct ec_probe *p, struct ec_probe_call *call)
{
	uintptr_t *plain = ec_plain_at(p, call->fn);

	if (__builtin_expect(*plain != call->fn, 0))
		ask_subject(plain, call);
}

void ec_observed_calls(uintptr_t fn)
{
	struct ec_worker *w = ec_self();
	struct ec_probe *p = w != NULL ? w->probe : NULL;
	struct ec_subject s = { .fn = fn };

	if (p == NULL || p->call == NULL || !p->call->is_open)
		return;
	ec_subject_find(&s, 0);
	ec_probe_rename(p, s.fn, s.is_open);
}

void ec_trace_touch(const struct ec_event *ev)
{
	struct ec_worker *w = ec_self();
	struct ec_probe *p = w != NULL && w->base == ev->base ? w->probe : NULL;

	/* A callback may do what it likes with its own object. */
	if (p != NULL && p->call != NULL && p->call->arg != (uintptr_t)ev->task.arg)
		ec_probe_note(p, EC_PROBE_TOUCH, 0, (uintptr_t)ev);
}

/* When this run of callbacks began, in ticks; 0: not known. */
static uint64_t run_began_at(const struct ec_worker *w)
{
	if (ec_is_colored(w->base))
		return w->batch_start;
	return w->probe->is_cycles ? ec_load_plain(&w->lanes_began) : 0;
}

static inline void begin_call(struct ec_worker *w, struct ec_probe_call *call)
{
	struct ec_probe *p = w->probe;

	if (p->stall != NULL)
		ec_stall_queued(p->stall, waiting_num(w));
	note_subject(p, call);
	ec_call_begin(p, call, run_began_at(w));
}

/* What the probe is told of a call. The event of `t` is the program's again: only its address is used. */
static inline struct ec_probe_call probe_call(struct ec_worker *w, const struct ec_call *called, const void *t,
					      uint32_t color)
{
	const struct ec_color *c = w->current;
	struct ec_probe *p = w->probe;

	return (struct ec_probe_call){
		.fn = (uintptr_t)called->fn,
		.arg = (uintptr_t)called->arg,
		.event = (uintptr_t)t,
		.queued_at = ec_probe_queued_at(p, t),
		.color = color,
		.fd = called->fd,
		.res = called->res,
		.home = c == NULL ? 0 : ec_load_relaxed(&c->home),
		.kind = called->kind,
		.is_alone = p->counters != NULL && is_alone(w->base),
	};
}

static uint32_t color_of_call(const struct ec_worker *w)
{
	const struct ec_color *c = w->current;

	if (w->base->is_single)
		return w->running_color;
	return c == NULL ? 0 : ec_load_relaxed(&c->number);
}

static void run_observed(struct ec_worker *w, struct ec_task *t)
{
	struct ec_probe_call call = probe_call(w, &w->call, t, color_of_call(w));
	struct ec_probe *p = w->probe;

	begin_call(w, &call);
	ec_task_run_popped(w, t);
	ec_call_end(p, &call);
}

void ec_observing_call_slowly(struct ec_worker *w, const struct ec_call *called, const struct ec_event *ev,
			      uint32_t color)
{
	struct ec_probe_call call = probe_call(w, called, ev, color);
	struct ec_probe *p = w->probe;

	begin_call(w, &call);
	called->fn(called->fd, called->res, called->arg);
	ec_call_end(p, &call);
}

/* ---------------------------------------------------------------- switching */

/* Programs turn on debug mode and debug messages before they make bases, as the documentation demands. */
void ec_base_set_paths(struct ec_base *base)
{
	const unsigned of_others = EC_WATCH_TOUCH | EC_WATCH_CALLS;	/* perhaps another base is observed */
	bool is_watched = (ec_watched() & ~of_others) != 0;
	bool is_slow = is_watched || ec_is_observed(base);
	bool is_checked = ec_debug_on() || ec_is_observed(base);

	base->special = ec_load_relaxed(&base->is_single_colored) ? ec_task_special_but_color() : ec_task_special();
	base->special_observed = ec_is_observed(base) && !is_watched ? base->special : UINT64_MAX;
	if (is_slow)
		base->special = UINT64_MAX;
	if (!ec_is_locked(base))		/* else it is NULL, and other threads may read it */
		ec_base_set_fast_path(base);
	ec_store_relaxed(&base->posts_pri_end, is_checked ? INT_MIN : (int)base->lanes_num);
	ec_store_relaxed(&base->events_pri_end, ec_is_observed(base) ? 0 : base->lanes_num);
}

static void base_switch(struct ec_base *base, bool is_on)
{
	uint8_t others = base->lane_limits & (uint8_t)~EC_LIMIT_OBSERVED;

	base->lane_limits = is_on ? others | EC_LIMIT_OBSERVED : others;
	ec_run_lock(&base->zero);
	ec_store_release(&base->is_observed, is_on);		/* meets ec_is_observed */
	ec_base_set_paths(base);
	ec_run_unlock(&base->zero);
}

static void worker_switch(struct ec_worker *w, struct ec_probe *p)
{
	w->probe = p;
	w->run_popped = p != NULL ? run_observed : ec_task_run_popped;
	w->plain_input = p != NULL ? UINT32_MAX : w->poller->ops->input;
	if (w->id == 0)
		base_switch(w->base, p != NULL);
}

static unsigned mode_of(struct ec_base *base)
{
	if (!ec_has_colors(base))
		return EC_STATS_UNCOLORED;
	return base->is_single ? EC_STATS_SINGLE : EC_STATS_SEVERAL;
}

/* The probe of `w`; NULL: it is not observed. */
static struct ec_probe *look(struct ec_worker *w, bool may_wait)
{
	struct ec_base *base = w->base;
	struct ec_probe *p = ec_observe_turn(&base->observer, w->id, base->workers_max, may_wait);

	if (p != w->probe)
		worker_switch(w, p);
	return p;
}

void ec_observing_poll(struct ec_worker *w)
{
	struct ec_probe *p = look(w, false);

	if (p != NULL && p->stall != NULL)
		ec_stall_sleep(p->stall, true);
}

void ec_observing_turn(struct ec_worker *w)
{
	struct ec_base *base = w->base;
	struct ec_probe *p = look(w, false);

	if (p != NULL && p->stall != NULL)
		ec_stalls_turn(w, p->stall);
	if (p != NULL)
		ec_probe_polled(p, ec_load_relaxed(&w->stats.sleeps), waiting_num(w), mode_of(base));
}

void ec_observing_begin(struct ec_worker *w)
{
	struct ec_probe *p = look(w, true);

	if (p == NULL || p->stall == NULL)
		return;
	ec_stalls_turn(w, p->stall);
	if (p->stall->is_watched)
		ec_stall_turn(p->stall);
}

void ec_observing_end(struct ec_base *base)
{
	ec_store_release(&base->is_observed, false);		/* posts to a freed base: see ec_misuse_bury */
	ec_observer_free(ec_load_relaxed(&base->observer));
	ec_control_base_ends();
}
