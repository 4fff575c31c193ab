/*
 * A worker runs tasks: it pops a task from a queue and makes its calls.
 */
#ifndef EC_TASK_H
#define EC_TASK_H

#include "event.h"
#include "queue.h"

/* Run `t`, which no other thread knows: a post, or a task of a base that is not locked. */
void ec_task_run(struct ec_worker *w, struct ec_task *t);

/* Runs the task that ec_task_pop took last, without a lock. Its event may have become a finalizer since. */
void ec_task_run_popped(struct ec_worker *w, struct ec_task *t);

/*
 * Pops the next task of the color that `w` runs, and ends the task before it. NULL: there is none, or it may not run
 * now: it is less urgent than `pri` or than another color here, it is shared, or the gate is closed.
 */
struct ec_task *ec_color_next(struct ec_worker *w, struct ec_color *c, unsigned pri);

/* The same for tasks that go before posts. NULL: there is none, or (*is_left) it may not run now. */
struct ec_task *ec_color_next_other(struct ec_worker *w, struct ec_color *c, bool *is_left);

/* Ends the last run: first `ended`, under RUNQ of its color; then `settle`, without locks. */
struct ec_ran ec_run_ended(struct ec_worker *w);
void ec_run_settle(struct ec_worker *w, struct ec_ran ran);

/* As settle, after `current` was set to NULL: a thread that closed the gate may wait for that. */
void ec_run_notify(struct ec_worker *w, struct ec_ran ran);

/* Both, for a worker that runs no other task now. */
void ec_run_end(struct ec_worker *w);

/* True: popping `t` changes its event's registrations, so it needs the event's SOURCE lock. */
static inline bool ec_task_is_pop_deep(struct ec_task *t)
{
	struct ec_event *ev = ec_task_event(t);

	if (t->kind == EC_KIND_TIMED)
		return true;
	if (t->kind == EC_KIND_PERSIST || t->kind > EC_KIND_SIGNAL ||
	    (t->flags & (EC_IN_INSERTED | EC_IN_TIMEOUT)) == 0)
		return false;
	return (ev->events & EC_PERSIST) == 0;
}

/*
 * RUNQ of `w` is held. Takes the SOURCE lock that popping `t`, the first task of `c`, needs; *src: its worker, or
 * NULL. SOURCE is taken before RUNQ, so RUNQ is released meanwhile. False: the task has changed, or more than `closers`
 * have closed the gate; no lock is held.
 */
bool ec_task_lock_source(struct ec_worker *w, struct ec_color *c, struct ec_task *t, uint32_t closers,
			 struct ec_worker **src);

/* Under RUNQ: pop `t`, the task of `c` that is due; and under SOURCE of its event if it is_pop_deep. */
void ec_task_pop(struct ec_worker *w, struct ec_color *c, struct ec_task *t);

#endif
