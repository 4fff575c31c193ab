/*
 * Where the time goes between ready and running: for each color, and for the callbacks that waited longest.
 */
#ifndef EVSMP_LATENCY_H
#define EVSMP_LATENCY_H

#include "busy.h"
#include "timeline.h"

struct color_times {
	const struct band *band;
	uint32_t color;
	uint64_t calls, waits;		/* waits: calls of which it is known how long they waited */
	int64_t run_ns, wait_ns, wait_max_ns;
	const struct slice *longest;	/* the callback that ran longest */
	const struct slice *most;	/* one of the function that took most of run_ns; if none did, of a usual one */
	uint64_t most_ns;		/* by so much it leads: note_most() */
	int fd;				/* of all its callbacks that have a descriptor; -1: of none, or of several */
	bool has_fd;			/* one had */
};

/* What a worker did while a callback waited: all slices of one function and color. */
struct cause {
	const struct slice *slice;	/* one of them */
	uint64_t num;
	int64_t ns;
};

enum { CAUSES_MAX = 4, DELAYS_MAX = 20 };

struct delay {
	const struct band *band;
	unsigned row;			/* where it ran */
	unsigned waited_row;		/* the worker that it waited for: also its home, if it was stolen */
	const struct slice *slice;
	struct cause causes[CAUSES_MAX];	/* the longest first */
	unsigned causes_num;
	int64_t other_ns;		/* of the wait: what `causes` does not have */
};

struct latency {
	struct color_times *colors;	/* that waited most first */
	size_t colors_num;
	struct delay delays[DELAYS_MAX];	/* the longest first */
	size_t delays_num;
	uint64_t calls, waits;
	int64_t run_ns, wait_ns;
	struct busy busy;
};

void latency_find(const struct timeline *t, struct latency *ret);
void latency_free(struct latency *l);

/* "1.5 ms", "230 ns"; valid until the fourth call after */
const char *duration(int64_t ns);

/* The same in six characters at most: "1.5ms", "230ns", "36 s" */
const char *duration_short(int64_t ns);

/*
 * What limits the program, what callbacks waited for, and what to do about it: one sentence or some; the caller frees
 * it.
 */
char *latency_advice(const struct latency *l);

#endif
