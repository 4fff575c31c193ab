/*
 * Every event of a base, once: those of descriptors, signals, timers, and those that are only active.
 *
 * The visitor may call functions that take the events' locks, so no lock is held while it runs: the events are
 * collected first. Without colors, other threads, also the loop's, are kept out of the locks until all are visited
 * (ec_bias_visit_begin): so none of the events is deleted or freed meanwhile. In a base with colors, the caller makes
 * sure of that, by ec_base_pause or in another way. A base that is not locked needs no copy: the visitor may delete and
 * free the event that it is given.
 */
#include "ec.h"

#include <stdlib.h>

#include "io/deadline.h"
#include "io/far.h"
#include "io/fds.h"
#include "sched/event.h"
#include "sched/slabs.h"
#include "sched/zero.h"

enum { TRIES_MAX = 8 };		/* registrations move seldom: after many steals */

struct found {
	/* const */
	struct ec_base *base;
	ec_visit_fn fn;
	void *arg;
	bool is_direct;			/* visit at once */

	/* own */
	struct ec_event **at;
	size_t num, cap;
	bool is_short;			/* no memory */
	uintptr_t outer;		/* of ec_bias_visit_end */
	int r;				/* of the last visit */
};

static inline void visit(struct found *f, struct ec_event *ev)
{
	if (f->r == 0)
		f->r = f->fn(f->base, ev, f->arg);
}

/* Room for `num` more. */
static __attribute__((noinline)) bool reserve(struct found *f, size_t num)
{
	size_t cap = f->num + num < 2 * f->cap ? 2 * f->cap : f->num + num;
	struct ec_event **at = ec_realloc(f->at, cap * sizeof(*at));

	if (at == NULL) {
		f->is_short = true;
		return false;
	}
	f->at = at;
	f->cap = cap;
	return true;
}

static inline void collect(struct found *f, struct ec_event *ev)
{
	if (__builtin_expect(f->num != f->cap, 1) || reserve(f, 1))
		f->at[f->num++] = ev;
}

static inline void note(struct found *f, struct ec_event *ev)
{
	if (__builtin_expect(f->is_direct, 1))
		visit(f, ev);
	else
		collect(f, ev);
}

static void note_sources(struct found *f, struct ec_list *head, bool is_signal)
{
	struct ec_list *at, *next;

	for (at = head->next; at != head; at = next) {
		next = at->next;
		note(f, is_signal ? ec_container_of(at, struct ec_event, of.sig.link) :
				    ec_container_of(at, struct ec_event, of.io.link));
	}
}

/* Does only its deadline keep `ev` pending? Otherwise note_sources finds it. */
static inline bool is_timer_only(const struct ec_event *ev)
{
	return (ev->task.flags & EC_IN_INSERTED) == 0;
}

static void note_queue(struct found *f, struct ec_list *queue)
{
	struct ec_list *at, *next;

	for (at = queue->next; at != queue; at = next) {
		next = at->next;
		if (is_timer_only(ec_event_of_common(at)))
			note(f, ec_event_of_common(at));
	}
}

/* The owners of timers are events, common timeouts and buckets. */
static __attribute__((noinline)) void note_timers(struct found *f, const struct ec_timers *t)
{
	size_t slot, end = ec_timers_cap(t);
	struct ec_list *queue;
	void *owner;

	for (slot = 0; slot != end; slot++) {
		owner = t->slots[slot].owner;
		if (owner == NULL)
			continue;
		queue = ec_deadline_queue(owner);
		if (queue != NULL)
			note_queue(f, queue);
		else if (is_timer_only(owner))
			note(f, owner);
	}
}

/*
 * The same two ways for events that no queue has: the most events by far are here. By offset, because a visitor that
 * adds a timer may move the slots.
 */
static inline int visit_slots(const struct found *f, const struct ec_timers *t, uint32_t first, uint32_t last)
{
	size_t at = first * sizeof(*t->slots), end = last * sizeof(*t->slots);
	struct ec_base *base = f->base;
	ec_visit_fn fn = f->fn;
	struct ec_event *ev;
	void *arg = f->arg;
	int r;

	for (; at != end; at += sizeof(*t->slots)) {
		ev = ((const struct ec_timer_slot *)(const void *)((const char *)t->slots + at))->owner;
		if (ev == NULL || !is_timer_only(ev))
			continue;
		r = fn(base, ev, arg);
		if (r != 0)
			return r;
	}
	return 0;
}

static inline struct ec_event **collect_slots(struct ec_event **at, const struct ec_timers *t, uint32_t first,
					      uint32_t last)
{
	const struct ec_timer_slot *s = t->slots + first, *end = t->slots + last;

	for (; s != end; s++) {
		if (s->owner != NULL && is_timer_only(s->owner))
			*at++ = s->owner;
	}
	return at;
}

/* With buckets, few groups of slots have their timers. Here are those groups. */
static inline int visit_queue(const struct found *f, const struct ec_list *queue)
{
	struct ec_base *base = f->base;
	struct ec_list *at, *next;
	ec_visit_fn fn = f->fn;
	void *arg = f->arg;
	int r;

	for (at = queue->next; at != queue; at = next) {
		next = at->next;
		if (!is_timer_only(ec_event_of_common(at)))
			continue;
		r = fn(base, ec_event_of_common(at), arg);
		if (r != 0)
			return r;
	}
	return 0;
}

static int visit_mixed(const struct found *f, const struct ec_timers *t, uint32_t first)
{
	uint64_t armed = ec_timers_armed(t, first);
	void *owner;
	int r = 0;

	for (; armed != 0 && r == 0; armed &= armed - 1) {
		owner = t->slots[first + (uint32_t)__builtin_ctzll(armed)].owner;
		if (((uintptr_t)owner & 1) != 0)
			r = visit_queue(f, ec_deadline_queue(owner));
		else if (owner != NULL && is_timer_only(owner))
			r = f->fn(f->base, owner, f->arg);
	}
	return r;
}

static struct ec_event **collect_mixed(struct ec_event **to, const struct ec_timers *t, uint32_t first)
{
	uint64_t armed = ec_timers_armed(t, first);
	struct ec_list *queue, *at;
	void *owner;

	for (; armed != 0; armed &= armed - 1) {
		owner = t->slots[first + (uint32_t)__builtin_ctzll(armed)].owner;
		if (((uintptr_t)owner & 1) == 0) {
			if (is_timer_only(owner))
				*to++ = owner;
			continue;
		}
		queue = ec_deadline_queue(owner);
		for (at = queue->next; at != queue; at = at->next) {
			if (is_timer_only(ec_event_of_common(at)))
				*to++ = ec_event_of_common(at);
		}
	}
	return to;
}

static __attribute__((noinline)) int visit_buckets(const struct found *f, const struct ec_timers *t)
{
	uint32_t first, end = ec_timers_cap(t);
	int r = 0;

	for (first = 0; first != end && r == 0; first += EC_TIMERS_GROUP) {
		r = ec_timers_have_queue(t, first) ? visit_mixed(f, t, first) :
						     visit_slots(f, t, first, first + EC_TIMERS_GROUP);
	}
	return r;
}

static inline int visit_timers(const struct found *f, const struct ec_timers *t)
{
	return t->far != NULL ? visit_buckets(f, t) : visit_slots(f, t, 0, ec_timers_cap(t));
}

static inline void collect_timers(struct found *f, const struct ec_timers *t)
{
	uint32_t first, end = ec_timers_cap(t), far_num = t->far == NULL ? 0 : t->far->num;
	struct ec_event **at;

	if (t->num == 0 || !reserve(f, (size_t)t->num + far_num))
		return;
	at = f->at + f->num;
	if (t->far == NULL)
		at = collect_slots(at, t, 0, end);
	else
		for (first = 0; first != end; first += EC_TIMERS_GROUP)
			at = ec_timers_have_queue(t, first) ? collect_mixed(at, t, first) :
							      collect_slots(at, t, first, first + EC_TIMERS_GROUP);
	f->num = (size_t)(at - f->at);
}

static inline void note_pending(struct found *f, struct ec_base *base, struct ec_worker *w)
{
	int i;

	for (i = 0; i < w->fds.cap; i++) {
		if (w->fds.at[i] != &ec_source_none)
			note_sources(f, &w->fds.at[i]->events, false);
	}
	for (i = 1; w->id == 0 && base->signals.at != NULL && i < EC_SIGNALS; i++)
		note_sources(f, &base->signals.at[i], true);
	if (w->id == 0 && base->commons_num != 0)
		note_timers(f, &w->timers);
	else if (!f->is_direct)
		collect_timers(f, &w->timers);
	else if (f->r == 0)
		f->r = visit_timers(f, &w->timers);
}

static void note_active(struct found *f, struct ec_list *head)
{
	struct ec_list *at, *next;
	struct ec_task *t;

	for (at = head->next; at != head; at = next) {
		next = at->next;
		t = ec_container_of(at, struct ec_task, link);
		if (ec_task_is_event(t) && !ec_event_is_pending(ec_task_event(t)))
			note(f, ec_task_event(t));
	}
}

static inline void note_lanes(struct found *f, struct ec_base *base)
{
	unsigned i;

	for (i = 0; i < base->lanes_num; i++)
		note_active(f, &base->lanes[i].others);
}

/* Whatever its state is: the tasks of a color that runs, or waits for shared callbacks, are in no run queue. */
static void note_color(struct found *f, struct ec_color *c)
{
	struct ec_worker *w;

	for (;;) {
		w = ec_load_acquire(&c->worker);		/* meets color_birth */
		ec_run_lock(w);
		if (ec_load_acquire(&c->worker) == w)		/* meets ec_color_take */
			break;
		ec_run_unlock(w);
	}
	if (ec_load_acquire(&c->alive) != 0)
		note_active(f, &c->tasks);
	ec_run_unlock(w);
}

static void note_colors(struct found *f, struct ec_base *base)
{
	uint32_t i, used = ec_colors_used(&base->colors);
	struct ec_color *c;

	for (i = 0; i < used; i++) {
		c = ec_color_at(base, i);
		if (ec_load_acquire(&c->alive) != 0)
			note_color(f, c);
	}
}

static __attribute__((noinline)) int visit_directly(struct ec_base *base, ec_visit_fn fn, void *arg)
{
	struct found f = { .base = base, .fn = fn, .arg = arg, .is_direct = true };

	note_pending(&f, base, &base->zero);
	note_lanes(&f, base);
	return f.r;
}

static int visit_collected(const struct found *f)
{
	struct ec_event *const *at = f->at;
	struct ec_base *base = f->base;
	ec_visit_fn fn = f->fn;
	void *arg = f->arg;
	size_t left;
	int r;

	for (left = f->num; left != 0; left--, at++) {
		r = fn(base, *at, arg);
		if (r != 0)
			return r;
	}
	return 0;
}

/* The base has one worker; a visit has begun. False: it has colors now, and nothing was collected. */
static inline bool collect_alone(struct found *f, struct ec_base *base)
{
	ec_bias_visit_prepare(&base->bias);
	if (!ec_zero_hold_slowly(base))
		return false;
	note_pending(f, base, &base->zero);
	note_lanes(f, base);
	f->outer = ec_bias_visit_begin(&base->bias);
	ec_zero_release_slowly(base);
	return true;
}

static int compare(const void *a, const void *b)
{
	struct ec_event *const *first = a, *const *second = b;

	return (uintptr_t)*first < (uintptr_t)*second ? -1 : (uintptr_t)*first > (uintptr_t)*second;
}

static void drop_doubles(struct found *f)
{
	size_t i, num = 0;

	if (f->num == 0)
		return;
	qsort(f->at, f->num, sizeof(*f->at), compare);
	for (i = 1; i < f->num; i++) {
		if (f->at[i] != f->at[num])
			f->at[++num] = f->at[i];
	}
	f->num = num + 1;
}

/*
 * The base has several workers, and their locks are taken one after another. Meanwhile a timer that was pending may
 * become active only, and is found twice. So is a registration that moves to a later worker; one that moves to an
 * earlier worker is missed (M1 in quiet.c counts both). False: one has moved.
 */
static bool collect_several(struct found *f, struct ec_base *base)
{
	uint32_t moves = ec_load_acquire(&base->pending_moves);
	size_t pending_num;
	bool has_moved;
	unsigned i;

	f->num = 0;
	for (i = 0; i < ec_workers_num(base); i++) {
		ec_src_lock(base->workers[i]);
		note_pending(f, base, base->workers[i]);
		ec_src_unlock(base->workers[i]);
	}
	pending_num = f->num;
	ec_run_lock(&base->zero);
	note_lanes(f, base);
	ec_run_unlock(&base->zero);
	note_colors(f, base);
	has_moved = ec_load_acquire(&base->pending_moves) != moves;
	if (has_moved || f->num != pending_num)
		drop_doubles(f);
	return !has_moved;
}

static __attribute__((noinline)) int collect_and_visit(struct ec_base *base, ec_visit_fn fn, void *arg)
{
	struct found f = { .base = base, .fn = fn, .arg = arg };
	bool is_alone = collect_alone(&f, base);
	int tries = TRIES_MAX;

	while (!is_alone && !collect_several(&f, base) && --tries != 0)
		;
	f.r = f.is_short ? -ENOMEM : visit_collected(&f);
	if (is_alone)
		ec_bias_visit_end(&base->bias, f.outer);
	ec_free(f.at);
	return f.r;
}

int ec_base_foreach_event(struct ec_base *base, ec_visit_fn fn, void *arg)
{
	return ec_is_locked(base) ? collect_and_visit(base, fn, arg) : visit_directly(base, fn, arg);
}
