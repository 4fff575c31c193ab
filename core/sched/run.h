/*
 * A worker runs the colors of its run queue.
 */
#ifndef EC_RUN_H
#define EC_RUN_H

#include <stdbool.h>

#include "base.h"
#include "os/clock.h"
#include "worker.h"

enum {
	EC_RUN_NS = 200000,		/* a run takes no longer, plus its last callback */
	EC_POLL_LATE_NS = EC_RUN_NS,	/* a worker that has work polls after this time */
};

/* In the simulator, callbacks take no time. So a busy worker always polls. */
#ifdef EC_SIM
enum { EC_POLLS_ALWAYS = true };
#else
enum { EC_POLLS_ALWAYS = false };
#endif

/*
 * How long after a poll a busy worker asks the kernel again, if so many callbacks of descriptors wait. The kernel
 * reports all of them again, for 0.25 to 0.4 us each: this way it takes a twentieth of the time.
 */
static inline uint64_t ec_run_ask_ns(uint32_t waiting)
{
	enum { EACH_NS = 8000, MAX_NS = 10000000 };
	uint64_t ns = (uint64_t)waiting * EACH_NS;

	return ns < EC_POLL_LATE_NS ? EC_POLL_LATE_NS : ns < MAX_NS ? ns : MAX_NS;
}

/* Posts must not delay what becomes ready. So if more than half of the callbacks are theirs, nothing is put off. */
static inline bool ec_run_is_for_posts(uint64_t posts, uint64_t callbacks)
{
	return posts * 2 > callbacks;
}

static inline bool ec_run_has_sources(struct ec_worker *w)
{
	return ec_load_relaxed(&w->pending_num) != 0 || w->id == 0;
}

/*
 * Must a busy worker poll? A poll is a system call, so a worker does not poll after each callback; a later poll also
 * finds more events. If the worker watches no descriptor, a poll makes no system call, but it rescues stuck workers.
 */
static inline bool ec_run_is_poll_late(struct ec_worker *w)
{
	return !ec_ticks_before(w->ran_until, w->poll_late_at) || (EC_POLLS_ALWAYS && ec_run_has_sources(w));
}

/* A run has ended: may the next one begin at once? */
static inline bool ec_run_may_go_on(struct ec_worker *w)
{
	struct ec_base *base = w->base;

	return !ec_run_is_poll_late(w) && !ec_load_relaxed(&base->is_break) &&
	       (w->id != 0 || !ec_loop_must_stop(base));
}

/* Runs colors until the run queue is empty, or a poll or a stop is due. Returns the number of runs. */
int ec_run_some(struct ec_worker *w);

/*
 * In a callback of color 0, of a base with several workers: its run ends, so that color 0 may run again. ec_run_own
 * then runs color 0 once; false: it has nothing to run. ec_run_resume makes the caller's run go on, with `ev` as its
 * event, after a pause if there is one.
 */
void ec_run_suspend(struct ec_worker *w);
bool ec_run_own(struct ec_worker *w);
void ec_run_resume(struct ec_worker *w, struct ec_event *ev);

/*
 * Called by the loop's thread when the loop ends and all other workers are idle: runs one task of `c` that was ready
 * at that time. False: none is left, or a loopbreak came.
 */
bool ec_run_last(struct ec_worker *w, struct ec_color *c);

/*
 * Runs one task of `c`, which is at `w`, the only worker of its base; a shared one as an exclusive one. False: it has
 * none, or the gate is closed. is_others_next: in the next run of `c`, the tasks that are no posts go first.
 */
bool ec_run_one(struct ec_worker *w, struct ec_color *c, bool is_others_next);

#endif
