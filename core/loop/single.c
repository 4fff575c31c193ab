#include "single.h"

#include <limits.h>

#include "burst.h"
#include "io/observing.h"
#include "sched/event.h"
#include "sched/base.h"
#include "sched/gate.h"
#include "sched/post.h"
#include "sched/run.h"
#include "sched/task.h"

enum { OTHERS_MAX = 64 };		/* in a turn after posts */

struct run {
	/* const */
	struct ec_worker *w;
	struct ec_lane *lane;
	int64_t deadline_ns;
	bool is_limited;
	bool has_ring;
	bool is_first;			/* this thread has role 0: events may take the short way */
	bool is_first_observed;		/* the same, and the base is observed */

	/* own */
	int num;			/* callbacks so far */
	int max;			/* as many at most: set once the loop is to exit */
	uint64_t posts_before;		/* that the worker ran */
	struct ec_bursts bursts;
};

static inline bool must_yield(struct ec_base *base)
{
	return __builtin_expect(ec_load_relaxed(&base->is_continue), 0) || ec_gate_is_closed(base);
}

static inline bool must_end(struct run *r)
{
	struct ec_base *base = r->w->base;

	return must_yield(base) || r->num >= r->max ||
	       (__builtin_expect(r->is_limited, 0) && ec_lane_is_over_limit(base, r->num, r->deadline_ns));
}

/* ---------------------------------------------------------------- taking */

static inline struct ec_task *first(struct ec_lane *lane, bool skips_posts)
{
	struct ec_list *node = lane->posts.next;

	if (skips_posts || node == &lane->posts) {
		node = lane->others.next;
		if (node == &lane->others)
			return NULL;
	}
	return ec_container_of(node, struct ec_task, link);
}

/* Under RUNQ, see base.interruption. False: the next task is a post, or the run must end. */
static __attribute__((noinline)) bool attend(struct ec_base *base, const struct ec_lane *lane, bool skips_posts)
{
	if (ec_load_relaxed(&base->is_continue))
		return false;
	if (!ec_load_relaxed(&base->has_posts))
		return true;
	if (!ec_list_is_empty(&lane->posts))
		return skips_posts;
	ec_base_note_no_posts(base);
	return true;
}

static inline bool is_quick(struct ec_task *t)
{
	return __builtin_expect(t->kind == EC_KIND_PERSIST, 1) || (t->kind == EC_KIND_EVENT && !ec_task_is_pop_deep(t));
}

/*
 * Pop an event that needs RUNQ only, while the base is biased to this thread; else NULL. The call is copied, because
 * the event is the program's again after the lock. This need not check the gate, nor the threads that wait for the
 * callback before: both are vetoes of the bias (bias.h), and this thread itself sets is_continue when it closes the
 * gate.
 */
static inline __attribute__((always_inline)) struct ec_event *pop_quick(struct ec_base *base, struct ec_lane *lane,
									bool skips_posts, struct ec_call *call)
{
	struct ec_worker *w = &base->zero;
	struct ec_list *node;
	struct ec_event *ev;

	if (!ec_bias_enter(&base->bias, &w->run, EC_FIRST_LOOP))
		return NULL;
	if (__builtin_expect(ec_load_relaxed(&base->interruption) != 0, 0) && !attend(base, lane, skips_posts))
		goto leave;
	node = lane->others.next;
	if (__builtin_expect(node == &lane->others, 0))
		goto leave;
	ev = ec_container_of(node, struct ec_event, task.link);
	if (!is_quick(&ev->task))
		goto leave;
	ec_base_note_max(base);
	lane->others.next = node->next;
	node->next->prev = &lane->others;
	ev->task.flags &= ~EC_IN_ACTIVE;
	ec_counter_add(&w->active_num, UINT32_MAX);
	ec_store_release(&w->running_event, ev);		/* as run_begin in task.c */
	w->running_color = ev->task.color;
	*call = ec_event_call(ev);
	ec_bias_leave(&w->run, EC_FIRST_LOOP);
	return ev;

leave:
	ec_bias_leave(&w->run, EC_FIRST_LOOP);
	return NULL;
}

/* Pop any task, and end the callback that ran before; see ec_color_next. */
static struct ec_task *pop(struct run *r, bool skips_posts) EC_NO_ANALYSIS
{
	struct ec_worker *w = r->w;
	struct ec_color *c = &w->base->color0;
	struct ec_ran ran = { NULL, -1 };
	bool has_src = false;
	struct ec_task *t;

	for (;;) {
		ec_run_lock(w);
		if (!has_src)
			ran = ec_run_ended(w);
		t = ec_gate_is_closed(w->base) ? NULL : first(r->lane, skips_posts);
		if (t == NULL || has_src || !ec_task_is_pop_deep(t))
			break;
		ec_run_unlock(w);
		ec_src_lock(w);
		has_src = true;
	}
	if (t != NULL) {
		w->running_color = t->color;
		ec_task_pop(w, c, t);
	}
	ec_run_unlock(w);
	if (has_src)
		ec_src_unlock(w);
	ec_run_settle(w, ran);
	return t;
}

/* ---------------------------------------------------------------- running */

/* A task that is no post has had its turn, so posts have a whole burst again. */
static inline void note_other(struct ec_worker *w)
{
	w->posts_credit = w->burst;
	w->is_others_due = false;
}

/* Apart (noinline), so that the short way saves no registers for it. False: there was no task. */
static __attribute__((noinline)) bool run_any(struct run *r, bool skips_posts)
{
	struct ec_task *t = pop(r, skips_posts);

	if (t == NULL)
		return false;
	r->num += !r->w->call.is_internal;
	if (r->w->call.kind != EC_KIND_POST)
		note_other(r->w);
	else if (r->w->posts_credit != 0)
		r->w->posts_credit--;
	r->w->run_popped(r->w, t);
	return true;
}

/* `num` events that pop_quick took have run. */
static inline void note_quick(struct run *r, int num)
{
	if (num == 0)
		return;
	r->num += num;
	note_other(r->w);
	ec_counter_add(&r->w->stats.callbacks, (uint64_t)num);
}

/*
 * Run up to `max` events that pop_quick takes. Unless `skips_posts`, no post waits now, and the first post that a
 * callback makes ends this, because it runs next. The number of callbacks.
 */
static inline __attribute__((always_inline)) int run_quick(struct run *r, bool skips_posts, int max)
{
	struct ec_worker *w = r->w;
	struct ec_base *base = ec_container_of(w, struct ec_base, zero);
	const uint32_t tail = w->local_tail;
	struct ec_lane *lane = r->lane;
	struct ec_call call;
	int num = 0;

	if (max > r->max - r->num)
		max = r->max - r->num;
	while (num < max && pop_quick(base, lane, skips_posts, &call) != NULL) {
		num++;
		call.fn(call.fd, call.res, call.arg);
		if (!skips_posts && w->local_tail != tail)
			break;
	}
	note_quick(r, num);
	return num;
}

/* The same while the base is observed: a post that a callback makes then waits in the lane, where pop_quick sees it. */
static __attribute__((noinline)) int run_observed(struct run *r, bool skips_posts, int max)
{
	struct ec_worker *w = r->w;
	struct ec_event *ev;
	struct ec_call call;
	int num = 0;

	if (max > r->max - r->num)
		max = r->max - r->num;
	while (num < max && w->probe != NULL) {
		ev = pop_quick(w->base, r->lane, skips_posts, &call);
		if (ev == NULL)
			break;
		num++;
		ec_observing_call(w, call, ev, w->running_color);
	}
	note_quick(r, num);
	return num;
}

/* Run up to `max` callbacks from the lane. 0: there is nothing to run. */
static inline __attribute__((always_inline)) int run_lane(struct run *r, bool skips_posts, int max)
{
	int num = 0;

	if (r->is_first)
		num = run_quick(r, skips_posts, r->is_limited ? 1 : max);
	else if (r->is_first_observed)
		num = run_observed(r, skips_posts, r->is_limited ? 1 : max);
	return num != 0 ? num : run_any(r, skips_posts);
}

/* Returns false when the run must end. */
static bool run_others(struct run *r)
{
	int i, num;

	for (i = 0; i < OTHERS_MAX && (num = run_lane(r, true, (int)r->w->burst)) != 0; i += num) {
		if (must_end(r) || ec_bursts_is_over(&r->bursts, r->w, num))
			return false;
	}
	return true;
}

/* Run the posts that wait now, as far as the credit goes. False: the run must end. */
static bool run_row(struct run *r)
{
	struct ec_worker *w = r->w;
	struct ec_base *base = w->base;
	uint32_t num = ec_posts_local_num(w), i;
	bool is_over = false;
	struct ec_local *l;

	if (num > w->posts_credit)
		num = w->posts_credit;
	if (num > (uint32_t)(r->max - r->num))
		num = (uint32_t)(r->max - r->num);
	for (i = 0; i < num;) {
		l = ec_post_local_take(w);
		w->running_color = l->color;
		i++;
		l->fn(l->arg);
		if (must_yield(base)) {
			is_over = true;
			break;
		}
	}
	w->posts_credit -= i;
	r->num += (int)i;
	ec_counter_add(&w->stats.callbacks, i);
	ec_counter_add(&w->stats.posts, i);
	return !is_over;
}

/* Row after row: each row are the posts that the one before made. After a loopexit they must not run (note_exit). */
static bool run_posts(struct run *r)
{
	struct ec_worker *w = r->w;

	do {
		if (!run_row(r))
			return false;
	} while (w->posts_credit != 0 && ec_posts_local_num(w) != 0 && !ec_load_relaxed(&w->base->is_exit));
	return true;
}

/* No event runs now: wake the threads that wait for the last one's end. */
static void rest(struct ec_worker *w)
{
	struct ec_ran ran;

	if (ec_load_relaxed(&w->running_event) == NULL)
		return;
	ec_run_lock(w);
	ran = ec_run_ended(w);
	ec_run_unlock(w);
	ec_run_settle(w, ran);
}

static void fetch(struct run *r)
{
	struct ec_worker *w = r->w;

	if (!r->has_ring || ec_load_relaxed(&w->base->color0.posts_num) == 0)
		return;
	ec_run_lock(w);
	ec_posts_fetch(w, &w->base->color0);
	ec_run_unlock(w);
}

/* The credit is used up. The posts that wait now go first, as long as they may; then the others. */
static bool take_turns(struct run *r)
{
	struct ec_worker *w = r->w;

	if (!w->is_others_due) {
		w->posts_left = ec_posts_local_num(w) + ec_load_relaxed(&w->base->color0.posts_num);
		w->posts_since = r->bursts.looked_at;
		w->is_others_due = w->posts_left != 0;
	}
	w->posts_credit = w->burst;
	if (!w->is_others_due)
		return true;
	if (w->posts_left != 0 && r->bursts.looked_at - w->posts_since < r->bursts.run_ticks) {
		if (w->posts_credit > w->posts_left)
			w->posts_credit = w->posts_left;
		w->posts_left -= w->posts_credit;
		return true;
	}
	w->is_others_due = false;
	return run_others(r);
}

/* Run up to a burst of events, until there are posts. False: there is nothing to run, or the run must end. */
static bool run_burst(struct run *r)
{
	int i, num, max;

	if (r->w->posts_credit == 0 && !take_turns(r))
		return false;
	max = (int)r->w->burst;
	if (r->has_ring && ec_posts_local_num(r->w) == 0)
		fetch(r);
	if (ec_posts_local_num(r->w) != 0) {
		rest(r->w);
		return run_posts(r);
	}
	for (i = 0; i < max && r->w->posts_credit != 0; i += num) {
		num = run_lane(r, false, max - i);
		if (num == 0 || must_end(r))
			return false;
		if (ec_posts_local_num(r->w) != 0)
			return true;
	}
	return true;
}

/* After ec_base_loopexit, tasks that are ready now still run, and those that they make ready do not. */
static void note_exit(struct run *r)
{
	struct ec_worker *w = r->w;

	if (r->max != INT_MAX || !ec_load_relaxed(&w->base->is_exit))
		return;
	ec_run_lock(w);
	r->max = r->num + (int)(ec_load_relaxed(&w->active_num) - w->fetched_num + ec_posts_local_num(w));
	ec_run_unlock(w);
}

/* False: the gate is closed. From now on a thread that closes the gate waits until `current` is NULL: see gate.h. */
static bool begin(struct run *r)
{
	struct ec_worker *w = r->w;
	bool is_open;

	ec_run_lock(w);
	is_open = !ec_gate_is_closed(w->base);
	if (is_open)
		w->current = &w->base->color0;
	ec_store_relaxed(&w->base->limits, 0);		/* r->is_limited says it here */
	if (is_open && r->has_ring)
		ec_posts_open(w, w->current, 0);
	ec_run_unlock(w);
	return is_open;
}

static void end(struct run *r)
{
	struct ec_worker *w = r->w;

	ec_run_lock(w);
	ec_posts_close(w, &w->base->color0);
	w->running_color = 0;
	ec_run_unlock(w);
}

/* The run has taken EC_RUN_NS: must the loop poll? Not yet, if many callbacks wait. */
static __attribute__((noinline)) bool is_poll_due(const struct run *r)
{
	const struct ec_worker *w = r->w;
	uint64_t ticks = r->bursts.looked_at - r->bursts.began_at;

	return ec_run_is_for_posts(ec_load_relaxed(&w->stats.posts) - r->posts_before, (uint64_t)r->num) ||
	       ticks >= ec_clock_ns_to_ticks(ec_run_ask_ns(ec_load_relaxed(&w->active_num) - w->fetched_num));
}

int ec_single_run(struct ec_worker *w, unsigned pri, int64_t deadline_ns, unsigned limits)
{
	struct ec_base *base = w->base;
	struct run r = {
		.w = w,
		.lane = &base->lanes[pri],
		.deadline_ns = deadline_ns,
		.is_limited = (limits & EC_LIMIT_CONFIG) != 0,
		.has_ring = w->ring != NULL && ec_load_relaxed(&base->posts_pri_end) == 1 && limits == 0 &&
			    ec_load_acquire(&base->inbox) == &ec_inbox_closed,
		.is_first = base->bias.role == EC_FIRST_LOOP && (limits & EC_LIMIT_OBSERVED) == 0,
		.is_first_observed = base->bias.role == EC_FIRST_LOOP && (limits & EC_LIMIT_OBSERVED) != 0,
		.max = INT_MAX,
		.posts_before = ec_load_relaxed(&w->stats.posts),
	};
	int before = 0;

	if (!begin(&r))
		return 0;
	ec_bursts_begin(&r.bursts, w, EC_RUN_NS);
	note_exit(&r);
	while (r.num < r.max && run_burst(&r)) {
		w->is_run_over = ec_bursts_is_over(&r.bursts, w, r.num - before) && is_poll_due(&r);
		if (w->is_run_over)
			break;
		before = r.num;
		if (ec_bias_is_rebias_due(&base->bias))
			ec_bias_rebias(&base->bias, &w->src, &w->run);
		note_exit(&r);
	}
	end(&r);
	w->is_run_over = w->is_run_over || r.is_limited;
	return r.num;
}
