#include "run.h"

#include "colors.h"
#include "event.h"
#include "gate.h"
#include "mailbox.h"
#include "observe/fibers.h"
#include "os/clock.h"
#include "park.h"
#include "post.h"
#include "queue.h"
#include "quiet.h"
#include "refs.h"
#include "shared.h"
#include "steal.h"
#include "task.h"

/*
 * A ready callback runs within a millisecond, even if posts wait. A poll finds it after at most EC_POLL_LATE_NS plus
 * the current run. Then the turn of the posts ends after at most EC_TURN_NS plus their last run; together, these are
 * EC_TURN_NS plus three times EC_RUN_NS. The same holds if the posts have the callback's own color: they have had a
 * run by then.
 */
enum {
	BUDGET = 128,			/* callbacks of a run */
	BUDGET_CHEAP = 256,		/* … if they are cheap: the end of a run costs as much as many of them */
	CHEAP_NS = 20,
	CHECK_EVERY = 64,		/* callbacks between two reads of the clock, at most */
	CHECK_FIRST = 2,		/* … before the first read */
	CHECK_NS = EC_RUN_NS,		/* … fewer if they are expected to take longer than this together */
	COST_MAX_NS = 1000000000,
};

/* ---------------------------------------------------------------- exclusive runs */

/* The plan of a run. */
struct run {
	/* own; set under RUNQ as the run begins */
	struct ec_color *c;		/* NULL: there is none */
	unsigned budget;		/* of callbacks */
	unsigned check_every;		/* callbacks between two reads of the clock */
	bool has_more;			/* the queue has more tasks than the ring took */
	bool has_surplus;		/* other colors wait in the run queue */
	bool is_others_first;		/* tasks other than posts go first */
};

/* The progress of a run. */
struct ran {
	/* own */
	unsigned callbacks, others;	/* all; those that are not posts */
	unsigned check_at;		/* number of callbacks at which it reads the clock next */
	bool has_ended;			/* with the tasks that go before posts */
	bool is_over;			/* it has used up its budget */
	bool is_others_next;		/* posts ran, and other tasks may still wait */
};

static unsigned budget_of(const struct ec_color *c)
{
	return c->cost_ns - 1 < CHEAP_NS - 1 ? BUDGET_CHEAP : BUDGET;	/* 0: not known */
}

static unsigned check_every_of(const struct ec_color *c)
{
	if (c->cost_ns <= CHECK_NS / CHECK_EVERY)
		return CHECK_EVERY;
	return CHECK_NS / c->cost_ns + 1;
}

/* Under RUNQ: posts ran in the last run of `c`, so the other tasks that wait now go first. */
static inline void turn_others(struct ec_color *c)
{
	if ((c->flags & EC_COLOR_OTHERS_NEXT) == 0)
		return;
	c->flags &= (uint8_t)~EC_COLOR_OTHERS_NEXT;
	ec_color_put_others_first(c);
}

/*
 * Under RUNQ: `c` is in the queue, or NULL. If its first task is exclusive, its run begins at `now`: r->c is set.
 */
static inline __attribute__((always_inline)) struct ec_color *color_begin(struct ec_worker *w, struct run *r,
									  struct ec_color *c, uint64_t now)
{
	struct ec_base *base = w->base;

	r->c = NULL;
	if (c != NULL)
		turn_others(c);
	if (c == NULL || c->readers != 0 || ec_task_is_shared(ec_color_due(base, c)))
		return c;
	r->c = c;
	w->batch_start = now;
	ec_store_relaxed(&w->busy_since, now);
	ec_runq_remove(&w->runq, c);
	c->state = EC_COLOR_RUNNING;
	c->flags &= (uint8_t)~EC_COLOR_YIELDED;
	if (c->away != 0 && ec_load_relaxed(&c->home) == w->id)
		c->away--;
	if (c != &base->color0)
		ec_color_get(c);
	ec_counter_add(&w->active_num, 1);
	w->current = c;
	if (ec_load_relaxed(&base->posts_pri_end) == 1 && ec_load_acquire(&base->inbox) == &ec_inbox_closed)
		ec_posts_open(w, c, UINT32_MAX);
	r->has_surplus = ec_load_relaxed(&w->runq.num) > 0;
	r->has_more = c->tasks_num != 0;
	r->is_others_first = (c->flags & EC_COLOR_OTHERS_FIRST) != 0;
	r->budget = budget_of(c);
	r->check_every = check_every_of(c);
	return c;
}

/* Under RUNQ: the same of the first color of the queue; NULL if the gate is closed. */
static struct ec_color *run_begin(struct ec_worker *w, struct run *r, uint64_t now)
{
	return color_begin(w, r, ec_gate_is_closed(w->base) ? NULL : ec_runq_choose(&w->runq, now), now);
}

static void note_cost(struct ec_worker *w, struct ec_color *c, uint64_t ns, unsigned callbacks)
{
	uint64_t mean = callbacks == 1 ? ns : ns / callbacks;	/* a division takes longer than all the rest */

	if (ns > COST_MAX_NS)
		ns = COST_MAX_NS;
	c->callbacks += callbacks;
	c->run_ns = (uint32_t)ns;
	ec_store_relaxed(&w->run_ns, (uint32_t)((ec_load_relaxed(&w->run_ns) * UINT64_C(15) + ns + 15) / 16));
	if ((c->flags & EC_COLOR_COST_SET) != 0)
		return;
	if (mean > COST_MAX_NS)
		mean = COST_MAX_NS;
	c->cost_ns = (uint32_t)(c->cost_ns == 0 ? mean : (c->cost_ns * UINT64_C(7) + mean) / 8);
	if (c->cost_ns == 0)
		c->cost_ns = 1;
}

/*
 * Under RUNQ: drops the reference of the run. A drained color with pending events goes back to its home. The store of
 * its worker (release; meets the loads of `worker` in colors.c, shared.c and steal.c) comes last: from then on the
 * lock of the home guards the color, and the caller does not hold it.
 */
static void let_go(struct ec_worker *w, struct ec_color *c)
{
	struct ec_worker *home = w->base->workers[ec_load_relaxed(&c->home)];

	if (c->state != EC_COLOR_IDLE || c->refs <= 1 || home == w || !ec_load_relaxed(&home->is_started) ||
	    !ec_mailbox_shut_if_none_for(w, c)) {
		ec_color_put(w->base, c);
		return;
	}
	c->refs--;
	ec_color_take(c, home);
	ec_mailbox_reopen(w);
}

/* Under RUNQ: `callbacks` of `c` have run at the end of the loop. */
static void note_last(struct ec_color *c, unsigned callbacks)
{
	c->last_num = c->last_num > callbacks ? c->last_num - callbacks : 0;
	if (c->last_num > c->tasks_num)
		c->last_num = c->tasks_num;
}

/* The run of `c` ends. If `next` is given, the run of the next color begins under the same lock. */
static void run_close(struct ec_worker *w, struct ec_color *c, struct ran ran, struct run *next)
{
	struct ec_base *base = w->base;
	bool surplus = false;
	struct ec_ran ended;
	uint64_t now, ns;

	now = ec_clock_ticks();
	ns = ec_clock_ticks_to_ns(now - w->batch_start);
	w->ran_until = now;
	if (next != NULL && !ec_run_may_go_on(w))
		next = NULL;
	ec_store_relaxed(&w->busy_since, 0);
	ec_run_lock_colored(w);
	ended = ec_run_ended(w);
	ec_posts_close(w, c);
	if (ec_load_relaxed(&w->mailbox->posts_num) < EC_MAILBOX_MAX)
		ec_mailbox_refill(w);
	w->current = NULL;
	ec_counter_add(&w->active_num, UINT32_MAX);
	if (ran.callbacks != 0)
		note_cost(w, c, ns, ran.callbacks);
	if (__builtin_expect(c->last_num != 0, 0))
		note_last(c, ran.callbacks);
	if (c->tasks_num != 0) {
		if (ran.is_over)
			c->flags |= EC_COLOR_YIELDED;
		if (ran.is_others_next)
			c->flags |= EC_COLOR_OTHERS_NEXT;
		ec_color_enqueue(w, c);
		surplus = ec_load_relaxed(&w->runq.num) > 1;
	} else {
		c->state = EC_COLOR_IDLE;
	}
	if (c != &base->color0)
		let_go(w, c);
	if (next != NULL) {
		(void)run_begin(w, next, now);
		surplus = surplus || (next->c != NULL && next->has_surplus);
	}
	ec_run_unlock_colored(w);
	ec_counter_add(&w->stats.busy_ns, ns);
	ec_run_notify(w, ended);
	ec_quiet_note_run(base);
	if (surplus)
		ec_park_wake_thief(w);
}

static bool must_yield(struct ec_base *base)
{
	return ec_gate_is_closed(base) || __builtin_expect(ec_load_relaxed(&base->is_break), 0);
}

/* Runs posts of the color to itself. Returns their number. */
static unsigned run_local(struct ec_worker *w, unsigned max)
{
	struct ec_base *base = w->base;
	struct ec_local *l;
	unsigned num = 0;

	while (num < max && ec_posts_local_num(w) != 0) {
		l = ec_post_local_take(w);
		num++;
		l->fn(l->arg);
		if (must_yield(base))
			break;
	}
	ec_counter_add(&w->stats.callbacks, num);
	ec_counter_add(&w->stats.posts, num);
	return num;
}

/* The ring is empty: fill it from the queue. False: the queue has no posts. */
static bool refill(struct ec_worker *w, struct ec_color *c)
{
	if (w->local_of == NULL || ec_mailbox_is_empty_for(w, c))
		return false;
	ec_run_lock(w);
	if (!ec_gate_is_closed(w->base))
		ec_posts_fetch(w, c);
	ec_run_unlock(w);
	return ec_posts_local_num(w) != 0;
}

/* After a callback: has the run used up its budget, or its time? Reads the clock. */
static inline bool is_over_now(struct ec_worker *w, const struct run *r, struct ran *ran)
{
	ran->check_at = ran->callbacks + (ran->callbacks < r->check_every ? ran->callbacks : r->check_every);
	if (ran->check_at > r->budget)
		ran->check_at = r->budget;
	ran->is_over = ran->callbacks >= r->budget || ec_clock_ticks() - w->batch_start >= w->run_ticks;
	return ran->is_over;
}

/*
 * The same after posts. They may be so short that the clock costs as much. So it is read after 2, 4, 8 … callbacks,
 * and later every r->check_every callbacks. That detects early that the callbacks of a color have become long.
 */
static inline bool is_over(struct ec_worker *w, const struct run *r, struct ran *ran)
{
	return ran->callbacks >= ran->check_at && is_over_now(w, r, ran);
}

/* Run the tasks that go before posts. */
static __attribute__((noinline)) struct ran run_others(struct ec_worker *w, const struct run *r, struct ran ran)
{
	struct ec_task *t;

	while ((t = ec_color_next_other(w, r->c, &ran.has_ended)) != NULL) {
		ran.callbacks++;
		w->run_popped(w, t);
		ran.has_ended = is_over_now(w, r, &ran) || must_yield(w->base);
		if (ran.has_ended)
			return ran;
	}
	if (ec_posts_local_num(w) != 0)
		ec_run_end(w);
	return ran;
}

static inline __attribute__((always_inline)) struct ran run_budget(struct ec_worker *w, const struct run *r,
								   struct ran ran)
{
	struct ec_base *base = w->base;
	struct ec_color *c = r->c;
	struct ec_task *t;
	unsigned num;
	bool is_post;

	for (;;) {
		num = run_local(w, ran.check_at - ran.callbacks);
		ran.callbacks += num;
		if (is_over(w, r, &ran) || must_yield(base))
			return ran;
		if (num != 0 && (ec_posts_local_num(w) != 0 || refill(w, c)))
			continue;
		if (num != 0 && !r->has_more)
			return ran;
		t = ec_color_next(w, c, EC_PRI_MAX);
		if (t == NULL)
			return ran;
		is_post = w->call.kind == EC_KIND_POST;
		ran.callbacks++;
		ran.others += !is_post;
		w->run_popped(w, t);
		if ((is_post ? is_over(w, r, &ran) : is_over_now(w, r, &ran)) || must_yield(base))
			return ran;
		if (ec_posts_local_num(w) != 0)
			ec_run_end(w);
	}
}

/* Runs the callbacks of `r`. */
static inline __attribute__((always_inline)) struct ran run_callbacks(struct ec_worker *w, const struct run *r)
{
	struct ran ran = { .check_at = CHECK_FIRST };

	if (__builtin_expect(r->is_others_first, 0))
		ran = run_others(w, r, ran);
	if (!ran.has_ended)
		ran = run_budget(w, r, ran);
	ran.is_others_next = (r->has_more || ran.is_over) && !r->is_others_first && ran.callbacks != ran.others;
	return ran;
}

/* Runs `r`; *r then becomes the next run, or none. */
static void run_exclusive(struct ec_worker *w, struct run *r)
{
	struct ran ran = run_callbacks(w, r);
	struct ec_color *c = r->c;

	r->c = NULL;
	run_close(w, c, ran, r);
}

/* ---------------------------------------------------------------- after loopexit */

struct popped {
	struct ec_worker *w;
	struct ec_task *t;
};

static void run_popped(void *arg)
{
	const struct popped *popped = arg;

	popped->w->run_popped(popped->w, popped->t);
}

/* For the race checker. */
static void call_checked(struct ec_worker *w, uint32_t color, struct ec_task *t, bool is_shared)
{
	struct popped popped = { w, t };
	struct ec_fiber_call call = {
		.fn = (const void *)(uintptr_t)w->call.fn,
		.arg = w->call.arg,
		.task = t,
		.event = ec_task_is_event(t) ? t : NULL,
		.color = color,
		.fd = w->call.kind != EC_KIND_SIGNAL ? w->call.fd : -1,
		.is_shared = is_shared,
	};

	ec_fibers_call(w->base->fibers, &call, run_popped, &popped);
}

/* The call of the task that was popped last, as a run of its own. */
static void call_task(struct ec_worker *w, struct ec_color *c, struct ec_task *t, bool is_shared)
{
	if (w->base->fibers != NULL)
		call_checked(w, ec_load_relaxed(&c->number), t, is_shared);
	else
		w->run_popped(w, t);
}

/*
 * Runs `t`, the task of `c` that is due. A shared one runs alone, too. RUNQ of `w` is held, and SOURCE of `src` unless
 * that is NULL; both are released here.
 */
static void run_task(struct ec_worker *w, struct ec_color *c, struct ec_task *t, struct ec_worker *src, struct ran ran)
	EC_NO_ANALYSIS
{
	bool is_shared = ec_task_is_shared(t);

	w->batch_start = ec_clock_ticks();
	ec_store_relaxed(&w->busy_since, w->batch_start);
	ec_runq_remove(&w->runq, c);
	c->state = EC_COLOR_RUNNING;
	if (c != &w->base->color0)
		ec_color_get(c);
	ec_counter_add(&w->active_num, 1);
	w->current = c;
	ec_task_pop(w, c, t);
	ec_run_unlock(w);
	if (src != NULL)
		ec_src_unlock(src);
	call_task(w, c, t, is_shared);
	run_close(w, c, ran, NULL);
}

/* RUNQ of `w` is held. */
static bool may_run_last(struct ec_worker *w, struct ec_color *c)
{
	return c->last_num != 0 && !ec_load_relaxed(&w->base->is_break);
}

/* The same; waits until the end of the loop is the only closer of the gate. False: RUNQ of `w` is not held. */
static bool lock_last(struct ec_worker *w, struct ec_color *c)
{
	for (;;) {
		if (!ec_steal_fetch(w, c))
			return false;
		if (may_run_last(w, c) && ec_gate_is_last(w->base))
			return true;
		if (!may_run_last(w, c)) {
			ec_run_unlock(w);
			return false;
		}
		ec_run_unlock(w);
		if (ec_gate_wait_last(w->base) < 0)
			return false;
	}
}

bool ec_run_last(struct ec_worker *w, struct ec_color *c)
{
	struct ec_worker *src;
	struct ec_task *t;

	do {
		if (!lock_last(w, c))
			return false;
		t = ec_color_due(w->base, c);
	} while (!ec_task_lock_source(w, c, t, 1, &src));	/* the end of the loop is a closer */
	run_task(w, c, t, src, (struct ran){ .callbacks = 1 });
	return true;
}

/* ---------------------------------------------------------------- one callback */

bool ec_run_one(struct ec_worker *w, struct ec_color *c, bool is_others_next)
{
	struct ec_worker *src;
	struct ec_task *t;

	do {
		ec_run_lock(w);
		if (ec_gate_is_closed(w->base) || c->state != EC_COLOR_QUEUED) {
			ec_run_unlock(w);
			return false;
		}
		turn_others(c);
		t = ec_color_due(w->base, c);
	} while (!ec_task_lock_source(w, c, t, 0, &src));
	run_task(w, c, t, src, (struct ran){ .callbacks = 1, .is_over = true, .is_others_next = is_others_next });
	return true;
}

/* ---------------------------------------------------------------- the run queue */

/*
 * If the first task of `c`, the first color of the queue, is shared, runs it. Otherwise shared callbacks of `c` run,
 * and it must wait for their end. RUNQ of `w` is held, and released here.
 */
static void run_unusual(struct ec_worker *w, struct ec_color *c, uint64_t now)
{
	if (ec_task_is_shared(ec_color_due(w->base, c))) {
		ec_shared_run(w, c, now);
		return;
	}
	ec_runq_remove(&w->runq, c);
	c->state = EC_COLOR_WAITING;
	ec_run_unlock(w);
}

int ec_run_some(struct ec_worker *w)
{
	struct ec_color *c;
	uint64_t now;
	struct run r;
	int ran = 0;

	if (ec_worker_runnable(w) == 0)
		return 0;
	now = ec_clock_ticks();
	ec_run_lock(w);
	c = run_begin(w, &r, now);
	if (c != NULL && r.c == NULL) {
		run_unusual(w, c, now);
		return 1;
	}
	ec_run_unlock(w);
	if (r.c != NULL && (r.has_surplus || ec_park_is_unwatched(w->base)))
		ec_park_wake_thief(w);
	for (; r.c != NULL; ran++)
		run_exclusive(w, &r);
	return ran;
}

/* ---------------------------------------------------------------- a turn within a callback */

void ec_run_suspend(struct ec_worker *w)
{
	run_close(w, &w->base->color0, (struct ran){ .callbacks = 0 }, NULL);
}

bool ec_run_own(struct ec_worker *w)
{
	struct ec_color *c = &w->base->color0;
	uint64_t now = ec_clock_ticks();
	struct run r;

	ec_run_lock(w);
	if (ec_gate_is_closed(w->base) || c->state != EC_COLOR_QUEUED) {
		ec_run_unlock(w);
		return false;
	}
	(void)color_begin(w, &r, c, now);
	if (r.c == NULL) {
		run_unusual(w, c, now);
		return true;
	}
	ec_run_unlock(w);
	run_close(w, c, run_callbacks(w, &r), NULL);
	return true;
}

void ec_run_resume(struct ec_worker *w, struct ec_event *ev)
{
	struct ec_base *base = w->base;
	struct ec_color *c = &base->color0;

	ec_run_lock(w);
	while (ec_gate_is_closed(base)) {
		ec_run_unlock(w);
		/* The caller itself may have paused the base. */
		if (ec_gate_wait_open(base) < 0) {
			ec_run_lock(w);
			break;
		}
		ec_run_lock(w);
	}
	if (c->state == EC_COLOR_QUEUED)
		ec_runq_remove(&w->runq, c);
	c->state = EC_COLOR_RUNNING;
	w->batch_start = ec_clock_ticks();
	ec_store_relaxed(&w->busy_since, w->batch_start);
	ec_counter_add(&w->active_num, 1);
	w->current = c;
	ec_store_release(&w->running_event, ev); /* as run_begin in task.c */
	ec_run_unlock(w);
}
