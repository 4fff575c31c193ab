/*
 * What an event is: assigning one, its base, its priority, its color. All of it on an event that waits for nothing.
 */
#include "ec.h"

#include "fork.h"
#include "hold.h"
#include "sched/event.h"
#include "sched/ready.h"
#include "sched/runs.h"

int ec_event_init(struct ec_event *ev, struct ec_base *base, int fd, short events, ec_event_fn fn, void *arg)
{
	struct ec_worker *w = ec_self();

	*ev = (struct ec_event){ .fd = fd };
	ev->base = base;
	ev->events = events;
	ev->task.fn.event = fn;
	ev->task.arg = arg;
	ev->task.flags = EC_IN_INIT;
	ev->timer.slot = EC_TIMER_NONE;
	if ((events & EC_SIGNAL) != 0)
		ev->task.kind = EC_KIND_SIGNAL;
	else
		ev->task.kind = (events & EC_PERSIST) != 0 ? EC_KIND_PERSIST : EC_KIND_EVENT;
	if (base != NULL)
		ev->task.pri = (uint8_t)(base->lanes_num / 2);
	for (; w != NULL; w = w->outer) {
		if (__builtin_expect(ec_load_relaxed(&w->running_event) == ev, 0))
			ec_runs_anew(w, ev);
	}
	return (events & EC_SIGNAL) != 0 && (events & EC_DESCRIPTOR) != 0 ? -EINVAL : 0;
}

int ec_event_set_base(struct ec_event *ev, struct ec_base *base)
{
	if (ev->task.flags != EC_IN_INIT)
		return -EBUSY;
	ev->base = base;
	ev->task.pri = (uint8_t)(base->lanes_num / 2);
	/* Only hints, but those of another base; and its callback may set this one while it runs there. */
	ec_store_relaxed(ec_event_hint(ev), 0);
	ec_store_relaxed(ec_event_runner(ev), EC_RUNNER_MANY);
	ec_event_set_state(ev, EC_EV_KNOWN, 0);
	return 0;
}

int ec_event_set_pri(struct ec_event *ev, int pri)
{
	if ((ev->task.flags & EC_IN_ACTIVE) != 0)
		return -EBUSY;
	if (pri < 0 || pri >= (ev->base == NULL ? EC_PRI_MAX : (int)ev->base->lanes_num))
		return -EINVAL;
	ev->task.pri = (uint8_t)pri;
	return 0;
}

/* ---------------------------------------------------------------- colors */

/* Under its locks, if others may use it. */
static int color_write(struct ec_event *ev, uint32_t color, uint32_t shared)
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
 * Others may delete it, add it or make it active meanwhile, so its locks are taken. Its base may have been freed,
 * or have no locks: only one that is known to be there is asked for them.
 */
static int set_color(struct ec_event *ev, uint32_t color, uint32_t shared)
{
	struct ec_base *base = ev->base;
	struct ec_batch b;
	int r;

	if (base == NULL || !ec_fork_pin(base))
		return color_write(ev, color, shared);
	(void)ec_event_hold(&b, ev);
	r = color_write(ev, color, shared);
	ec_batch_end(&b);
	ec_fork_unpin(base);
	return r;
}

int ec_event_set_color(struct ec_event *ev, uint32_t color)
{
	return set_color(ev, color, 0);
}

int ec_event_set_color_shared(struct ec_event *ev, uint32_t color)
{
	return color == 0 ? -EINVAL : set_color(ev, color, EC_EV_SHARED);
}

uint32_t ec_event_color(const struct ec_event *ev)
{
	return ec_event_color_now(ev);
}
