/*
 * Deadlines of one worker: a 4-ary heap of (deadline, slot) pairs. What the heap moves is
 * dense; where an entry stands is kept in the slot table, not in its owner, so that
 * sifting touches no owner's cache line. Entries with one deadline expire in the order in
 * which they were armed.
 *
 * Arming an armed timer later is one store in its slot: the heap's entry is then early, and
 * put right when it comes up. Guard: the worker's SOURCE lock.
 */
#ifndef EC_TIMER_H
#define EC_TIMER_H

#include <stddef.h>
#include <stdint.h>

#define EC_TIMER_NONE UINT32_MAX	/* no slot: not armed */

struct ec_timer_entry;
struct ec_timer_slot;

struct ec_timers {
	struct ec_timer_entry *heap;
	struct ec_timer_slot *slots;
	uint32_t num;			/* armed */
	uint32_t cap;
	uint32_t free_slot;		/* head of the free slots */
	uint32_t seq;			/* of the next arming */
};

void ec_timers_init(struct ec_timers *t);
void ec_timers_fini(struct ec_timers *t);

/* Arm or rearm. *slot: EC_TIMER_NONE, or what an earlier call wrote. -ENOMEM changes nothing. */
int ec_timers_arm(struct ec_timers *t, uint32_t *slot, uint64_t deadline_ns, void *owner);

/* *slot becomes EC_TIMER_NONE. */
void ec_timers_disarm(struct ec_timers *t, uint32_t *slot);

uint64_t ec_timers_deadline(const struct ec_timers *t, uint32_t slot);

/* When the first one is due, exactly; UINT64_MAX: none. */
uint64_t ec_timers_next_ns(struct ec_timers *t);

/* Disarm the first one due at `now_ns` and return its owner (the caller forgets the slot), or NULL. */
void *ec_timers_expire(struct ec_timers *t, uint64_t now_ns);

/* The i-th armed owner, in no particular order, i < t->num. */
void *ec_timers_at(const struct ec_timers *t, uint32_t i);

#endif
