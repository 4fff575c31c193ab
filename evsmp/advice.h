/*
 * What coloring would gain: the replays of a workload under each rule with each number of workers, and what follows
 * from them. The pages that show it are advise_*.c.
 */
#ifndef EVSMP_ADVICE_H
#define EVSMP_ADVICE_H

#include "replay.h"

enum { ADVICE_WORKERS = 7, ADVICE_FNS = 6 };

extern const unsigned advice_workers[ADVICE_WORKERS];	/* 1, 2, 4 … 64 */

struct option {
	struct coloring coloring;
	struct replay_result results[ADVICE_WORKERS];
	struct critical critical;
	double most;			/* so many times as fast at most */
	uint32_t biggest;		/* the color with the most time */
	double biggest_share;		/* of all time in callbacks */
	uint32_t biggest_fn;		/* the function with the most time in it */
};

struct advice {
	const struct workload *w;
	struct option options[RULES];
	size_t options_num;
	const struct option *best;	/* NULL: coloring gains nothing */
	uint32_t fns[ADVICE_FNS];	/* the functions with the most time, that first */
	size_t fns_num;
	double busy;			/* of the time: the thread */
	double fit;			/* the replay with one worker takes so many times as long as the program did */
};

/* `workload` must live as long. */
void advice_make(const struct workload *w, const struct replay_costs *costs, struct advice *ret);
void advice_free(struct advice *a);

/* With so many workers, by its place in advice_workers. */
double option_speed(const struct option *o, unsigned place);

/* The call that colors a function's callbacks by `rule`; NULL: nothing is to be changed. */
const char *advice_change(const struct workload *w, enum rule rule, uint32_t fn);

/* "HTTP", "bufferevent", "listener", "event", "timer", "post" */
const char *advice_kind(const struct workload *w, uint32_t fn);

/* Why no coloring gains anything: a sentence or two; the caller frees it. */
char *advice_why_not(const struct advice *a);

#endif
