/*
 * The table of the descriptors that one worker watches, with the state of each. A worker embeds it. source.h changes
 * the events of a descriptor, watch.h the poller's interest in it.
 */
#ifndef EC_FDS_H
#define EC_FDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/list.h"

struct ec_event;

struct ec_source {
	/* const */
	int fd;

	/* src: the worker's SOURCE lock */
	int dirty_next;			/* in ec_fds.dirty, if is_listed */
	struct ec_list events;
	/*
	 * ec_watch_id of the poller's watch; while `armed` is 0, the descriptor in it is -1, which no report has. Each
	 * new watch has another cookie than the one before, because a report of that may still be in flight.
	 */
	uint64_t watch_id;
	const struct ec_event *last;	/* the last event that was removed; only compared */
	int migrant_next;		/* in the worker's migrants, if is_migrant */
	uint16_t reads, writes, closes;	/* events that wait for it */
	uint8_t wants;			/* EC_READ … that the events wait for, together */
	uint8_t armed;			/* EC_READ … that the poller watches */
	bool is_edge;
	bool is_dirty;			/* a change waits for the next flush to the poller */
	bool was_gone;			/* while dirty: it had no event for a moment */
	bool is_listed : 1;		/* in ec_fds.dirty, dirty or not */
	bool is_disarmed : 1;		/* until a callback on another worker has run */
	bool is_migrant : 1;
};

_Static_assert(sizeof(void *) != 8 || sizeof(struct ec_source) == 56, "malloc's blocks are 16 n + 8 bytes");

struct ec_fds {
	/* src */
	struct ec_source **at;		/* by descriptor; &ec_source_none if there is none, so readers need no test */
	int cap;
	uint32_t watched;		/* descriptors that the poller watches */
	int dirty;			/* the descriptor of the last source whose change waits; -1: none */
};

#define EC_NOT_WATCHED UINT32_MAX		/* as a watch_id: descriptor -1 */

extern struct ec_source ec_source_none;

void ec_fds_init(struct ec_fds *fds);
void ec_fds_fini(struct ec_fds *fds);

/* Finds or makes the source of `fd`. -EBADF, -ENOMEM; -EINVAL: the number is too high for a table. */
int ec_fds_get(struct ec_fds *fds, int fd, struct ec_source **ret);

/* The source of `fd`, or NULL. */
static inline struct ec_source *ec_source_find(const struct ec_fds *fds, int fd)
{
	struct ec_source *s = (unsigned)fd < (unsigned)fds->cap ? fds->at[fd] : NULL;

	return s == &ec_source_none ? NULL : s;
}

#endif
