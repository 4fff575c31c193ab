#include "misuse.h"

#include <errno.h>
#include <limits.h>

#include "base.h"
#include "os/clock.h"
#include "runs.h"

enum { GRAVES = 64, LONG_NS = 1000000000 };

/* atomic: the bases that were freed last, by bury; check_base meets it. Without a lock, so that a fork leaves none. */
static _Atomic(struct ec_base *) graves[GRAVES];
static _Atomic(uint32_t) graves_num;

/* ---------------------------------------------------------------- freed bases */

struct ec_base *ec_misuse_bury(struct ec_base *base)
{
	uint32_t at = ec_add_acq_rel(&graves_num, 1) % GRAVES;

	ec_store_relaxed(&base->posts_pri_end, INT_MIN);
	return ec_swap_acq_rel(&graves[at], base);
}

void ec_misuse_forget(void)
{
	unsigned i;

	for (i = 0; i < GRAVES; i++)
		ec_free(ec_swap_acq_rel(&graves[i], NULL));
}

bool ec_misuse_check_base(const struct ec_base *base, const char *caller)
{
	uint32_t i, num = ec_load_acquire(&graves_num);

	for (i = 0; i < num && i < GRAVES; i++) {
		if (base == NULL || ec_load_acquire(&graves[i]) != base)
			continue;
		ec_log(EC_LOG_WARN, "%s: event_base %p was freed before; end all that uses a base before "
				    "event_base_free()", caller, (const void *)base);
		return false;
	}
	return true;
}

/* A forked child may free its base in a callback from which it does not return, with work that is the parent's. */
static bool is_parents_loop(const struct ec_base *base)
{
	return base->is_child || base->reinits_num != 0;
}

bool ec_misuse_check_free(struct ec_base *base)
{
	if (!ec_misuse_check_base(base, "event_base_free"))
		return false;
	if (is_parents_loop(base))
		return true;
	if (ec_worker_in(base) != NULL)
		ec_log(EC_LOG_WARN, "event_base_free: called in a callback of that event_base, whose loop still needs "
				    "it; free it after event_base_loop() has returned");
	else if (ec_load_acquire(&base->is_running))
		ec_log(EC_LOG_WARN, "event_base_free: another thread runs the loop of that event_base; call "
				    "event_base_loopbreak() and wait for the end of that loop first");
	return true;
}

void ec_misuse_note_lost(const struct ec_base *base, uint32_t posts_num)
{
	if (posts_num != 0 && !is_parents_loop(base))
		ec_log(EC_LOG_WARN, "event_base_free: posts that never ran: %u, and they cannot free their arguments; "
				    "run the loop to its end first, or use bufferevent_post()", posts_num);
}

/* ---------------------------------------------------------------- colors */

void ec_misuse_note_refused(const struct ec_event *ev, const char *caller, int err)
{
	if (err == -EBUSY)
		ec_log(EC_LOG_WARN, "%s: event %p (fd %d) is pending or active, and keeps color %u; set the color "
				    "before event_add(), or after event_del()",
		       caller, (const void *)ev, ev->fd, ec_event_color(ev));
	else if ((ev->task.flags & EC_IN_INIT) == 0)
		ec_log(EC_LOG_WARN, "%s: event %p is not initialized; call event_new() or event_assign() first",
		       caller, (const void *)ev);
	else
		ec_log(EC_LOG_WARN, "%s: color 0 cannot be shared; give the event another color", caller);
}

/* event_color_new() returned it, and it was released since. */
static bool is_released(struct ec_base *base, uint32_t color)
{
	struct ec_numbers *n = &base->numbers;
	uint32_t i = color - EC_NUMBER_FIRST;
	bool is;

	if (color < EC_NUMBER_FIRST)
		return false;
	ec_spin_lock(&n->mu);
	is = i < (uint32_t)n->num && n->next[i] != EC_NUMBER_USED;
	ec_spin_unlock(&n->mu);
	return is;
}

static void warn_of_released(uint32_t color, const char *caller)
{
	ec_log(EC_LOG_WARN, "%s: color %u was released, so event_color_new() may return it to others; release a color "
			    "after its last post and event_add()", caller, color);
}

/* False: the base does not exist. */
bool ec_misuse_check_add(struct ec_event *ev)
{
	uint32_t color = ec_event_color(ev), running;

	if (!ec_misuse_check_base(ev->base, "event_add"))
		return false;
	if (is_released(ev->base, color) && !ec_debug_is_ours(ev))
		warn_of_released(color, "event_add");
	if (ec_is_colored(ev->base) && ec_runs_in_other_color(ev->base, ev, &running))
		ec_log(EC_LOG_WARN, "event_add: event %p (fd %d) has color %u now, but its callback still runs in "
				    "color %u, and may overlap the next one; call event_del(), which waits for the "
				    "callback, before event_set_color()",
		       (void *)ev, ev->fd, color, running);
	return true;
}

bool ec_misuse_check_post(struct ec_base *base, uint32_t color, bool is_job)
{
	if (!ec_misuse_check_base(base, "event_base_post"))
		return false;
	if (!is_job && ec_debug_on() && is_released(base, color))
		warn_of_released(color, "event_base_post");
	return true;
}

/* ---------------------------------------------------------------- callbacks that wait */

/* Under RUNQ of `v`: the callbacks that wait for the end of its run. */
static uint32_t waiting_num(struct ec_worker *v, uint32_t *color)
{
	const struct ec_color *c = v->current;

	if (c == NULL || c->state != EC_COLOR_RUNNING || ec_load_relaxed(&c->worker) != v)
		return 0;
	*color = ec_load_relaxed(&c->number);
	return c->tasks_num;
}

void ec_misuse_check_stuck(struct ec_worker *v, uint64_t now)
{
	uint64_t since = ec_load_relaxed(&v->busy_since);
	uint32_t num = 0, color = 0;

	if (since <= 1 || now <= since || ec_clock_ticks_to_ns(now - since) < LONG_NS)
		return;
	ec_run_lock(v);
	if (ec_load_relaxed(&v->busy_since) == since && v->told_since != since)
		num = waiting_num(v, &color);
	if (num != 0)
		v->told_since = since;
	ec_run_unlock(v);
	if (num != 0)
		ec_log(EC_LOG_WARN, "a callback of color %u has run for more than a second, and others of that color "
				    "wait: %u; if it waits for one of them, give that one another color",
		       color, num);
}

/* ---------------------------------------------------------------- pauses */

void ec_misuse_check_pause(struct ec_worker *w)
{
	if (ec_load_relaxed(&w->base->pauser) == ec_thread_key())
		ec_log(EC_LOG_WARN, "event_base_pause: a callback returned without event_base_resume(), so no callback "
				    "runs any more; resume in the callback that pauses");
}
