/*
 * A worker runs the colors of its run queue.
 */
#ifndef EC_RUN_H
#define EC_RUN_H

#include <stdbool.h>

#include "base.h"
#include "worker.h"

enum {
	EC_RUN_NS = 200000,		/* callbacks of one color in a row take no longer than this together */
	EC_POLL_LATE_NS = EC_RUN_NS,	/* a worker that has work polls after so long */
};

/* Time stands still there while callbacks run, and passes in a spin. */
#ifdef EC_SIM
enum { EC_POLLS_ALWAYS = true };
#else
enum { EC_POLLS_ALWAYS = false };
#endif

static inline bool ec_run_has_sources(struct ec_worker *w)
{
	return ec_load_relaxed(&w->pending_num) != 0 || w->id == 0;
}

/*
 * Must a worker that has work poll? A poll is a system call, so colors that post to each other do not wait for one
 * after every callback, and a later poll finds more. A worker that watches nothing makes no call, but looks after
 * stuck workers.
 */
static inline bool ec_run_is_poll_late(struct ec_worker *w)
{
	return w->ran_until >= w->poll_late_at || (EC_POLLS_ALWAYS && ec_run_has_sources(w));
}

/* A run has ended: may the next one begin at once? */
static inline bool ec_run_may_go_on(struct ec_worker *w)
{
	struct ec_base *base = w->base;

	return !ec_run_is_poll_late(w) && !ec_load_relaxed(&base->is_break) &&
	       (w->id != 0 || !ec_loop_must_stop(base));
}

/* Run the first color of the own queue, and those behind it as long as nothing else is due. How many ran. */
int ec_run_some(struct ec_worker *w);

/*
 * By the loop's thread, when the loop ends and all others have come to rest: run one task of `c` that
 * was ready then. False: there is none left, or a loopbreak came.
 */
bool ec_run_last(struct ec_worker *w, struct ec_color *c);

#endif
