/*
 * What an event is: assigning one, its base, its priority, its color, all of it while it waits for nothing; and whether
 * it is pending.
 */
#include "ec.h"

#include <errno.h>
#include <string.h>

#include "fork.h"
#include "hold.h"
#include "io/time.h"
#include "sched/event.h"
#include "sched/misuse.h"
#include "sched/ready.h"
#include "sched/runs.h"

/* In halves, each a few stores. For the whole, the compiler would call memset or use a repeated instruction. */
static inline void clear(struct ec_event *ev)
{
	enum { HALF = sizeof(*ev) / 2 };

	memset(ev, 0, HALF);
	memset((char *)ev + HALF, 0, sizeof(*ev) - HALF);
}

/*
 * In a callback, perhaps that of `ev`, or in a nested loop. Tail calls, so that the common path saves no registers.
 */
static __attribute__((noinline)) int init_within(struct ec_worker *w, struct ec_event *ev, int r)
{
	for (; w != NULL; w = w->outer) {
		if (ec_load_relaxed(&w->running_event) == ev)
			ec_runs_anew(w, ev);
	}
	return r;
}

static __attribute__((noinline)) int make_within(struct ec_worker *w, struct ec_event *ev, int r)
{
	if (ev->base != NULL)
		ev->task.color = ec_base_color_to_inherit(ev->base);
	return init_within(w, ev, r);
}

/* Another base's loop runs in a callback of `w`, or what a callback of its base makes inherits the color. */
static inline bool may_inherit(const struct ec_worker *w)
{
	return w->outer != NULL || ec_load_relaxed(&w->base->is_color_inherited);
}

/* `inherits`: in a callback, the event may get its color. */
static inline __attribute__((always_inline)) int init(struct ec_event *ev, struct ec_base *base, int fd, short events,
						      ec_event_fn fn, void *arg, bool inherits)
{
	bool is_signal = (events & EC_SIGNAL) != 0;
	struct ec_worker *w;
	int r;

	clear(ev);
	ev->base = base;
	ev->fd = fd;
	ev->events = events;
	ev->task.fn.event = fn;
	ev->task.arg = arg;
	ev->task.flags = EC_IN_INIT;
	ev->timer.slot = EC_TIMER_NONE;
	if (is_signal)
		ev->task.kind = EC_KIND_SIGNAL;
	else
		ev->task.kind = (events & EC_PERSIST) != 0 ? EC_KIND_PERSIST : EC_KIND_EVENT;
	if (base != NULL)
		ev->task.pri = (uint8_t)(base->lanes_num / 2);
	r = is_signal && (events & EC_DESCRIPTOR) != 0 ? -EINVAL : 0;
	w = ec_self();
	if (__builtin_expect(w == NULL, 1))
		return r;
	if (inherits && __builtin_expect(may_inherit(w), 0))
		return make_within(w, ev, r);
	if (__builtin_expect(ec_load_relaxed(&w->running_event) == ev || w->outer != NULL, 0))
		return init_within(w, ev, r);
	return r;
}

int ec_event_init(struct ec_event *ev, struct ec_base *base, int fd, short events, ec_event_fn fn, void *arg)
{
	return init(ev, base, fd, events, fn, arg, false);
}

int ec_event_make(struct ec_event *ev, struct ec_base *base, int fd, short events, ec_event_fn fn, void *arg)
{
	return init(ev, base, fd, events, fn, arg, true);
}

/* ---------------------------------------------------------------- base and priority */

static inline void set_base(struct ec_event *ev, struct ec_base *base)
{
	ev->base = base;
	ev->task.pri = (uint8_t)(base->lanes_num / 2);
	/* The hints are of another base, whose worker may be running the callback that calls this. */
	ec_store_relaxed(ec_event_hint(ev), 0);
	ec_store_relaxed(ec_event_runner(ev), EC_RUNNER_MANY);
	ec_event_set_state(ev, EC_EV_KNOWN, 0);
}

int ec_event_set_base(struct ec_event *ev, struct ec_base *base)
{
	if (ev->task.flags != EC_IN_INIT)
		return -EBUSY;
	if (ec_load_relaxed(&base->is_color_inherited) && ev->task.color == 0)
		ev->task.color = ec_base_color_to_inherit(base);
	set_base(ev, base);
	return 0;
}

static inline int set_pri(struct ec_event *ev, int pri)
{
	if ((ev->task.flags & EC_IN_ACTIVE) != 0)
		return -EBUSY;
	if (pri < 0 || pri >= (ev->base == NULL ? EC_PRI_MAX : (int)ev->base->lanes_num))
		return -EINVAL;
	ev->task.pri = (uint8_t)pri;
	return 0;
}

int ec_event_set_pri(struct ec_event *ev, int pri)
{
	struct ec_base *base = ev->base;
	enum ec_role role;
	struct ec_batch b;
	int r;

	if (base == NULL || !ec_is_locked(base))
		return set_pri(ev, pri);
	role = ec_event_enter(base);
	if (role != EC_FOREIGN) {
		r = set_pri(ev, pri);
		ec_event_leave(base, role);
		return r;
	}
	(void)ec_event_hold(&b, ev);
	r = set_pri(ev, pri);
	ec_batch_end(&b);
	return r;
}

static __attribute__((noinline, cold)) int refuse(int err)
{
	errno = err;
	return -1;
}

/* An added or active event is refused, even if debug mode does not know it. */
static __attribute__((noinline)) int set_base_slowly(struct ec_base *base, struct ec_event *ev)
{
	int r = -EBUSY;

	if (ev->task.flags == EC_IN_INIT) {
		ec_debug_assert_is_setup(ev);
		r = ec_event_set_base(ev, base);
	}
	return r < 0 ? refuse(-r) : 0;
}

int ec_event_set_base_checked(struct ec_base *base, struct ec_event *ev)
{
	if (__builtin_expect(ec_watched() != 0 || ev->task.flags != EC_IN_INIT ||
				     ec_load_relaxed(&base->is_color_inherited), 0))
		return set_base_slowly(base, ev);
	set_base(ev, base);
	return 0;
}

static __attribute__((noinline)) int set_pri_slowly(struct ec_event *ev, int pri)
{
	int r;

	ec_debug_assert_is_setup(ev);
	r = set_pri(ev, pri);
	return r < 0 ? refuse(-r) : 0;
}

int ec_event_set_pri_checked(struct ec_event *ev, int pri)
{
	if (__builtin_expect(ec_watched() != 0, 0) || set_pri(ev, pri) < 0)
		return set_pri_slowly(ev, pri);
	return 0;
}

/* ---------------------------------------------------------------- colors */

/* Cold, so that a color that is set pays nothing for the report of one that is not. */
static __attribute__((noinline, cold)) int refuse_color(const struct ec_event *ev, uint32_t shared, int r)
{
	if (ec_debug_on())
		ec_misuse_note_refused(ev, shared != 0 ? "event_set_color_shared" : "event_set_color", r);
	return r;
}

static __attribute__((noinline, cold)) int refuse_held(struct ec_batch *b, const struct ec_event *ev, uint32_t shared,
						       int r)
{
	struct ec_base *base = ev->base;

	ec_batch_end(b);
	ec_fork_unpin(base);
	return refuse_color(ev, shared, r);
}

/* Under the event's locks, if other threads may use it. */
static inline int color_write(struct ec_event *ev, uint32_t color, uint32_t shared)
{
	if ((ev->task.flags & EC_IN_INIT) == 0)
		return -EINVAL;
	if (ev->task.flags != EC_IN_INIT)
		return -EBUSY;
	__atomic_store_n(&ev->task.color, color, __ATOMIC_RELAXED);	/* meets ec_event_color_now */
	ec_store_relaxed(ec_event_hint(ev), 0);
	ec_event_set_state(ev, EC_EV_SHARED, shared);
	return 0;
}

/*
 * Other threads may delete, add or activate the event meanwhile, so this takes its locks. But its base may be freed, or
 * have no locks: only a base that is registered, and so there, is asked for them.
 */
static __attribute__((noinline)) int set_color_slowly(struct ec_event *ev, uint32_t color, uint32_t shared)
{
	struct ec_base *base = ev->base;
	struct ec_batch b;
	int r;

	if (base == NULL || !ec_fork_pin(base)) {
		r = color_write(ev, color, shared);
		return r < 0 ? refuse_color(ev, shared, r) : 0;
	}
	(void)ec_event_hold(&b, ev);
	r = color_write(ev, color, shared);
	if (r < 0)
		return refuse_held(&b, ev, shared, r);
	ec_batch_end(&b);
	ec_fork_unpin(base);
	return 0;
}

/* The owner's way, as in ec_event_add. */
static inline int set_color(struct ec_event *ev, uint32_t color, uint32_t shared)
{
	struct ec_base *base = ev->base;
	enum ec_role role;
	int r;

	role = base != NULL && ec_fork_is_known(base) ? ec_event_enter(base) : EC_FOREIGN;
	if (role == EC_FOREIGN)
		return set_color_slowly(ev, color, shared);
	r = color_write(ev, color, shared);
	ec_event_leave(base, role);
	return __builtin_expect(r < 0, 0) ? refuse_color(ev, shared, r) : 0;
}

int ec_event_set_color(struct ec_event *ev, uint32_t color)
{
	return set_color(ev, color, 0);
}

int ec_event_set_color_shared(struct ec_event *ev, uint32_t color)
{
	return color == 0 ? refuse_color(ev, EC_EV_SHARED, -EINVAL) : set_color(ev, color, EC_EV_SHARED);
}

uint32_t ec_event_color(const struct ec_event *ev)
{
	return ec_event_color_now(ev);
}

/* ---------------------------------------------------------------- pending */

/* Under the event's locks: what it waits for, and what it is active with. */
static inline unsigned pending_flags(const struct ec_event *ev)
{
	unsigned flags = (unsigned)ev->task.flags & EC_IN_TIMEOUT;

	_Static_assert((int)EC_IN_TIMEOUT == (int)EC_TIMEOUT, "one bit for both");
	if ((ev->task.flags & EC_IN_INSERTED) != 0)
		flags |= (unsigned)ev->events & (EC_DESCRIPTOR | EC_SIGNAL);
	if ((ev->task.flags & EC_IN_ACTIVE) != 0)
		flags |= (unsigned)ev->res;
	return flags;
}

static __attribute__((noinline)) int pending_time(struct ec_event *ev, unsigned flags, int64_t deadline_ns,
						  struct timeval *ret)
{
	if (ret != NULL && (flags & EC_TIMEOUT) != 0)
		ec_base_wall_time(ev->base, deadline_ns, ret);
	return (int)flags;
}

static __attribute__((noinline)) int pending_locked(struct ec_event *ev, unsigned what, struct timeval *ret)
{
	enum ec_role role = ec_event_enter(ev->base);
	int64_t deadline_ns;
	struct ec_batch b;
	unsigned flags;

	if (role != EC_FOREIGN) {
		flags = pending_flags(ev) & what;
		if (ret != NULL && (flags & EC_TIMEOUT) != 0 &&
		    !ec_base_wall_time_serial(ev->base, ev->deadline_ns, ret))
			ec_base_wall_time_own(ev->base, ev->deadline_ns, ret);
		ec_event_leave(ev->base, role);
		return (int)flags;
	}
	(void)ec_event_hold(&b, ev);
	flags = pending_flags(ev) & what;
	deadline_ns = ev->deadline_ns;
	ec_batch_end(&b);
	return pending_time(ev, flags, deadline_ns, ret);
}

/* The rest are tail calls, so that the common ways save no registers. */
int ec_event_pending(const struct ec_event *cev, short what, struct timeval *ret)
{
	struct ec_event *ev = (struct ec_event *)(uintptr_t)cev;
	unsigned flags = (unsigned)what & (EC_TIMEOUT | EC_DESCRIPTOR | EC_SIGNAL);

	if (ec_is_locked(ev->base))
		return pending_locked(ev, flags, ret);
	flags &= pending_flags(ev);
	if (ret == NULL || (flags & EC_TIMEOUT) == 0 || ec_base_wall_time_serial(ev->base, ev->deadline_ns, ret))
		return (int)flags;
	return pending_time(ev, flags, ev->deadline_ns, ret);
}

bool ec_event_is_watched(const struct ec_event *cev)
{
	struct ec_event *ev = (struct ec_event *)(uintptr_t)cev;
	bool is_watched;
	struct ec_batch b;
	enum ec_role role;

	if (!ec_is_locked(ev->base))
		return (ev->task.flags & (EC_IN_INSERTED | EC_IN_ACTIVE)) != 0;
	role = ec_event_enter(ev->base);
	if (role != EC_FOREIGN) {
		is_watched = (ev->task.flags & (EC_IN_INSERTED | EC_IN_ACTIVE)) != 0;
		ec_event_leave(ev->base, role);
		return is_watched;
	}
	(void)ec_event_hold(&b, ev);
	is_watched = (ev->task.flags & (EC_IN_INSERTED | EC_IN_ACTIVE)) != 0;
	ec_batch_end(&b);
	return is_watched;
}
