#include "task.h"

#include <limits.h>

#include "above.h"
#include "event.h"
#include "gate.h"
#include "os/clock.h"
#include "park.h"
#include "post.h"
#include "wait.h"

/* ---------------------------------------------------------------- queues */

static struct ec_task *lane_first(struct ec_base *base, unsigned pri)
{
	struct ec_lane *lane = &base->lanes[pri];
	struct ec_list *first = ec_list_is_empty(&lane->posts) ? lane->others.next : lane->posts.next;

	return first == &lane->others ? NULL : ec_container_of(first, struct ec_task, link);
}

static void lane_remove(struct ec_base *base, struct ec_task *t)
{
	struct ec_lane *lane = &base->lanes[t->pri];

	ec_list_remove(&t->link);
	if (ec_list_is_empty(&lane->posts) && ec_list_is_empty(&lane->others))
		ec_map_clear(base->lanes_map, t->pri);
}

/*
 * Behind all that go first: more urgent ones, posts for what is none, and those before it. Where none goes behind it,
 * as a rule, the last one is not looked at: another processor wrote it.
 */
static void sorted_insert(struct ec_base *base, struct ec_color *c, struct ec_task *t)
{
	struct ec_list *at = c->tasks.prev;
	struct ec_task *other;

	if (base->lanes_num == 1 && (!ec_task_is_post(t) || ec_load_relaxed(&c->posts_num) == c->tasks_num)) {
		ec_list_push_back(&c->tasks, &t->link);
		return;
	}

	for (; at != &c->tasks; at = at->prev) {
		other = ec_container_of(at, struct ec_task, link);
		if (other->pri < t->pri || (other->pri == t->pri && (!ec_task_is_post(t) || ec_task_is_post(other))))
			break;
	}
	ec_list_insert_after(at, &t->link);
}

struct ec_task *ec_color0_first(struct ec_base *base)
{
	unsigned pri = ec_map_first(base->lanes_map);

	return pri == EC_PRI_MAX ? NULL : lane_first(base, pri);
}

/* The first task of the queue is a post: the first other of its priority, or NULL. */
static struct ec_task *other_first(struct ec_base *base, struct ec_color *c, const struct ec_task *first)
{
	uint32_t posts = ec_load_relaxed(&c->posts_num), others = c->tasks_num - posts;
	struct ec_list *at = c->tasks.prev;
	struct ec_task *t;

	if (c == &base->color0) {
		at = base->lanes[first->pri].others.next;
		return at == &base->lanes[first->pri].others ? NULL : ec_container_of(at, struct ec_task, link);
	}
	/* From the nearer end; only a queue of one priority has all its posts at the head. */
	if (base->lanes_num == 1 && others < posts) {
		for (; others > 1; others--)
			at = at->prev;
	} else {
		at = c->tasks.next;
		while (at != &c->tasks && ec_task_is_post(ec_container_of(at, struct ec_task, link)))
			at = at->next;
	}
	t = at == &c->tasks ? NULL : ec_container_of(at, struct ec_task, link);
	return t != NULL && !ec_task_is_post(t) && t->pri == first->pri ? t : NULL;
}

struct ec_task *ec_color_due_owed(struct ec_base *base, struct ec_color *c)
{
	struct ec_task *first = ec_color_first(base, c), *t = first;

	if (first != NULL && ec_task_is_post(first))
		t = other_first(base, c, first);
	if (t != NULL)
		return t;
	c->flags &= (uint8_t)~EC_COLOR_OWED;		/* they were deleted meanwhile */
	return first;
}

void ec_color_owe(struct ec_color *c, uint32_t num)
{
	if (num == 0)
		return;
	c->owed = (uint8_t)(num < UINT8_MAX ? num : UINT8_MAX);
	c->flags |= EC_COLOR_OWED;
}

void ec_color_enqueue(struct ec_worker *w, struct ec_color *c)
{
	struct ec_task *first = ec_color_due(w->base, c);

	c->state = EC_COLOR_QUEUED;
	ec_runq_push(&w->runq, c, first->pri, ec_task_is_post(first) && (c->flags & EC_COLOR_YIELDED) == 0);
	ec_counter_add(&w->pushes, 1);
}

/*
 * Under RUNQ of `w`, which does not sleep: a color came to its queue. Is that more than `w` itself
 * is about to take? One that looks at its poller takes what it finds there; a thief would spin for nothing.
 */
static bool is_surplus(const struct ec_worker *w, const struct ec_color *c)
{
	if (c == &w->base->color0)
		return false;
	return w->current != NULL || ec_load_relaxed(&w->runq.num) > 1 || !ec_load_relaxed(&w->is_looking);
}

/* `t` was put into the queue of `c`: where does that put `c`? */
static void color_pushed(struct ec_batch *b, struct ec_worker *w, struct ec_color *c, const struct ec_task *t)
{
	switch ((enum ec_color_state)c->state) {
	case EC_COLOR_IDLE:
		ec_color_enqueue(w, c);
		break;
	case EC_COLOR_QUEUED:
		if (t->pri < c->level || (t->pri == c->level && ec_task_is_post(t) &&
					  (c->flags & (EC_COLOR_IN_POSTS | EC_COLOR_YIELDED | EC_COLOR_OWED)) == 0)) {
			ec_runq_remove(&w->runq, c);
			ec_color_enqueue(w, c);
		}
		return;
	case EC_COLOR_RUNNING:
	case EC_COLOR_WAITING:
		return;
	}
	if (w->asleep) {
		w->asleep = false;
		b->wake = w;
	} else if (is_surplus(w, c)) {
		b->surplus = w;
	}
}

void ec_task_push(struct ec_batch *b, struct ec_color *c, struct ec_task *t)
{
	struct ec_worker *w = ec_load_relaxed(&c->worker);

	t->flags |= EC_IN_ACTIVE;
	ec_counter_add(&w->active_num, 1);
	if (c == &b->base->color0) {
		ec_store_relaxed(&b->base->has_grown, true);
		ec_lane_push(b->base, t);
		if (ec_task_is_post(t))
			ec_counter_add(&c->posts_num, 1);
		if (!ec_load_relaxed(&b->base->is_colored)) {
			if (w->asleep) {
				w->asleep = false;
				b->wake = w;
			}
			return;
		}
	} else {
		ec_color_get(c);
		sorted_insert(b->base, c, t);
		if (ec_task_is_post(t))
			ec_counter_add(&c->posts_num, 1);
	}
	c->tasks_num++;
	color_pushed(b, w, c, t);
}

void ec_task_push_first(struct ec_batch *b, struct ec_color *c, struct ec_task *t)
{
	struct ec_worker *w = ec_load_relaxed(&c->worker);

	t->flags |= EC_IN_ACTIVE;
	ec_counter_add(&w->active_num, 1);
	c->tasks_num++;
	ec_counter_add(&c->posts_num, 1);
	if (c == &b->base->color0) {
		ec_list_push_front(&b->base->lanes[t->pri].posts, &t->link);
		ec_store_relaxed(&b->base->has_posts, true);
		ec_map_set(b->base->lanes_map, t->pri);
	} else {
		ec_color_get(c);
		ec_list_push_front(&c->tasks, &t->link);
	}
}

void ec_task_remove(struct ec_color *c, struct ec_task *t)
{
	struct ec_worker *w = ec_load_relaxed(&c->worker);
	struct ec_base *base = w->base;

	t->flags &= ~EC_IN_ACTIVE;
	if (c == &base->color0)
		ec_base_note_max(base);
	ec_counter_add(&w->active_num, UINT32_MAX);
	if (ec_task_is_post(t))
		ec_counter_add(&c->posts_num, UINT32_MAX);
	if (c == &base->color0) {
		lane_remove(base, t);
		if (!ec_load_relaxed(&base->is_colored))
			return;
	} else {
		ec_list_remove(&t->link);
	}
	c->tasks_num--;
	if (c->tasks_num == 0) {
		if (__builtin_expect(c->last_num != 0, 0))	/* not written: others read this line */
			c->last_num = 0;
		if (c->state == EC_COLOR_QUEUED)
			ec_runq_remove(&w->runq, c);
		if (c->state == EC_COLOR_QUEUED || c->state == EC_COLOR_WAITING)
			c->state = EC_COLOR_IDLE;
	}
	if (c != &base->color0)
		ec_color_put(base, c);
}

/* ---------------------------------------------------------------- batches */

static void batch_unlock(struct ec_batch *b)
{
	if (b->locked != NULL)
		ec_run_unlock(b->locked);
	b->locked = NULL;
}

static void batch_wake(struct ec_batch *b)
{
	struct ec_worker *wake = b->wake;
	struct ec_worker *surplus = b->surplus;

	b->wake = NULL;
	b->surplus = NULL;
	if (wake != NULL)
		ec_park_wake(wake);
	if (surplus != NULL)
		ec_park_wake_thief(surplus);
}

void ec_batch_end(struct ec_batch *b)
{
	batch_unlock(b);
	if (b->src != NULL)
		ec_src_unlock(b->src);
	b->src = NULL;
	batch_wake(b);
}

struct ec_color *ec_batch_color(struct ec_batch *b, uint32_t number, _Atomic(uint32_t) *hint)
{
	struct ec_color *c;
	uint32_t index;

	if ((number == 0 || b->base->is_alone) && b->locked == &b->base->zero)
		return &b->base->color0;
	index = ec_load_relaxed(hint);
	if (b->locked != NULL && number != 0 && index != 0) {
		c = ec_color_hinted(b->base, index);
		if (c != NULL && ec_color_is(c, b->locked, number))
			return c;
	}
	batch_unlock(b);
	batch_wake(b);
	c = ec_color_lock_near(b->base, number, hint, b->near);
	if (c != NULL)
		b->locked = ec_load_relaxed(&c->worker);
	return c;
}

/*
 * What it is to be told, and how often. It may have been assigned to a base that has fewer priorities now. libevent
 * has 16 bits for the calls.
 */
static inline void ready_note(struct ec_base *base, struct ec_event *ev, int res, int ncalls)
{
	ev->res = (int16_t)res;
	if (__builtin_expect(ev->task.pri >= base->lanes_num, 0))
		ev->task.pri = (uint8_t)(base->lanes_num - 1);
	if ((ev->events & EC_SIGNAL) != 0)
		ev->of.sig.due = ncalls < 0 ? (uint16_t)ncalls : (uint32_t)ncalls;
}

void ec_event_ready(struct ec_batch *b, struct ec_event *ev, int res, int ncalls)
{
	struct ec_color *c;

	if ((ev->task.flags & EC_IN_FINALIZING) != 0)
		return;
	c = ec_batch_color(b, ev->task.color, ec_event_hint(ev));
	if (c == NULL) {
		ec_log(EC_LOG_WARN, "%s: no memory for color %u", __func__, ev->task.color);
		return;
	}
	if ((ev->task.flags & EC_IN_ACTIVE) != 0) {
		ev->res = (int16_t)(ev->res | res);
		if (b->has_caught && (ev->events & EC_SIGNAL) != 0)
			ev->of.sig.due += (uint32_t)ncalls;
		return;
	}
	ready_note(b->base, ev, res, ncalls);
	ec_task_push(b, c, &ev->task);
}

/* False: it need not be queued. */
static inline bool ready_begin(struct ec_base *base, struct ec_event *ev, int res, int ncalls)
{
	if ((ev->task.flags & EC_IN_FINALIZING) != 0)
		return false;
	if ((ev->task.flags & EC_IN_ACTIVE) != 0) {
		ev->res = (int16_t)(ev->res | res);
		return false;
	}
	ready_note(base, ev, res, ncalls);
	ev->task.flags |= EC_IN_ACTIVE;
	return true;
}

void ec_event_ready_special(struct ec_base *base, struct ec_event *ev, int res, int ncalls)
{
	if (!ready_begin(base, ev, res, ncalls))
		return;
	ec_serial_add(&base->zero.active_num, 1);
	ec_store_relaxed(&base->has_grown, true);
	ec_lane_push(base, &ev->task);
}

void ec_event_ready_alone(struct ec_base *base, struct ec_event *ev, int res, int ncalls)
{
	if (!ready_begin(base, ev, res, ncalls))
		return;
	ec_counter_add(&base->zero.active_num, 1);	/* others read it */
	ec_store_relaxed(&base->has_grown, true);
	ec_lane_push(base, &ev->task);
}

/* ---------------------------------------------------------------- running */

/*
 * The callback of this worker's event has returned: under RUNQ of the color's worker, so that
 * who saw it running under that lock (a poller that silenced its descriptor, a thread that
 * deletes it) did so before, and is seen by ec_run_settle.
 */
struct ec_ran ec_run_ended(struct ec_worker *w)
{
	struct ec_ran ran = w->ran;

	ec_store_release(&w->running_event, NULL);	/* meets is_running in wait.c */
	w->ran.at = NULL;
	return ran;
}

/* After that, without locks: rearm what was silenced meanwhile, and let those go on who waited. */
void ec_run_settle(struct ec_worker *w, struct ec_ran ran)
{
	if (ran.at != NULL && ec_load_relaxed(&ran.at->mutes) != 0)
		ec_source_unmute(ran.at, ran.fd);
	if (ec_load_relaxed(&w->del_waiters) != 0)
		ec_wait_notify(w);
}

/* It began to run before, and has not come to its end: its callback gave it another color, or a new life. */
static inline bool runs_elsewhere(struct ec_worker *w, struct ec_event *ev)
{
	struct ec_worker *before = ec_event_ran_at(w->base, ev);

	return before != NULL && before != w && ec_event_is_running_at(before, ev);
}

static void run_begin(struct ec_worker *w, struct ec_task *t)
{
	struct ec_event *ev;
	unsigned runner;

	if (!ec_task_is_event(t))
		return;
	ev = ec_task_event(t);
	/* Who waits for the callback before may see it over only here: release, as in ec_run_ended. */
	ec_store_release(&w->running_event, ev);
	ec_store_release(&w->run_seq, ec_load_relaxed(&w->run_seq) + 1);
	if (!ec_is_locked(w->base))
		return;
	runner = (ec_load_relaxed(ec_event_runner(ev)) & EC_RUNNER_MANY) | (w->id + 1);
	if (__builtin_expect(runs_elsewhere(w, ev), 0))
		runner |= EC_RUNNER_MANY;
	if ((ev->events & EC_DESCRIPTOR) != 0) {
		w->ran.at = ec_event_at(w->base, ev);
		w->ran.fd = ev->fd;
		runner |= w->ran.at != w ? EC_RUNNER_LATE : 0;
	}
	ec_store_relaxed(ec_event_runner(ev), (uint16_t)runner);
}

/* The calls of a signal's event are taken out of it: from here on it may be freed, or get more. */
static inline void calls_note(struct ec_worker *w, struct ec_event *ev)
{
	w->calls_left = ev->of.sig.due;
	w->calls_signal = ev->fd;
	ev->of.sig.due = 0;
	ec_store_relaxed(&w->is_calls_end, false);
}

static inline void call_note(struct ec_worker *w, struct ec_call *call, struct ec_task *t)
{
	bool is_event = ec_task_is_event(t);

	call->fn = t->fn.event;
	call->arg = t->arg;
	call->kind = t->kind;
	call->is_internal = (t->flags & EC_IN_INTERNAL) != 0;
	call->fd = is_event ? ec_task_event(t)->fd : -1;
	call->res = 0;
	if (is_event)
		call->res = ec_task_event(t)->res;
	if (t->kind == EC_KIND_SIGNAL)
		calls_note(w, ec_task_event(t));
}

void ec_task_pop(struct ec_worker *w, struct ec_color *c, struct ec_task *t)
{
	if (__builtin_expect((c->flags & EC_COLOR_OWED) != 0, 0) && --c->owed == 0)
		c->flags &= (uint8_t)~EC_COLOR_OWED;
	if (ec_task_is_pop_deep(t)) {
		if (t->kind == EC_KIND_TIMED)
			ec_event_reschedule(w->base, c, ec_task_event(t));
		else
			ec_event_forget(w->base, c, ec_task_event(t));
	}
	ec_task_remove(c, t);
	call_note(w, &w->call, t);
	run_begin(w, t);
}

bool ec_task_is_shared(struct ec_task *t)
{
	return t->kind <= EC_KIND_SIGNAL && (ec_load_relaxed(ec_event_state(ec_task_event(t))) & EC_EV_SHARED) != 0;
}

/*
 * The locks of a pop: RUNQ of the color's worker, and, where the first task needs it, SOURCE
 * of its event. SOURCE goes first, so when that turns out to be needed all is let go and
 * looked at again: the task may be another by then.
 */
static inline __attribute__((always_inline)) struct ec_task *next(struct ec_worker *w, struct ec_color *c,
								  unsigned pri, bool *is_left)
{
	struct ec_worker *have = NULL, *need;
	struct ec_base *base = w->base;
	struct ec_ran ran = { NULL, -1 };
	struct ec_task *t;

	for (;;) {
		ec_run_lock(w);
		if (have == NULL)
			ran = ec_run_ended(w);
		t = ec_gate_is_closed(base) ? NULL : ec_color_due(base, c);
		if (is_left != NULL && (c->flags & EC_COLOR_OWED) == 0)
			t = NULL;
		/* The base got its first color just now, so color 0 is queued like any other. */
		if (c->state != EC_COLOR_RUNNING && ec_is_colored(base))
			t = NULL;
		if (t != NULL && (t->pri > pri || t->pri > ec_runq_level(&w->runq) || ec_task_is_shared(t)))
			t = NULL;
		need = t != NULL && ec_task_is_pop_deep(t) ? ec_event_at(base, ec_task_event(t)) : NULL;
		if (need == NULL || need == have)
			break;
		ec_run_unlock(w);
		if (have != NULL)
			ec_src_unlock(have);
		ec_src_lock(need);
		have = need;
	}
	if (is_left != NULL)
		*is_left = t == NULL && (c->flags & EC_COLOR_OWED) != 0;
	if (t != NULL)
		ec_task_pop(w, c, t);
	if (!ec_is_colored(base))
		w->current = t != NULL ? c : NULL;
	ec_run_unlock(w);
	if (have != NULL)
		ec_src_unlock(have);
	ec_run_settle(w, ran);
	return t;
}

struct ec_task *ec_color_next(struct ec_worker *w, struct ec_color *c, unsigned pri)
{
	return next(w, c, pri, NULL);
}

struct ec_task *ec_color_next_owed(struct ec_worker *w, struct ec_color *c, bool *is_left)
{
	return next(w, c, EC_PRI_MAX, is_left);
}

void ec_run_end(struct ec_worker *w)
{
	struct ec_ran ran;

	ec_run_lock(w);
	ran = ec_run_ended(w);
	if (!ec_is_colored(w->base))
		w->current = NULL;
	ec_run_unlock(w);
	ec_run_settle(w, ran);
	if (ec_gate_is_closed(w->base))
		ec_gate_notify(w->base);
}

/* ---------------------------------------------------------------- what a task does */

/*
 * Each signal is one call. The event is not looked into: a callback may free it, and it may become active again
 * meanwhile, which is another run. Who deletes it ends these calls (is_calls_end).
 */
static void run_signal(struct ec_worker *w, const struct ec_call *call)
{
	while (w->calls_left != 0) {
		w->calls_left--;
		call->fn(call->fd, call->res, call->arg);
		if (ec_load_relaxed(&w->is_calls_end) || ec_load_relaxed(&w->base->is_break))
			w->calls_left = 0;
	}
	w->calls_owed = 0;
}

static void run_finalizer(struct ec_worker *w, struct ec_event *ev)
{
	bool is_freed = ev->task.kind == EC_KIND_EVENT_FINALIZE_FREE;

	if (ec_event_finalizer_waits(w, ev))
		return;
	/* Before, not after: the finalizer may assign the event anew. */
	ec_debug_note_teardown(ev);
	ev->task.fn.finalize(ev, ev->task.arg);
	if (is_freed)
		ec_free(ev);
}

static inline void run(struct ec_worker *w, struct ec_task *t, const struct ec_call *call)
{
	ec_post_fn post;
	void *arg;

	ec_counter_add(&w->stats.callbacks, 1);
	switch ((enum ec_kind)call->kind) {
	case EC_KIND_EVENT:
	case EC_KIND_PERSIST:
	case EC_KIND_TIMED:
		call->fn(call->fd, call->res, call->arg);
		return;
	case EC_KIND_POST:
		post = t->fn.post;
		arg = t->arg;
		ec_post_free(w, t);
		ec_counter_add(&w->stats.posts, 1);
		post(arg);
		return;
	case EC_KIND_SIGNAL:
		run_signal(w, call);
		return;
	case EC_KIND_SELF:
	case EC_KIND_FINALIZE:
		t->fn.self(t, t->arg);
		return;
	case EC_KIND_EVENT_FINALIZE:
	case EC_KIND_EVENT_FINALIZE_FREE:
		run_finalizer(w, ec_task_event(t));
		return;
	}
}

void ec_task_run(struct ec_worker *w, struct ec_task *t)
{
	struct ec_call call;

	call_note(w, &call, t);
	run(w, t, &call);
}

void ec_task_run_popped(struct ec_worker *w, struct ec_task *t)
{
	struct ec_call call = w->call;

	run(w, t, &call);
}
