/*
 * Deadlines that are far away: buckets of events, linked through the events, so they need no other memory.
 *
 * Once the heap of a worker's timers has many entries (timer.h), an event goes to a bucket if its deadline is more than
 * a second after the last time that a bucket was due. A bucket spans 1/64 to 1/32 of the time from then, more at level
 * 0: that has 64 buckets of 67 ms, and each level spans twice as much as the one before. In the heap, one timer stands
 * for the bucket: just before the first deadline of its events. When that comes, the events of the bucket move to the
 * heap, those postponed meanwhile to other buckets. So an event moves once.
 *
 * Equal deadlines expire in the order of arming, as without buckets: an event keeps its sequence number. If the first
 * event of a bucket is deleted or postponed, the timer stays, and comes once in vain.
 *
 * Rejected: a cascade of buckets, level by level, moves each event several times. A heap without tables, the events
 * knowing their places, needs 16 bytes for each, and a cache miss for each step of sifting.
 *
 * Guard: the worker's SOURCE lock.
 */
#ifndef EC_FAR_H
#define EC_FAR_H

#include <stdbool.h>
#include <stdint.h>

#include "os/list.h"

struct ec_event;
struct ec_timers;

enum { EC_FAR_LEVELS = 24, EC_FAR_BUCKETS = 64 };

struct ec_far_bucket {
	/* src */
	struct ec_list events;		/* in order of arming; empty: no timer */
	uint32_t slot;			/* of its timer */
	uint32_t level;
};

/* Made with the first event. */
struct ec_far {
	/* src */
	uint32_t num;			/* events in buckets */
	uint64_t now_ns;		/* of the last time that a bucket was due: distances are measured from here */
	struct ec_far_bucket *levels[EC_FAR_LEVELS];
};

/* The owners of `t`, which is empty, are events, and what common.h and this file mark. */
void ec_far_init(struct ec_timers *t);
void ec_far_fini(struct ec_timers *t);

/* Disarms `ev`, which is in a bucket. */
void ec_far_remove(struct ec_timers *t, struct ec_event *ev);

/*
 * The timer of `b` has expired at `now_ns`: its events get timers of their own, or other buckets. Without memory, those
 * that are due go to `due`, not armed; the others wait in `b`.
 */
void ec_far_open(struct ec_timers *t, struct ec_far_bucket *b, uint64_t now_ns, struct ec_list *due);

/* The owner of a bucket's timer. The two lowest bits are set; of a common timeout's only one is. */
static inline void *ec_far_owner(struct ec_far_bucket *b)
{
	return (char *)b + 3;
}

static inline struct ec_far_bucket *ec_far_from_owner(void *owner)
{
	return ((uintptr_t)owner & 3) == 3 ? (struct ec_far_bucket *)(void *)((char *)owner - 3) : NULL;
}

#endif
