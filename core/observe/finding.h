/*
 * What the watchdog found, and how it is told: as lines of text through the log, or as one line of JSON.
 */
#ifndef EC_FINDING_H
#define EC_FINDING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "backtrace.h"
#include "settings.h"

/* What waits at a worker. */
struct ec_stall_queue {
	uint64_t callbacks;		/* without the one that runs */
	bool has_colors;		/* false: the rest is not known */
	bool is_cut;			/* there are more than were counted */
	uint64_t colors;		/* beside the one that runs */
	uint64_t own;			/* callbacks of the color that runs */
	uint32_t most_color;		/* has the most callbacks, */
	uint64_t most;			/* … and so many */
};

/* A worker, and its callback. */
struct ec_stall_party {
	unsigned base, worker;
	bool is_between;		/* the callback has ended, and no other has begun */
	const void *fn;			/* NULL: it ran none */
	uint32_t color;
	const char *waits_for;		/* CYCLE */
	pid_t tid;
	const void *key;		/* ec_thread_key() */
	int no_trace;			/* why `trace` is empty: as ec_backtrace_of */
	struct ec_backtrace trace;
	const void *site;		/* CALLBACK: as ec_site_find */
	int site_frame;			/* -1: it is fn */
};

enum ec_finding_kind {
	EC_FINDING_CALLBACK,		/* a callback runs for long */
	EC_FINDING_TURN,		/* a loop does not turn */
	EC_FINDING_CYCLE,		/* callbacks wait for each other */
	EC_FINDING_POSTS,		/* a queue only grows */
};

enum { EC_PARTIES_MAX = 4 };

struct ec_finding {
	enum ec_finding_kind kind;
	uint64_t ms;			/* so far */
	uint64_t cpu_of_ns;		/* CALLBACK: of the last so many ns, */
	uint64_t cpu_ns, cpu_missed_ns;	/* … it had a CPU, and would have run if it had one; all 0: not known */
	uint64_t began;			/* TURN: callbacks that began meanwhile */
	uint64_t from, to;		/* POSTS */
	struct ec_stall_queue queue;
	int parties_num;		/* more than one: CYCLE */
	bool is_cut;			/* the cycle has more parties */
	struct ec_stall_party parties[EC_PARTIES_MAX];
};

/* Any thread without locks. */
void ec_finding_tell(const struct ec_finding *f, const struct ec_stall_settings *s);

#endif
