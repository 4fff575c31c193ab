#include "source.h"

#include <fcntl.h>

#include "poller.h"
#include "sched/above.h"
#include "sched/event.h"
#include "sched/queue.h"
#include "sched/ready.h"
#include "sched/worker.h"

static void note_migrant(struct ec_worker *w, struct ec_source *s);

#define NOT_WATCHED UINT64_MAX		/* descriptor -1: in no report */

enum { FDS_FIRST = 32, FDS_PLAUSIBLE = 1 << 20 };

struct ec_source ec_source_none = { .events = { &ec_source_none.events, &ec_source_none.events },
				    .watch_id = NOT_WATCHED };

void ec_fds_init(struct ec_fds *fds)
{
	*fds = (struct ec_fds){ 0 };
	ec_list_init(&fds->dirty);
}

void ec_fds_fini(struct ec_fds *fds)
{
	int fd;

	for (fd = 0; fd < fds->cap; fd++)
		ec_free(ec_source_find(fds, fd));
	ec_free(fds->at);
	ec_fds_init(fds);
}

static int fds_grow(struct ec_fds *fds, int fd)
{
	struct ec_source **at;
	int cap = fds->cap == 0 ? FDS_FIRST : fds->cap;

	while (cap <= fd) {
		if (cap > INT32_MAX / 2)
			return -EINVAL;
		cap *= 2;
	}
	at = ec_realloc(fds->at, (size_t)cap * sizeof(*at));
	if (at == NULL)
		return -ENOMEM;
	fds->at = at;
	while (fds->cap < cap)
		at[fds->cap++] = &ec_source_none;
	return 0;
}

static int source_get(struct ec_fds *fds, int fd, struct ec_source **ret)
{
	struct ec_source *s;
	int r;

	s = ec_source_find(fds, fd);
	if (__builtin_expect(s != NULL, 1)) {
		*ret = s;
		return 0;
	}
	if (fd < 0)
		return -EBADF;
	if (fd >= fds->cap) {
		/* What is not even open, as a program's INT_MAX, is not worth a table of gigabytes. */
		if (fd >= FDS_PLAUSIBLE && fcntl(fd, F_GETFD) < 0)
			return -EBADF;
		r = fds_grow(fds, fd);
		if (r < 0)
			return r;
	}
	s = ec_calloc(1, sizeof(*s));
	if (s == NULL)
		return -ENOMEM;
	ec_list_init(&s->events);
	s->fd = fd;
	s->watch_id = NOT_WATCHED;
	fds->at[fd] = s;
	*ret = s;
	return 0;
}

static inline unsigned interest(const struct ec_source *s)
{
	return s->is_disarmed ? 0 : s->wants;
}

static inline void dirty_set(struct ec_fds *fds, struct ec_source *s)
{
	if (s->is_dirty)
		return;
	s->is_dirty = true;
	s->was_gone = false;
	ec_list_push_back(&fds->dirty, &s->dirty);
}

static void dirty_clear(struct ec_source *s)
{
	if (!s->is_dirty)
		return;
	s->is_dirty = false;
	ec_list_remove(&s->dirty);
}

static void note_armed(struct ec_worker *w, struct ec_source *s, unsigned what)
{
	w->fds.watched += (uint32_t)(what != 0) - (uint32_t)(s->armed != 0);
	if (what != 0 && !ec_load_relaxed(&w->base->has_watched))
		ec_store_relaxed(&w->base->has_watched, true);
	s->armed = (uint8_t)what;
	s->watch_id = what != 0 ? ec_watch_id(s->fd, s->cookie) : NOT_WATCHED;
}

/* Tell the poller now. A report that is under way carries the old cookie. */
static int tell(struct ec_worker *w, struct ec_source *s)
{
	unsigned want = interest(s);
	bool is_anew = s->armed == 0 || (s->is_dirty && s->was_gone);
	int r;

	dirty_clear(s);
	if (want == s->armed && !(is_anew && want != 0))
		return 0;
	if (is_anew)
		s->cookie++;
	r = w->poller->ops->watch(w->poller, s->fd, s->armed, want, s->cookie);
	note_armed(w, s, r < 0 ? 0 : want);
	return r;
}

/*
 * `s` wants something else than before. It may wait until the owner polls, unless the kernel
 * has not accepted the descriptor yet, or the owner is in the poller already: it looks at what
 * waits, under the same lock, before it goes there.
 */
static int changed(struct ec_worker *w, struct ec_source *s, bool is_accepted)
{
	if (w->poller->ops->is_kernel_set && is_accepted && !w->is_waiting) {
		dirty_set(&w->fds, s);
		return 0;
	}
	if (!w->poller->ops->is_kernel_set && w->is_waiting)
		ec_wakeup_send(&w->wakeup);
	return tell(w, s);
}

/* Did the kernel accept what `ev` waits for, as far as can be known without asking it? */
static bool is_accepted(struct ec_worker *w, const struct ec_source *s, struct ec_event *ev)
{
	if ((w->base->flags & EC_BASE_EPOLL_USE_CHANGELIST) != 0)
		return true;
	if (!ec_list_is_empty(&s->events))
		return s->armed != 0;
	return s->armed != 0 && s->last == ev && (ec_load_relaxed(ec_event_state(ev)) & EC_EV_KNOWN) != 0;
}

static inline void count(struct ec_source *s, const struct ec_event *ev, int by)
{
	unsigned wants;

	if ((ev->events & EC_READ) != 0)
		s->reads = (uint16_t)(s->reads + by);
	if ((ev->events & (EC_WRITE | EC_CLOSED)) != 0) {
		s->writes = (uint16_t)(s->writes + ((ev->events & EC_WRITE) != 0 ? by : 0));
		s->closes = (uint16_t)(s->closes + ((ev->events & EC_CLOSED) != 0 ? by : 0));
	}
	wants = (unsigned)(s->reads != 0) * EC_READ | (unsigned)(s->writes != 0) * EC_WRITE |
		(unsigned)(s->closes != 0) * EC_CLOSED;
	s->wants = (uint8_t)(wants != 0 && s->is_edge ? wants | EC_ET : wants);
}

static bool is_full(const struct ec_source *s)
{
	return __builtin_expect(s->reads == UINT16_MAX || s->writes == UINT16_MAX || s->closes == UINT16_MAX, 0);
}

/* `ev` is all that waits for the descriptor, or nothing does any more: counted as count() would. */
static inline void count_only(struct ec_source *s, unsigned events)
{
	s->reads = (events & EC_READ) != 0;
	s->writes = (events & EC_WRITE) != 0;
	s->closes = (events & EC_CLOSED) != 0;
	s->wants = (uint8_t)(events != 0 && s->is_edge ? events | EC_ET : events);
}

bool ec_source_return(struct ec_worker *w, struct ec_event *ev)
{
	struct ec_source *s;

	if ((unsigned)ev->fd >= (unsigned)w->fds.cap)
		return false;
	s = w->fds.at[ev->fd];			/* none was ever left by an event */
	if (s->last != ev || !s->is_dirty || !ec_list_is_empty(&s->events) || s->armed == 0 || w->is_waiting ||
	    (ec_load_relaxed(ec_event_state(ev)) & EC_EV_KNOWN) == 0)
		return false;
	count_only(s, ev->events & EC_DESCRIPTOR);
	ec_list_push_front(&s->events, &ev->of.io.link);
	return true;
}

bool ec_source_leave(struct ec_worker *w, struct ec_event *ev)
{
	struct ec_source *s;

	if (ev->fd < 0)
		return false;
	s = w->fds.at[ev->fd];
	if (s->events.next != s->events.prev || s->is_disarmed || w->is_waiting || !w->poller->ops->is_kernel_set)
		return false;
	ec_list_init(&s->events);
	count_only(s, 0);
	s->last = ev;
	dirty_set(&w->fds, s);
	s->was_gone = true;
	return true;
}

int ec_source_add(struct ec_worker *w, struct ec_event *ev)
{
	bool is_edge = (ev->events & EC_ET) != 0;
	struct ec_source *s;
	unsigned before;
	int r;

	if (ec_source_return(w, ev))
		return 0;
	if (ev->fd < 0) {		/* waits for nothing, as libevent has it: timers are often assigned so */
		ec_list_init(&ev->of.io.link);
		return 0;
	}
	r = source_get(&w->fds, ev->fd, &s);
	if (r < 0)
		return r;
	if (ec_debug_on() && !ec_list_is_empty(&s->events) && s->is_edge != is_edge) {
		ec_log(EC_LOG_WARN, "Tried to mix edge-triggered and non-edge-triggered events on fd %d", ev->fd);
		return -EINVAL;
	}
	if (is_full(s)) {
		ec_log(EC_LOG_WARN, "Too many events reading or writing on fd %d", ev->fd);
		return -ENOSPC;
	}
	before = interest(s);
	s->is_edge = is_edge;
	count(s, ev, 1);
	if (interest(s) != before || (s->is_dirty && s->was_gone)) {
		r = changed(w, s, is_accepted(w, s, ev));
		if (r < 0) {
			count(s, ev, -1);
			(void)tell(w, s);
			return r;
		}
	}
	if ((ec_load_relaxed(ec_event_state(ev)) & EC_EV_KNOWN) == 0)
		ec_event_set_state(ev, EC_EV_KNOWN, EC_EV_KNOWN);
	ec_list_push_front(&s->events, &ev->of.io.link);	/* the latest first, as libevent has it */
	return 0;
}

/* False: it was not silenced. The poller does not know yet. */
static bool rearm(struct ec_worker *w, struct ec_source *s)
{
	if (!s->is_disarmed)
		return false;
	s->is_disarmed = false;
	ec_counter_add(&w->disarmed_num, UINT32_MAX);
	return true;
}

void ec_source_rearm_all(struct ec_worker *w)
{
	struct ec_source *s;
	int fd;

	for (fd = 0; fd < w->fds.cap; fd++) {
		s = ec_source_find(&w->fds, fd);
		if (s != NULL)
			(void)rearm(w, s);
	}
}

void ec_source_del(struct ec_worker *w, struct ec_event *ev)
{
	struct ec_source *s;
	unsigned before;

	if (ev->fd < 0)
		return;
	s = w->fds.at[ev->fd];
	before = interest(s);
	ec_list_remove(&ev->of.io.link);
	count(s, ev, -1);
	/* The callback that was to end the silence may be that of `ev`, and not run now, or elsewhere. */
	rearm(w, s);
	s->last = ev;
	if (interest(s) != before)
		(void)changed(w, s, true);
	if (ec_list_is_empty(&s->events))
		s->was_gone = true;
}

void ec_source_settle(struct ec_worker *w, int fd)
{
	struct ec_source *s = ec_source_find(&w->fds, fd);

	if (s != NULL && s->is_dirty)
		(void)tell(w, s);
}

void ec_source_unqueued(struct ec_worker *w, int fd)
{
	struct ec_source *s = w->fds.at[fd];

	if (rearm(w, s))
		(void)changed(w, s, true);
}

/* The poller refuses what it accepted before: its events learn by trying, as from any error. */
static void refused(struct ec_worker *w, struct ec_source *s, int err)
{
	struct ec_batch b;
	struct ec_list *at;
	struct ec_event *ev;

	if ((w->base->flags & EC_BASE_EPOLL_USE_CHANGELIST) != 0)
		return;			/* as libevent with a changelist: only logged, by the poller */
	ec_log_errno(EC_LOG_DEBUG, -err, "%s refuses fd %d", w->poller->ops->name, s->fd);
	ec_batch_begin(&b, w->base);
	for (at = s->events.next; at != &s->events; at = at->next) {
		ev = ec_container_of(at, struct ec_event, of.io.link);
		ec_event_ready(&b, ev, ev->events & EC_DESCRIPTOR, 1);
	}
	ec_batch_end(&b);
}

void ec_source_flush(struct ec_worker *w)
{
	struct ec_source *s;
	int r;

	while (!ec_list_is_empty(&w->fds.dirty)) {
		s = ec_container_of(w->fds.dirty.next, struct ec_source, dirty);
		r = tell(w, s);
		if (r < 0)
			refused(w, s, r);
	}
}

/*
 * Is its callback waiting or running where this poller's thread does not go first? A running
 * one is told that the silence is here: its event may have moved since it began. Under RUNQ
 * of the color, under which the run ends, too.
 */
static bool is_busy_elsewhere(struct ec_worker *w, struct ec_batch *b, struct ec_event *ev)
{
	struct ec_worker *at = ec_event_ran_at(w->base, ev);

	if ((ev->task.flags & EC_IN_ACTIVE) != 0 && (b->locked != w || ec_worker_self(w->base) != w))
		return true;
	if (at == NULL || ec_load_relaxed(&at->running_event) != ev)
		return false;
	at->ran = (struct ec_ran){ .at = w, .fd = ev->fd };
	return true;
}

void ec_source_disarm(struct ec_worker *w, int fd)
{
	struct ec_source *s = w->fds.at[fd];

	if (s->is_disarmed)
		return;
	s->is_disarmed = true;
	ec_counter_add(&w->disarmed_num, 1);
	ec_counter_add(&w->stats.disarms, 1);
	(void)tell(w, s);
}

void ec_source_rearm(struct ec_worker *w, int fd)
{
	struct ec_source *s;
	int r = 0;

	ec_src_lock(w);
	s = ec_source_find(&w->fds, fd);
	if (s != NULL && rearm(w, s)) {
		r = tell(w, s);
		if (r < 0)
			refused(w, s, r);
		if (!w->poller->ops->is_kernel_set && w->is_waiting)
			ec_wakeup_send(&w->wakeup);
	}
	ec_src_unlock(w);
}

/*
 * The kernel reports what nobody here watches. Once is a race with a change; again and
 * again it is a description that a duplicate descriptor keeps alive after ours was closed,
 * and epoll has no way to name it any more: begin anew. Where the number is watched again
 * by now, forgetting it would silence the new watch, not the old one.
 */
static void stale(struct ec_worker *w, const struct ec_source *s, int fd)
{
	enum { STALE_MAX = 3 };

	if (s == NULL || s->armed == 0)
		(void)w->poller->ops->watch(w->poller, fd, EC_READ, 0, 0);
	if (++w->stale_polls < STALE_MAX)
		return;
	w->stale_polls = 0;
	ec_log(EC_LOG_DEBUG, "%s still reports closed fd %d: watching all descriptors anew", w->poller->ops->name, fd);
	if (w->poller->ops->reopen(w->poller) < 0)
		ec_log(EC_LOG_WARN, "cannot make a new %s poller", w->poller->ops->name);
	ec_source_rewatch(w);
}

/*
 * The event ran on another worker since its last report here. This one may be older than that
 * run, which has seen to it, and a callback told so for nothing could block in a read. It is dropped:
 * if the descriptor is ready still, the next look says so again. Under RUNQ of the color.
 */
static bool is_late(struct ec_event *ev)
{
	unsigned runner = ec_load_relaxed(ec_event_runner(ev));

	if ((runner & EC_RUNNER_LATE) == 0)
		return false;
	ec_store_relaxed(ec_event_runner(ev), (uint16_t)(runner & ~(unsigned)EC_RUNNER_LATE));
	return true;
}

/* The same, when another worker looks at a poller for the one whose callback it is. */
static bool has_run_since(const struct ec_look *look)
{
	return ec_load_relaxed(&look->w->running_event) != look->event ||
	       ec_load_relaxed(&look->w->run_seq) != look->run_seq;
}

/* A report that is no news: the event's callback is on its way on another worker. */
static bool is_handled_elsewhere(struct ec_worker *w, struct ec_batch *b, struct ec_source *s, struct ec_event *ev)
{
	struct ec_color *c = ec_batch_color(b, ev->task.color, ec_event_hint(ev));

	if (c == NULL)
		return false;
	if (c != &w->base->color0 && ec_load_relaxed(&c->home) != w->id)
		note_migrant(w, s);
	if (s->is_edge)
		return false;
	if (is_busy_elsewhere(w, b, ev)) {
		ec_source_disarm(w, s->fd);
		return true;
	}
	return is_late(ev) || (b->look != NULL && has_run_since(b->look));
}

/* The source that a report is for, at once if its watch is the present one. */
static inline struct ec_source *source_watched(struct ec_fds *fds, uint64_t id)
{
	unsigned fd = (unsigned)ec_watch_fd(id);

	return __builtin_expect(fd < (unsigned)fds->cap && fds->at[fd]->watch_id == id, 1) ? fds->at[fd] : NULL;
}

/*
 * Any other report: of the wake-up, from a poller without cookies, or of what is not watched any
 * more. `b`: NULL if the base is not locked.
 */
static __attribute__((noinline)) struct ec_source *source_reported(struct ec_worker *w, uint64_t id,
								   const struct ec_batch *b)
{
	int fd = ec_watch_fd(id);
	struct ec_source *s = ec_source_find(&w->fds, fd);

	if (fd == ec_wakeup_fd(&w->wakeup)) {
		if (!w->poller->ops->is_kernel_set)
			ec_wakeup_drain(&w->wakeup);
		/* Another thread looked, and took the report away from the worker it is for. */
		if (b != NULL && b->look != NULL)
			ec_wakeup_send(&w->wakeup);
		return NULL;
	}
	if (s != NULL && s->armed != 0 && ec_watch_cookie(id) == 0)
		return s;
	if ((s == NULL || !s->is_disarmed) && w->poller->ops->is_kernel_set)
		stale(w, s, fd);
	return NULL;
}

static inline void ready_locked(struct ec_worker *w, struct ec_source *s, unsigned what, unsigned edge,
				struct ec_batch *b)
{
	struct ec_list *at, *next;
	struct ec_event *ev;

	for (at = s->events.next; at != &s->events; at = next) {
		next = at->next;
		ev = ec_container_of(at, struct ec_event, of.io.link);
		if (((unsigned)ev->events & what) != 0 && !is_handled_elsewhere(w, b, s, ev))
			ec_event_ready(b, ev, (int)((unsigned)ev->events & (what | edge)), 1);
	}
}

/* EC_ET where the poller has it: an event is told that it is edge-triggered. */
static unsigned edge_bit(const struct ec_worker *w)
{
	return (w->poller->ops->features & EC_FEATURE_ET) != 0 ? EC_ET : 0;
}

/* The same in a base that is alone, whose one RUNQ is locked. */
static inline void ready_single(struct ec_base *base, struct ec_source *s, unsigned what, unsigned edge)
{
	struct ec_list *at, *next;
	struct ec_event *ev;

	for (at = s->events.next; at != &s->events; at = next) {
		next = at->next;
		ev = ec_container_of(at, struct ec_event, of.io.link);
		if (((unsigned)ev->events & what) != 0)
			ec_event_ready_single(base, ev, (int)((unsigned)ev->events & (what | edge)), 1);
	}
}

void ec_sources_ready(struct ec_worker *w, int num, struct ec_batch *b)
{
	const struct ec_ready *r = w->poller->ready, *end = r + num;
	bool is_single = w->base->is_single;
	unsigned edge = edge_bit(w);
	_Atomic(uint32_t) hint = 0;
	struct ec_source *s;

	if (is_single)
		(void)ec_batch_color(b, 0, &hint);	/* one lock for all; no callback runs elsewhere */
	for (; r < end; r++) {
		s = source_watched(&w->fds, r->id);
		if (s == NULL)
			s = source_reported(w, r->id, b);
		if (s == NULL)
			continue;
		w->stale_polls = 0;
		if (is_single)
			ready_single(w->base, s, ec_ready_what(w->poller, r) & EC_DESCRIPTOR, edge);
		else
			ready_locked(w, s, ec_ready_what(w->poller, r) & EC_DESCRIPTOR, edge, b);
	}
}

/* What the reports of one look have in common. */
struct look {
	struct ec_worker *w;
	struct ec_list *list;		/* of lane 0 */
	struct ec_list *last;		/* in it; the list itself learns at the end */
	unsigned edge;
};

/* As ec_event_ready_plain, but what all have in common is done once, by look_end. */
static inline void ready_serial(struct look *l, struct ec_source *s, unsigned what)
{
	struct ec_base *base = ec_container_of(l->w, struct ec_base, zero);
	struct ec_list *at, *next;
	struct ec_event *ev;

	for (at = s->events.next; at != &s->events; at = next) {
		next = at->next;
		ev = ec_container_of(at, struct ec_event, of.io.link);
		if (((unsigned)ev->events & what) == 0)
			continue;
		if (__builtin_expect((ev->task.word & ec_task_special()) != 0, 0)) {
			l->list->prev = l->last;
			ec_event_ready_special(base, ev, (int)((unsigned)ev->events & (what | l->edge)), 1);
			l->last = l->list->prev;
			continue;
		}
		ev->res = (int16_t)((unsigned)ev->events & (what | l->edge));
		ev->task.flags |= EC_IN_ACTIVE;
		ec_serial_add(&l->w->active_num, 1);
		ev->task.link.prev = l->last;
		ev->task.link.next = l->list;
		l->last->next = &ev->task.link;
		l->last = &ev->task.link;
	}
}

static __attribute__((noinline)) struct ec_list *ready_serial_odd(struct look l, const struct ec_ready *r,
								  struct ec_source *s)
{
	if (s == NULL) {
		l.list->prev = l.last;
		s = source_reported(l.w, r->id, NULL);
		l.last = l.list->prev;	/* it may have found out that others are refused */
	}
	if (s != NULL)
		ready_serial(&l, s, ec_ready_what(l.w->poller, r) & EC_DESCRIPTOR);
	return l.last;
}

static void look_end(struct ec_base *base, const struct look *l)
{
	l->list->prev = l->last;
	ec_store_relaxed(&base->has_grown, true);
	if (!ec_list_is_empty(l->list))
		ec_lane_begin(base, 0);
}

/* Nearly every report is of input at a descriptor that is watched. */
void ec_sources_ready_serial(struct ec_worker *w, int num)
{
	struct ec_base *base = ec_container_of(w, struct ec_base, zero);
	const struct ec_ready *r = w->poller->ready, *end = r + num;
	struct ec_list *list = &base->lanes[0].others;
	struct look l = { w, list, list->prev, edge_bit(w) };
	uint32_t input = w->poller->ops->input, stale_polls = w->stale_polls;
	struct ec_source *s;

	for (; r < end; r++) {
		s = source_watched(&w->fds, r->id);
		if (__builtin_expect(s != NULL && r->what == input, 1))
			ready_serial(&l, s, EC_READ);
		else
			l.last = ready_serial_odd(l, r, s);
	}
	if (w->stale_polls == stale_polls)
		w->stale_polls = 0;
	look_end(base, &l);
}

/* ---------------------------------------------------------------- moving */

/* It may run right now, and what `to` sees before that has ended is no news after. */
static void note_late(struct ec_base *base, struct ec_event *ev)
{
	struct ec_batch b;

	ec_batch_begin(&b, base);
	if (ec_batch_color(&b, ev->task.color, ec_event_hint(ev)) != NULL)
		ec_store_relaxed(ec_event_runner(ev),
				 (uint16_t)(ec_load_relaxed(ec_event_runner(ev)) | EC_RUNNER_LATE));
	ec_batch_end(&b);
}

/* Both SOURCE locks are held; who counts without them is told: ec_base_is_idle. */
static void pending_move(struct ec_worker *w, struct ec_worker *to)
{
	ec_counter_add(&to->pending_num, 1);
	ec_add_acq_rel(&w->base->pending_moves, 1);				/* M1 */
	ec_store_release(&w->pending_num, ec_load_relaxed(&w->pending_num) - 1);	/* M2 */
}

/* Under SOURCE, which keeps that as it is; but it shares a word with what a run of the event changes, under RUNQ. */
static bool has_deadline(struct ec_base *base, struct ec_event *ev)
{
	struct ec_batch b;
	bool has;

	ec_batch_begin(&b, base);
	(void)ec_batch_color(&b, ev->task.color, ec_event_hint(ev));
	has = (ev->task.flags & EC_IN_TIMEOUT) != 0;
	ec_batch_end(&b);
	return has;
}

/* One event of a source at `w` whose color went to `to`. Both SOURCE locks are held. */
static void event_move(struct ec_worker *w, struct ec_worker *to, struct ec_event *ev)
{
	struct ec_batch b;
	int r;

	if (has_deadline(w->base, ev)) {
		uint32_t slot = EC_TIMER_NONE;

		if (ec_timers_arm(&to->timers, &slot, (uint64_t)ev->deadline_ns, ev) < 0)
			return;
		ec_timers_disarm(&w->timers, &ev->timer.slot);
		ev->timer.slot = slot;
		pending_move(w, to);
	}
	ec_source_del(w, ev);
	ec_event_set_state(ev, EC_EV_WORKER, to->id);
	note_late(w->base, ev);
	pending_move(w, to);
	r = ec_source_add(to, ev);
	if (r == 0)
		return;
	/* It stays added, without being watched: its owner learns by trying. */
	ec_log_errno(EC_LOG_WARN, -r, "cannot move fd %d to another worker", ev->fd);
	ec_list_init(&ev->of.io.link);
	ec_batch_begin(&b, w->base);
	ec_event_ready(&b, ev, ev->events & EC_DESCRIPTOR, 1);
	ec_batch_end(&b);
}

static struct ec_worker *new_home(struct ec_worker *w, struct ec_batch *b, struct ec_event *ev)
{
	struct ec_color *c;
	unsigned home;

	if (ev->task.color == 0)
		return NULL;
	c = ec_batch_color(b, ev->task.color, ec_event_hint(ev));
	home = c == NULL ? w->id : ec_load_relaxed(&c->home);
	return home == w->id ? NULL : w->base->workers[home];
}

/* Move the first event of `s` that is to move. False: there is none. */
static bool move_one(struct ec_worker *w, struct ec_source *s, struct ec_worker **locked)
{
	struct ec_worker *to = NULL;
	struct ec_event *ev = NULL;
	struct ec_list *at;
	struct ec_batch b;

	ec_batch_begin(&b, w->base);
	for (at = s->events.next; at != &s->events && to == NULL; at = at->next) {
		ev = ec_container_of(at, struct ec_event, of.io.link);
		to = new_home(w, &b, ev);
	}
	ec_batch_end(&b);
	if (to == NULL || to == *locked) {
		if (to != NULL)
			event_move(w, to, ev);
		return to != NULL;
	}
	/* SOURCE locks are taken in the order of ids: let go, take both, look again. */
	ec_src_unlock(w);
	if (*locked != NULL)
		ec_src_unlock(*locked);
	*locked = to;
	ec_src_lock(w->id < to->id ? w : to);
	ec_src_lock(w->id < to->id ? to : w);
	return true;
}

void ec_source_migrate(struct ec_worker *w)
{
	struct ec_worker *locked = NULL;
	struct ec_source *s;

	if (ec_load_relaxed(&w->migrants_num) == 0)
		return;
	ec_src_lock(w);
	while (!ec_list_is_empty(&w->migrants)) {
		s = ec_container_of(w->migrants.next, struct ec_source, migrant);
		if (move_one(w, s, &locked))
			continue;
		ec_list_remove(&s->migrant);
		s->is_migrant = false;
		ec_counter_add(&w->migrants_num, UINT32_MAX);
	}
	if (locked != NULL)
		ec_src_unlock(locked);
	ec_src_unlock(w);
}

/* An event here fired whose color's home is elsewhere by now. */
static void note_migrant(struct ec_worker *w, struct ec_source *s)
{
	if (s->is_migrant)
		return;
	s->is_migrant = true;
	ec_list_push_back(&w->migrants, &s->migrant);
	ec_counter_add(&w->migrants_num, 1);
}

void ec_source_rewatch(struct ec_worker *w)
{
	int fd, r;

	r = w->poller->ops->watch(w->poller, ec_wakeup_fd(&w->wakeup), 0, EC_READ | EC_ET, 0);
	if (r < 0)
		ec_log_errno(EC_LOG_WARN, -r, "%s: cannot watch the wake-up descriptor", w->poller->ops->name);
	for (fd = 0; fd < w->fds.cap; fd++) {
		struct ec_source *s = ec_source_find(&w->fds, fd);

		if (s == NULL)
			continue;
		note_armed(w, s, 0);
		r = tell(w, s);
		if (r < 0)
			refused(w, s, r);
	}
}
