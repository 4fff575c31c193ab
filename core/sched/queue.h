/*
 * The queues of a color: its tasks, and the lanes of color 0. A task that enters an idle color's queue makes the
 * color runnable.
 */
#ifndef EC_QUEUE_H
#define EC_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base.h"
#include "colors.h"
#include "event.h"
#include "worker.h"

/* const. The callback that `w` ran when another worker polled for it. */
struct ec_peer_poll {
	struct ec_worker *w;
	const struct ec_event *event;
	uint32_t run_seq;
};

/*
 * A sequence of activations. The batch keeps the RUNQ lock of the last color's worker, and wakes workers after it has
 * released that lock. Used under a SOURCE lock, or none.
 */
struct ec_batch {
	/* own: the thread whose stack it is on */
	struct ec_base *base;
	struct ec_worker *src;		/* whose SOURCE the end releases, or NULL */
	struct ec_worker *locked;	/* whose RUNQ is held, or NULL */
	struct ec_worker *wake;		/* slept, and got work */
	struct ec_worker *surplus;	/* has work for a thief */
	struct ec_worker *near;		/* where a new color is born; NULL: at its home */
	const struct ec_peer_poll *peer;	/* the poller is another worker's; or NULL */
	enum ec_birth birth;		/* of a new color; ec_batch_begin: EC_BIRTH_MAY_FAIL */
	unsigned caught_pri_end;	/* caught signals: each is a call, even if the event is active; below this */
};

static inline void ec_batch_begin(struct ec_batch *b, struct ec_base *base)
{
	*b = (struct ec_batch){ .base = base };
}

/* Under RUNQ. `t` is in no queue before push. */
void ec_task_push(struct ec_batch *b, struct ec_color *c, struct ec_task *t);
void ec_task_remove(struct ec_color *c, struct ec_task *t);

/* As push, but before all other tasks of its priority. `c` is running. */
void ec_task_push_first(struct ec_batch *b, struct ec_color *c, struct ec_task *t);

/* Under RUNQ of `w`, as `t` leaves the queue of a color there, but for color 0. */
static inline void ec_queue_forget(struct ec_worker *w, const struct ec_task *t)
{
	if (__builtin_expect(w->mark == t, 0))
		w->mark = NULL;
}

/* The same as `num` tasks leave it, from `first` on. */
void ec_queue_forget_row(struct ec_worker *w, struct ec_list *first, uint32_t num);

/* The same as all of `c` does: the color leaves the worker. */
static inline void ec_queue_forget_color(struct ec_worker *w, const struct ec_color *c)
{
	if (w->mark != NULL && w->mark->color == ec_load_relaxed(&c->number))
		w->mark = NULL;
}

static inline bool ec_lane_is_empty(const struct ec_lane *lane)
{
	return ec_list_is_empty(&lane->others) && ec_list_is_empty(&lane->posts);
}

/* The most urgent lane with tasks; EC_PRI_MAX: none. */
static inline unsigned ec_lanes_first(const struct ec_base *base)
{
	return ec_lane_is_empty(&base->lanes[0]) ? ec_map_first(base->lanes_map) : 0;
}

/* A lane has a task. */
static inline void ec_lane_note(struct ec_base *base, unsigned pri)
{
	if (pri != 0)
		ec_map_set(base->lanes_map, pri);
}

/* A lane gets its first task, or one more. A less urgent lane that runs must end. */
static inline void ec_lane_begin(struct ec_base *base, unsigned pri)
{
	ec_lane_note(base, pri);
	if (__builtin_expect(pri < base->running_pri, 0))
		ec_store_relaxed(&base->is_continue, true);
}

/* A lane may have lost its last task. */
static inline void ec_lane_settle(struct ec_base *base, unsigned pri)
{
	if (pri != 0 && ec_lane_is_empty(&base->lanes[pri]))
		ec_map_clear(base->lanes_map, pri);
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

/* The lane that runs has no posts; another one still may, and runs later. */
static inline void ec_base_note_no_posts(struct ec_base *base)
{
	if (ec_load_relaxed(&base->color0.posts_num) == 0)
		ec_store_relaxed(&base->has_posts, false);
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
 * Under RUNQ: the task of `c` that runs next, or NULL. Posts are at the head of the queue and go first, except with
 * EC_COLOR_OTHERS_FIRST.
 */
struct ec_task *ec_color_due_other(struct ec_base *base, struct ec_color *c);

static inline struct ec_task *ec_color_due(struct ec_base *base, struct ec_color *c)
{
	if (__builtin_expect((c->flags & EC_COLOR_OTHERS_FIRST) != 0, 0))
		return ec_color_due_other(base, c);
	return ec_color_first(base, c);
}

/* Under RUNQ: the tasks of `c` other than posts that wait now go before its posts. */
static inline void ec_color_put_others_first(struct ec_color *c)
{
	uint32_t num = c->tasks_num - ec_load_relaxed(&c->posts_num);

	if (num == 0)
		return;
	c->others_due = (uint8_t)(num < UINT8_MAX ? num : UINT8_MAX);
	c->flags |= EC_COLOR_OTHERS_FIRST;
}

bool ec_task_is_shared(struct ec_task *t);

/* Under RUNQ: make `c`, which has tasks, QUEUED at `w`. */
void ec_color_enqueue(struct ec_worker *w, struct ec_color *c);

#endif
