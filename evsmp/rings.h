/*
 * A trace file (core/observe/trace_layout.h), read while the process writes it, or later. Another program wrote it, so
 * each number is checked. It is read with pread(): a file that gets shorter meanwhile costs records, not this process.
 */
#ifndef EVSMP_RINGS_H
#define EVSMP_RINGS_H

#include "core/observe/trace_layout.h"
#include "say.h"

struct record {
	uint64_t word[EC_TRACE_WORDS];
};

/* What one worker wrote. */
struct ring {
	uint64_t num_seen;		/* records written up to the last reading */
	uint64_t lost;			/* overwritten before they were read, or dropped for want of room */
	uint64_t gaps;			/* of the lost ones: those after some that are kept */
	uint64_t damaged;
	struct record *at;
	size_t num, cap;
	struct record current;		/* the callback that ran at the last reading; word 0 is 0: none */
};

struct rings {
	int fd;
	struct ec_trace_head head;	/* checked */
	struct ring *rings;		/* head.rings_num of them */
	size_t keep_num;		/* of each ring; older records are dropped */
	bool is_closed;			/* nothing more will be written */
	struct record *part;		/* head.records_num of them */
};

/* NULL, or what is wrong: a sentence without a full stop. The descriptor stays the caller's if something is. */
const char *rings_open(int fd, size_t keep_num, struct rings *ret);
void rings_close(struct rings *r);

/* Reads what is new. */
void rings_read(struct rings *r);

/* The text of /proc/PID/maps that is in the file; the caller frees it. NULL: none is. */
char *rings_maps(const struct rings *r);

#endif
