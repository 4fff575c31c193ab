/*
 * From ready to run: tasks enter the queue of their color, colors the run queue of their
 * worker, and a worker runs them.
 */
#ifndef EC_TASK_H
#define EC_TASK_H

#include "color.h"
#include "ec.h"
#include "base.h"
#include "worker.h"

/* ec_event.state: under the SOURCE lock of the worker that it names */
enum {
	EC_EV_WORKER = 0x03ff,		/* the worker whose SOURCE lock guards the event */
	EC_EV_SHARED = 0x0400,		/* runs as a reader of its color */
	EC_EV_COMMON = 0x0800,		/* its deadline is in the queue of a common timeout */
	EC_EV_KNOWN = 0x1000,		/* the poller accepted its descriptor since it was assigned */
};

/*
 * ec_event.runner: under the RUNQ lock of its color, which is why it does not share a word with
 * the state.
 */
enum {
	EC_RUNNER_WORKER = 0x07ff,	/* the worker that ran it last, + 1 */
	EC_RUNNER_LATE = 0x0800,	/* a report that was under way while it ran elsewhere may still come */
	EC_RUNNER_MANY = 0x1000,	/* it may run at others, too: its callback gave it a new color, or life */
};

/* What worker `w` ran when another one looked at its poller for it. */
struct ec_look {
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
	const struct ec_look *look;	/* the reports come from another worker's poller; or NULL */
	bool has_caught;		/* signals that came: an event is called for each, also if it is active already */
};

static inline void ec_batch_begin(struct ec_batch *b, struct ec_base *base)
{
	*b = (struct ec_batch){ .base = base };
}

void ec_batch_end(struct ec_batch *b);

static inline struct ec_event *ec_task_event(struct ec_task *t)
{
	return ec_container_of(t, struct ec_event, task);
}

static inline bool ec_task_is_event(const struct ec_task *t)
{
	return t->kind <= EC_KIND_SIGNAL || t->kind == EC_KIND_EVENT_FINALIZE ||
	       t->kind == EC_KIND_EVENT_FINALIZE_FREE;
}

/*
 * The color's RUNQ lock is held from here on, until ec_batch_end or another color. Never NULL
 * for a color with references.
 */
struct ec_color *ec_batch_color(struct ec_batch *b, uint32_t number, _Atomic(uint32_t) *hint);

/* Under RUNQ. push: `t` is in no queue. */
void ec_task_push(struct ec_batch *b, struct ec_color *c, struct ec_task *t);
void ec_task_remove(struct ec_color *c, struct ec_task *t);

/* As push, before everything else of its priority; `c` is running. */
void ec_task_push_first(struct ec_batch *b, struct ec_color *c, struct ec_task *t);

/* Tell an event that it is ready: queue it, or add to what it is told. Under its SOURCE; takes RUNQ. */
void ec_event_ready(struct ec_batch *b, struct ec_event *ev, int res, int ncalls);

static inline bool ec_task_is_post(const struct ec_task *t)
{
	return t->kind == EC_KIND_POST;
}

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

/* The bits of a task's word of which a plain one has none: it has color 0, urgency 0, and is in no queue. */
static inline uint64_t ec_task_special(void)
{
	const struct ec_task all = {
		.flags = EC_IN_ACTIVE | EC_IN_FINALIZING,
		.pri = UINT8_MAX,
		.kind = (uint8_t)~(EC_KIND_PERSIST | EC_KIND_TIMED),
		.color = UINT32_MAX,
	};

	return all.word;
}

/* The same without the color. */
static inline uint64_t ec_task_special_but_color(void)
{
	const struct ec_task color = { .color = UINT32_MAX };

	return ec_task_special() & ~color.word;
}

/* `list`: of lane 0. Under RUNQ of worker 0. */
static inline void ec_event_ready_plain(struct ec_base *base, struct ec_list *list, struct ec_event *ev, int res)
{
	ev->res = (int16_t)res;
	ev->task.flags |= EC_IN_ACTIVE;
	ec_counter_add(&base->zero.active_num, 1);
	ec_store_relaxed(&base->has_grown, true);
	if (__builtin_expect(ec_list_is_empty(list), 0))
		ec_lane_begin(base, 0);
	ec_list_push_back(list, &ev->task.link);
}

/* What ec_event_ready_serial does for an event that is not plain. */
void ec_event_ready_special(struct ec_base *base, struct ec_event *ev, int res, int ncalls);

/* As ec_event_ready, for a base that is not locked. */
static inline void ec_event_ready_serial(struct ec_base *base, struct ec_event *ev, int res, int ncalls)
{
	if (__builtin_expect((ev->task.word & ec_task_special()) != 0, 0))
		ec_event_ready_special(base, ev, res, ncalls);
	else
		ec_event_ready_plain(base, &base->lanes[0].others, ev, res);
}

/* The same for any event of a base that is alone and locked: under RUNQ, which is the only one. */
void ec_event_ready_alone(struct ec_base *base, struct ec_event *ev, int res, int ncalls);

/* Run `t`, which no other thread knows: a post, or a task of a base that is not locked. */
void ec_task_run(struct ec_worker *w, struct ec_task *t);

/* Run what ec_task_pop took last; no lock is held. The event may have become a finalizer since. */
void ec_task_run_popped(struct ec_worker *w, struct ec_task *t);

/*
 * Pop the next task of the color that `w` runs; what ran before has ended. NULL: none, or
 * it may not run now: less urgent than `pri` or than another color here, shared, or the gate is closed.
 */
struct ec_task *ec_color_next(struct ec_worker *w, struct ec_color *c, unsigned pri);

/* The same, of those that are owed a turn. NULL: there is none, or (*is_left) it may not run now. */
struct ec_task *ec_color_next_owed(struct ec_worker *w, struct ec_color *c, bool *is_left);

/* What ran last has ended: under RUNQ of its color, then without locks. */
struct ec_ran ec_run_ended(struct ec_worker *w);
void ec_run_settle(struct ec_worker *w, struct ec_ran ran);

/* Both, for a worker that runs no other. */
void ec_run_end(struct ec_worker *w);

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
 * unless others are owed a turn: see EC_COLOR_OWED.
 */
struct ec_task *ec_color_due_owed(struct ec_base *base, struct ec_color *c);

static inline struct ec_task *ec_color_due(struct ec_base *base, struct ec_color *c)
{
	if (__builtin_expect((c->flags & EC_COLOR_OWED) != 0, 0))
		return ec_color_due_owed(base, c);
	return ec_color_first(base, c);
}

/* Under RUNQ: posts of `c` have had a run. What waits beside them, `num` tasks, is owed the next one. */
void ec_color_owe(struct ec_color *c, uint32_t num);

bool ec_task_is_shared(struct ec_task *t);

/* Under RUNQ: make `c`, which has tasks, QUEUED at `w`. */
void ec_color_enqueue(struct ec_worker *w, struct ec_color *c);

/* What taking `t` from its queue does to its event: it needs the event's SOURCE lock then. */
static inline bool ec_task_is_pop_deep(struct ec_task *t)
{
	struct ec_event *ev = ec_task_event(t);

	if (t->kind == EC_KIND_TIMED)
		return true;
	if (t->kind == EC_KIND_PERSIST || t->kind > EC_KIND_SIGNAL ||
	    (t->flags & (EC_IN_INSERTED | EC_IN_TIMEOUT)) == 0)
		return false;
	return (ev->events & EC_PERSIST) == 0;
}

/* Under RUNQ: pop `t`, the task of `c` that is due; and under SOURCE of its event if it is_pop_deep. */
void ec_task_pop(struct ec_worker *w, struct ec_color *c, struct ec_task *t);

#endif
