#include "task.h"

#include <limits.h>

#include "above.h"
#include "event.h"
#include "gate.h"
#include "handover.h"
#include "os/clock.h"
#include "park.h"
#include "queue.h"
#include "runs.h"
#include "pool.h"
#include "wait.h"

/* ---------------------------------------------------------------- running */

/*
 * The callback of this worker's event has returned. This runs under RUNQ of the color's worker. Other threads check
 * under that lock whether the callback runs: a poller before it disarms the descriptor, a thread that deletes the
 * event. So if one of them saw it run, it did so before, and ec_run_settle sees the result.
 */
struct ec_ran ec_run_ended(struct ec_worker *w)
{
	struct ec_ran ran = w->ran;

	ec_hand_end(w);
	ec_store_release(&w->running_event, NULL);	/* meets is_running in wait.c */
	w->ran.at = NULL;
	return ran;
}

/* Afterwards, without locks: rearms the descriptor if it was disarmed, and wakes threads that wait for the end. */
void ec_run_settle(struct ec_worker *w, struct ec_ran ran)
{
	if (ran.at != NULL && ec_load_relaxed(&ran.at->disarmed_num) != 0)
		ec_source_rearm(ran.at, ran.fd);
	if (ec_load_relaxed(&w->del_waiters) != 0)
		ec_wait_notify(w);
}

/* True: an earlier run of `ev` has not ended. Its callback has changed the event's color, or assigned it anew. */
static inline bool runs_elsewhere(struct ec_worker *w, struct ec_event *ev)
{
	struct ec_worker *before = ec_event_ran_at(w->base, ev);

	return before != NULL && before != w && ec_event_is_running_at(before, ev);
}

static void run_begin(struct ec_worker *w, struct ec_task *t)
{
	struct ec_event *ev;
	unsigned runner;

	if (!ec_task_is_event(t))
		return;
	ev = ec_task_event(t);
	/*
	 * A thread that waits for the callback before may see its end only by this store: release, as in
	 * ec_run_ended.
	 */
	ec_store_release(&w->running_event, ev);
	ec_store_release(&w->run_seq, ec_load_relaxed(&w->run_seq) + 1);
	if (!ec_is_locked(w->base))
		return;
	runner = (ec_load_relaxed(ec_event_runner(ev)) & EC_RUNNER_MANY) | (w->id + 1);
	if (__builtin_expect(runs_elsewhere(w, ev), 0))
		runner |= EC_RUNNER_MANY;
	if ((ev->events & EC_DESCRIPTOR) != 0) {
		w->ran.at = ec_event_at(w->base, ev);
		w->ran.fd = ev->fd;
		runner |= w->ran.at != w ? EC_RUNNER_LATE : 0;
	}
	ec_store_relaxed(ec_event_runner(ev), (uint16_t)runner);
}

/* Copies the calls of a signal's event to the worker: from now on the event may be freed, or get more calls. */
static inline void calls_note(struct ec_worker *w, struct ec_event *ev)
{
	w->calls_left = ev->of.sig.due;
	w->calls_signal = ev->fd;
	ev->of.sig.due = 0;
	ec_store_relaxed(&w->is_calls_end, false);
}

static inline void call_note(struct ec_worker *w, struct ec_call *call, struct ec_task *t)
{
	bool is_event = ec_task_is_event(t);

	call->fn = t->fn.event;
	call->arg = t->arg;
	call->kind = t->kind;
	call->is_internal = (t->flags & EC_IN_INTERNAL) != 0;
	call->fd = is_event ? ec_task_event(t)->fd : -1;
	call->res = 0;
	if (is_event)
		call->res = ec_task_event(t)->res;
	if (t->kind == EC_KIND_SIGNAL)
		calls_note(w, ec_task_event(t));
}

void ec_task_pop(struct ec_worker *w, struct ec_color *c, struct ec_task *t)
{
	if (__builtin_expect((c->flags & EC_COLOR_OTHERS_FIRST) != 0, 0) && --c->others_due == 0)
		c->flags &= (uint8_t)~EC_COLOR_OTHERS_FIRST;
	if (ec_task_is_pop_deep(t))
		ec_event_popped(w->base, c, ec_task_event(t));
	ec_hand_begin(w->base, t);
	ec_task_remove(c, t);
	call_note(w, &w->call, t);
	run_begin(w, t);
}

/*
 * Takes the locks of a pop: RUNQ of the color's worker and, if the first task needs it, SOURCE of its event. SOURCE
 * is taken before RUNQ. So RUNQ is released, and the task is chosen again, because it may be another one by then.
 */
static inline __attribute__((always_inline)) struct ec_task *next(struct ec_worker *w, struct ec_color *c,
								  unsigned pri, bool *is_left)
{
	struct ec_worker *have = NULL, *need;
	struct ec_base *base = w->base;
	struct ec_ran ran = { NULL, -1 };
	struct ec_task *t;

	for (;;) {
		ec_run_lock(w);
		if (have == NULL)
			ran = ec_run_ended(w);
		t = ec_gate_is_closed(base) ? NULL : ec_color_due(base, c);
		if (is_left != NULL && (c->flags & EC_COLOR_OTHERS_FIRST) == 0)
			t = NULL;
		if (t != NULL && (t->pri > pri || t->pri > ec_runq_level(&w->runq) || ec_task_is_shared(t)))
			t = NULL;
		need = t != NULL && ec_task_is_pop_deep(t) ? ec_event_at(base, ec_task_event(t)) : NULL;
		if (need == NULL || need == have)
			break;
		ec_run_unlock(w);
		if (have != NULL)
			ec_src_unlock(have);
		ec_src_lock(need);
		have = need;
	}
	if (is_left != NULL)
		*is_left = t == NULL && (c->flags & EC_COLOR_OTHERS_FIRST) != 0;
	if (t != NULL)
		ec_task_pop(w, c, t);
	ec_run_unlock(w);
	if (have != NULL)
		ec_src_unlock(have);
	ec_run_settle(w, ran);
	return t;
}

bool ec_task_lock_source(struct ec_worker *w, struct ec_color *c, struct ec_task *t, uint32_t closers,
			 struct ec_worker **src)
{
	struct ec_base *base = w->base;
	bool is_shared;

	*src = NULL;
	if (!ec_task_is_pop_deep(t))
		return true;
	*src = ec_event_at(base, ec_task_event(t));
	is_shared = ec_task_is_shared(t);
	ec_run_unlock(w);
	ec_src_lock(*src);
	ec_run_lock(w);
	if (ec_load_acquire(&c->worker) == w && c->state == EC_COLOR_QUEUED &&		/* meets ec_color_take */
	    ec_color_due(base, c) == t && ec_task_is_shared(t) == is_shared &&
	    ec_event_at(base, ec_task_event(t)) == *src && ec_load_acquire(&base->gate) <= closers)	/* G1 again */
		return true;
	ec_run_unlock(w);
	ec_src_unlock(*src);
	return false;
}

struct ec_task *ec_color_next(struct ec_worker *w, struct ec_color *c, unsigned pri)
{
	return next(w, c, pri, NULL);
}

struct ec_task *ec_color_next_other(struct ec_worker *w, struct ec_color *c, bool *is_left)
{
	return next(w, c, EC_PRI_MAX, is_left);
}

/*
 * The end of the loop closed the gate, no one else, and this is its thread, which runs what is left. Who closes the
 * gate from now on checks for a run after that, and this one is over.
 */
static inline bool is_end_of_loop(struct ec_worker *w)
{
	return w->is_finishing && ec_gate_is_last(w->base);
}

void ec_run_notify(struct ec_worker *w, struct ec_ran ran)
{
	ec_run_settle(w, ran);
	if (ec_gate_is_closed(w->base) && !is_end_of_loop(w))
		ec_gate_notify(w->base);
}

void ec_run_end(struct ec_worker *w)
{
	struct ec_ran ran;

	ec_run_lock(w);
	ran = ec_run_ended(w);
	if (!ec_is_colored(w->base))
		w->current = NULL;
	ec_run_unlock(w);
	ec_run_notify(w, ran);
}

/* ---------------------------------------------------------------- the calls of a task */

/*
 * Makes one call for each signal. It does not read the event: a callback may free the event, or activate it again,
 * which is another run. Deleting the event ends these calls (is_calls_end).
 */
static void run_signal(struct ec_worker *w, const struct ec_call *call)
{
	while (w->calls_left != 0) {
		w->calls_left--;
		call->fn(call->fd, call->res, call->arg);
		if (ec_load_relaxed(&w->is_calls_end) || ec_load_relaxed(&w->base->is_break))
			w->calls_left = 0;
	}
	w->calls_carried = 0;
}

static void run_finalizer(struct ec_worker *w, struct ec_event *ev)
{
	bool is_freed = ev->task.kind == EC_KIND_EVENT_FINALIZE_FREE;

	if (ec_runs_finalizer_waits(w, ev))
		return;
	/* Do this before the finalizer, which may assign the event anew. */
	ec_debug_note_teardown(ev);
	ev->task.fn.finalize(ev, ev->task.arg);
	if (is_freed)
		ec_free(ev);
}

static inline void run(struct ec_worker *w, struct ec_task *t, const struct ec_call *call)
{
	ec_post_fn post;
	void *arg;

	ec_counter_add(&w->stats.callbacks, 1);
	switch ((enum ec_kind)call->kind) {
	case EC_KIND_EVENT:
	case EC_KIND_PERSIST:
	case EC_KIND_TIMED:
		call->fn(call->fd, call->res, call->arg);
		return;
	case EC_KIND_POST:
		post = t->fn.post;
		arg = t->arg;
		ec_post_free(w, t);
		ec_counter_add(&w->stats.posts, 1);
		post(arg);
		return;
	case EC_KIND_SIGNAL:
		run_signal(w, call);
		return;
	case EC_KIND_SELF:
	case EC_KIND_FINALIZE:
		t->fn.self(t, t->arg);
		return;
	case EC_KIND_EVENT_FINALIZE:
	case EC_KIND_EVENT_FINALIZE_FREE:
		run_finalizer(w, ec_task_event(t));
		return;
	}
}

void ec_task_run(struct ec_worker *w, struct ec_task *t)
{
	struct ec_call call;

	call_note(w, &call, t);
	run(w, t, &call);
}

void ec_task_run_popped(struct ec_worker *w, struct ec_task *t)
{
	struct ec_call call = w->call;

	run(w, t, &call);
}
