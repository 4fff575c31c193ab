#include "lanes.h"

#include "burst.h"
#include "io/observing.h"
#include "io/time.h"
#include "os/tsan.h"
#include "sched/above.h"
#include "sched/event.h"
#include "sched/gate.h"
#include "sched/queue.h"
#include "sched/run.h"
#include "sched/task.h"
#include "sched/wait.h"
#include "sched/zero.h"
#include "single.h"

void ec_bursts_shrink(const struct ec_bursts *b, struct ec_worker *w, int num, uint64_t ticks)
{
	uint64_t max = (uint64_t)num * (b->run_ticks / EC_BURST_SHARE) / ticks;

	w->burst = max == 0 ? 1 : max < EC_BURST_MAX ? (uint32_t)max : EC_BURST_MAX;
}

bool ec_lane_is_over_limit(struct ec_base *base, int num, int64_t deadline_ns)
{
	if (num >= base->max_callbacks)
		return true;
	if (deadline_ns == INT64_MAX)
		return false;
	ec_base_update_now(base);
	return ec_base_now(base) >= deadline_ns;
}

static int64_t lane_deadline(struct ec_base *base)
{
	if (__builtin_expect(base->lane_limits != 0, 0) && base->has_interval)
		return ec_base_now(base) + base->max_interval_ns;
	return INT64_MAX;
}

/* Take an event from the head of the lane; is_deep: and do what else its pop means. */
static inline __attribute__((always_inline)) void pop_event(struct ec_base *base, struct ec_lane *lane,
							    struct ec_event *ev, const bool is_locked,
							    const bool is_deep)
{
	struct ec_list *next = ev->task.link.next;

	lane->others.next = next;
	next->prev = &lane->others;
	ev->task.flags &= ~EC_IN_ACTIVE;
	if (is_locked)
		ec_counter_add(&base->zero.active_num, UINT32_MAX);
	else
		ec_serial_add(&base->zero.active_num, UINT32_MAX);
	if (is_deep && ec_task_is_pop_deep(&ev->task))
		ec_event_popped(base, &base->color0, ev);
}

/* Run a post, a finalizer, or a signal's event. */
static __attribute__((noinline)) void run_rare(struct ec_base *base, struct ec_task *t)
{
	struct ec_event *ev = ec_task_is_event(t) ? ec_task_event(t) : NULL;

	if (ec_task_is_pop_deep(t))
		ec_event_popped(base, &base->color0, ec_task_event(t));
	ec_base_note_max(base);
	t->flags &= ~EC_IN_ACTIVE;
	ec_serial_add(&base->zero.active_num, UINT32_MAX);
	ec_list_remove(&t->link);
	if (ec_task_is_post(t))
		ec_serial_add(&base->color0.posts_num, UINT32_MAX);
	ec_store_relaxed(&base->zero.running_event, ev);
	ec_task_run(&base->zero, t);
}

/* Run any task that is not a persistent event without a timeout. True: it counts as a callback. */
static __attribute__((noinline)) bool run_special(struct ec_base *base, struct ec_lane *lane, struct ec_task *t)
{
	bool counts = (t->flags & EC_IN_INTERNAL) == 0;
	struct ec_event *ev;

	if (__builtin_expect(t->kind > EC_KIND_TIMED, 0)) {
		run_rare(base, t);
		return counts;
	}
	ev = ec_task_event(t);
	ec_base_note_max(base);
	pop_event(base, lane, ev, false, true);
	ec_store_relaxed(&base->zero.running_event, ev);
	ec_counter_add(&base->zero.stats.callbacks, 1);
	ev->task.fn.event(ev->fd, ev->res, ev->task.arg);
	return counts;
}

/* The run of the lane is over; no lock is held. */
static void lane_end(struct ec_worker *w)
{
	struct ec_base *base = w->base;

	ec_run_lock(w);
	ec_lane_settle(base, base->running_pri);
	base->running_pri = 0;
	ec_run_unlock(w);
}

/* As run_special under both locks, which are released for the callback. */
static __attribute__((noinline)) bool run_special_held(struct ec_base *base, struct ec_task *t)
{
	bool counts = (t->flags & EC_IN_INTERNAL) == 0;

	ec_task_pop(&base->zero, &base->color0, t);
	ec_zero_release(base);
	base->zero.run_popped(&base->zero, t);
	return counts;
}

/* The same of a base without locks that is observed. */
static bool run_observed(struct ec_base *base, struct ec_task *t)
{
	bool counts = (t->flags & EC_IN_INTERNAL) == 0;

	ec_task_pop(&base->zero, &base->color0, t);
	base->zero.run_popped(&base->zero, t);
	return counts;
}

/*
 * After a callback, where the base is not biased: other threads may wait for the callback's end, or have given the base
 * its first color. A thread that closed the gate has set is_continue. False: the run is over, and no lock is held.
 */
static __attribute__((noinline)) bool hold_again(struct ec_base *base)
{
	struct ec_worker *w = &base->zero;
	bool is_told = false;

	while (ec_zero_hold_slowly(base)) {
		/* They may need long to wake up, and no thread begins to wait for a run that has ended. */
		if (is_told)
			return true;
		(void)ec_run_ended(w);
		/* A waiter tells this run from the event's next one by this. */
		ec_store_release(&w->run_seq, ec_load_relaxed(&w->run_seq) + 1);
		if (ec_load_relaxed(&w->del_waiters) == 0)
			return true;
		ec_zero_release_slowly(base);
		ec_wait_notify(w);
		is_told = true;
	}
	lane_end(w);
	ec_run_end(w);
	return false;
}

/*
 * Posts go first, and may make more posts. Such a run ends after a while, so that the loop polls. The next run begins
 * with the events that are ready then.
 */
enum { POSTS_NS = 200000 };

struct posts {
	struct ec_bursts bursts;
	uint32_t num, left;		/* callbacks of the burst; 0: no burst has begun */
};

/* A post is about to run, or a task that goes before posts that wait. */
static inline void posts_begin(struct ec_worker *w, struct posts *p)
{
	if (p->num != 0)
		return;
	ec_bursts_begin(&p->bursts, w, POSTS_NS);
	p->num = p->left = w->burst;
}

/* It has run. True: the run is over. */
static bool posts_count(struct ec_worker *w, struct posts *p)
{
	bool is_over;

	if (--p->left != 0)
		return false;
	is_over = ec_bursts_is_over(&p->bursts, w, (int)p->num);
	p->num = p->left = w->burst;
	w->is_run_over = is_over;
	return is_over;
}

/* The run of one lane. */
struct run {
	struct ec_base *base;
	struct ec_lane *lane;
	int64_t deadline_ns;
	int plain, special;		/* callbacks that ran */
	bool is_held;			/* by zero.h; false: the base is not locked, or the run is over */
	bool is_single;			/* the base has colors: posts end the run, for single.c runs them */
	bool is_late;			/* if is_single: the run has lasted long enough, the loop must poll */
	uint64_t began_at;		/* if is_single: ticks; 0: the clock was not read yet */
	struct posts posts;
};

enum verdict { END, AGAIN, GO_ON };

/* As attend_posts: run `t`. */
static enum verdict run_attended(struct run *r, struct ec_task *t, const bool is_observed)
{
	if (r->is_held) {
		r->special += run_special_held(r->base, t);
		r->is_held = ec_zero_enter(r->base) || hold_again(r->base);
		return r->is_held ? AGAIN : END;
	}
	r->special += is_observed ? run_observed(r->base, t) : run_special(r->base, r->lane, t);
	return AGAIN;
}

/* Posts may be in the lane. AGAIN: one has run. Compiled twice. */
static inline __attribute__((always_inline)) enum verdict attend_posts(struct run *r, const bool is_observed)
{
	struct ec_worker *w = &r->base->zero;
	struct ec_task *t;

	if (ec_list_is_empty(&r->lane->posts)) {
		ec_base_note_no_posts(r->base);
		return GO_ON;
	}
	if (r->is_single)
		return END;
	if (w->is_others_due) {
		if (r->posts.num != 0 && posts_count(w, &r->posts))
			return END;
		posts_begin(w, &r->posts);
		return GO_ON;
	}
	posts_begin(w, &r->posts);
	t = ec_container_of(r->lane->posts.next, struct ec_task, link);
	if (run_attended(r, t, is_observed) == END)
		return END;
	if (!posts_count(w, &r->posts))
		return AGAIN;
	w->is_others_due = true;
	return END;
}

/* base.attention, without has_grown, if the base is observed and nothing else is to be done. */
static inline bool is_only_observed(const struct ec_base *base)
{
	const union {
		struct {
			bool is_continue, has_posts;
			uint8_t limits;
			bool has_grown;
		};
		uint32_t word;
	} only = { .limits = EC_LIMIT_OBSERVED }, grown = { .has_grown = true };

	return (ec_load_relaxed(&base->attention) & ~grown.word) == only.word;
}

/* Of an observed base without locks: a row of persistent events, or another task. */
static inline enum verdict run_observed_row(struct run *r)
{
	struct ec_base *base = r->base;
	struct ec_lane *lane = r->lane;
	struct ec_event *ev;

	do {
		if (ec_list_is_empty(&lane->others))
			return GO_ON;
		ev = ec_container_of(lane->others.next, struct ec_event, task.link);
		if (ev->task.kind != EC_KIND_PERSIST || base->zero.probe == NULL)
			return run_attended(r, &ev->task, true);
		ec_base_note_max(base);
		pop_event(base, lane, ev, false, false);
		ec_store_relaxed(&base->zero.running_event, ev);
		r->plain++;
		ec_observing_call(&base->zero, ec_event_call(ev), ev, 0);
	} while (is_only_observed(base));
	return AGAIN;
}

/* Of an observed base: all tasks run here, so that each callback is seen. */
static __attribute__((noinline)) enum verdict attend_observed(struct run *r)
{
	enum verdict verdict = ec_load_relaxed(&r->base->has_posts) ? attend_posts(r, true) : GO_ON;

	if (verdict != GO_ON || ec_list_is_empty(&r->lane->others))
		return verdict;
	if (!r->is_held)
		return run_observed_row(r);
	return run_attended(r, ec_container_of(r->lane->others.next, struct ec_task, link), true);
}

static inline bool is_limit_reached(struct run *r, unsigned limits)
{
	int num = r->plain + r->special;

	return (limits & EC_LIMIT_CONFIG) != 0 && num != 0 && ec_lane_is_over_limit(r->base, num, r->deadline_ns);
}

/* See base.attention. */
static __attribute__((noinline)) enum verdict attend(struct run *r)
{
	struct ec_base *base = r->base;
	unsigned limits = ec_load_relaxed(&base->limits);

	if (ec_load_relaxed(&base->is_continue))
		return END;
	if (limits != 0 && is_limit_reached(r, limits)) {
		/* The next run may be as short: a row of posts must not begin it again. */
		if (r->posts.num != 0)
			base->zero.is_others_due = true;
		base->zero.is_run_over = ec_load_relaxed(&base->color0.posts_num) != 0;
		return END;
	}
	ec_base_note_max(base);
	if ((limits & EC_LIMIT_OBSERVED) != 0)
		return attend_observed(r);
	return ec_load_relaxed(&base->has_posts) ? attend_posts(r, false) : GO_ON;
}

/* base.attention, if has_grown is the only reason. */
static inline uint32_t only_grown(void)
{
	const union {
		bool bytes[sizeof(uint32_t)];
		uint32_t word;
	} u = { .bytes = { false, false, false, true } };

	return u.word;
}

/* Pop an event, and call it. is_first: this thread has role 0. False: as hold_again. */
static inline __attribute__((always_inline)) bool run_event_held(struct ec_base *base, struct ec_lane *lane,
								 struct ec_event *ev, const bool is_deep,
								 const bool is_first)
{
	ec_event_fn fn = ev->task.fn.event;
	void *arg = ev->task.arg;
	int16_t res = ev->res;
	int fd = ev->fd;

	pop_event(base, lane, ev, true, is_deep);
	ec_store_release(&base->zero.running_event, ev);	/* as run_begin in task.c */
	ec_store_relaxed(ec_event_runner(ev), 1);
	ec_zero_release_by(base, is_first ? EC_FIRST_LOOP : (enum ec_role)base->bias.role);
	fn(fd, res, arg);
	return (is_first ? ec_zero_enter_first(base) : ec_zero_enter(base)) || hold_again(base);
}

/*
 * Any other task than a persistent event without a timeout. True: it counts as a callback. *is_held: as hold_again
 * returns it.
 */
static __attribute__((noinline)) bool run_other_held(struct ec_base *base, struct ec_lane *lane, struct ec_task *t,
						     bool *is_held)
{
	bool counts = (t->flags & EC_IN_INTERNAL) == 0;

	if (__builtin_expect(t->kind <= EC_KIND_TIMED, 1)) {
		ec_base_note_max(base);
		ec_counter_add(&base->zero.stats.callbacks, 1);
		*is_held = run_event_held(base, lane, ec_task_event(t), true, false);
		return counts;
	}
	(void)run_special_held(base, t);
	*is_held = ec_zero_enter(base) || hold_again(base);
	return counts;
}

/*
 * With colors, a run of events reads the clock after every 32 callbacks, and ends in time. After ec_base_loopexit,
 * single.c counts what was ready.
 */
enum { CHECK_EACH = 32 };

static __attribute__((noinline)) bool is_single_over(struct run *r)
{
	const struct ec_worker *w = &r->base->zero;
	uint64_t now = ec_clock_ticks();

	if (ec_load_relaxed(&r->base->is_exit))
		return true;
	if (r->began_at == 0)
		r->began_at = now;
	r->is_late = now - r->began_at >= ec_clock_ns_to_ticks(ec_run_ask_ns(ec_load_relaxed(&w->active_num)));
	return r->is_late;
}

/*
 * Compiled three times. is_locked: both locks are held before, and after it if r->is_held. is_single: the base has
 * colors, and this thread has role 0.
 */
static inline __attribute__((always_inline)) void lane_run_tasks(struct ec_base *base, struct run *r,
								 const bool is_locked, const bool is_single)
{
	struct ec_lane *lane = r->lane;
	enum verdict verdict;
	struct ec_list *node;
	struct ec_event *ev;
	uint32_t attention, left = CHECK_EACH;

	for (;;) {
		/* Atomic in all bases: a callback may have given this one its first color, and other threads. */
		attention = ec_load_relaxed(&base->attention);
		if (__builtin_expect(attention != 0, 0)) {
			verdict = GO_ON;
			if (attention == only_grown())
				ec_base_note_grown(base, is_locked);
			else
				verdict = attend(r);
			if (verdict == END)
				break;
			if (verdict == AGAIN)
				continue;
		}
		node = lane->others.next;
		ev = ec_container_of(node, struct ec_event, task.link);
		if (is_single) {
			if (node == &lane->others)
				break;
			if (__builtin_expect(left-- == 0, 0)) {
				if (is_single_over(r))
					break;
				left = CHECK_EACH - 1;
			}
			base->zero.running_color = ev->task.color;
		}
		if (__builtin_expect(ev->task.kind != EC_KIND_PERSIST, 0)) {
			if (node == &lane->others)
				break;		/* that was ec_lane.end */
			if (is_locked)
				r->special += run_other_held(base, lane, &ev->task, &r->is_held);
			else
				r->special += run_special(base, lane, &ev->task);
		} else if (is_locked) {
			r->plain++;
			r->is_held = run_event_held(base, lane, ev, false, is_single);
		} else {
			pop_event(base, lane, ev, false, false);
			ec_store_relaxed(&base->zero.running_event, ev);
			r->plain++;
			ev->task.fn.event(ev->fd, ev->res, ev->task.arg);
		}
		if (is_locked && __builtin_expect(!r->is_held, 0))
			break;
	}
}

static inline __attribute__((always_inline)) int lane_run_alone(struct ec_base *base, struct ec_lane *lane,
								int64_t deadline_ns, const bool is_locked,
								const bool is_single, bool *is_held,
								bool *is_late)
{
	const bool is_others_due = base->zero.is_others_due;
	struct run r;

	r.base = base;
	r.lane = lane;
	r.deadline_ns = deadline_ns;
	r.plain = r.special = 0;
	r.is_held = is_locked;
	r.is_single = is_single;
	if (is_single) {
		r.is_late = false;
		r.began_at = 0;
	}
	r.posts.num = 0;
	lane_run_tasks(base, &r, is_locked, is_single);
	if (__builtin_expect(is_others_due, 0))
		base->zero.is_others_due = false;
	ec_counter_add(&base->zero.stats.callbacks, (uint64_t)r.plain);
	*is_held = r.is_held;
	*is_late = is_single && r.is_late;
	return r.plain + r.special;
}

/* The limits for lane `pri`: those of the configuration count from limit_after_pri on. */
static inline uint8_t limits_of(const struct ec_base *base, unsigned pri)
{
	uint8_t limits = base->lane_limits;

	if (__builtin_expect(limits != 0, 0) && pri < base->limit_after_pri)
		limits &= (uint8_t)~EC_LIMIT_CONFIG;
	return limits;
}

/* Run one lane until it is empty, or until a limit ends the run, so that the loop polls. */
static inline int lane_run_serial(struct ec_worker *w, unsigned pri, int64_t deadline_ns)
{
	struct ec_base *base = ec_container_of(w, struct ec_base, zero);
	bool is_held, is_late;
	int num;

	base->running_pri = pri;
	if (pri != 0)
		base->fast_path = NULL;
	ec_store_relaxed(&base->limits, limits_of(base, pri));
	w->current = &base->color0;
	num = lane_run_alone(base, &base->lanes[pri], deadline_ns, false, false, &is_held, &is_late);
	if (__builtin_expect(ec_is_locked(base), 0)) {	/* by its first color, meanwhile */
		lane_end(w);
	} else if (pri != 0) {
		ec_lane_settle(base, pri);
		base->running_pri = 0;
		ec_base_set_fast_path(base);
	}
	return num;
}

/*
 * Nearly every turn runs events of lane 0, without a limit. Runs those at its head, until there is a reason for
 * attention. Returns how many callbacks have run. *is_empty: the lane's end ended it.
 */
static inline int lane_run_plain(struct ec_base *base, bool *is_empty)
{
	struct ec_lane *lane = &base->lanes[0];
	int plain = 0, special = 0;
	struct ec_event *ev;

	*is_empty = false;
	for (;;) {
		if (__builtin_expect(ec_base_needs_attention(base), 0)) {
			if (ec_load_relaxed(&base->attention) != only_grown())
				break;
			ec_base_note_grown(base, false);
		}
		ev = ec_container_of(lane->others.next, struct ec_event, task.link);
		if (__builtin_expect(ev->task.kind == EC_KIND_PERSIST, 1)) {
			pop_event(base, lane, ev, false, false);
			ec_store_relaxed(&base->zero.running_event, ev);
			plain++;
			ev->task.fn.event(ev->fd, ev->res, ev->task.arg);
		} else if (&ev->task.link == &lane->others) {
			*is_empty = true;	/* that was ec_lane.end */
			break;
		} else {
			special += run_special(base, lane, &ev->task);
		}
	}
	ec_serial_count(&base->zero.stats.callbacks, (uint64_t)plain);
	return plain + special;
}

static inline void lanes_end(struct ec_base *base)
{
	ec_store_relaxed(&base->zero.running_event, NULL);
	base->zero.current = NULL;
	if (ec_gate_is_closed(base))
		ec_gate_notify(base);
}

/* After lane_run_plain, which has run `num` events. */
static __attribute__((noinline)) int lanes_run_rest(struct ec_worker *w, int num)
{
	struct ec_base *base = ec_container_of(w, struct ec_base, zero);
	int64_t deadline_ns = lane_deadline(base);
	unsigned pri;

	while (!ec_load_relaxed(&base->is_continue)) {		/* else it may be locked now */
		pri = num != 0 ? 0 : ec_lanes_first(base);
		if (pri == EC_PRI_MAX)
			break;
		num += lane_run_serial(w, pri, deadline_ns);
		if (num != 0)
			break;
	}
	if (ec_is_locked(base))
		ec_run_end(w);
	else
		lanes_end(base);
	return num;
}

/* Everything that ends a turn sets is_continue. */
int ec_lanes_run(struct ec_worker *w)
{
	struct ec_base *base = ec_container_of(w, struct ec_base, zero);
	bool is_empty;
	int num;

	if (__builtin_expect(base->lane_limits != 0 || w->is_others_due || ec_list_is_empty(&base->lanes[0].others), 0))
		return lanes_run_rest(w, 0);
	base->running_pri = 0;		/* a turn within a callback: that one's */
	ec_store_relaxed(&base->limits, 0);
	w->current = &base->color0;
	num = lane_run_plain(base, &is_empty);
	if (__builtin_expect(!is_empty || num == 0, 0))
		return lanes_run_rest(w, num);
	lanes_end(base);
	return num;
}

/* ---------------------------------------------------------------- of a base with colors and one worker */

static int lane_run_single(struct ec_worker *w, unsigned pri, int64_t deadline_ns)
{
	struct ec_base *base = w->base;
	int num = ec_single_run(w, pri, deadline_ns, limits_of(base, pri));

	lane_end(w);
	return num;
}

/* The most urgent lane with tasks; EC_PRI_MAX: none. From now on a more urgent task ends that lane's run. */
static inline unsigned lane_choose(struct ec_worker *w)
{
	struct ec_base *base = w->base;
	unsigned pri;

	ec_run_lock(w);
	pri = ec_lanes_first(base);
	base->running_pri = pri == EC_PRI_MAX ? 0 : pri;
	ec_run_unlock(w);
	return pri;
}

static __attribute__((noinline)) int lanes_run_single(struct ec_worker *w, int64_t deadline_ns)
{
	struct ec_base *base = w->base;
	unsigned pri;
	int num = 0;

	while (num == 0 && (pri = lane_choose(w)) != EC_PRI_MAX) {
		num = lane_run_single(w, pri, deadline_ns);
		if (ec_load_relaxed(&base->is_break) || ec_load_relaxed(&base->is_continue) ||
		    (num == 0 && ec_gate_is_closed(base)))
			break;
	}
	ec_run_end(w);
	return num;
}

/* ---------------------------------------------------------------- of a base with locks and without colors */

/* The run of the lanes is over, and both locks are held. Threads that wait for that found the base not biased. */
static inline void end_held(struct ec_worker *w)
{
	struct ec_base *base = ec_container_of(w, struct ec_base, zero);

	ec_store_release(&w->running_event, NULL);		/* as ec_run_ended */
	w->ran.at = NULL;
	w->current = NULL;
	ec_zero_release(base);
	if (__builtin_expect(ec_load_relaxed(&w->del_waiters) != 0, 0) || ec_gate_is_closed(base))
		ec_run_notify(w, (struct ec_ran){ NULL, -1 });
}

/*
 * Of a base with colors and one worker. Hardly any turn has posts: without, events run as in a base without colors.
 * single.c runs posts, and everything for the program's ThreadSanitizer, which must know the color of each callback.
 * *num: callbacks. False: there is more to run in this turn.
 */
static bool lane_run_events(struct ec_worker *w, int64_t deadline_ns, int *num)
{
	struct ec_base *base = ec_container_of(w, struct ec_base, zero);
	unsigned pri = ec_lanes_first(base);
	bool is_held, is_late;

	if (pri == EC_PRI_MAX)
		return true;
	if (base->lane_limits != 0 || w->is_others_due || base->bias.role != EC_FIRST_LOOP ||
	    !ec_list_is_empty(&base->lanes[pri].posts) || ec_tsan_is_on())
		return false;
	w->current = &base->color0;
	base->running_pri = pri;
	ec_store_relaxed(&base->limits, 0);
	*num = lane_run_alone(base, &base->lanes[pri], deadline_ns, true, true, &is_held, &is_late);
	w->posts_credit = w->burst;	/* as note_other of single.c */
	w->running_color = 0;
	ec_lane_settle(base, pri);
	base->running_pri = 0;
	w->is_run_over = is_late;
	return ec_lane_is_empty(&base->lanes[pri]) || ec_load_relaxed(&base->is_continue) || is_late;
}

static __attribute__((noinline)) int lanes_run_colored(struct ec_worker *w, int64_t deadline_ns)
{
	int num = 0;
	bool is_over = lane_run_events(w, deadline_ns, &num);

	end_held(w);
	return is_over ? num : num + lanes_run_single(w, deadline_ns);
}

/* The first color that comes meanwhile ends the run: hold_again, or is_continue. */
int ec_lanes_run_held(struct ec_worker *w)
{
	struct ec_base *base = ec_container_of(w, struct ec_base, zero);
	int64_t deadline_ns = lane_deadline(base);
	bool is_held, is_late;
	unsigned pri;
	int num = 0;

	if (ec_load_relaxed(&base->is_single_colored))
		return lanes_run_colored(w, deadline_ns);
	w->current = &base->color0;
	while (num == 0 && (pri = ec_lanes_first(base)) != EC_PRI_MAX) {
		base->running_pri = pri;
		ec_store_relaxed(&base->limits, limits_of(base, pri));
		num = lane_run_alone(base, &base->lanes[pri], deadline_ns, true, false, &is_held, &is_late);
		if (!is_held)
			return num;
		ec_lane_settle(base, pri);
		base->running_pri = 0;
		if (ec_load_relaxed(&base->is_continue))
			break;
	}
	end_held(w);
	return num;
}
