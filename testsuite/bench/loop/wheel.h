/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LOOP_WHEEL_H
#define LOOP_WHEEL_H

/*
 * Timers at their cheapest: a wheel of 4 levels, 256 slots each, ticks of 1 ms, doubly linked
 * lists. A timer is as large as struct event, since programs embed those.
 */

#include <stdint.h>

enum { WHEEL_LEVELS = 4, WHEEL_SLOTS = 256 };

struct wheel_timer {
	struct wheel_timer *next, *prev;
	uint64_t due_ms;
	char as_large_as_an_event[104];
};

struct wheel {
	struct wheel_timer slots[WHEEL_LEVELS][WHEEL_SLOTS];
	uint64_t now_ms;
};

static inline void wheel_init(struct wheel *w, uint64_t now_ms)
{
	unsigned level, i;

	w->now_ms = now_ms;
	for (level = 0; level < WHEEL_LEVELS; level++) {
		for (i = 0; i < WHEEL_SLOTS; i++) {
			w->slots[level][i].next = &w->slots[level][i];
			w->slots[level][i].prev = &w->slots[level][i];
		}
	}
}

static inline struct wheel_timer *wheel_slot(struct wheel *w, unsigned level, uint64_t ms)
{
	return &w->slots[level][(ms >> (8 * level)) % WHEEL_SLOTS];
}

static inline void wheel_add(struct wheel *w, struct wheel_timer *timer)
{
	const uint64_t ahead = timer->due_ms > w->now_ms ? timer->due_ms - w->now_ms : 0;
	struct wheel_timer *slot;
	unsigned level = 0;

	while (level < WHEEL_LEVELS - 1 && ahead >> (8 * (level + 1)) != 0)
		level++;
	slot = wheel_slot(w, level, timer->due_ms);
	timer->next = slot;
	timer->prev = slot->prev;
	slot->prev->next = timer;
	slot->prev = timer;
}

static inline void wheel_remove(struct wheel_timer *timer)
{
	timer->prev->next = timer->next;
	timer->next->prev = timer->prev;
}

/* A slot of a coarse level has been reached: what is in it goes to finer ones. */
static inline void wheel_spread(struct wheel *w, unsigned level)
{
	struct wheel_timer *slot = wheel_slot(w, level, w->now_ms);
	struct wheel_timer *timer = slot->next, *next;

	slot->next = slot->prev = slot;
	for (; timer != slot; timer = next) {
		next = timer->next;
		wheel_add(w, timer);
	}
}

static inline void wheel_advance(struct wheel *w, uint64_t to_ms, void (*fired)(void))
{
	struct wheel_timer *slot;
	unsigned level;

	for (; w->now_ms <= to_ms; w->now_ms++) {
		for (level = 1; level < WHEEL_LEVELS; level++) {
			if (w->now_ms % (1ull << (8 * level)) != 0)
				break;
			wheel_spread(w, level);
		}
		slot = wheel_slot(w, 0, w->now_ms);
		while (slot->next != slot) {
			wheel_remove(slot->next);
			fired();
		}
	}
}

#endif /* LOOP_WHEEL_H */
