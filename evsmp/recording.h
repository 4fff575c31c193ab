/*
 * Trace files that are read while they are written. A process has one for each event_base that is traced.
 */
#ifndef EVSMP_RECORDING_H
#define EVSMP_RECORDING_H

#include <sys/types.h>

#include "rings.h"
#include "timeline.h"

struct recorded {
	struct rings rings;
	dev_t dev;			/* which file it is */
	ino_t ino;
	pid_t pid;			/* whose mappings tell the names; 0: the file's do */
};

struct recording {
	struct recorded *at;
	size_t num;
	int64_t from_ns;		/* of CLOCK_MONOTONIC: what was recorded before is left out; 0: nothing is */
};

/* Adds a file, unless it is there; the descriptor is this function's. NULL, or what is wrong with it. */
const char *recording_add(struct recording *r, int fd, pid_t pid);

/* Adds the files of a directory that are traces, and that `is_ours` takes: it gets the file and its owner. */
typedef bool (*recording_filter_fn)(const struct rings *rings, uid_t owner, void *arg);
void recording_add_directory(struct recording *r, const char *dir, recording_filter_fn is_ours, void *arg);

/* Reads what is new in all files. */
void recording_read(struct recording *r);
bool recording_is_closed(const struct recording *r);

/* Its bands go to the timeline, in the order of processes and bases. */
void recording_finish(struct recording *r, struct timeline *ret);

/* Records that were lost because they came faster than they were read, and such that made no sense. */
uint64_t recording_lost(const struct recording *r);
uint64_t recording_gaps(const struct recording *r);	/* lost ones after some that are there */
uint64_t recording_damaged(const struct recording *r);

#endif
