/*
 * The runs of an event's callback: at which workers, and how many calls are left of each.
 *
 * As a rule one callback of an event runs at a time, in the event's color, and the event notes the worker
 * (EC_RUNNER_WORKER). But a callback may give its own event another color, or assign it anew, and add it. Then the
 * callback runs in the new color before it has ended in the old one. A run that begins so notes that there are
 * several (EC_RUNNER_MANY). From then on all workers are checked.
 *
 * A worker writes running_event under its own RUNQ, when it takes the task from the queue. The end of the run passes
 * through that lock, too. So a thread that has deleted an event sees each run that began before. A flag that is
 * written under RUNQ of the worker reaches that run, and not the next one.
 */
#ifndef EC_RUNS_H
#define EC_RUNS_H

#include <stdbool.h>
#include <stdint.h>

struct ec_base;
struct ec_event;
struct ec_worker;

/* Under the locks of `ev`, deleted there: does it run on a worker that is not the caller's? */
bool ec_runs_elsewhere(struct ec_base *base, struct ec_event *ev);

/*
 * Without locks, after that: those on other workers call nothing more, and, if `waits`, are over when this returns,
 * but for circles (wait.h).
 */
void ec_runs_end(struct ec_base *base, struct ec_event *ev, bool waits);

/*
 * By `w`, which is to run the finalizer of `ev`. True: a callback runs elsewhere, which has set another color since it
 * began. The finalizer follows it, in the color in which it began, and looks again there.
 */
bool ec_runs_finalizer_waits(struct ec_worker *w, struct ec_event *ev);

/*
 * Of a signal's event that is deleted, under its locks: the caller's own run of it makes no more calls. Neither does
 * the run of the only worker, where there is one.
 */
void ec_runs_calls_end(struct ec_base *base, struct ec_event *ev);

/*
 * By `w`: its callback assigned `ev`, which lies where the callback's own event lies or lay. Who deletes the new event
 * waits for the callback, as in libevent. The old one is not called again; the new one is called for the signals that
 * were still due, as soon as it waits for them (carried: for how many, as it is added).
 */
void ec_runs_anew(struct ec_worker *w, struct ec_event *ev);
uint32_t ec_runs_calls_carried(const struct ec_event *ev);

#endif
