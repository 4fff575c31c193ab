/*
 * Deadlines of one worker: a 4-ary heap of (deadline, sequence, slot) beside a table of slots, one for each armed
 * timer. Timers with equal deadlines expire in the order in which they were armed.
 *
 * No slot knows the place of its entry in the heap. So sifting writes only the heap, and neither rearming nor disarming
 * searches for an entry. Arming later is a store in the slot: the entry is early then, and is corrected when it comes
 * up. Arming earlier pushes another entry, and the old one is stale; so is the entry of a disarmed slot. Stale entries
 * are dropped when they come up. While there are more than three for each armed timer, each call also sweeps a few, so
 * that no call takes long.
 *
 * After a burst, the arrays are as large as the burst. When at least three quarters of the slots have been free for a
 * second, ec_timers_trim frees what is not needed. A slot does not move, so the last armed one limits that. But timers
 * that are armed after it take the first free slots. So later sleeps try again, ever more rarely; none ends for that.
 *
 * Events whose deadline is far away are in buckets (far.h) once the heap has many entries.
 *
 * Guard: the worker's SOURCE lock.
 */
#ifndef EC_TIMER_H
#define EC_TIMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lock/sync.h"

#define EC_TIMER_NONE UINT32_MAX	/* no slot: not armed */

enum { EC_TIMER_ROOT = 3 };

struct ec_timer_entry {
	/* src */
	uint64_t deadline;
	uint32_t slot;
	uint32_t seq;
};

struct ec_far;

enum { EC_TIMERS_GROUP = 64 };

/*
 * Free slots are kept in groups of 64, as bits; a group without free slots is in no list. So slots that were freed in
 * random order are mostly reused in the order of their addresses.
 */
struct ec_timer_group {
	/* src */
	uint64_t free;			/* bit i: slot i of the group */
	uint32_t next;
	bool has_queue;			/* a slot has, or had, a bucket's timer */
};

/*
 * The entry (queued, queued_seq) represents the slot in the heap; all other entries of the slot are stale. That entry
 * is never later than (deadline, seq), so it comes up in time to be corrected.
 */
struct ec_timer_slot {
	/* src */
	uint64_t deadline;
	uint64_t queued;		/* deadline of its entry */
	void *owner;			/* NULL: free */
	uint32_t seq;
	uint32_t queued_seq;		/* of its entry */
};

struct ec_timers {
	/* src; `owner` of a slot: with take_far an event, or what has the lowest bit set */
	struct ec_timer_entry *heap;	/* in `heap_block`, on a cache line */
	struct ec_timer_slot *slots;	/* in `slots_block`, on a cache line */
	struct ec_timer_group *groups;	/* which slots are free */
	void *heap_block;
	void *slots_block;
	uint32_t num;			/* armed */
	uint32_t heap_num;		/* entries: num + the stale ones */
	uint32_t heap_cap;		/* with more entries, events that are far away go to buckets */
	uint32_t heap_room;		/* at least heap_cap: how many it has memory for */
	uint32_t free_group;		/* head of the groups that have a free slot */
	uint32_t sweep_at;		/* entries below are yet to be swept */
	uint32_t seq;			/* of the next arming */
	/* Arms an event that is far away in another way (far.h), or returns false; or NULL. */
	bool (*take_far)(struct ec_timers *t, uint64_t deadline_ns, void *owner);
	struct ec_far *far;		/* its memory, or NULL */
	uint64_t near_ns;		/* later deadlines may be far away; 0: not known yet */
	uint32_t trims_num;		/* since the arrays last grew */
	int64_t trim_ns;		/* when they are due to be trimmed; 0: not known yet */

	/* atomic: written under src; ec_timers_may_have_excess reads it without */
	_Atomic(uint32_t) slots_cap;
};

enum { EC_TIMERS_KEPT = 256 };		/* slots that are never trimmed */

void ec_timers_init(struct ec_timers *t);
void ec_timers_fini(struct ec_timers *t);

/* Arm or rearm. *slot: EC_TIMER_NONE, or what an earlier call wrote. -ENOMEM changes nothing. */
int ec_timers_arm(struct ec_timers *t, uint32_t *slot, uint64_t deadline_ns, void *owner);

/*
 * Rearms `slot`, which was armed for `deadline_ns` or earlier. Only writes, so it does not wait for the cache line.
 */
static inline void ec_timers_postpone(struct ec_timers *t, uint32_t slot, uint64_t deadline_ns)
{
	struct ec_timer_slot *s = &t->slots[slot];

	s->deadline = deadline_ns;
	s->seq = t->seq++;
}

/*
 * The same for a sequence number that an earlier arming got. If it is armed, the deadline is earlier than before.
 * Never goes to a bucket.
 */
int ec_timers_arm_in_order(struct ec_timers *t, uint32_t *slot, uint64_t deadline_ns, uint32_t seq, void *owner);

/* 0: the next arming cannot fail, even after disarming. -ENOMEM. */
int ec_timers_reserve(struct ec_timers *t);

/* *slot becomes EC_TIMER_NONE. */
void ec_timers_disarm(struct ec_timers *t, uint32_t *slot);

uint64_t ec_timers_deadline(const struct ec_timers *t, uint32_t slot);

/* A lower bound: no timer is due earlier. Unlike the exact time, it costs no sifting. UINT64_MAX: no timer. */
static inline uint64_t ec_timers_bound_ns(const struct ec_timers *t)
{
	return t->heap_num == 0 ? UINT64_MAX : t->heap[EC_TIMER_ROOT].deadline;
}

/* The exact time at which the first timer is due; UINT64_MAX: no timer. */
uint64_t ec_timers_next_ns(struct ec_timers *t);

/* Disarms the first timer that is due at `now_ns`, and returns its owner. The caller forgets the slot. NULL: none. */
void *ec_timers_expire(struct ec_timers *t, uint64_t now_ns);

/*
 * Finds the first armed slot at or after *slot, sets *slot to it and returns its owner. NULL: none. To visit all,
 * begin at 0 and add 1 after each. Slots that were disarmed meanwhile are skipped.
 */
void *ec_timers_find(const struct ec_timers *t, uint32_t *slot);

static inline uint32_t ec_timers_cap(const struct ec_timers *t)
{
	return ec_load_relaxed(&t->slots_cap);
}

/* Of the group of slots that begins at `first`: those that are armed. */
static inline uint64_t ec_timers_armed(const struct ec_timers *t, uint32_t first)
{
	return ~t->groups[first / EC_TIMERS_GROUP].free;
}

static inline bool ec_timers_have_queue(const struct ec_timers *t, uint32_t first)
{
	return t->groups[first / EC_TIMERS_GROUP].has_queue;
}

static inline void ec_timers_note_queue(struct ec_timers *t, uint32_t slot)
{
	t->groups[slot / EC_TIMERS_GROUP].has_queue = true;
}

static inline bool ec_timers_have_excess(const struct ec_timers *t)
{
	return ec_timers_cap(t) > EC_TIMERS_KEPT && t->num < ec_timers_cap(t) / 4;
}

/* A hint, without the lock: they may have excess. */
static inline bool ec_timers_may_have_excess(const struct ec_timers *t)
{
	return ec_timers_cap(t) > EC_TIMERS_KEPT;
}

/* While there is excess, before each sleep. Returns how long the sleep may last; INT64_MAX: as long as it likes. */
int64_t ec_timers_trim(struct ec_timers *t, int64_t now_ns);

/* Whether every invariant holds; for tests. */
bool ec_timers_are_sound(const struct ec_timers *t);

#endif
