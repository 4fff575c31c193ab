/*
 * The file of a base's counters: a header, then one record for each worker, which that worker's thread alone writes.
 * evsmp has this file, too.
 *
 * Readers take no lock. All counters only grow, and a single one is always whole. The record of a color or a callback
 * may be given to another one. `seq` and `seq_end` show that:
 *
 *	worker					reader, upwards
 *	W1 seq_end + 1				R1 seq
 *	W2 all fields (release, each)		R2 all fields (acquire, each)
 *	W3 seq = seq_end (release)		R3 seq_end; not equal to seq: read again
 *
 * Equal, and R2 is of one W2: R1 saw the W3 behind it, and with a field of a later W2, R3 would see the W1 before that.
 * The tools copy the bytes by read(), which the kernel does upwards.
 *
 * Times are in nanoseconds. 32-bit and 64-bit processes write the same layout, in their byte order.
 */
#ifndef EC_STATS_H
#define EC_STATS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "histogram.h"

#define EC_STATS_MAGIC "ec-stat"
enum { EC_STATS_LAYOUT = 3, EC_STATS_COLORS = 64, EC_STATS_SITES = 64, EC_STATS_WORKERS_MAX = 1024 };

/* A counter. The alignment is the same on all machines. */
typedef _Atomic(uint64_t) ec_stat __attribute__((aligned(8)));
typedef _Atomic(uint32_t) ec_stat32;

struct ec_stats_header {
	char magic[8];
	uint32_t layout;
	uint32_t header_size, worker_size; /* of the structs; workers follow the header */
	uint32_t workers_num;		/* records in the file */
	uint32_t colors_num, sites_num, buckets_num;
	int32_t pid;
	uint32_t base;			/* a number that no other base of the process had */
	ec_stat32 mode;			/* enum ec_stats_mode */
	ec_stat began_ns;		/* of CLOCK_MONOTONIC: when the file was made */
	uint64_t unused[8];
};

enum ec_stats_mode {
	EC_STATS_UNCOLORED = 1,		/* no colors: one thread runs all callbacks */
	EC_STATS_SINGLE,		/* colors, and one worker */
	EC_STATS_SEVERAL,		/* colors, and several workers */
};

/* One of the colors that took the most time at this worker. */
struct ec_stats_color {
	ec_stat32 seq;
	ec_stat32 color;
	ec_stat32 home;			/* a worker */
	ec_stat32 moves;		/* of the home, to this worker */
	ec_stat error_ns;		/* it took at least busy_ns, and at most this more: sketch.h */
	/* since it is among these colors */
	ec_stat callbacks, busy_ns, alone_ns, longest_ns;
	ec_stat site;			/* the function that was called last */
	ec_stat delays_ns;		/* the sum of those in the histogram */
	ec_stat delays[EC_HISTOGRAM_BUCKETS]; /* from ready to run, as far as known */
	ec_stat32 unused;
	ec_stat32 seq_end;
};

/* One of the callback functions that took the most time at this worker. */
struct ec_stats_site {
	ec_stat32 seq;
	ec_stat32 color;		/* of the longest call */
	ec_stat site;			/* the address of the function */
	ec_stat error_ns;
	ec_stat callbacks, busy_ns, longest_ns;
	ec_stat longest_at_ns;		/* of CLOCK_MONOTONIC */
	ec_stat32 unused;
	ec_stat32 seq_end;
};

struct ec_stats_worker {
	ec_stat since_ns, until_ns;	/* of CLOCK_MONOTONIC: counted from … to …; 0: not at all */
	/* together the time from since to until, but for what is in progress */
	ec_stat busy_ns;		/* in callbacks */
	ec_stat engine_ns;		/* between callbacks */
	ec_stat polling_ns, spinning_ns, asleep_ns;
	ec_stat alone_ns;		/* of busy_ns: while all other workers were idle */
	ec_stat callbacks, posts;	/* posts: callbacks that were posted */
	ec_stat posted;			/* by callbacks of this worker */
	ec_stat turns, sleeps, spins;
	ec_stat steals, steal_misses, stolen_colors, moves;
	ec_stat wakeups;		/* that it sent */
	ec_stat queued;			/* tasks that wait, as of the last turn */
	ec_stat queued_max;
	ec_stat running_since_ns;	/* the callback that runs: began; 0: none */
	ec_stat running_site, running_color;
	ec_stat delays_ns;		/* of all callbacks whose delay is known */
	ec_stat delays[EC_HISTOGRAM_BUCKETS];
	ec_stat32 colors_num, sites_num;
	ec_stat is_off;			/* nothing is counted now: what comes after until_ns is not known */
	ec_stat tid;			/* of the thread that runs the worker, as the process sees it; 0: not known */
	uint64_t unused[6];
	struct ec_stats_color colors[EC_STATS_COLORS];
	struct ec_stats_site sites[EC_STATS_SITES];
};

struct ec_stats_file_layout {
	struct ec_stats_header header;
	struct ec_stats_worker workers[];
};

_Static_assert(sizeof(struct ec_stats_header) == 120, "the same on all machines");
_Static_assert(sizeof(struct ec_stats_color) == 16 + 7 * 8 + 8 * EC_HISTOGRAM_BUCKETS + 8, "no holes");
_Static_assert(sizeof(struct ec_stats_site) == 64, "no holes");
_Static_assert(offsetof(struct ec_stats_worker, colors) == (25 + EC_HISTOGRAM_BUCKETS) * 8 + 8 + 64, "no holes");

#endif
