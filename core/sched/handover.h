/*
 * Hand-overs between threads, for the program's ThreadSanitizer (os/tsan.h). It shall know what the contract of colors
 * promises, and no more, so that it still finds races between colors:
 *
 *   post, add, active, finalize  ->  the next callbacks of that color
 *   callback of a color          ->  its next callbacks; a reader's: only the next exclusive ones
 *   callback of a color          ->  who has deleted an event of that color
 *   any callback                 ->  after a pause, and after the loop
 *   before a loop, and a resume  ->  any callback
 *   loopbreak                    ->  after the loop
 *
 * A color's hand-overs are at an address behind its base, by a hash of the number: so the address lives as long as the
 * base, whether the color exists or not. Colors that share an address count as one: of 1024 pairs
 * of colors, the races of one pair are missed.
 *
 * In a base with a race checker (base.fibers), each color is a fiber, and tasks and events have addresses of their own:
 * observe/fibers.h does all of this, more exactly. Calls here go there.
 */
#ifndef EC_HANDOVER_H
#define EC_HANDOVER_H

#include <stddef.h>

#include "base.h"
#include "ec.h"
#include "event.h"
#include "observe/fibers.h"
#include "os/tsan.h"
#include "worker.h"

size_t ec_hand_do_size(void);
void ec_hand_do_to(struct ec_base *base, uint32_t color);
void ec_hand_do_to_event(const struct ec_event *ev);
void ec_hand_do_to_post(struct ec_base *base, const struct ec_task *t);
void ec_hand_do_begin(struct ec_base *base, struct ec_task *t);
void ec_hand_do_begin_zero(struct ec_base *base);
void ec_hand_do_begin_local(struct ec_worker *w, uint32_t num);
void ec_hand_do_end(struct ec_worker *w);
void ec_hand_do_deleted(const struct ec_event *ev);
void ec_hand_do_all_rest(struct ec_base *base);
void ec_hand_do_open(struct ec_base *base);

/* Bytes behind base.workers that a base needs for these addresses. */
static inline size_t ec_hand_size(void)
{
	return ec_tsan_is_on() ? ec_hand_do_size() : 0;
}

/* Before a post to `color` is queued. */
static inline void ec_hand_to(struct ec_base *base, uint32_t color)
{
	if (ec_tsan_is_on())
		ec_hand_do_to(base, color);
}

static inline void ec_hand_to_post(struct ec_base *base, const struct ec_task *t)
{
	if (ec_tsan_is_on())
		ec_hand_do_to_post(base, t);
}

/* Must each post be handed over by itself? Then it is a task from the start. */
static inline bool ec_hand_is_by_post(const struct ec_base *base)
{
	return ec_tsan_is_on() && base->fibers != NULL;
}

/* Before an event is added or queued. */
static inline void ec_hand_to_event(const struct ec_event *ev)
{
	if (ec_tsan_is_on())
		ec_hand_do_to_event(ev);
}

/* Under RUNQ: a task is about to run, or (posts of the inbox) will run later in this thread. */
static inline void ec_hand_begin(struct ec_base *base, struct ec_task *t)
{
	if (ec_tsan_is_on())
		ec_hand_do_begin(base, t);
}

/* The same for all tasks of color 0. Never biased with ThreadSanitizer, so this is the way of each callback. */
static inline void ec_hand_begin_zero(struct ec_base *base)
{
	if (ec_tsan_is_on())
		ec_hand_do_begin_zero(base);
}

/* The same for the last `num` posts in the ring of `w`. */
static inline void ec_hand_begin_local(struct ec_worker *w, uint32_t num)
{
	if (ec_tsan_is_on())
		ec_hand_do_begin_local(w, num);
}

/* Under RUNQ of its color: callbacks of `w` have ended. */
static inline void ec_hand_end(struct ec_worker *w)
{
	if (ec_tsan_is_on())
		ec_hand_do_end(w);
}

/* An event was deleted, and no callback of it runs. */
static inline void ec_hand_deleted(const struct ec_event *ev)
{
	if (ec_tsan_is_on())
		ec_hand_do_deleted(ev);
}

/* The gate is closed, and no callback runs. */
static inline void ec_hand_all_rest(struct ec_base *base)
{
	if (ec_tsan_is_on())
		ec_hand_do_all_rest(base);
}

/* Before the gate opens. */
static inline void ec_hand_open(struct ec_base *base)
{
	if (ec_tsan_is_on())
		ec_hand_do_open(base);
}

/* In a base with a race checker: the calling thread begins the loop; ends it, and no callback runs. */
static inline void ec_hand_enter(struct ec_base *base)
{
	if (ec_tsan_is_on() && base->fibers != NULL)
		ec_fibers_enter(base->fibers);
}

static inline void ec_hand_leave(struct ec_base *base)
{
	if (ec_tsan_is_on() && base->fibers != NULL)
		ec_fibers_leave(base->fibers);
}

#endif
