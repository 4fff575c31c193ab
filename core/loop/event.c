/*
 * Adding and deleting events. Most changes are small ones of the thread that runs the loop, so they have short ways
 * without a lock, or with biased ones (bias.h). The long way takes the locks of hold.h. Functions are apart (noinline)
 * where a short way would otherwise save registers for a long one.
 */
#include "sched/event.h"

#include "hold.h"
#include "io/again.h"
#include "io/common.h"
#include "io/poller.h"
#include "io/source.h"
#include "io/time.h"
#include "io/timer.h"
#include "io/watch.h"
#include "observe/late.h"
#include "registration.h"
#include "sched/above.h"
#include "sched/handover.h"
#include "sched/holds.h"
#include "sched/park.h"
#include "sched/quiet.h"
#include "sched/ready.h"
#include "sched/runs.h"

/* ---------------------------------------------------------------- timers of the only worker */

/* Does `ev` wait for time only, at worker 0, and is it in no queue? ec_registration_add handles another worker's. */
static inline bool is_mere_timer(const struct ec_event *ev)
{
	return ev->task.kind == EC_KIND_EVENT && (ev->events & (EC_DESCRIPTOR | EC_SIGNAL)) == 0 &&
	       (ev->task.flags & (EC_IN_FINALIZING | EC_IN_ACTIVE | EC_IN_INSERTED)) == 0 &&
	       (ec_load_relaxed(ec_event_state((struct ec_event *)(uintptr_t)ev)) & (EC_EV_COMMON | EC_EV_WORKER)) == 0;
}

static inline int64_t due_at(int64_t now_ns, const struct timeval *tv)
{
	return now_ns + (int64_t)tv->tv_sec * 1000000000 + (int64_t)tv->tv_usec * 1000;
}

/*
 * Adds a mere timer on the thread of the only worker, so nobody waits in the poller. False: it is not armed, or would
 * come due earlier than before, or no turn has cached the time; timer_add does those. This part calls nothing.
 */
static inline bool timer_postpone(struct ec_base *base, struct ec_event *ev, const struct timeval *tv)
{
	int64_t now = base->zero.now_ns, at = due_at(now, tv);

	if (now == 0 || (ev->task.flags & EC_IN_TIMEOUT) == 0 || at < ev->deadline_ns)
		return false;
	ec_timers_postpone(&base->zero.timers, ev->timer.slot, (uint64_t)at);
	ev->deadline_ns = at;
	return true;
}

static __attribute__((noinline)) int timer_add(struct ec_base *base, struct ec_event *ev, const struct timeval *tv)
{
	int64_t at = due_at(ec_base_now_serial(base), tv);
	int r;

	if ((ev->task.flags & EC_IN_TIMEOUT) != 0 && at >= ev->deadline_ns) {
		ec_timers_postpone(&base->zero.timers, ev->timer.slot, (uint64_t)at);
		ev->deadline_ns = at;
		return 0;
	}
	r = ec_timers_arm(&base->zero.timers, &ev->timer.slot, (uint64_t)at, ev);
	if (__builtin_expect(r < 0, 0))
		return r;
	ev->deadline_ns = at;
	if ((ev->task.flags & EC_IN_TIMEOUT) == 0) {
		ev->task.flags |= EC_IN_TIMEOUT;
		ec_store_relaxed(&base->has_grown, true);
		ec_counter_add(&base->zero.pending_num, 1);
	}
	return 0;
}

static inline void timer_del(struct ec_base *base, struct ec_event *ev)
{
	if ((ev->task.flags & EC_IN_TIMEOUT) == 0)
		return;
	ec_timers_disarm(&base->zero.timers, &ev->timer.slot);
	ev->task.flags &= ~EC_IN_TIMEOUT;
	ec_base_note_max(base);
	ec_counter_add(&base->zero.pending_num, UINT32_MAX);
}

/* ---------------------------------------------------------------- adding */

/* Does `ev` wait for a descriptor only, and is its state what `flags` say, no more? */
static inline bool is_mere_io(const struct ec_event *ev, int flags)
{
	return ev->task.flags == (EC_IN_INIT | flags) && (ev->events & EC_DESCRIPTOR) != 0 &&
	       (ev->events & EC_SIGNAL) == 0;
}

/* A signal's event may have calls due from before it was assigned anew. */
static __attribute__((noinline)) int own_signal_add(struct ec_event *ev, const struct timeval *tv, struct ec_base *base)
{
	uint32_t carried = ec_runs_calls_carried(ev);
	int r = ec_registration_add(&base->zero, &base->color0, ev, tv);

	if (r == 0 && carried != 0)
		ec_event_ready_single(base, ev, EC_SIGNAL, (int)carried);
	if (!ec_is_locked(base))
		ec_late_flush();	/* a warning, if another base had the signals */
	return r;
}

static inline int own_add_slowly(struct ec_event *ev, const struct timeval *tv, struct ec_base *base)
{
	if (__builtin_expect((ev->events & EC_SIGNAL) != 0, 0))
		return own_signal_add(ev, tv, base);
	return ec_registration_add_zero(base, ev, tv);
}

/* Without a timeout. */
static __attribute__((noinline)) int own_watch_slowly(struct ec_event *ev, struct ec_base *base)
{
	return own_add_slowly(ev, NULL, base);
}

static inline int own_watch(struct ec_event *ev, struct ec_base *base)
{
	if (!is_mere_io(ev, 0) || !ec_source_return(&base->zero, ev))
		return own_watch_slowly(ev, base);
	ev->task.flags |= EC_IN_INSERTED;
	ec_store_relaxed(&base->has_grown, true);
	ec_serial_add(&base->zero.pending_num, 1);
	return 0;
}

/* The base is not locked. */
static inline int own_add(struct ec_event *ev, const struct timeval *tv, struct ec_base *base)
{
	if (tv == NULL)
		return own_watch(ev, base);
	if (!ec_timeout_is_short(tv) || !is_mere_timer(ev))
		return own_add_slowly(ev, tv, base);
	return timer_postpone(base, ev, tv) ? 0 : timer_add(base, ev, tv);
}

/* ---------------------------------------------------------------- adding to a base with locks */

/* No lock is held any more. */
static __attribute__((noinline, cold)) int add_failed(int r)
{
	ec_late_flush();
	return r;
}

/*
 * As the functions above, by the owner of a biased base, who holds both locks. Each releases them, so that the slow
 * ways can tell after it why they failed.
 */
static __attribute__((noinline)) int owner_signal_add(struct ec_event *ev, const struct timeval *tv,
						      struct ec_base *base, enum ec_role role)
{
	int r = own_signal_add(ev, tv, base);

	ec_event_leave(base, role);
	ec_late_flush();
	return r;
}

static __attribute__((noinline)) int owner_add_slowly(struct ec_event *ev, const struct timeval *tv,
						      struct ec_base *base, enum ec_role role)
{
	int r;

	if (__builtin_expect((ev->events & EC_SIGNAL) != 0, 0))
		return owner_signal_add(ev, tv, base, role);
	r = ec_registration_add_zero(base, ev, tv);
	ec_event_leave(base, role);
	return __builtin_expect(r < 0, 0) ? add_failed(r) : r;
}

static __attribute__((noinline)) int owner_watch(struct ec_event *ev, struct ec_base *base, enum ec_role role)
{
	if (!is_mere_io(ev, 0) || !ec_source_return(&base->zero, ev))
		return owner_add_slowly(ev, NULL, base, role);
	ev->task.flags |= EC_IN_INSERTED;
	ec_event_note_added(base, &base->zero, 1);
	ec_event_leave(base, role);
	return 0;
}

static inline int owner_add(struct ec_event *ev, const struct timeval *tv, struct ec_base *base, enum ec_role role)
{
	int r;

	if (tv == NULL)
		return owner_watch(ev, base, role);
	if (!ec_timeout_is_short(tv) || !is_mere_timer(ev))
		return owner_add_slowly(ev, tv, base, role);
	r = timer_postpone(base, ev, tv) ? 0 : timer_add(base, ev, tv);
	ec_event_leave(base, role);
	return r;
}

/* A set in user space changed: the thread that waits with a copy of it must begin anew. */
static void wake_waiting(struct ec_worker *w)
{
	if (w->is_waiting && !w->poller->ops->is_kernel_set && ec_worker_self(w->base) != w)
		ec_wakeup_send(&w->wakeup);
}

static int add_anywhere(struct ec_event *ev, const struct timeval *tv, struct ec_base *base)
{
	struct ec_color *c;
	struct ec_batch b;
	int r;

	if (ec_event_lock_zero(base, ev)) {
		r = ec_registration_add(&base->zero, &base->color0, ev, tv);
		wake_waiting(&base->zero);
		ec_event_unlock_zero(base);
		return __builtin_expect(r < 0, 0) ? add_failed(r) : r;
	}
	c = ec_event_hold_home(&b, ev);
	r = c == NULL ? -ENOMEM : ec_registration_add(b.src, c, ev, tv);
	wake_waiting(b.src);
	ec_batch_end(&b);
	return __builtin_expect(r < 0, 0) ? add_failed(r) : r;
}

/* As own_signal_add. The calls that are due take the locks once more. */
static __attribute__((noinline)) int shared_signal_add(struct ec_event *ev, const struct timeval *tv,
						       struct ec_base *base)
{
	uint32_t carried = ec_runs_calls_carried(ev);
	int r = add_anywhere(ev, tv, base);
	struct ec_batch b;

	ec_late_flush();		/* as own_signal_add */
	if (r < 0 || carried == 0)
		return r;
	ec_batch_begin(&b, base);
	b.caught_pri_end = EC_PRI_MAX;
	(void)ec_event_hold_color(&b, ev, EC_BIRTH_NEEDED);
	ec_event_ready(&b, ev, EC_SIGNAL, (int)carried);
	ec_batch_end(&b);
	return r;
}

static __attribute__((noinline)) int shared_add(struct ec_event *ev, const struct timeval *tv, struct ec_base *base)
{
	ec_hand_to_event(ev);
	if (__builtin_expect((ev->events & EC_SIGNAL) != 0, 0))
		return shared_signal_add(ev, tv, base);
	return add_anywhere(ev, tv, base);
}

/* The owner's way: both locks, by one note. */
static __attribute__((noinline)) int locked_add(struct ec_event *ev, const struct timeval *tv, struct ec_base *base)
{
	enum ec_role role;
	int r;

	if (__builtin_expect(ec_event_color_now(ev) != 0 && !ec_has_colors(base), 0)) {
		r = ec_base_start_colors(base, EC_BIRTH_MAY_FAIL);
		if (r < 0)
			return r;
	}
	role = ec_event_enter(base);
	if (__builtin_expect(role == EC_FOREIGN, 0))
		return shared_add(ev, tv, base);
	return owner_add(ev, tv, base, role);
}

int ec_event_add(struct ec_event *ev, const struct timeval *tv)
{
	struct ec_base *base = ev->base;

	if (ec_event_color_now(ev) != 0 || ec_is_locked(base))
		return locked_add(ev, tv, base);
	return own_add(ev, tv, base);
}

/* ---------------------------------------------------------------- deleting */

/* The most frequent event. False: nothing was done. */
static inline bool own_unwatch(struct ec_base *base, struct ec_event *ev)
{
	if (!is_mere_io(ev, EC_IN_INSERTED) || !ec_source_leave(&base->zero, ev))
		return false;
	ev->task.flags &= ~EC_IN_INSERTED;
	return true;
}

/* Any other event. */
static inline void own_del(struct ec_base *base, struct ec_event *ev)
{
	if (is_mere_timer(ev)) {
		timer_del(base, ev);
	} else if ((ev->task.flags & EC_IN_FINALIZING) == 0) {
		ec_registration_del(base, &base->color0, ev);
	}
}

static inline bool is_waited_for(const struct ec_event *ev, enum ec_del how)
{
	return how == EC_DEL_BLOCK || (how == EC_DEL_AUTOBLOCK && (ev->events & EC_FINALIZE) == 0);
}

/*
 * Under SOURCE of `w`, and RUNQ of `c`. `c` NULL: nothing has the color of `ev`, so the event is idle, but its callback
 * may still run in the color that it had. True: the callback runs on another worker.
 */
static inline bool del_locked(struct ec_worker *w, struct ec_color *c, struct ec_event *ev, enum ec_del how)
{
	struct ec_base *base = w->base;
	bool is_running = false;

	if ((ev->task.flags & EC_IN_FINALIZING) == 0) {
		if (c != NULL)
			ec_registration_del(base, c, ev);
		else if ((ev->events & EC_SIGNAL) != 0)
			ec_runs_calls_end(base, ev);
		if (is_waited_for(ev, how) || (ev->events & EC_SIGNAL) != 0)
			is_running = ec_runs_elsewhere(base, ev);
	}
	if (ec_worker_self(base) != w && (ev->events & EC_DESCRIPTOR) != 0)
		ec_source_settle(w, ev->fd);
	return is_running;
}

static __attribute__((noinline)) int shared_del(struct ec_base *base, struct ec_event *ev, enum ec_del how)
{
	bool is_running, waits = is_waited_for(ev, how);
	struct ec_worker *self = ec_worker_self(base);
	struct ec_color *c;
	struct ec_batch b;

	if (self == NULL)
		ec_base_hold(base);		/* it may be the last event, which ends the loop */
	if (ec_event_lock_zero(base, ev)) {
		is_running = del_locked(&base->zero, &base->color0, ev, how);
		ec_event_unlock_zero(base);
	} else {
		c = ec_event_hold(&b, ev);
		is_running = del_locked(b.src, c, ev, how);
		ec_batch_end(&b);
	}
	/* If the loop waits for nothing else, it must find that it can end. */
	if (self != &base->zero && ec_base_is_idle(base))
		ec_park_wake_if_asleep(&base->zero);
	if (is_running)
		ec_runs_end(base, ev, waits);
	ec_hand_deleted(ev);
	if (self == NULL) {
		ec_base_release(base);
		ec_late_flush();		/* a worker's next poll does that */
	}
	return 0;
}

static __attribute__((noinline)) int locked_del(struct ec_base *base, struct ec_event *ev, enum ec_del how)
{
	enum ec_role role = ec_event_enter(base);

	if (__builtin_expect(role == EC_FOREIGN, 0))
		return shared_del(base, ev, how);
	if (own_unwatch(base, ev))
		ec_event_note_added(base, &base->zero, -1);
	else
		own_del(base, ev);
	ec_event_leave(base, role);
	return 0;
}

static __attribute__((noinline)) int serial_del_slowly(struct ec_base *base, struct ec_event *ev)
{
	own_del(base, ev);
	return 0;
}

static inline int serial_del(struct ec_base *base, struct ec_event *ev)
{
	if (!own_unwatch(base, ev))
		return serial_del_slowly(base, ev);
	if (ec_load_relaxed(&base->has_grown))
		ec_base_note_grown(base, false);
	ec_serial_add(&base->zero.pending_num, UINT32_MAX);
	return 0;
}

int ec_event_del(struct ec_event *ev, enum ec_del how)
{
	return !ec_is_locked(ev->base) ? serial_del(ev->base, ev) : locked_del(ev->base, ev, how);
}

static __attribute__((noinline)) int locked_remove_timer(struct ec_base *base, struct ec_event *ev)
{
	enum ec_role role = ec_event_enter(base);
	struct ec_color *c;
	struct ec_batch b;

	if (role != EC_FOREIGN) {
		ec_registration_del_deadline(base, &base->color0, ev);
		ec_event_leave(base, role);
		return 0;
	}
	c = ec_event_hold(&b, ev);
	if (c != NULL)
		ec_registration_del_deadline(base, c, ev);
	ec_batch_end(&b);
	return 0;
}

int ec_event_remove_timer(struct ec_event *ev)
{
	struct ec_base *base = ev->base;

	if (ec_is_locked(base))
		return locked_remove_timer(base, ev);
	ec_registration_del_deadline(base, &base->color0, ev);
	return 0;
}
