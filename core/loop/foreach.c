/*
 * Every event of a base, once: those of descriptors, signals, timers, and those that are only active.
 *
 * The visitor may call functions that take the events' locks, so no lock is held while it runs: the events are
 * collected first. In a base with colors, the caller makes sure that no event is freed meanwhile, by ec_base_pause or
 * in another way.
 */
#include "ec.h"

#include "io/common.h"
#include "io/fds.h"
#include "sched/event.h"

struct found {
	/* own */
	struct ec_event **at;
	size_t num, cap;
	bool is_short;			/* no memory */
};

static void note(struct found *f, struct ec_event *ev)
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

static void note_sources(struct found *f, struct ec_list *head, bool is_signal)
{
	struct ec_list *at;

	for (at = head->next; at != head; at = at->next)
		note(f, is_signal ? ec_container_of(at, struct ec_event, of.sig.link) :
				    ec_container_of(at, struct ec_event, of.io.link));
}

static void note_timer(struct found *f, struct ec_event *ev)
{
	if ((ev->task.flags & EC_IN_INSERTED) == 0)
		note(f, ev);
}

static void note_pending(struct found *f, struct ec_base *base, struct ec_worker *w)
{
	struct ec_common *common;
	struct ec_list *at;
	uint32_t n;
	void *owner;
	int i;

	for (i = 0; i < w->fds.cap; i++) {
		if (w->fds.at[i] != &ec_source_none)
			note_sources(f, &w->fds.at[i]->events, false);
	}
	for (i = 1; w->id == 0 && base->signals.at != NULL && i < EC_SIGNALS; i++)
		note_sources(f, &base->signals.at[i], true);
	for (n = 0; (owner = ec_timers_find(&w->timers, &n)) != NULL; n++) {
		common = ec_common_from_owner(owner);
		if (common == NULL) {
			note_timer(f, owner);
			continue;
		}
		for (at = common->events.next; at != &common->events; at = at->next)
			note_timer(f, ec_container_of(at, struct ec_event, timer.common));
	}
}

static void note_active(struct found *f, struct ec_list *head)
{
	struct ec_list *at;
	struct ec_task *t;

	for (at = head->next; at != head; at = at->next) {
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
	struct found f = { 0 };
	unsigned i;
	size_t n;
	int r = 0;

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
		r = -ENOMEM;
	for (n = 0; n < f.num && r == 0; n++)
		r = fn(base, f.at[n], arg);
	ec_free(f.at);
	return r;
}
