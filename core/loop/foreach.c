/*
 * Every event of a base, once: those of descriptors, signals, timers, and those that are only active.
 *
 * The visitor may call functions that take the events' locks, so no lock is held while it runs: the events are
 * collected first. In a base with colors, the caller makes sure that no event is freed meanwhile, by ec_base_pause or
 * in another way. A base that is not locked needs no copy: the visitor may delete and free the event that it is given.
 */
#include "ec.h"

#include "io/common.h"
#include "io/fds.h"
#include "sched/event.h"

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
	int r;				/* of the last visit */
};

static inline void visit(struct found *f, struct ec_event *ev)
{
	if (f->r == 0)
		f->r = f->fn(f->base, ev, f->arg);
}

static __attribute__((noinline)) void collect(struct found *f, struct ec_event *ev)
{
	struct ec_event **at;
	size_t cap;

	if (f->num == f->cap) {
		cap = f->cap == 0 ? 64 : f->cap * 2;
		at = ec_realloc(f->at, cap * sizeof(*at));
		if (at == NULL) {
			f->is_short = true;
			return;
		}
		f->at = at;
		f->cap = cap;
	}
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

static inline void note_timer(struct found *f, struct ec_event *ev)
{
	if ((ev->task.flags & EC_IN_INSERTED) == 0)
		note(f, ev);
}

static void note_pending(struct found *f, struct ec_base *base, struct ec_worker *w)
{
	struct ec_list *at, *next;
	struct ec_common *common;
	uint32_t slot;
	void *owner;
	int i;

	for (i = 0; i < w->fds.cap; i++) {
		if (w->fds.at[i] != &ec_source_none)
			note_sources(f, &w->fds.at[i]->events, false);
	}
	for (i = 1; w->id == 0 && base->signals.at != NULL && i < EC_SIGNALS; i++)
		note_sources(f, &base->signals.at[i], true);
	for (slot = 0; slot < w->timers.slots_cap; slot++) {
		owner = w->timers.slots[slot].owner;
		if (owner == NULL)
			continue;
		common = ec_common_from_owner(owner);
		if (__builtin_expect(common == NULL, 1)) {
			note_timer(f, owner);
			continue;
		}
		for (at = common->events.next; at != &common->events; at = next) {
			next = at->next;
			note_timer(f, ec_event_of_common(at));
		}
	}
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

static void note_runnable(struct found *f, struct ec_base *base, struct ec_worker *w)
{
	struct ec_list *at, *head;
	unsigned i, j;

	for (i = 0; w->id == 0 && i < base->lanes_num; i++)
		note_active(f, &base->lanes[i].others);
	for (i = 0; i < w->runq.levels_num; i++) {
		for (j = 0; j < 2; j++) {
			head = j == 0 ? &w->runq.level[i].posts : &w->runq.level[i].others;
			for (at = head->next; at != head; at = at->next)
				note_active(f, &ec_container_of(at, struct ec_color, node)->tasks);
		}
	}
}

int ec_base_foreach_event(struct ec_base *base, ec_visit_fn fn, void *arg)
{
	struct found f = { .base = base, .fn = fn, .arg = arg, .is_direct = !ec_is_locked(base) };
	unsigned i;
	size_t n;

	for (i = 0; i < ec_workers_num(base); i++) {
		struct ec_worker *w = base->workers[i];

		ec_src_lock(w);
		note_pending(&f, base, w);
		ec_run_lock(w);
		note_runnable(&f, base, w);
		ec_run_unlock(w);
		ec_src_unlock(w);
	}
	if (f.is_short)
		f.r = -ENOMEM;
	for (n = 0; n < f.num; n++)
		visit(&f, f.at[n]);
	ec_free(f.at);
	return f.r;
}
