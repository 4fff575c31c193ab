#include "source.h"

#include "again.h"
#include "observe/late.h"
#include "poller.h"
#include "sched/event.h"
#include "sched/worker.h"
#include "watch.h"

/*
 * True: as far as this thread knows without a system call, the poller accepts the descriptor. So the change may wait.
 * `last`: s->last before `ev` was counted.
 */
static bool is_accepted(struct ec_worker *w, const struct ec_source *s, struct ec_event *ev, uint32_t last)
{
	if ((w->base->flags & EC_BASE_EPOLL_USE_CHANGELIST) != 0)
		return true;
	if (!ec_list_is_empty(&s->events))
		return s->armed != 0;
	return s->armed != 0 && last == ec_source_mark(ev) &&
	       (ec_load_relaxed(ec_event_state(ev)) & EC_EV_KNOWN) != 0;
}

static inline void count(struct ec_source *s, const struct ec_event *ev, int by)
{
	if ((ev->events & EC_READ) != 0)
		s->reads = (uint16_t)(s->reads + by);
	if ((ev->events & (EC_WRITE | EC_CLOSED)) != 0) {
		s->writes = (uint16_t)(s->writes + ((ev->events & EC_WRITE) != 0 ? by : 0));
		s->closes = (uint8_t)(s->closes + ((ev->events & EC_CLOSED) != 0 ? by : 0));
	}
	ec_source_set_wants(s, (unsigned)(s->reads != 0) * EC_READ | (unsigned)(s->writes != 0) * EC_WRITE |
				       (unsigned)(s->closes != 0) * EC_CLOSED);
}

static inline void enter_counts(struct ec_source *s, const struct ec_event *ev, bool is_edge)
{
	bool is_first = ec_list_is_empty(&s->events);

	s->is_mixed = !is_first && (s->is_mixed || s->is_edge != is_edge);
	if (is_first) {
		s->is_edge = is_edge;
		ec_source_count_only(s, ev->events & EC_DESCRIPTOR);
	} else {
		count(s, ev, 1);
	}
}

static bool is_full(const struct ec_source *s)
{
	return __builtin_expect(s->reads == UINT16_MAX || s->writes == UINT16_MAX || s->closes == UINT8_MAX, 0);
}

/* May `ev` wait for the descriptor together with the events that already do? */
static int check(const struct ec_source *s, const struct ec_event *ev, bool is_edge)
{
	if (ec_debug_on() && !ec_list_is_empty(&s->events) && s->is_edge != is_edge) {
		ec_late_log(EC_LOG_WARN, "Tried to mix edge-triggered and non-edge-triggered events on fd %d", ev->fd);
		return -EINVAL;
	}
	if (!ec_list_is_empty(&s->events) && is_full(s)) {
		ec_late_log(EC_LOG_WARN, "Too many events reading or writing on fd %d", ev->fd);
		return -ENOSPC;
	}
	return 0;
}

/*
 * The interest has changed. The kernel reports an edge that has come anew whenever it is told of the interest. So if it
 * is edge-triggered, and changes back before the flush, the kernel is told all the same.
 */
static inline void note_edge(struct ec_source *s)
{
	if (s->is_edge)
		s->was_gone = true;
}

/*
 * Counts `ev` at its descriptor, and passes the interest on. The caller puts `ev` into the list of *ret. An error
 * changes nothing.
 */
static inline int enter(struct ec_worker *w, struct ec_event *ev, struct ec_source **ret)
{
	bool is_edge = (ev->events & EC_ET) != 0;
	struct ec_source *s;
	unsigned before;
	uint32_t last;
	int r;

	r = ec_fds_get(&w->fds, ev->fd, &s);
	if (r == 0)
		r = check(s, ev, is_edge);
	if (r < 0)
		return r;
	before = ec_source_interest(s);
	last = s->last;
	enter_counts(s, ev, is_edge);
	if (ec_source_interest(s) != before || (s->is_dirty && s->was_gone)) {
		r = ec_source_changed(w, s, is_accepted(w, s, ev, last));
		if (r < 0) {
			count(s, ev, -1);
			(void)ec_source_watch(w, s);
			return r;
		}
		note_edge(s);
	}
	*ret = s;
	return 0;
}

int ec_source_add(struct ec_worker *w, struct ec_event *ev)
{
	struct ec_source *s;
	int r;

	if (ec_source_return(w, ev))
		return 0;
	if (ev->fd < 0) {		/* as in libevent no error: programs often assign timers with fd -1 */
		ec_list_init(&ev->of.io.link);
		return 0;
	}
	r = enter(w, ev, &s);
	if (r < 0)
		return r;
	if ((ec_load_relaxed(ec_event_state(ev)) & EC_EV_KNOWN) == 0)
		ec_event_set_state(ev, EC_EV_KNOWN, EC_EV_KNOWN);
	ec_list_push_front(&s->events, &ev->of.io.link);	/* the latest first, as in libevent */
	return 0;
}

int ec_source_move(struct ec_worker *w, struct ec_worker *to, struct ec_event *ev)
{
	struct ec_source *s;
	int r = enter(to, ev, &s);

	if (r < 0)
		return r;
	ec_source_del(w, ev);
	ec_list_push_front(&s->events, &ev->of.io.link);
	return 0;
}

void ec_source_del(struct ec_worker *w, struct ec_event *ev)
{
	struct ec_source *s;
	unsigned before;

	if (ev->fd < 0)
		return;
	s = w->fds.at[ev->fd];
	before = ec_source_interest(s);
	ec_list_remove(&ev->of.io.link);
	if (ec_list_is_empty(&s->events))
		ec_source_count_only(s, 0);
	else
		count(s, ev, -1);
	/* The callback that should rearm the descriptor may be that of `ev`, which may never run now. */
	(void)ec_source_rearm_unwatched(w, s);
	if (ec_source_interest(s) != before) {
		(void)ec_source_changed(w, s, true);
		note_edge(s);
	}
	if (ec_list_is_empty(&s->events)) {
		s->last = ec_source_mark(ev);
		s->was_gone = true;
	}
}
