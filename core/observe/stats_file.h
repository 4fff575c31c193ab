/*
 * The file of a base's counters (stats.h): where it is, and who may read it.
 *
 * It is in memory only (memfd), and tools open it as /proc/PID/fd/FD. With EVENT_SMP_STATS it has a name: a path, or
 * $XDG_RUNTIME_DIR/libevent-smp/PID-BASE. In each case only the owner may read it, no symbolic link is followed, and a
 * file that exists is left alone.
 */
#ifndef EC_STATS_FILE_H
#define EC_STATS_FILE_H

#include "probe.h"
#include "stats.h"

struct ec_stats_file {
	/* const */
	struct ec_stats_header *header;
	size_t size;
	int at;				/* in the control word */
	int fd;				/* as it was opened: the control word's may be another one later */
	char *path;			/* removed at the end; NULL: it has no name */

	/* observe.c's lock */
	unsigned open_num;		/* records that are written */
};

/*
 * All under observe.c's lock. Opens the file of `o` unless it is open. If the program has closed its descriptor, opens
 * a new one; workers that write to the old one go on until they are switched off. 0 or -errno.
 */
int ec_stats_file_open(struct ec_observer *o);

/*
 * The record of a worker in o->stats, with its memory reserved, so that no write to it fails; until
 * ec_stats_file_put() of that file. NULL: errno says why.
 */
struct ec_stats_worker *ec_stats_file_worker(struct ec_observer *o, unsigned worker);
void ec_stats_file_put(struct ec_observer *o, struct ec_stats_file *f);

void ec_stats_file_close(struct ec_observer *o);

#endif
