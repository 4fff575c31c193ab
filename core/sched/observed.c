#include "observed.h"

#include "event.h"
#include "os/clock.h"

void ec_observed_ready(struct ec_base *base, struct ec_event *ev)
{
	ec_queued_note(ec_load_relaxed(&base->observer), &ev->task, ec_clock_ticks());
}

void ec_observed_post(struct ec_base *base, struct ec_worker *w, struct ec_task *t)
{
	uint64_t now = ec_clock_ticks();

	ec_queued_note(ec_load_relaxed(&base->observer), t, now);
	if (w != NULL)
		ec_observed_note(w, EC_PROBE_POST, t->color, now);
}
