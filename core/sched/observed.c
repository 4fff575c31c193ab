#include "observed.h"

#include "event.h"
#include "os/clock.h"

/* What a worker's poll reports was ready when the poll ended: the clock needs no second look. */
static uint64_t ready_at(const struct ec_base *base)
{
	const struct ec_worker *self = ec_self();
	const struct ec_probe *p = self != NULL && self->base == base ? self->probe : NULL;

	return p != NULL && p->call == NULL ? p->now : ec_clock_ticks();
}

void ec_observed_ready(struct ec_base *base, struct ec_event *ev)
{
	ec_queued_note(ec_load_relaxed(&base->observer), &ev->task, ready_at(base));
}

void ec_observed_post(struct ec_base *base, struct ec_worker *w, struct ec_task *t)
{
	uint64_t now = ec_clock_ticks();

	ec_queued_note(ec_load_relaxed(&base->observer), t, now);
	if (w != NULL)
		ec_observed_note(w, EC_PROBE_POST, t->color, now);
}
