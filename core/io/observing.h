/*
 * A worker switches what is observed: itself, and worker 0 what belongs to the base. See sched/observed.h.
 */
#ifndef EC_OBSERVING_H
#define EC_OBSERVING_H

#include "sched/base.h"
#include "sched/worker.h"

/* The thread of `w`, before a poll and after it, while ec_control_attention(). No lock is held. */
void ec_observing_poll(struct ec_worker *w);
void ec_observing_turn(struct ec_worker *w);

/* The same before the first callbacks of a loop or thread: what the environment wants is then on for all of them. */
void ec_observing_begin(struct ec_worker *w);

/* Calls `ev`, a persistent event of a base without locks, which was popped. */
void ec_observing_call(struct ec_worker *w, const struct ec_event *ev);

/*
 * base.special, special_observed, fast_path, posts_pri_end and events_pri_end, from what they depend on. RUNQ of worker
 * 0, or no loop runs.
 */
void ec_base_set_paths(struct ec_base *base);

/* Not observed any more. The base is freed, and no thread uses it. */
void ec_observing_end(struct ec_base *base);

#endif
