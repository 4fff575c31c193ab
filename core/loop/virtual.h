/*
 * A base with virtual workers: one thread, the loop's, runs the callbacks of all colors, one at a time, in an order
 * that a policy chooses (policy.h). The environment asks for it, so any program can be run in this way:
 *
 *   EVENT_SMP_SEED=N		the policy's seed
 *   EVENT_SMP_POLICY=P		random (the default), pct, pct:DEPTH, pct:DEPTH:STEPS, or order
 *   EVENT_SMP_SCHEDULE=FILE	in place of both: a list of switches (schedule.h)
 *   EVENT_SMP_SCHEDULE_OUT=FILE	writes the switches of this run
 *   EVENT_SMP_TIME=virtual	no timer is waited for (virtual_clock.h); virtual:MS, real: see below
 *
 * The base has colors, a run queue and all the rules of several workers, but only worker 0. To the program it has as
 * many as were configured. With more than one, any color that has a ready callback may be the next, whatever its
 * priority, as on other workers; within a color the order is that of the contract. Before each callback the loop polls
 * (more seldom if many colors are ready), and so all that is ready can be chosen.
 *
 * With virtual time, the clock is one of those that are chosen from, if a deadline is near (MS milliseconds; the
 * default is 100): callbacks could have taken so long.
 *
 * A base without colors runs as always: it has nothing to choose.
 */
#ifndef EC_VIRTUAL_H
#define EC_VIRTUAL_H

#include <stdbool.h>

#include "sched/base.h"
#include "sched/quiet.h"

/* Of a new base, which has or will have `workers_num` workers for the program. NULL: not wanted, or no memory. */
struct ec_virtual *ec_virtual_new(bool ignores_env, unsigned workers_num);
void ec_virtual_free(struct ec_virtual *v);

/* Its worker 0 has its poller. */
void ec_virtual_take_poller(struct ec_base *base);

/* One turn of a base with colors: at most one callback. */
enum ec_outcome ec_virtual_turn(struct ec_base *base);

/* The same within a callback, after ec_run_suspend; it sleeps at most once. 0 or -errno. */
int ec_virtual_turn_nested(struct ec_base *base);

/* After the loop's last turn: runs the tasks that ec_color.last_num counts. */
void ec_virtual_finish(struct ec_base *base);

#endif
