/*
 * The runs of an event's callback: their workers, and the number of calls left.
 *
 * Usually one callback of an event runs at a time, in the event's color, and the event records the worker
 * (EC_RUNNER_WORKER). But a callback may give its own event another color, or assign it anew, and add it. Then the
 * callback may run in the new color before it has ended in the old one. Such a run sets EC_RUNNER_MANY, and from then
 * on all workers are checked.
 *
 * A worker writes running_event under its own RUNQ, when it takes the task from the queue. The end of the run passes
 * through that lock, too. So a thread that has deleted an event sees each run that began before. A flag that is
 * written under RUNQ of the worker reaches that run, and not the next one.
 *
 * A callback may run a turn of the loop (ec_base_turn). Then its run is suspended: it counts as ended, so nobody waits
 * for it, but a thread that deletes its event still ends its calls. Worker 0 lists these runs. A run is in the
 * list before it stops to count as running, and stays there until it counts as running again. So a thread that has the
 * lock finds it in one of both. Without the lock it could miss both, so has_suspended stays set, and the thread then
 * takes the lock.
 */
#ifndef EC_RUNS_H
#define EC_RUNS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct ec_base;
struct ec_event;
struct ec_worker;

/* A run that is suspended, on the stack of its thread: what the worker noted of it. */
struct ec_suspended {
	/* const */
	struct ec_suspended *outer;	/* the one around it, or NULL */
	struct ec_event *ev;		/* only compared */

	/* own: as in ec_worker */
	uint32_t calls_left, calls_carried;
	int calls_signal;

	_Atomic(bool) is_calls_end;	/* its own thread, or another one under RUNQ */
};

/* The run of `w` is suspended, and begins again: between the two it runs others. */
void ec_runs_suspend(struct ec_worker *w, struct ec_suspended *s);
void ec_runs_resume(struct ec_worker *w, struct ec_suspended *s);

/*
 * Under the locks of `ev`, which was deleted under them: does it run on a worker that is not the caller's? Or may it
 * have a run that is suspended there?
 */
bool ec_runs_elsewhere(struct ec_base *base, struct ec_event *ev);

/*
 * Without locks, after ec_runs_elsewhere: runs on other workers make no more calls. `waits`: also waits for their
 * end, unless that would close a cycle (wait.h).
 */
void ec_runs_end(struct ec_base *base, struct ec_event *ev, bool waits);

/*
 * Called by `w` before it runs the finalizer of `ev`. True: a callback, which has changed the event's color, runs on
 * another worker. The finalizer is queued in the color in which that callback began, and checks again there.
 */
bool ec_runs_finalizer_waits(struct ec_worker *w, struct ec_event *ev);

/*
 * For a signal's event that is deleted, under its locks: the caller's own run of it makes no more calls. If the base
 * has one worker, its run makes no more calls either.
 */
void ec_runs_calls_end(struct ec_base *base, struct ec_event *ev);

/*
 * Called by `w`: its callback has assigned `ev`, which has the address of the callback's own event. As in libevent, a
 * thread that deletes the new event waits for the callback. The old event is not called again. For signals that were
 * still due, the new event is called once it is added; carried returns their number at that time.
 */
void ec_runs_anew(struct ec_worker *w, struct ec_event *ev);
uint32_t ec_runs_calls_carried(const struct ec_event *ev);

/*
 * Without locks, for debug mode: a run on another worker has another color than `ev` has now. False if the caller is in
 * a callback of `ev`, which may change its color.
 */
bool ec_runs_in_other_color(struct ec_base *base, struct ec_event *ev, uint32_t *ret);

#endif
