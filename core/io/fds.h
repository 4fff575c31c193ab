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

/* Half a cache line where pointers have 64 bits: each descriptor that was ever watched has one. */
struct ec_source {
	/* src: the worker's SOURCE lock */
	struct ec_list events;
	/*
	 * ec_watch_id of the poller's watch; while `armed` is 0, with all bits of the descriptor inverted, which no
	 * report has. Each new watch has another cookie than the one before, because a report of that may still be in
	 * flight.
	 */
	uint64_t watch_id;
	union {
		struct {
			union {
				struct {
					uint16_t reads, writes;	/* events that wait for it */
				};
				uint32_t last;	/* no event waits: ec_source_mark of the event that was removed last */
			};
			uint8_t closes;		/* as reads */
			uint8_t wants;		/* EC_READ … that the events wait for, together */
			uint8_t armed;		/* EC_READ … that the poller watches */
			bool is_edge : 1;	/* the event that came first is edge-triggered: all are watched so */
			bool is_mixed : 1;	/* while there were events, one came that is not as is_edge is */
			bool is_dirty : 1;	/* a change waits for the next flush to the poller */
			bool was_gone : 1;	/* while dirty: it had no event for a moment, or an edge must come */
			bool is_listed : 1;	/* in ec_fds.dirty, dirty or not */
			bool is_disarmed : 1;	/* until a callback on another worker has run */
			bool is_migrant : 1;	/* in ec_fds.migrants */
		};
		uint64_t state;			/* all of them: report.c */
	};
};

_Static_assert(sizeof(void *) != 8 || sizeof(struct ec_source) == 32, "two on a cache line");

/* Sources are made in slabs, and stay until the worker ends. */
struct ec_source_slab {
	struct ec_source_slab *next;	/* the sources follow, each within a cache line */
};

/* Descriptors, last in, first out. */
struct ec_fd_stack {
	int *at;
	int num, cap;
};

struct ec_fds {
	/* src */
	struct ec_source **at;		/* by descriptor; &ec_source_none if there is none, so readers need no test */
	int cap;
	uint32_t watched;		/* descriptors that the poller watches */
	struct ec_fd_stack dirty;	/* whose change waits, the first change first */
	struct ec_fd_stack migrants;	/* whose events have another home now */
	struct ec_source_slab *slabs;
	struct ec_source *spare;	/* of the last slab: those that were not handed out */
	int spare_num;
};

#define EC_NOT_WATCHED UINT32_MAX		/* as a watch_id: of no descriptor */

extern struct ec_source ec_source_none;

void ec_fds_init(struct ec_fds *fds);
void ec_fds_fini(struct ec_fds *fds);

/* Makes the source of `fd`, which has none. -EBADF, -ENOMEM; -EINVAL: the number is too high for a table. */
int ec_fds_make(struct ec_fds *fds, int fd, struct ec_source **ret);

/* False: no memory. */
bool ec_fd_stack_reserve(struct ec_fd_stack *stack);

/* False: there is no room. It calls nothing. */
static inline bool ec_fd_stack_put(struct ec_fd_stack *stack, int fd)
{
	if (__builtin_expect(stack->num == stack->cap, 0))
		return false;
	stack->at[stack->num++] = fd;
	return true;
}

static inline bool ec_fd_stack_push(struct ec_fd_stack *stack, int fd)
{
	return ec_fd_stack_put(stack, fd) || (ec_fd_stack_reserve(stack) && ec_fd_stack_put(stack, fd));
}

static inline int ec_source_fd(const struct ec_source *s)
{
	int fd = (int)(uint32_t)s->watch_id;

	return fd < 0 ? ~fd : fd;
}

/* To recognize an event: no other one within 32 GB has the same mark. */
static inline uint32_t ec_source_mark(const struct ec_event *ev)
{
	return (uint32_t)((uintptr_t)ev >> 3);
}

/* The source of `fd`, or NULL. */
static inline struct ec_source *ec_source_find(const struct ec_fds *fds, int fd)
{
	struct ec_source *s = (unsigned)fd < (unsigned)fds->cap ? fds->at[fd] : NULL;

	return s == &ec_source_none ? NULL : s;
}

/* Finds or makes it: as ec_fds_make. */
static inline int ec_fds_get(struct ec_fds *fds, int fd, struct ec_source **ret)
{
	*ret = ec_source_find(fds, fd);
	return __builtin_expect(*ret != NULL, 1) ? 0 : ec_fds_make(fds, fd, ret);
}

#endif
