#include "watch.h"

#include <string.h>

#include "observe/late.h"
#include "poller.h"
#include "sched/above.h"
#include "sched/event.h"
#include "sched/ready.h"
#include "sched/worker.h"

static void note_armed(struct ec_worker *w, struct ec_source *s, int fd, unsigned what)
{
	w->fds.watched += (uint32_t)(what != 0) - (uint32_t)(s->armed != 0);
	if (what != 0 && !ec_load_relaxed(&w->base->has_watched))
		ec_store_relaxed(&w->base->has_watched, true);
	s->armed = (uint8_t)what;
	s->watch_id = ec_watch_id(what != 0 ? fd : ~fd, ec_watch_cookie(s->watch_id));
}

int ec_source_watch(struct ec_worker *w, struct ec_source *s)
{
	unsigned want = ec_source_interest(s);
	bool is_anew = s->armed == 0 || (s->is_dirty && s->was_gone);
	int fd = ec_source_fd(s), r;

	s->is_dirty = s->was_gone = false;
	if (want == s->armed && !(is_anew && want != 0))
		return 0;
	if (is_anew && w->poller->ops->is_kernel_set)	/* other pollers store no cookie */
		s->watch_id += ec_watch_id(0, 1);
	r = w->poller->ops->watch(w->poller, fd, s->armed, want, ec_watch_cookie(s->watch_id));
	note_armed(w, s, fd, r < 0 ? 0 : want);
	return r;
}

/*
 * The change may wait until the worker polls: the worker flushes changes before, under the same lock. There are two
 * exceptions: the poller has not accepted the descriptor yet, or the worker is already in the poller.
 */
int ec_source_changed(struct ec_worker *w, struct ec_source *s, bool is_accepted)
{
	if (is_accepted && !w->is_waiting && ec_source_defer(&w->fds, s))
		return 0;
	if (!w->poller->ops->is_kernel_set && w->is_waiting)
		ec_wakeup_send(&w->wakeup);
	return ec_source_watch(w, s);
}

void ec_source_settle(struct ec_worker *w, int fd)
{
	struct ec_source *s = ec_source_find(&w->fds, fd);

	if (s != NULL && s->is_dirty)
		(void)ec_source_watch(w, s);
}

static void activate_events(struct ec_source *s, struct ec_batch *b)
{
	struct ec_list *at;
	struct ec_event *ev;

	for (at = s->events.next; at != &s->events; at = at->next) {
		ev = ec_container_of(at, struct ec_event, of.io.link);
		ec_event_ready(b, ev, ev->events & EC_DESCRIPTOR, 1);
	}
}

/*
 * Watches a source that was accepted before. If the poller refuses it now, its events become active, as after an
 * error: in `b`, or, if that is NULL, in a batch of its own.
 */
static void watch_again(struct ec_worker *w, struct ec_source *s, struct ec_batch *b)
{
	int r = ec_source_watch(w, s);
	struct ec_batch own;

	/* With a changelist, libevent only logs a refusal, and so does the poller here. */
	if (r >= 0 || (w->base->flags & EC_BASE_EPOLL_USE_CHANGELIST) != 0)
		return;
	ec_late_log_errno(EC_LOG_DEBUG, -r, "%s refuses fd %d", w->poller->ops->name, ec_source_fd(s));
	if (b != NULL) {
		activate_events(s, b);
		return;
	}
	ec_batch_begin(&own, w->base);
	activate_events(s, &own);
	ec_batch_end(&own);
}

void ec_source_flush(struct ec_worker *w, struct ec_batch *b)
{
	struct ec_fd_stack *dirty = &w->fds.dirty;
	int i, num = dirty->num;
	struct ec_source *s;

	for (i = 0; i < num; i++) {
		s = w->fds.at[dirty->at[i]];
		s->is_listed = false;
		if (s->is_dirty)
			watch_again(w, s, b);
	}
	dirty->num -= num;
	if (__builtin_expect(dirty->num != 0, 0))	/* those that came meanwhile */
		memmove(dirty->at, dirty->at + num, (size_t)dirty->num * sizeof(*dirty->at));
}

void ec_source_disarm(struct ec_worker *w, struct ec_source *s)
{
	if (s->is_disarmed)
		return;
	s->is_disarmed = true;
	ec_counter_add(&w->disarmed_num, 1);
	ec_counter_add(&w->stats.disarms, 1);
	(void)ec_source_watch(w, s);
}

bool ec_source_rearm_unwatched(struct ec_worker *w, struct ec_source *s)
{
	if (!s->is_disarmed)
		return false;
	s->is_disarmed = false;
	ec_counter_add(&w->disarmed_num, UINT32_MAX);
	return true;
}

void ec_source_unqueued(struct ec_worker *w, int fd)
{
	struct ec_source *s = ec_source_find(&w->fds, fd);	/* NULL: an event for a descriptor may have none */

	if (s != NULL && ec_source_rearm_unwatched(w, s))
		(void)ec_source_changed(w, s, true);
}

void ec_source_rearm(struct ec_worker *w, int fd)
{
	struct ec_source *s;

	ec_src_lock(w);
	s = ec_source_find(&w->fds, fd);
	if (s != NULL && ec_source_rearm_unwatched(w, s)) {
		watch_again(w, s, NULL);
		if (!w->poller->ops->is_kernel_set && w->is_waiting)
			ec_wakeup_send(&w->wakeup);
	}
	ec_src_unlock(w);
}

void ec_source_rearm_all(struct ec_worker *w)
{
	struct ec_source *s;
	int fd;

	for (fd = 0; fd < w->fds.cap; fd++) {
		s = ec_source_find(&w->fds, fd);
		if (s != NULL)
			(void)ec_source_rearm_unwatched(w, s);
	}
}

void ec_source_rewatch(struct ec_worker *w, struct ec_batch *b)
{
	struct ec_source *s;
	int fd, r;

	r = w->poller->ops->watch(w->poller, ec_wakeup_fd(&w->wakeup), 0, EC_READ | EC_ET, 0);
	if (r < 0)
		ec_late_log_errno(EC_LOG_WARN, -r, "%s: cannot watch the wake-up descriptor", w->poller->ops->name);
	for (fd = 0; fd < w->fds.cap; fd++) {
		s = ec_source_find(&w->fds, fd);
		if (s == NULL)
			continue;
		note_armed(w, s, fd, 0);
		watch_again(w, s, b);
	}
}
