/*
 * The counters of a base, read from the bytes of its file (core/observe/stats.h). The bytes may be anything.
 *
 * Nothing is allocated: a tool that runs for months reads them each second.
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
	uint64_t running_ns;		/* the callback that runs: for so long; 0: none */
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
	uint32_t color;			/* of the longest call */
};

struct stats {
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

/* *ret becomes what was counted from `before` to `ret`. A counter that shrank began anew. */
void stats_subtract(struct stats *ret, const struct stats *before);

/* The sum of all workers. is_on if any is. */
struct stats_worker stats_sum(const struct stats *s);

#endif
