/*
 * The most frequent change at a descriptor, short enough to be a part of event_add and event_del: its only event is
 * deleted, and added again before the next flush to the poller, without a new assignment. These functions call nothing,
 * so the ways to them need no frame.
 *
 * All functions are called under the worker's SOURCE lock.
 */
#ifndef EC_AGAIN_H
#define EC_AGAIN_H

#include <stdbool.h>

#include "fds.h"
#include "sched/event.h"
#include "sched/worker.h"

static inline void ec_source_set_wants(struct ec_source *s, unsigned wants)
{
	s->wants = (uint8_t)(wants != 0 && s->is_edge ? wants | EC_ET : wants);
}

/* Counts the events of `s`, which are at most one. `events`: its interest; 0: no event is left. */
static inline void ec_source_count_only(struct ec_source *s, unsigned events)
{
	s->reads = (events & EC_READ) != 0;
	s->writes = (events & EC_WRITE) != 0;
	s->closes = (events & EC_CLOSED) != 0;
	ec_source_set_wants(s, events);
}

/* Adds `ev`, which was deleted. False: it is another change, and nothing was done. */
static inline bool ec_source_return(struct ec_worker *w, struct ec_event *ev)
{
	struct ec_source *s;

	if ((ec_load_relaxed(ec_event_state(ev)) & EC_EV_KNOWN) == 0 || (unsigned)ev->fd >= (unsigned)w->fds.cap)
		return false;
	s = w->fds.at[ev->fd];			/* ec_source_none is never dirty */
	if (s->last != ec_source_mark(ev) || !s->is_dirty || s->is_mixed || !ec_list_is_empty(&s->events) ||
	    s->armed == 0 || w->is_waiting)
		return false;
	ec_source_count_only(s, ev->events & EC_DESCRIPTOR);
	ec_list_push_front(&s->events, &ev->of.io.link);
	return true;
}

/* Deletes `ev`. False: it is another change, or it needs memory, and nothing was done. */
static inline bool ec_source_leave(struct ec_worker *w, struct ec_event *ev)
{
	struct ec_source *s;

	if (ev->fd < 0)
		return false;
	s = w->fds.at[ev->fd];
	if (s->events.next != s->events.prev || s->is_disarmed || w->is_waiting)
		return false;
	if (!s->is_dirty) {
		if (!s->is_listed && !ec_fd_stack_put(&w->fds.dirty, ev->fd))
			return false;
		s->is_listed = true;
		s->is_dirty = true;
	}
	ec_list_init(&s->events);
	ec_source_count_only(s, 0);
	s->last = ec_source_mark(ev);
	s->was_gone = true;
	return true;
}

#endif
