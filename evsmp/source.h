/*
 * The counters of a running process: of each base that is observed, as they are now.
 *
 * They are read through the control word (attach.h), which also switches them on. If this user may not look into the
 * process, but may read files that it keeps in the runtime directory (EVENT_SMP_STATS=1), then those.
 */
#ifndef EVSMP_SOURCE_H
#define EVSMP_SOURCE_H

#include "attach.h"
#include "stats.h"
#include "symbols.h"

enum { SOURCE_FILES = EC_CONTROL_FILES };

struct source_file {
	int fd;
	uint64_t device, inode;
	bool is_listed;			/* in the table now */
};

struct source {
	pid_t pid;
	unsigned long long start;	/* of the process: process_start() */
	const char *program;
	bool is_attached;		/* false: files of the runtime directory */
	struct attached attached;
	struct symbols *symbols;	/* NULL: this user may not look */
	unsigned files_num;
	struct source_file files[SOURCE_FILES];
	void *bytes;			/* of the file that is read, STATS_FILE_MAX of them */
};

/* Ends evsmp with a message if that process cannot be observed. Counters are on when it returns, unless it says so. */
void source_open(pid_t pid, struct source *s);

/* Renews the lease, and finds the files of bases. False: the process has ended. */
bool source_update(struct source *s);

/* The bases of the process that have no file: their loops have not turned since the counters are on. */
unsigned source_not_turned(const struct source *s);

/* The counters of the i-th file. False: it is no such file any more. */
bool source_read(struct source *s, unsigned i, struct stats *ret);

/* The counters go off soon, unless the environment of the process or another tool wants them. */
void source_close(struct source *s);

/* A function's name, safe for a terminal and valid until the next call; for sentences.h: NULL if no file has it. */
const char *source_name(void *source, uint64_t site);

/* The same with an address where no name is known. */
const char *source_name_or_address(struct source *s, uint64_t site);

uint64_t source_now_ns(void);

#endif
