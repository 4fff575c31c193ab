#include "lanes.h"

#include "burst.h"
#include "io/time.h"
#include "sched/above.h"
#include "sched/event.h"
#include "sched/gate.h"
#include "sched/queue.h"
#include "sched/task.h"
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
	if (__builtin_expect(base->has_limits, 0) && base->has_interval)
		return ec_base_now(base) + base->max_interval_ns;
	return INT64_MAX;
}

/* Run any task that is not a persistent event without a timeout. True: it counts as a callback. */
static __attribute__((noinline)) bool run_special(struct ec_base *base, struct ec_task *t)
{
	struct ec_event *ev = ec_task_is_event(t) ? ec_task_event(t) : NULL;
	bool counts = (t->flags & EC_IN_INTERNAL) == 0;

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
	return counts;
}

/* Tasks leave the lane without changing its bit: this corrects it once, after the run. */
static void lane_settle(struct ec_base *base, unsigned pri)
{
	struct ec_lane *lane = &base->lanes[pri];

	if (ec_list_is_empty(&lane->posts) && ec_list_is_empty(&lane->others))
		ec_map_clear(base->lanes_map, pri);
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

/* The run of one lane, of a base that is not locked. */
struct run {
	struct ec_base *base;
	struct ec_lane *lane;
	int64_t deadline_ns;
	int plain, special;		/* callbacks that ran */
	struct posts posts;
};

enum verdict { END, AGAIN, GO_ON };

/* Posts may be in the lane. AGAIN: one has run. */
static enum verdict attend_posts(struct run *r)
{
	struct ec_worker *w = &r->base->zero;

	if (ec_list_is_empty(&r->lane->posts)) {
		ec_store_relaxed(&r->base->has_posts, false);
		return GO_ON;
	}
	if (w->is_called) {
		if (r->posts.num != 0 && posts_count(w, &r->posts))
			return END;
		posts_begin(w, &r->posts);
		return GO_ON;
	}
	posts_begin(w, &r->posts);
	r->special += run_special(r->base, ec_container_of(r->lane->posts.next, struct ec_task, link));
	if (!posts_count(w, &r->posts))
		return AGAIN;
	w->is_called = true;
	return END;
}

/* See base.attention. */
static __attribute__((noinline)) enum verdict attend(struct run *r)
{
	struct ec_base *base = r->base;
	int num = r->plain + r->special;

	if (ec_load_relaxed(&base->is_continue))
		return END;
	if (ec_load_relaxed(&base->is_limited) && num != 0 && ec_lane_is_over_limit(base, num, r->deadline_ns))
		return END;
	ec_base_note_max(base);
	return ec_load_relaxed(&base->has_posts) ? attend_posts(r) : GO_ON;
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

static inline int lane_run_serial(struct ec_base *base, struct ec_lane *lane, int64_t deadline_ns)
{
	const bool is_called = base->zero.is_called;
	enum verdict verdict;
	struct ec_list *node;
	struct ec_event *ev;
	uint32_t attention;
	struct run r;

	r.base = base;
	r.lane = lane;
	r.deadline_ns = deadline_ns;
	r.plain = r.special = 0;
	r.posts.num = 0;
	for (;;) {
		attention = ec_load_relaxed(&base->attention);
		if (__builtin_expect(attention != 0, 0)) {
			verdict = GO_ON;
			if (attention == only_grown())
				ec_base_note_max(base);
			else
				verdict = attend(&r);
			if (verdict == END)
				break;
			if (verdict == AGAIN)
				continue;
		}
		node = lane->others.next;
		if (node == &lane->others)
			break;
		ev = ec_container_of(node, struct ec_event, task.link);
		if (__builtin_expect(ev->task.kind == EC_KIND_PERSIST, 1)) {
			lane->others.next = node->next;
			node->next->prev = &lane->others;
			ev->task.flags &= ~EC_IN_ACTIVE;
			ec_serial_add(&base->zero.active_num, UINT32_MAX);
			ec_store_relaxed(&base->zero.running_event, ev);
			r.plain++;
			ev->task.fn.event(ev->fd, ev->res, ev->task.arg);
		} else {
			r.special += run_special(base, &ev->task);
		}
	}
	if (__builtin_expect(is_called, 0))
		base->zero.is_called = false;
	ec_counter_add(&base->zero.stats.callbacks, (uint64_t)r.plain);
	return r.plain + r.special;
}

/* Must the lane's run end after the callback that just returned? is_continue covers most causes. */
static inline bool lane_must_end(struct ec_base *base, bool is_limited, int num, int64_t deadline_ns)
{
	if (__builtin_expect(ec_load_relaxed(&base->is_continue), 0))
		return true;
	return __builtin_expect(is_limited, 0) && ec_lane_is_over_limit(base, num, deadline_ns);
}

static int lane_run_locked(struct ec_worker *w, unsigned pri, int64_t deadline_ns, bool is_limited)
{
	struct posts posts = { .num = 0 };
	struct ec_base *base = w->base;
	struct ec_task *t;
	bool is_post;
	int num = 0;

	while ((t = ec_color_next(w, &base->color0, pri)) != NULL) {
		num += !w->call.is_internal;
		is_post = w->call.kind == EC_KIND_POST;
		if (__builtin_expect(is_post, 0))
			posts_begin(w, &posts);
		ec_task_run_popped(w, t);
		if (lane_must_end(base, is_limited, num, deadline_ns))
			break;
		if (__builtin_expect(is_post, 0) && posts_count(w, &posts)) {
			ec_run_lock(w);
			ec_color_put_others_first(&base->color0, UINT8_MAX);
			ec_run_unlock(w);
			break;
		}
	}
	return num;
}

/*
 * Run one lane until it is empty. From limit_after_pri on, the limits of the configuration end the run earlier, so that
 * the loop polls.
 */
static inline __attribute__((always_inline)) int lane_run(struct ec_worker *w, unsigned pri, int64_t deadline_ns,
							  const bool is_locked)
{
	struct ec_base *base = ec_container_of(w, struct ec_base, zero);
	bool is_limited = base->has_limits && pri >= base->limit_after_pri;
	int num;

	if (is_locked) {
		num = ec_load_relaxed(&base->is_single_colored) ? ec_single_run(w, pri, deadline_ns, is_limited) :
							  lane_run_locked(w, pri, deadline_ns, is_limited);
	} else {
		base->running_pri = pri;
		ec_store_relaxed(&base->is_limited, is_limited);
		w->current = &base->color0;
		num = lane_run_serial(base, &base->lanes[pri], deadline_ns);
	}
	ec_run_lock(w);		/* its first color may have locked the base meanwhile */
	lane_settle(base, pri);
	base->running_pri = 0;
	ec_run_unlock(w);
	return num;
}

/* The most urgent lane with tasks; EC_PRI_MAX: none. From now on a more urgent task ends that lane's run. */
static inline unsigned lane_choose(struct ec_worker *w)
{
	struct ec_base *base = w->base;
	unsigned pri;

	ec_run_lock(w);
	pri = ec_map_first(base->lanes_map);
	base->running_pri = pri == EC_PRI_MAX ? 0 : pri;
	ec_run_unlock(w);
	return pri;
}

static __attribute__((noinline)) int lanes_run_locked(struct ec_worker *w)
{
	struct ec_base *base = w->base;
	int64_t deadline_ns = lane_deadline(base);
	unsigned pri;
	int num = 0;

	while (num == 0 && (pri = lane_choose(w)) != EC_PRI_MAX) {
		num = lane_run(w, pri, deadline_ns, true);
		if (ec_load_relaxed(&base->is_break) || ec_load_relaxed(&base->is_continue) ||
		    (num == 0 && (ec_is_colored(base) || ec_gate_is_closed(base))))
			break;
	}
	ec_run_end(w);
	return num;
}

/* Everything that ends a turn sets is_continue. */
int ec_lanes_run(struct ec_worker *w)
{
	struct ec_base *base = ec_container_of(w, struct ec_base, zero);
	int64_t deadline_ns;
	unsigned pri;
	int num = 0;

	if (ec_is_locked(base))
		return lanes_run_locked(w);
	deadline_ns = lane_deadline(base);
	while (num == 0 && (pri = ec_map_first(base->lanes_map)) != EC_PRI_MAX) {
		num = lane_run(w, pri, deadline_ns, false);
		if (ec_load_relaxed(&base->is_continue))
			break;
	}
	if (ec_is_locked(base)) {
		ec_run_end(w);
		return num;
	}
	ec_store_relaxed(&base->zero.running_event, NULL);
	base->zero.current = NULL;
	if (ec_gate_is_closed(base))
		ec_gate_notify(base);
	return num;
}
