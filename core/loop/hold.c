#include "hold.h"

#include "sched/colors.h"
#include "sched/event.h"
#include "sched/ready.h"

/* Begin `b` with SOURCE of the worker where the registrations of `ev` are. */
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

struct ec_color *ec_event_hold_color(struct ec_batch *b, struct ec_event *ev, enum ec_birth birth)
{
	hold_source(b, ev);
	b->birth = birth;
	return ec_batch_color(b, ec_event_color_now(ev), ec_event_hint(ev));
}

/* The worker where the registrations of `ev` belong: worker 0 has all signals. */
static unsigned home_of(const struct ec_color *c, const struct ec_event *ev)
{
	return (ev->events & EC_SIGNAL) != 0 ? 0 : ec_load_relaxed(&c->home);
}

struct ec_color *ec_event_hold_home(struct ec_batch *b, struct ec_event *ev)
{
	struct ec_color *c;
	unsigned home;

	for (;;) {
		c = ec_event_hold_color(b, ev, EC_BIRTH_MAY_FAIL);
		if (c == NULL || ec_event_is_pending(ev))
			return c;
		home = home_of(c, ev);
		if (home == b->src->id)
			return c;
		ec_event_set_state(ev, EC_EV_WORKER, home);
		ec_batch_end(b);
	}
}

struct ec_color *ec_event_hold(struct ec_batch *b, struct ec_event *ev)
{
	struct ec_color *c;

	hold_source(b, ev);
	c = ec_color_lock_existing(ev->base, ec_event_color_now(ev), ec_event_hint(ev));
	if (c != NULL)
		b->locked = ec_load_relaxed(&c->worker);
	return c;
}

static bool is_at_zero(struct ec_base *base, struct ec_event *ev)
{
	return base->is_single || (ec_event_color_now(ev) == 0 && ec_event_worker(ev) == 0);
}

bool ec_event_lock_zero(struct ec_base *base, struct ec_event *ev)
{
	if (!is_at_zero(base, ev))
		return false;
	ec_src_lock(&base->zero);
	ec_run_lock(&base->zero);
	if (is_at_zero(base, ev))
		return true;
	ec_event_unlock_zero(base);
	return false;
}
