/*
 * The table of the descriptors that one worker watches, and what is known of each. A worker embeds it; source.h says
 * how it changes.
 *
 * All of it under the worker's SOURCE lock.
 */
#ifndef EC_FDS_H
#define EC_FDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/list.h"

struct ec_event;

struct ec_source {
	struct ec_list events;
	uint64_t watch_id;		/* ec_watch_id of what the poller watches; no report has it while armed is 0 */
	struct ec_list dirty;		/* in ec_fds.dirty, if is_dirty */
	int fd;
	uint32_t cookie;		/* of the last watch; tells its reports from older ones */
	uint16_t reads, writes, closes;	/* events that wait for it */
	uint8_t wants;			/* what they wait for together */
	uint8_t armed;			/* what the poller was last told */
	bool is_edge;
	bool is_dirty;
	bool was_gone;			/* while dirty: had no event for a moment */
	const struct ec_event *last;	/* the last one that went; only compared */
	struct ec_list migrant;		/* in the worker's migrants, if is_migrant */
	bool is_migrant;
	bool is_disarmed;			/* told nothing until a callback elsewhere has run */
};

struct ec_fds {
	struct ec_source **at;		/* by descriptor; ec_source_none where there is none: no test */
	int cap;
	uint32_t watched;		/* those that the poller was told to watch */
	struct ec_list dirty;
};

extern struct ec_source ec_source_none;

/* The source of `fd`, or NULL. */
static inline struct ec_source *ec_source_find(const struct ec_fds *fds, int fd)
{
	struct ec_source *s = (unsigned)fd < (unsigned)fds->cap ? fds->at[fd] : NULL;

	return s == &ec_source_none ? NULL : s;
}

#endif
