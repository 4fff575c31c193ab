/*
 * The counters of a base, read from the bytes of its file (core/observe/stats.h). The bytes may be anything.
 *
 * Only stats_keep allocates, and only at first: a tool that runs for months reads the counters each second.
 */
#ifndef EVSMP_STATS_H
#define EVSMP_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/observe/stats.h"

enum { STATS_COLORS_MAX = 256, STATS_SITES_MAX = 256 };

/* Times in nanoseconds, as in the file. */
struct stats_worker {
	bool is_on;			/* it was observed, and the fields mean something */
	uint64_t all_ns;		/* observed, up to `now`: the sum of the times below */
	uint64_t busy_ns, engine_ns, polling_ns, spinning_ns, asleep_ns;
	uint64_t alone_ns;
	uint64_t callbacks, posts, posted, turns, sleeps, spins;
	uint64_t steals, steal_misses, stolen_colors, moves, wakeups;
	uint64_t queued, queued_max;
	uint64_t tid;			/* of its thread, as the process sees it; 0: not known */
	uint64_t no_cpu_since_ns;	/* since its start, the thread was ready to run, and had no CPU */
	uint64_t no_cpu_ns;		/* the same in an interval */
	uint64_t running_ns;		/* the callback that runs: for so long; 0: none */
	uint64_t present_ns;		/* of that, what the records of colors do not have yet */
	uint64_t running_site;
	uint32_t running_color;
	uint64_t delays_ns, delays_num;	/* from ready to run, as far as known */
	uint64_t delays[EC_HISTOGRAM_BUCKETS];
};

/* All workers together. */
struct stats_color {
	uint32_t color, home, moves;
	uint64_t busy_ns, alone_ns, callbacks, longest_ns;
	uint64_t error_ns;		/* busy_ns may lack so much */
	uint64_t busiest_ns, site;	/* at the worker where it was busy most: that, and the function */
	unsigned busiest;
	uint64_t delays_ns, delays_num;	/* from ready to run, as far as known */
	uint64_t delays[EC_HISTOGRAM_BUCKETS];
};

struct stats_site {
	uint64_t site, callbacks, busy_ns, error_ns, longest_ns, longest_at_ns;
	uint64_t longest_new_ns;	/* as longest_ns, if that call was in the interval; else 0 */
	uint32_t color;			/* of the longest call */
};

struct stats {
	const void *file;		/* the bytes, of the caller; stats_subtract and stats_..._of read them again */
	int32_t pid;
	uint32_t base;
	enum ec_stats_mode mode;
	unsigned workers_num;		/* of the base, also those that do not run */
	unsigned workers_on;
	struct stats_worker workers[EC_STATS_WORKERS_MAX];
	unsigned colors_num, sites_num;
	struct stats_color colors[STATS_COLORS_MAX];	/* the busiest first */
	struct stats_site sites[STATS_SITES_MAX];	/* the same */
};

/* False: the bytes are no such file, or of another version. `now_ns`: of CLOCK_MONOTONIC. */
bool stats_parse(const void *data, size_t len, uint64_t now_ns, struct stats *ret);

/* How many bytes a file has at most. */
#define STATS_FILE_MAX (sizeof(struct ec_stats_header) + EC_STATS_WORKERS_MAX * sizeof(struct ec_stats_worker))

/*
 * *ret becomes what was counted from `before` to `ret`, which are of one base. The record of a color or a callback that
 * was given to another one meanwhile counts from then on. Both still have their bytes: see stats_keep.
 */
void stats_subtract(struct stats *ret, const struct stats *before);

/* Room for the bytes of one file; all zero: none yet. */
struct stats_copy {
	void *bytes;
	size_t size;
};

/* s->file becomes a copy in `copy`, so that the next file may be read over the old one. */
void stats_keep(struct stats *s, struct stats_copy *copy);

/*
 * The part of one worker, without the callback that runs: counters that only grow, until the worker gives the record to
 * another color or function. False: that worker has no such record.
 */
bool stats_color_of(const struct stats *s, unsigned worker, uint32_t color, struct stats_color *ret);
bool stats_site_of(const struct stats *s, unsigned worker, uint64_t site, struct stats_site *ret);

/* The sum of all workers. is_on if any is. */
struct stats_worker stats_sum(const struct stats *s);

#endif
