/*
 * What traces tell, in order of time: for each worker its callbacks and what is between them, and the arrows from one
 * worker to another. The pages that show it (trace_*.c) take it from here.
 */
#ifndef EVSMP_TIMELINE_H
#define EVSMP_TIMELINE_H

#include <sys/types.h>

#include "rings.h"
#include "symbols.h"

/* Times are nanoseconds since the beginning of the timeline. */
enum slice_type { SLICE_CALL, SLICE_POLL, SLICE_SLEEP, SLICE_SPIN };

struct slice {
	int64_t at, len;
	int64_t wait;		/* between ready and running; -1: not known */
	uint64_t fn;
	uint64_t queued;	/* since when it waits, in ticks of the trace */
	uint64_t object, own_fn, event; /* addresses as of EC_TRACE_OBJECT; 0: the trace has no objects */
	uint32_t color;
	int fd;			/* -1: none */
	uint8_t object_kind;	/* enum ec_object of core/ec.h */
	uint8_t type;		/* enum slice_type */
	uint8_t kind, pri, res;
	uint8_t home;		/* worker; 255: not known */
	uint8_t depth;		/* how many it is within; 255: many */
	bool is_open;		/* it still ran when the trace ended */
};

struct mark {
	int64_t at;
	uint64_t value;
	uint32_t color;
	uint8_t type;		/* EC_TRACE_STEAL, …_POST, …_WAKEUP, …_MOVE */
};

/* A callback that runs adds or deletes an event of another object. */
struct touch {
	int64_t at;
	uint64_t object, event;	/* addresses */
	int fd;			/* -1: none */
};

struct level {
	int64_t at;
	uint64_t num;		/* tasks that wait */
};

/* A worker. Slices are sorted: by their beginning, the longer one first; and each is within another, or beside it. */
struct row {
	struct slice *slices;
	size_t slices_num, slices_cap;
	struct mark *marks;
	size_t marks_num, marks_cap;
	struct level *levels;
	size_t levels_num, levels_cap;
	struct touch *touches;
	size_t touches_num, touches_cap;
	uint64_t lost, damaged;
};

/* An arrow from one row of a base to another, or to the same. */
struct flow {
	int64_t from_at, to_at;
	unsigned from, to;	/* rows */
	uint8_t type;		/* EC_TRACE_POST, EC_TRACE_WAKEUP, EC_TRACE_STEAL */
};

/* An event_base. */
struct band {
	pid_t pid;
	uint32_t base;
	const char *program;
	struct symbols *symbols;
	struct row *rows;
	unsigned rows_num;
	struct flow *flows;
	size_t flows_num, flows_cap;
};

struct timeline {
	struct band *bands;
	size_t bands_num;
	int64_t from_ns;	/* of CLOCK_MONOTONIC: what ended before is left out; 0: nothing is */
	int64_t start_ns;	/* the same: the beginning */
	int64_t end;
};

/* Adds a band with what was read; the timeline must be finished before it is used. */
void timeline_add(struct timeline *t, const struct rings *r, const char *program, struct symbols *symbols);
void timeline_finish(struct timeline *t);
void timeline_free(struct timeline *t);

/* "on_read", "poll", "sleep", "spin" */
const char *slice_name(const struct band *b, const struct slice *s);
/* "event", "timer", "signal", "post", … */
const char *slice_kind(const struct slice *s);
/* "post", "wake-up", "steal", "move" */
const char *mark_name(unsigned type);

#endif
