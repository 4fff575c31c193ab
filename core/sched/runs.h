/*
 * The runs of an event's callback: at which workers, and how many calls are left of each.
 *
 * As a rule there is one at a time, in the color that the event has, and the event notes its worker
 * (EC_RUNNER_WORKER). But a callback may give its own event another color, or assign it anew, and add it: then it runs
 * there before it has come to its end here. A run that begins so notes that there are several (EC_RUNNER_MANY), and then all
 * workers are asked.
 *
 * That a callback runs is written (running_event) under RUNQ of its worker, when its task is taken from the queue, and
 * its end passes through that lock, too. So who has deleted an event, which is in no queue then, sees
 * each run that began before; and what is said to a run under RUNQ of its worker is said to that one, not to the
 * next.
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
 * By `w`, which is to run the finalizer of `ev`, queued in its color. True: a callback that has set another color since it
 * began runs still, elsewhere: the finalizer follows it, in the color that it began in, and looks again there.
 */
bool ec_runs_finalizer_waits(struct ec_worker *w, struct ec_event *ev);

/*
 * Of a signal's event, under its locks, as it is deleted: it is not called again by the caller's own run of it, nor, where
 * there is one worker, by that one's.
 */
void ec_runs_calls_end(struct ec_base *base, struct ec_event *ev);

/*
 * By `w`, in whose callback `ev` was assigned, which lies where the event of that callback lies or lay. Who deletes
 * the new one waits for the callback, as in libevent. The old one is not called again; the signals that were still to
 * be told are the new one's, as soon as it waits for them (owed: how many, as it is added).
 */
void ec_runs_anew(struct ec_worker *w, struct ec_event *ev);
uint32_t ec_runs_calls_owed(const struct ec_event *ev);

#endif
