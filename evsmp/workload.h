/*
 * What a program did on one thread, as work that can be done again in another order: its callbacks, what made each of
 * them ready, and how long that took.
 *
 * A callback has one cause. Either another callback made it ready while it ran: event_active, a post, output for
 * another bufferevent. Or the outside did, after the last callback that had to do with the same connection: a client
 * sends its next request after it got an answer. Of the time between, only that counts in which the worker slept. The
 * rest of it, the worker was busy with other callbacks, which other workers could run.
 */
#ifndef EVSMP_WORKLOAD_H
#define EVSMP_WORKLOAD_H

#include "timeline.h"

#define WORK_NONE UINT32_MAX

enum work_ready {
	WORK_OUTSIDE,		/* by a descriptor or a signal: `delay` after the end of the cause */
	WORK_TIMER,		/* the same, by time */
	WORK_CALL,		/* `delay` after the beginning of the cause, which made it ready */
};

struct work_call {
	int64_t at, len, wait;	/* as recorded, in nanoseconds; wait -1: not known */
	int64_t delay;
	uint32_t cause;		/* an earlier call; WORK_NONE: the beginning */
	uint32_t fn;		/* of workload.fns */
	uint32_t color;		/* as recorded */
	uint64_t object;	/* what it is about; 0: not known */
	uint64_t creator;	/* the object whose callback made that one; 0: not known */
	int fd;			/* -1: none */
	uint8_t ready;		/* enum work_ready */
	bool is_shared_object;	/* many descriptors have this object, so it is no connection */
};

struct work_fn {
	uint64_t address;
	uint8_t kind;		/* enum ec_object of core/ec.h: what its callbacks are about */
	bool has_fd;		/* some of its callbacks have a descriptor */
	bool is_of_post;
	uint64_t calls, touches;	/* touches: of objects of others */
	int64_t ns, longest_ns;
};

struct workload {
	struct work_call *calls;
	size_t calls_num;
	struct work_fn *fns;
	size_t fns_num;
	size_t left_out;	/* older callbacks that are in the trace, but not here */
	bool has_objects;	/* the trace tells what callbacks are about */
	bool has_colors;	/* a callback has another color than 0 */
	int64_t span_ns;	/* from the first callback to the end of the last one */
	int64_t run_ns;		/* in callbacks */
	int64_t asleep_ns;	/* the thread had nothing to do */
	int64_t load_ns;	/* the part of the time in which 98 % of the callbacks' time lies; 0: not known */
	int64_t load_asleep_ns;	/* of that */
	int64_t poll_ns;	/* a poll that finds what is ready already */
	int64_t engine_ns;	/* of each callback, outside of it */
};

enum { WORK_CALLS_MAX = 200000 };	/* newer ones are taken */

/* Of a band with one row; NULL, or why it cannot be used: a sentence without a full stop. */
const char *workload_make(const struct band *b, struct workload *ret);
void workload_free(struct workload *w);

/* By call: the first call that it is the cause of, and the next one that has the same cause; or WORK_NONE. */
struct work_effects {
	uint32_t *first, *next;
};

void work_effects_make(const struct workload *w, struct work_effects *ret);
void work_effects_free(struct work_effects *e);

#endif
