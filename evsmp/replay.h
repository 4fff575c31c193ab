/*
 * A workload done again, in a simulation of the scheduler: so many workers, and the colors of one rule. And its
 * critical path: how long it takes with as many workers as it can use.
 */
#ifndef EVSMP_REPLAY_H
#define EVSMP_REPLAY_H

#include "coloring.h"

/* Costs and times of the engine, in nanoseconds: the steal is rounded from benchmarks, the others are of its design. */
struct replay_costs {
	int64_t steal_ns;	/* for one color */
	int64_t wake_ns;	/* until a sleeping worker runs */
	int64_t rescue_ns;	/* until another worker takes over the descriptors of one whose callback is stuck */
	int64_t poll_every_ns;	/* a busy worker polls so often */
};

extern const struct replay_costs replay_costs_usual;

struct replay_result {
	double calls_per_s;	/* until four fifths of the work are done: the ends of connections do not count */
	int64_t span_ns;	/* of all */
	int64_t wait50_ns, wait99_ns;	/* from ready to running */
	double busy;		/* of the time of all workers, up to span_ns */
	uint64_t steals;
};

enum { REPLAY_WORKERS_MAX = 64 };

void replay(const struct workload *w, const struct coloring *c, unsigned workers, const struct replay_costs *costs,
	    struct replay_result *ret);

/* The same, and `watch` is told of each call when it starts. */
typedef void (*replay_watch_fn)(void *arg, uint32_t call, unsigned worker, int64_t at, int64_t len);
void replay_watched(const struct workload *w, const struct coloring *c, unsigned workers,
		    const struct replay_costs *costs, struct replay_result *ret, replay_watch_fn watch, void *arg);

/* The row of calls that more workers cannot shorten: each waited for the one before, by its color or by its cause. */
struct critical {
	int64_t span_ns;
	int64_t run_ns;		/* of that, in callbacks; the rest is the outside */
	int64_t most_ns;	/* until four fifths of the work are done, if no callback waits for a worker */
	int64_t *fn_ns;		/* of each function */
	uint64_t calls;
};

void critical_find(const struct workload *w, const struct coloring *c, struct critical *ret);
void critical_free(struct critical *c);

#endif
