/*
 * The queues of a color: its tasks, and the lanes of color 0. What enters an idle color's queue makes the color
 * runnable.
 */
#ifndef EC_QUEUE_H
#define EC_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base.h"
#include "colors.h"
#include "event.h"
#include "worker.h"

/* What worker `w` ran when another one looked at its poller for it. */
struct ec_peer_poll {
	struct ec_worker *w;
	const struct ec_event *event;
	uint32_t run_seq;
};

/*
 * Activations in a row: keeps the RUNQ lock of the worker that the last one went to, and
 * remembers whom to wake. Used under a SOURCE lock, or none.
 */
struct ec_batch {
	struct ec_base *base;
	struct ec_worker *src;		/* SOURCE to leave at the end, or NULL */
	struct ec_worker *locked;
	struct ec_worker *wake;		/* asleep and given work while `locked` */
	struct ec_worker *surplus;	/* has more than it is about to run */
	struct ec_worker *near;		/* where a new color begins; NULL: at its home */
	const struct ec_peer_poll *peer;	/* the reports come from another worker's poller; or NULL */
	enum ec_birth birth;		/* of a color that is not there yet; from the start, EC_BIRTH_MAY_FAIL */
	bool has_caught;		/* signals that came: each is a call, also of an event that is active */
};

static inline void ec_batch_begin(struct ec_batch *b, struct ec_base *base)
{
	*b = (struct ec_batch){ .base = base };
}

/* Under RUNQ. push: `t` is in no queue. */
void ec_task_push(struct ec_batch *b, struct ec_color *c, struct ec_task *t);
void ec_task_remove(struct ec_color *c, struct ec_task *t);

/* As push, before everything else of its priority; `c` is running. */
void ec_task_push_first(struct ec_batch *b, struct ec_color *c, struct ec_task *t);

/*
 * The first of its lane. If something less urgent runs, that ends: the ones after it need not
 * say so again, for the lane has none left once a less urgent one runs.
 */
static inline void ec_lane_begin(struct ec_base *base, unsigned pri)
{
	ec_map_set(base->lanes_map, pri);
	if (pri < base->running_pri)
		ec_store_relaxed(&base->is_continue, true);
}

static inline void ec_lane_push(struct ec_base *base, struct ec_task *t)
{
	struct ec_lane *lane = &base->lanes[t->pri];
	struct ec_list *list = ec_task_is_post(t) ? &lane->posts : &lane->others;

	if (ec_list_is_empty(list))
		ec_lane_begin(base, t->pri);
	if (list == &lane->posts)
		ec_store_relaxed(&base->has_posts, true);
	ec_list_push_back(list, &t->link);
}

/* Under RUNQ: the first task of `c`, or NULL. */
struct ec_task *ec_color0_first(struct ec_base *base);

static inline struct ec_task *ec_color_first(struct ec_base *base, const struct ec_color *c)
{
	if (c == &base->color0)
		return ec_color0_first(base);
	return ec_list_is_empty(&c->tasks) ? NULL : ec_container_of(c->tasks.next, struct ec_task, link);
}

/*
 * Under RUNQ: the task of `c` that is to run next, or NULL. Posts are at the head of the queue, and go first,
 * unless others are owed a turn: see EC_COLOR_OTHERS_FIRST.
 */
struct ec_task *ec_color_due_other(struct ec_base *base, struct ec_color *c);

static inline struct ec_task *ec_color_due(struct ec_base *base, struct ec_color *c)
{
	if (__builtin_expect((c->flags & EC_COLOR_OTHERS_FIRST) != 0, 0))
		return ec_color_due_other(base, c);
	return ec_color_first(base, c);
}

/* Under RUNQ: the first `num` tasks of `c` that are no posts go before its posts. */
static inline void ec_color_put_others_first(struct ec_color *c, uint32_t num)
{
	if (num == 0)
		return;
	c->others_due = (uint8_t)(num < UINT8_MAX ? num : UINT8_MAX);
	c->flags |= EC_COLOR_OTHERS_FIRST;
}

bool ec_task_is_shared(struct ec_task *t);

/* Under RUNQ: make `c`, which has tasks, QUEUED at `w`. */
void ec_color_enqueue(struct ec_worker *w, struct ec_color *c);

#endif
