#include "registration.h"

#include "ec.h"
#include "io/common.h"
#include "io/deadline.h"
#include "io/signals.h"
#include "io/source.h"
#include "io/time.h"
#include "io/watch.h"
#include "observe/late.h"
#include "sched/above.h"
#include "sched/colors.h"
#include "sched/event.h"
#include "sched/queue.h"
#include "sched/refs.h"
#include "sched/runs.h"

/* In debug mode: `ev` is added no more, or again. Its memory may become another event's, so the note must not stay. */
static inline void debug_note(const struct ec_event *ev, bool is_pending)
{
	if (__builtin_expect(ec_debug_on(), 0))
		ec_debug_note_pending(ev, is_pending);
}

/* Watch what `ev` waits for besides its deadline. */
static int watch(struct ec_worker *w, struct ec_event *ev)
{
	int r = (ev->events & EC_SIGNAL) != 0 ? ec_signal_add(w->base, ev) : ec_source_add(w, ev);

	if (r < 0)
		return r;
	ev->task.flags |= EC_IN_INSERTED;
	ec_event_note_added(w->base, w, 1);
	return 0;
}

static inline __attribute__((always_inline)) void unregister(struct ec_base *base, struct ec_event *ev)
{
	struct ec_worker *w = ec_event_at(base, ev);

	if ((ev->events & EC_SIGNAL) != 0)
		ec_signal_del(base, ev);
	else
		ec_source_del(w, ev);
	ev->task.flags &= ~EC_IN_INSERTED;
	ec_event_note_added(base, w, -1);
}

/*
 * `ev`, whose timeout begins anew, is watched from now on, if it was not: it was added while it was active and has only
 * a deadline yet, or it was deleted and then made active. As in libevent, a timeout that comes also looks anew at an
 * edge-triggered descriptor. False: the poller has refused it, and logs why; so `ev` stays deleted.
 */
static __attribute__((noinline)) bool watch_again(struct ec_base *base, struct ec_worker *w, struct ec_event *ev,
						  bool was_pending)
{
	bool is_watched = (ev->task.flags & EC_IN_INSERTED) != 0;

	if ((ev->events & EC_DESCRIPTOR) == 0)
		return true;
	if (is_watched) {
		if ((ev->events & EC_ET) == 0 || (ev->res & EC_TIMEOUT) == 0 || (ev->task.flags & EC_IN_TIMEOUT) != 0)
			return true;
		unregister(base, ev);
	}
	return watch(w, ev) == 0 || was_pending;
}

static void reschedule(struct ec_base *base, struct ec_color *c, struct ec_event *ev)
{
	struct ec_common *common = NULL;
	int64_t now = ec_base_now(base), at;
	bool was_armed = (ev->task.flags & EC_IN_TIMEOUT) != 0, was_pending = ec_event_is_pending(ev);
	struct ec_worker *w = ec_event_at(base, ev);

	if (!was_pending && ec_event_worker(ev) != w->id)
		ec_event_set_state(ev, EC_EV_WORKER, w->id);
	if (!watch_again(base, w, ev, was_pending))
		return;
	at = ((ev->res & EC_TIMEOUT) != 0 ? ev->deadline_ns : now) + ec_event_interval_ns(ev);
	if (at < now)
		at = now + ec_event_interval_ns(ev);
	if (c == &base->color0)
		common = ec_common_numbered(base, ec_event_common(ev), ec_event_interval_ns(ev));
	if (ec_deadline_set(w, ev, common, at) < 0) {
		ec_late_log(EC_LOG_WARN, "no memory to rearm a persistent timeout");
		if (!was_pending && (ev->task.flags & EC_IN_INSERTED) != 0)
			unregister(base, ev);
		return;
	}
	ev->task.flags |= EC_IN_TIMEOUT;
	if (!was_armed)
		ec_event_note_added(base, w, 1);
	if (was_pending)
		return;
	debug_note(ev, true);
	if (c != &base->color0)
		ec_color_get(c);
}

static void unqueue(struct ec_color *c, struct ec_event *ev)
{
	ec_task_remove(c, &ev->task);
	if ((ev->events & EC_SIGNAL) != 0)
		ev->of.sig.due = 0;
}

/* The duration of a timeout, and its queue if it is a handle of event_base_init_common_timeout. */
static inline int64_t duration_of(struct ec_base *base, struct ec_color *c, const struct timeval *tv,
				  struct ec_common **common)
{
	*common = NULL;
	if (__builtin_expect(ec_timeout_is_short(tv), 1))
		return (int64_t)tv->tv_sec * 1000000000 + (int64_t)tv->tv_usec * 1000;
	if (c == &base->color0)
		*common = ec_common_of(base, tv);
	return *common != NULL ? (int64_t)(*common)->duration_ns : ec_timeval_ns(tv);
}

static inline __attribute__((always_inline)) int set_timeout(struct ec_base *base, struct ec_worker *w,
							     struct ec_color *c, struct ec_event *ev,
							     const struct timeval *tv)
{
	struct ec_common *common;
	int64_t duration = duration_of(base, c, tv, &common);
	int16_t flags;
	int r;

	r = ec_deadline_set(w, ev, common, ec_base_now(base) + duration);
	if (r < 0)
		return r;
	if (ev->task.kind == EC_KIND_PERSIST || ev->task.kind == EC_KIND_TIMED) {
		ev->task.kind = duration != 0 ? EC_KIND_TIMED : EC_KIND_PERSIST;
		ec_event_set_interval(ev, duration, ec_common_number(common));
	}
	flags = ev->task.flags;
	ev->task.flags = (int16_t)(flags | EC_IN_TIMEOUT);
	if ((flags & EC_IN_TIMEOUT) == 0)
		ec_event_note_added(base, w, 1);
	/* If it is active because an earlier deadline came, the new deadline takes that back. */
	if ((flags & EC_IN_ACTIVE) != 0 && (ev->res & EC_TIMEOUT) != 0) {
		unqueue(c, ev);
		if ((flags & EC_IN_INSERTED) != 0 && (ev->events & EC_DESCRIPTOR) != 0)
			ec_source_unqueued(w, ev->fd);
	}
	return 0;
}

static void clear_timeout(struct ec_base *base, struct ec_event *ev)
{
	ec_deadline_clear(base, ev);
	ev->task.flags &= ~EC_IN_TIMEOUT;
	ec_event_note_added(base, ec_event_at(base, ev), -1);
}

void ec_event_forget(struct ec_base *base, struct ec_color *c, struct ec_event *ev)
{
	if (!ec_event_is_pending(ev))
		return;
	if ((ev->task.flags & EC_IN_TIMEOUT) != 0)
		clear_timeout(base, ev);
	if ((ev->task.flags & EC_IN_INSERTED) != 0)
		unregister(base, ev);
	debug_note(ev, false);
	if (c != &base->color0)
		ec_color_put(base, c);
}

/* Is `ev`, which has left its queue, a timer of worker 0 and nothing else, and has its time come? */
static inline bool is_timer_again(const struct ec_event *ev)
{
	return (ev->task.flags & (EC_IN_INSERTED | EC_IN_TIMEOUT)) == 0 &&
	       (ev->events & (EC_DESCRIPTOR | EC_SIGNAL)) == 0 && (ev->res & EC_TIMEOUT) != 0 &&
	       ec_event_common(ev) == 0 && ec_event_worker((struct ec_event *)(uintptr_t)ev) == 0 && !ec_debug_on();
}

/* As reschedule, if is_timer_again: on the thread of worker 0, so it does not wait in the poller. */
static inline void timer_again(struct ec_base *base, struct ec_event *ev)
{
	int64_t now = base->zero.now_ns != 0 ? base->zero.now_ns : ec_base_clock(base);
	int64_t at = ev->deadline_ns + ec_event_interval_ns(ev);

	if (__builtin_expect(at < now, 0))
		at = now + ec_event_interval_ns(ev);
	if (__builtin_expect(at < 0, 0))
		at = 0;
	if (__builtin_expect(ec_timers_arm(&base->zero.timers, &ev->timer.slot, (uint64_t)at, ev) < 0, 0)) {
		ec_late_log(EC_LOG_WARN, "no memory to rearm a persistent timeout");
		return;
	}
	ev->deadline_ns = at;
	ev->task.flags |= EC_IN_TIMEOUT;
	ec_event_note_added(base, &base->zero, 1);
}

/* Is `ev`, which has left its queue, a descriptor's or signal's of worker 0, whose timeout begins anew? */
static inline bool is_timeout_again(const struct ec_event *ev)
{
	return (ev->task.flags & (EC_IN_INSERTED | EC_IN_TIMEOUT)) == (EC_IN_INSERTED | EC_IN_TIMEOUT) &&
	       (ev->res & EC_TIMEOUT) == 0 && ec_event_common(ev) == 0 &&
	       (ec_load_relaxed(ec_event_state((struct ec_event *)(uintptr_t)ev)) & (EC_EV_COMMON | EC_EV_WORKER)) == 0;
}

/* As reschedule, if is_timeout_again. The deadline only moves away, unless the interval was shortened. */
static inline void timeout_again(struct ec_base *base, struct ec_event *ev)
{
	int64_t now = base->zero.now_ns != 0 ? base->zero.now_ns : ec_base_clock(base);
	int64_t at = now + ec_event_interval_ns(ev);

	if (__builtin_expect(at < ev->deadline_ns, 0)) {
		reschedule(base, &base->color0, ev);
		return;
	}
	ec_timers_postpone(&base->zero.timers, ev->timer.slot, (uint64_t)at);
	ev->deadline_ns = at;
}

void ec_event_popped(struct ec_base *base, struct ec_color *c, struct ec_event *ev)
{
	if (ev->task.kind == EC_KIND_TIMED && c == &base->color0 && is_timeout_again(ev))
		timeout_again(base, ev);
	else if (ev->task.kind == EC_KIND_TIMED && c == &base->color0 && is_timer_again(ev))
		timer_again(base, ev);
	else if (ev->task.kind == EC_KIND_TIMED)
		reschedule(base, c, ev);
	else
		ec_event_forget(base, c, ev);
}

/* Says why, if the base is not locked. Else the caller does, for it holds the locks. */
static __attribute__((noinline, cold)) int add_failed(struct ec_base *base, int r)
{
	if (!ec_is_locked(base))
		ec_late_flush();
	return r;
}

/* Compiled twice. */
static inline __attribute__((always_inline)) int add(struct ec_base *base, struct ec_worker *w, struct ec_color *c,
						     struct ec_event *ev, const struct timeval *tv)
{
	bool was_pending = ec_event_is_pending(ev), is_new = false;
	int r = 0;

	if ((ev->task.flags & EC_IN_FINALIZING) != 0)
		return -EBUSY;
	if (!was_pending && ec_event_worker(ev) != w->id)
		ec_event_set_state(ev, EC_EV_WORKER, w->id);
	if ((ev->events & (EC_DESCRIPTOR | EC_SIGNAL)) != 0 &&
	    (ev->task.flags & (EC_IN_INSERTED | EC_IN_ACTIVE)) == 0) {
		r = watch(w, ev);
		if (r < 0)
			return add_failed(base, r);
		is_new = true;
	}
	if (tv != NULL) {
		r = set_timeout(base, w, c, ev, tv);
		if (r < 0 && is_new)
			unregister(base, ev);
	}
	if (c != &base->color0 && !was_pending && ec_event_is_pending(ev))
		ec_color_get(c);
	return r;
}

int ec_registration_add(struct ec_worker *w, struct ec_color *c, struct ec_event *ev, const struct timeval *tv)
{
	return add(w->base, w, c, ev, tv);
}

int ec_registration_add_zero(struct ec_base *base, struct ec_event *ev, const struct timeval *tv)
{
	return add(base, &base->zero, &base->color0, ev, tv);
}

void ec_registration_del(struct ec_base *base, struct ec_color *c, struct ec_event *ev)
{
	if ((ev->events & EC_SIGNAL) != 0)
		ec_runs_calls_end(base, ev);
	ec_event_forget(base, c, ev);
	if ((ev->task.flags & EC_IN_ACTIVE) != 0)
		unqueue(c, ev);
}

void ec_registration_del_deadline(struct ec_base *base, struct ec_color *c, struct ec_event *ev)
{
	if ((ev->task.flags & EC_IN_TIMEOUT) == 0)
		return;
	clear_timeout(base, ev);
	if (ev->task.kind == EC_KIND_TIMED) {
		ev->task.kind = EC_KIND_PERSIST;
		ec_event_clear_interval(ev);
	}
	if (ec_event_is_pending(ev))
		return;
	debug_note(ev, false);
	if (c != &base->color0)
		ec_color_put(base, c);
}
