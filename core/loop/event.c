#include "sched/event.h"

#include "hold.h"
#include "io/common.h"
#include "io/deadline.h"
#include "io/poller.h"
#include "io/source.h"
#include "io/time.h"
#include "io/timer.h"
#include "io/watch.h"
#include "sched/above.h"
#include "sched/colors.h"
#include "sched/gate.h"
#include "sched/park.h"
#include "sched/queue.h"
#include "sched/quiet.h"
#include "sched/ready.h"
#include "sched/runs.h"

/* ---------------------------------------------------------------- holding an event */

/* Begin `b` with SOURCE of the worker that the registrations of `ev` are at. */
static void hold_source(struct ec_batch *b, struct ec_event *ev)
{
	struct ec_base *base = ev->base;
	struct ec_worker *w;

	ec_batch_begin(b, base);
	for (;;) {
		w = ec_event_at(base, ev);
		ec_src_lock(w);
		if (ec_event_at(base, ev) == w)
			break;
		ec_src_unlock(w);
	}
	b->src = w;
}

/*
 * Lock what guards `ev`: SOURCE of the worker its registrations are at, RUNQ of its color.
 * Both are in `b` then, and left by ec_batch_end. NULL: no memory for the color.
 */
static struct ec_color *hold(struct ec_batch *b, struct ec_event *ev, enum ec_birth birth)
{
	hold_source(b, ev);
	b->birth = birth;
	return ec_batch_color(b, ec_event_color_now(ev), ec_event_hint(ev));
}

/* Both locks the quick way, as who the caller is: see bias.h. EC_FOREIGN: hold them as others do. */
static inline enum ec_role hold_own(struct ec_base *base) EC_NO_ANALYSIS
{
	enum ec_role role = ec_bias_role(&base->bias);

	if (role == EC_FOREIGN || !ec_bias_enter_as(&base->bias, &base->zero.src, role))
		return EC_FOREIGN;
	if (ec_bias_enter_as(&base->bias, &base->zero.run, role))
		return role;
	ec_bias_leave_as(&base->zero.src, role);
	return EC_FOREIGN;
}

static inline void release_own(struct ec_base *base, enum ec_role role) EC_NO_ANALYSIS
{
	ec_bias_leave_as(&base->zero.run, role);
	ec_bias_leave_as(&base->zero.src, role);
}

/* Where its registrations belong: signals are worker 0's. */
static unsigned home_of(const struct ec_color *c, const struct ec_event *ev)
{
	return (ev->events & EC_SIGNAL) != 0 ? 0 : ec_load_relaxed(&c->home);
}

/* As hold; and an event without registrations goes to the home of its color first. */
static struct ec_color *hold_to_add(struct ec_batch *b, struct ec_event *ev)
{
	struct ec_color *c;
	unsigned home;

	for (;;) {
		c = hold(b, ev, EC_BIRTH_MAY_FAIL);
		if (c == NULL || ec_event_is_pending(ev))
			return c;
		home = home_of(c, ev);
		if (home == b->src->id)
			return c;
		ec_event_set_state(ev, EC_EV_WORKER, home);
		ec_batch_end(b);
	}
}

/* ---------------------------------------------------------------- watching */

/* Watch what `ev` waits for besides its deadline. Under SOURCE of `w` and RUNQ of its color. */
static inline __attribute__((always_inline)) int watch(struct ec_worker *w, struct ec_event *ev)
{
	int r = (ev->events & EC_SIGNAL) != 0 ? ec_signal_add(w->base, ev) : ec_source_add(w, ev);

	if (r < 0)
		return r;
	ev->task.flags |= EC_IN_INSERTED;
	ec_event_note_added(w->base, w, 1);
	return 0;
}

void ec_event_reschedule(struct ec_base *base, struct ec_color *c, struct ec_event *ev)
{
	struct ec_common *common = NULL;
	int64_t now = ec_base_now(base), at;
	bool was_armed = (ev->task.flags & EC_IN_TIMEOUT) != 0, was_pending = ec_event_is_pending(ev);
	struct ec_worker *w = ec_event_at(base, ev);

	if (!ec_event_is_pending(ev) && (ev->res & EC_TIMEOUT) == 0)
		return;
	at = ((ev->res & EC_TIMEOUT) != 0 ? ev->deadline_ns : now) + ev->of.io.interval_ns;
	if (at < now)
		at = now + ev->of.io.interval_ns;
	if (c == &base->color0)
		common = ec_common_numbered(base, ev->of.io.common, ev->of.io.interval_ns);
	if (ec_deadline_set(w, ev, common, at) < 0) {
		ec_log(EC_LOG_WARN, "no memory to rearm a persistent timeout");
		return;
	}
	ev->task.flags |= EC_IN_TIMEOUT;
	if (!was_armed)
		ec_event_note_added(base, w, 1);
	/* Added while it was active, it has only a deadline yet. The poller logs why, if it cannot. */
	if ((ev->events & EC_DESCRIPTOR) != 0 && (ev->task.flags & EC_IN_INSERTED) == 0)
		(void)watch(w, ev);
	if (!was_pending && c != &base->color0)
		ec_color_get(c);
}

static void unqueue(struct ec_color *c, struct ec_event *ev)
{
	ec_task_remove(c, &ev->task);
	if ((ev->events & EC_SIGNAL) != 0)
		ev->of.sig.due = 0;
}

/* What due_at can add. A handle's tv_usec has EC_COMMON_MARK in it. */
static inline bool is_short(const struct timeval *tv)
{
	return (uint64_t)tv->tv_sec < INT32_MAX && (uint64_t)tv->tv_usec < EC_COMMON_MARK;
}

/* The duration of a timeout, and its queue if it is a handle of event_base_init_common_timeout. */
static inline int64_t duration_of(struct ec_base *base, struct ec_color *c, const struct timeval *tv,
				  struct ec_common **common)
{
	*common = NULL;
	if (__builtin_expect(is_short(tv), 1))
		return (int64_t)tv->tv_sec * 1000000000 + tv->tv_usec * 1000;
	if (c == &base->color0)
		*common = ec_common_of(base, tv);
	return ec_timeval_ns(tv);
}

/* Under SOURCE and RUNQ. `tv`: from now; NULL leaves the deadline alone. */
static inline __attribute__((always_inline)) int timeout_set(struct ec_worker *w, struct ec_color *c,
							     struct ec_event *ev, const struct timeval *tv)
{
	struct ec_base *base = w->base;
	struct ec_common *common;
	int64_t duration = duration_of(base, c, tv, &common);
	int r;

	r = ec_deadline_set(w, ev, common, ec_base_now(base) + duration);
	if (r < 0)
		return r;
	if (ev->task.kind == EC_KIND_PERSIST || ev->task.kind == EC_KIND_TIMED) {
		ev->task.kind = duration != 0 ? EC_KIND_TIMED : EC_KIND_PERSIST;
		ev->of.io.interval_ns = duration;
		ev->of.io.common = ec_common_number(common);
	}
	if ((ev->task.flags & EC_IN_TIMEOUT) == 0)
		ec_event_note_added(base, w, 1);
	ev->task.flags |= EC_IN_TIMEOUT;
	/* Active because an earlier deadline came: the new one takes that back. */
	if ((ev->task.flags & EC_IN_ACTIVE) != 0 && (ev->res & EC_TIMEOUT) != 0) {
		unqueue(c, ev);
		if ((ev->task.flags & EC_IN_INSERTED) != 0 && (ev->events & EC_DESCRIPTOR) != 0)
			ec_source_unqueued(w, ev->fd);
	}
	return 0;
}

/* ---------------------------------------------------------------- add and delete */

static void unregister(struct ec_base *base, struct ec_event *ev)
{
	struct ec_worker *w = ec_event_at(base, ev);

	if ((ev->events & EC_SIGNAL) != 0)
		ec_signal_del(base, ev);
	else
		ec_source_del(w, ev);
	ev->task.flags &= ~EC_IN_INSERTED;
	ec_event_note_added(base, w, -1);
}

void ec_event_forget(struct ec_base *base, struct ec_color *c, struct ec_event *ev)
{
	if (!ec_event_is_pending(ev))
		return;
	if ((ev->task.flags & EC_IN_TIMEOUT) != 0) {
		ec_deadline_clear(base, ev);
		ev->task.flags &= ~EC_IN_TIMEOUT;
		ec_event_note_added(base, ec_event_at(base, ev), -1);
	}
	if ((ev->task.flags & EC_IN_INSERTED) != 0)
		unregister(base, ev);
	if (c != &base->color0)
		ec_color_put(base, c);
}

/* Under SOURCE of `w` and RUNQ of `c`. */
static inline __attribute__((always_inline)) int add_here(struct ec_worker *w, struct ec_color *c, struct ec_event *ev,
							  const struct timeval *tv)
{
	struct ec_base *base = w->base;
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
			return r;
		is_new = true;
	}
	if (tv != NULL) {
		r = timeout_set(w, c, ev, tv);
		if (r < 0 && is_new)
			unregister(base, ev);
	}
	if (!was_pending && ec_event_is_pending(ev) && c != &base->color0)
		ec_color_get(c);
	return r;
}

static __attribute__((noinline)) int add(struct ec_worker *w, struct ec_color *c, struct ec_event *ev,
					 const struct timeval *tv)
{
	return add_here(w, c, ev, tv);
}

/* Does `ev` wait for time alone, at worker 0, and is it in no queue? Another worker's number add() puts right. */
static inline bool is_mere_timer(const struct ec_event *ev)
{
	return ev->task.kind == EC_KIND_EVENT && (ev->events & (EC_DESCRIPTOR | EC_SIGNAL)) == 0 &&
	       (ev->task.flags & (EC_IN_FINALIZING | EC_IN_ACTIVE | EC_IN_INSERTED)) == 0 &&
	       (ec_load_relaxed(ec_event_state((struct ec_event *)(uintptr_t)ev)) & (EC_EV_COMMON | EC_EV_WORKER)) == 0;
}

/* When it is due, if it is due `tv` after `now_ns`. */
static inline int64_t due_at(int64_t now_ns, const struct timeval *tv)
{
	return now_ns + (int64_t)tv->tv_sec * 1000000000 + tv->tv_usec * 1000;
}

/*
 * As add, of a mere timer, by the thread of the only worker: nobody waits in the poller. This is the part that
 * calls nothing, so that it saves no registers: an armed one in a turn, which comes due no earlier than it was to.
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

static inline int timer_add(struct ec_base *base, struct ec_event *ev, const struct timeval *tv)
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

/* Does `ev` wait for a descriptor, not for a signal, and has nothing happened to it but what `flags` say? */
static inline bool is_mere_io(const struct ec_event *ev, int flags)
{
	return ev->task.flags == (EC_IN_INIT | flags) && (ev->events & EC_DESCRIPTOR) != 0 &&
	       (ev->events & EC_SIGNAL) == 0;
}

/* As own_add, of a signal's event: it may have calls due from before it was assigned anew. */
static __attribute__((noinline)) int own_signal_add(struct ec_event *ev, const struct timeval *tv, struct ec_base *base)
{
	uint32_t owed = ec_runs_calls_owed(ev);
	int r = add(&base->zero, &base->color0, ev, tv);

	if (r == 0 && owed != 0)
		ec_event_ready_single(base, ev, EC_SIGNAL, (int)owed);
	return r;
}

/* As add and del, by who holds all locks of a base with one worker, or of one that has none. */
static __attribute__((noinline)) int own_add(struct ec_event *ev, const struct timeval *tv, struct ec_base *base)
{
	if (tv == NULL && is_mere_io(ev, 0) && ec_source_return(&base->zero, ev)) {
		ev->task.flags |= EC_IN_INSERTED;
		ec_event_note_added(base, &base->zero, 1);
		return 0;
	}
	if (tv != NULL && is_mere_timer(ev) && is_short(tv))
		return timer_add(base, ev, tv);
	if (__builtin_expect((ev->events & EC_SIGNAL) != 0, 0))
		return own_signal_add(ev, tv, base);
	return add_here(&base->zero, &base->color0, ev, tv);
}

/* As del, of a mere timer, by the thread of the only worker. */
static inline void timer_del(struct ec_base *base, struct ec_event *ev)
{
	if ((ev->task.flags & EC_IN_TIMEOUT) == 0)
		return;
	ec_timers_disarm(&base->zero.timers, &ev->timer.slot);
	ev->task.flags &= ~EC_IN_TIMEOUT;
	ec_base_note_max(base);
	ec_counter_add(&base->zero.pending_num, UINT32_MAX);
}

/* Under SOURCE and RUNQ. */
static void del(struct ec_base *base, struct ec_color *c, struct ec_event *ev)
{
	if ((ev->events & EC_SIGNAL) != 0)
		ec_runs_calls_end(base, ev);
	ec_event_forget(base, c, ev);
	if ((ev->task.flags & EC_IN_ACTIVE) != 0)
		unqueue(c, ev);
}

static inline void own_del(struct ec_base *base, struct ec_event *ev)
{
	if (is_mere_io(ev, EC_IN_INSERTED) && ec_source_leave(&base->zero, ev)) {
		ev->task.flags &= ~EC_IN_INSERTED;
		ec_event_note_added(base, &base->zero, -1);
	} else if (is_mere_timer(ev)) {
		timer_del(base, ev);
	} else if ((ev->task.flags & EC_IN_FINALIZING) == 0) {
		del(base, &base->color0, ev);
	}
}

static bool is_at_zero(struct ec_base *base, struct ec_event *ev)
{
	return base->is_single || (ec_event_color_now(ev) == 0 && ec_event_worker(ev) == 0);
}

static void zero_unlock(struct ec_base *base) EC_NO_ANALYSIS
{
	ec_run_unlock(&base->zero);
	ec_src_unlock(&base->zero);
}

/*
 * Color 0 is at worker 0, with all that it waits for: no need to look for either. False, and no lock is held: it is
 * another color's, or comes from another worker.
 */
static bool zero_lock(struct ec_base *base, struct ec_event *ev) EC_NO_ANALYSIS
{
	if (!is_at_zero(base, ev))
		return false;
	ec_src_lock(&base->zero);
	ec_run_lock(&base->zero);
	if (is_at_zero(base, ev))
		return true;
	zero_unlock(base);
	return false;
}

/* What only the poller's thread can be told: that it waits for something else now. */
static void tell_waiting(struct ec_worker *w)
{
	if (w->is_waiting && !w->poller->ops->is_kernel_set && ec_worker_self(w->base) != w)
		ec_wakeup_send(&w->wakeup);
}

static int add_anywhere(struct ec_event *ev, const struct timeval *tv, struct ec_base *base)
{
	enum ec_role role = hold_own(base);
	struct ec_color *c;
	struct ec_batch b;
	int r;

	if (role != EC_FOREIGN) {
		r = own_add(ev, tv, base);
		release_own(base, role);
		return r;
	}
	if (zero_lock(base, ev)) {
		r = add(&base->zero, &base->color0, ev, tv);
		tell_waiting(&base->zero);
		zero_unlock(base);
		return r;
	}
	c = hold_to_add(&b, ev);
	r = c == NULL ? -ENOMEM : add(b.src, c, ev, tv);
	tell_waiting(b.src);
	ec_batch_end(&b);
	return r;
}

/* The same with whichever locks it takes: they are taken anew for those calls. */
static __attribute__((noinline)) int shared_signal_add(struct ec_event *ev, const struct timeval *tv,
						       struct ec_base *base)
{
	uint32_t owed = ec_runs_calls_owed(ev);
	int r = add_anywhere(ev, tv, base);
	struct ec_batch b;

	if (r < 0 || owed == 0)
		return r;
	ec_batch_begin(&b, base);
	b.has_caught = true;
	(void)hold(&b, ev, EC_BIRTH_NEEDED);
	ec_event_ready(&b, ev, EC_SIGNAL, (int)owed);
	ec_batch_end(&b);
	return r;
}

/* Apart, so that the short ways save no registers for the long one; ec_event_add has the arguments where they are. */
static __attribute__((noinline)) int shared_add(struct ec_event *ev, const struct timeval *tv, struct ec_base *base)
{
	int r;

	if (ec_event_color_now(ev) != 0 && !ec_has_colors(base)) {
		r = ec_base_start_colors(base);
		if (r < 0)
			return r;
	}
	if (__builtin_expect((ev->events & EC_SIGNAL) != 0, 0))
		return shared_signal_add(ev, tv, base);
	return add_anywhere(ev, tv, base);
}

/*
 * A base that leans to the caller, who may do with a mere timer as if no other thread were there, under SOURCE alone:
 * the others look at an event that is in no queue, and at what timers count, under that lock only.
 */
static inline bool biased_timer_enter(struct ec_base *base, struct ec_event *ev, enum ec_role role) EC_NO_ANALYSIS
{
	if (!ec_bias_enter_as(&base->bias, &base->zero.src, role))
		return false;
	if (__builtin_expect(is_mere_timer(ev), 1))
		return true;
	ec_bias_leave_as(&base->zero.src, role);
	return false;
}

/* SOURCE is held as `role`. */
static __attribute__((noinline)) int biased_timer_add(struct ec_event *ev, const struct timeval *tv, struct ec_base *base,
						      enum ec_role role) EC_NO_ANALYSIS
{
	int r = timer_add(base, ev, tv);

	ec_bias_leave_as(&base->zero.src, role);
	return r;
}

/* By who is not the owner. */
static __attribute__((noinline)) int maker_add(struct ec_event *ev, const struct timeval *tv, struct ec_base *base)
{
	if (ec_bias_role(&base->bias) != EC_MAKER || !biased_timer_enter(base, ev, EC_MAKER))
		return shared_add(ev, tv, base);
	return biased_timer_add(ev, tv, base, EC_MAKER);
}

static __attribute__((noinline)) int locked_add(struct ec_event *ev, const struct timeval *tv, struct ec_base *base)
{
	if (tv == NULL || !is_short(tv))
		return shared_add(ev, tv, base);
	if (!ec_bias_is_owner(&base->bias))
		return maker_add(ev, tv, base);
	if (!biased_timer_enter(base, ev, EC_OWNER))
		return shared_add(ev, tv, base);
	if (!timer_postpone(base, ev, tv))
		return biased_timer_add(ev, tv, base, EC_OWNER);
	ec_bias_leave(&base->zero.src);
	return 0;
}

static __attribute__((noinline)) int serial_timer_add(struct ec_event *ev, const struct timeval *tv,
						      struct ec_base *base)
{
	return timer_add(base, ev, tv);
}

int ec_event_add(struct ec_event *ev, const struct timeval *tv)
{
	struct ec_base *base = ev->base;

	if (ec_event_color_now(ev) != 0 || ec_is_locked(base))
		return locked_add(ev, tv, base);
	if (tv == NULL || !is_mere_timer(ev) || !is_short(tv))
		return own_add(ev, tv, base);
	return timer_postpone(base, ev, tv) ? 0 : serial_timer_add(ev, tv, base);
}

/* As hold, but makes no color. */
struct ec_color *ec_event_hold(struct ec_batch *b, struct ec_event *ev)
{
	struct ec_color *c;

	hold_source(b, ev);
	c = ec_color_lock_existing(ev->base, ec_event_color_now(ev), ec_event_hint(ev));
	if (c != NULL)
		b->locked = ec_load_relaxed(&c->worker);
	return c;
}

static inline bool is_waited_for(const struct ec_event *ev, enum ec_del how)
{
	return how == EC_DEL_BLOCK || (how == EC_DEL_AUTOBLOCK && (ev->events & EC_FINALIZE) == 0);
}

/*
 * Under SOURCE of `w`, and RUNQ of `c`, or NULL: nothing has the color of `ev`, so it is idle, but may be running in
 * the color it had. True: and it is, in another worker.
 */
static inline bool del_locked(struct ec_worker *w, struct ec_color *c, struct ec_event *ev, enum ec_del how)
{
	struct ec_base *base = w->base;
	bool is_running = false;

	if ((ev->task.flags & EC_IN_FINALIZING) == 0) {
		if (c != NULL)
			del(base, c, ev);
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
	enum ec_role role = hold_own(base);
	bool is_running, waits;
	struct ec_color *c;
	struct ec_batch b;

	if (role != EC_FOREIGN) {
		own_del(base, ev);
		release_own(base, role);
		return 0;
	}
	waits = is_waited_for(ev, how);
	if (zero_lock(base, ev)) {
		is_running = del_locked(&base->zero, &base->color0, ev, how);
		zero_unlock(base);
	} else {
		c = ec_event_hold(&b, ev);
		is_running = del_locked(b.src, c, ev, how);
		ec_batch_end(&b);
	}
	/* A loop that waits for nothing else any more is to see that it can end. */
	if (ec_worker_self(base) != &base->zero && ec_base_is_idle(base))
		ec_park_wake_if_asleep(&base->zero);
	if (is_running)
		ec_runs_end(base, ev, waits);
	return 0;
}

static inline int biased_timer_del(struct ec_base *base, struct ec_event *ev, enum ec_del how, enum ec_role role)
{
	if (!biased_timer_enter(base, ev, role))
		return shared_del(base, ev, how);
	timer_del(base, ev);
	ec_bias_leave_as(&base->zero.src, role);
	return 0;
}

static __attribute__((noinline)) int maker_del(struct ec_base *base, struct ec_event *ev, enum ec_del how)
{
	return ec_bias_role(&base->bias) != EC_MAKER ? shared_del(base, ev, how) :
						       biased_timer_del(base, ev, how, EC_MAKER);
}

static __attribute__((noinline)) int locked_del(struct ec_base *base, struct ec_event *ev, enum ec_del how)
{
	return !ec_bias_is_owner(&base->bias) ? maker_del(base, ev, how) : biased_timer_del(base, ev, how, EC_OWNER);
}

static __attribute__((noinline)) int serial_del(struct ec_base *base, struct ec_event *ev)
{
	own_del(base, ev);
	return 0;
}

int ec_event_del(struct ec_event *ev, enum ec_del how)
{
	return !ec_is_locked(ev->base) ? serial_del(ev->base, ev) : locked_del(ev->base, ev, how);
}

int ec_event_remove_timer(struct ec_event *ev)
{
	struct ec_base *base = ev->base;
	struct ec_color *c;
	struct ec_batch b;

	c = ec_event_hold(&b, ev);
	if (c != NULL && (ev->task.flags & EC_IN_TIMEOUT) != 0) {
		ec_deadline_clear(base, ev);
		ev->task.flags &= ~EC_IN_TIMEOUT;
		ec_event_note_added(base, b.src, -1);
		if (ev->task.kind == EC_KIND_TIMED) {
			ev->task.kind = EC_KIND_PERSIST;
			ev->of.io.interval_ns = 0;
		}
		if (!ec_event_is_pending(ev) && c != &base->color0)
			ec_color_put(base, c);
	}
	ec_batch_end(&b);
	return 0;
}

/* ---------------------------------------------------------------- activation */

/* By the owner, any event. False: the base leans to none, or another. */
static inline bool active_own(struct ec_base *base, struct ec_event *ev, int res, short ncalls)
{
	if (!ec_bias_is_owner(&base->bias) || !ec_bias_enter(&base->bias, &base->zero.run))
		return false;
	ec_event_ready_single(base, ev, res, ncalls);
	ec_bias_leave(&base->zero.run);
	return true;
}

static void active(struct ec_event *ev, int res, short ncalls)
{
	struct ec_base *base = ev->base;
	struct ec_batch b;

	if (ec_event_color_now(ev) == 0 && !ec_is_locked(base)) {
		ec_event_ready_serial(base, ev, res, ncalls);
		return;
	}
	if (active_own(base, ev, res, ncalls))
		return;
	if (ec_event_color_now(ev) != 0 && !ec_has_colors(base))
		ec_base_start_colors_anyway(base);
	(void)hold(&b, ev, EC_BIRTH_NEEDED);
	ec_event_ready(&b, ev, res, ncalls);
	ec_batch_end(&b);
}

/* Apart, so that the short ways need no frame. */
static __attribute__((noinline)) void active_slowly(struct ec_event *ev, int res, short ncalls)
{
	if (ev->base == NULL) {
		ec_log(EC_LOG_WARN, "event_active: event has no event_base set.");
		return;
	}
	ec_debug_assert_is_setup(ev);
	if (ec_log_debug_on())
		ec_log(EC_LOG_DEBUG, "event_active: %p (fd %d), res %d, callback %p", (void *)ev, ev->fd, res,
		       (void *)(uintptr_t)ev->task.fn.event);
	active(ev, res, ncalls);
}

/* By the owner of a base that leans to it, if nothing is special but the color. */
static inline bool active_biased(struct ec_base *base, struct ec_event *ev, int res)
{
	bool is_short;

	if (!ec_bias_is_owner(&base->bias) || !ec_bias_enter(&base->bias, &base->zero.run))
		return false;
	is_short = base->biased_way != NULL && (ev->task.word & ec_task_special_but_color()) == 0;
	if (__builtin_expect(is_short, 1))
		ec_event_ready_plain(base, base->biased_way, ev, res);
	ec_bias_leave(&base->zero.run);
	return is_short;
}

/* False: neither is there such a way. */
static inline bool active_shortly(struct ec_event *ev, int res)
{
	struct ec_base *base = ev->base;

	/* In this order: others write the word of an event of a base that is locked. */
	if (base->short_way != NULL && (ev->task.word & ec_task_special()) == 0) {
		ec_event_ready_plain(base, base->short_way, ev, res);
		return true;
	}
	return active_biased(base, ev, res);
}

void ec_event_active(struct ec_event *ev, int res, short ncalls)
{
	if (!active_shortly(ev, res))
		active(ev, res, ncalls);
}

void ec_event_active_checked(struct ec_event *ev, int res, short ncalls)
{
	if (__builtin_expect(ev->base == NULL, 0) || !active_shortly(ev, res))
		active_slowly(ev, res, ncalls);
}

int ec_event_pending(const struct ec_event *cev, short what, struct timeval *ret)
{
	struct ec_event *ev = (struct ec_event *)(uintptr_t)cev;
	unsigned flags = 0;
	int64_t deadline;
	struct ec_batch b;

	(void)ec_event_hold(&b, ev);
	if ((ev->task.flags & EC_IN_INSERTED) != 0)
		flags |= (unsigned)ev->events & (EC_DESCRIPTOR | EC_SIGNAL);
	if ((ev->task.flags & EC_IN_ACTIVE) != 0)
		flags |= (unsigned)ev->res;
	if ((ev->task.flags & EC_IN_TIMEOUT) != 0)
		flags |= EC_TIMEOUT;
	deadline = ev->deadline_ns;
	ec_batch_end(&b);

	flags &= (unsigned)what & (EC_TIMEOUT | EC_DESCRIPTOR | EC_SIGNAL);
	if (ret != NULL && (flags & EC_TIMEOUT) != 0)
		ec_base_wall_time(ev->base, deadline, ret);
	return (int)flags;
}

bool ec_event_is_watched(const struct ec_event *cev)
{
	struct ec_event *ev = (struct ec_event *)(uintptr_t)cev;
	bool is_watched;
	struct ec_batch b;

	if (!ec_is_locked(ev->base))
		return (ev->task.flags & (EC_IN_INSERTED | EC_IN_ACTIVE)) != 0;
	(void)ec_event_hold(&b, ev);
	is_watched = (ev->task.flags & (EC_IN_INSERTED | EC_IN_ACTIVE)) != 0;
	ec_batch_end(&b);
	return is_watched;
}

/* ---------------------------------------------------------------- finalizing */

int ec_event_finalize(struct ec_event *ev, void (*fn)(struct ec_event *, void *), bool free_it)
{
	struct ec_base *base = ev->base;
	struct ec_color *c;
	struct ec_batch b;

	if (base == NULL)
		return -EINVAL;
	/* Without colors in use it never ran in its color, and its finalizer need not either. */
	if (ev->task.color != 0 && !ec_load_acquire(&base->is_colored))
		(void)ec_event_set_color(ev, 0);
	c = hold(&b, ev, EC_BIRTH_NEEDED);
	if (c == NULL) {
		ec_batch_end(&b);
		return -ENOMEM;
	}
	del(base, c, ev);
	ev->task.kind = free_it ? EC_KIND_EVENT_FINALIZE_FREE : EC_KIND_EVENT_FINALIZE;
	ev->task.fn.finalize = fn;
	ev->res = EC_FINALIZE;
	ec_task_push(&b, c, &ev->task);
	ev->task.flags |= EC_IN_FINALIZING;
	ec_batch_end(&b);
	return 0;
}
