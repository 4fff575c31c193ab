/*
 * Common timeouts: durations that many events share, each with a queue in order of expiry. Programs name one by a
 * struct timeval whose tv_usec carries a mark and an index.
 */
#ifndef EC_COMMON_H
#define EC_COMMON_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/time.h>

#include "os/list.h"

struct ec_base;

enum { EC_COMMON_MAX = 256 };		/* common timeouts of a base */

/* A duration, and the color-0 events that wait for it, in order of expiry. */
struct ec_common {
	/* const */
	struct timeval tv;		/* with its mark; the program has a pointer to it */
	uint64_t duration_ns;
	struct ec_base *base;

	/* src: SOURCE of worker 0 */
	struct ec_list events;
	uint32_t slot;			/* of the first event's deadline in worker 0's timers */
};

enum { EC_COMMON_USEC = 0x000fffff, EC_COMMON_MARK = 0x50000000, EC_COMMON_SHIFT = 20 };

/* Does it look like a handle? So do durations of 22 to 27 minutes that are given in microseconds alone. */
static inline bool ec_common_is_handle(const struct timeval *tv)
{
	return tv->tv_usec >> 28 == EC_COMMON_MARK >> 28 && (tv->tv_usec & EC_COMMON_USEC) < 1000000;
}

static inline unsigned ec_common_index(const struct timeval *tv)
{
	return (unsigned)(tv->tv_usec >> EC_COMMON_SHIFT) & 0xff;
}

/* The owner of a timer: an event, or a common timeout, marked by the lowest bit (or a bucket: far.h). */
static inline void *ec_common_owner(struct ec_common *common)
{
	return (char *)common + 1;
}

static inline struct ec_common *ec_common_from_owner(void *owner)
{
	return ((uintptr_t)owner & 3) == 1 ? (struct ec_common *)(void *)((char *)owner - 1) : NULL;
}

/*
 * The duration `tv`, or the duration of the common timeout that `tv` is the handle of, in whichever base. If no base
 * has had as many common timeouts, `tv` is no handle, and its microseconds count as they are.
 */
int64_t ec_timeval_ns(const struct timeval *tv);

bool ec_common_is_head(struct ec_base *base, const struct ec_list *node);

#endif
