#include "migrate.h"

#include "deadline.h"
#include "observe/late.h"
#include "sched/event.h"
#include "sched/ready.h"
#include "sched/worker.h"
#include "source.h"
#include "timer.h"

void ec_migrate_note(struct ec_worker *w, struct ec_source *s)
{
	if (s->is_migrant || !ec_fd_stack_push(&w->fds.migrants, ec_source_fd(s)))
		return;			/* without memory, a later report tries again */
	s->is_migrant = true;
	ec_counter_add(&w->migrants_num, 1);
}

/* The callback may run now. So the next report of `to` may be older than the end of that run (is_late). */
static void note_late(struct ec_base *base, struct ec_event *ev)
{
	struct ec_batch b;

	ec_batch_begin(&b, base);
	if (ec_batch_color(&b, ev->task.color, ec_event_hint(ev)) != NULL)
		ec_store_relaxed(ec_event_runner(ev),
				 (uint16_t)(ec_load_relaxed(ec_event_runner(ev)) | EC_RUNNER_LATE));
	ec_batch_end(&b);
}

/* Both SOURCE locks are held. ec_base_is_idle reads the counts without them, and explains M1 and M2. */
static void pending_move(struct ec_worker *w, struct ec_worker *to)
{
	ec_counter_add(&to->pending_num, 1);
	ec_add_acq_rel(&w->base->pending_moves, 1);				/* M1 */
	ec_store_release(&w->pending_num, ec_load_relaxed(&w->pending_num) - 1);	/* M2 */
}

/* SOURCE is held, and guards the bit. But a run of the event changes other bits of the word under RUNQ. */
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

/* `to` may sleep until a later time. */
static void deadline_move(struct ec_worker *w, struct ec_worker *to, struct ec_event *ev)
{
	ec_deadline_clear(w->base, ev);
	(void)ec_timers_arm(&to->timers, &ev->timer.slot, (uint64_t)ev->deadline_ns, ev);	/* was reserved */
	pending_move(w, to);
	if (to->is_waiting)
		ec_deadline_wake(to, ev->deadline_ns);
}

/*
 * The color of `ev` gets the home back that it had, because the registration cannot follow. Otherwise each report of it
 * would try again. The home moves again after as many steals.
 */
static void home_return(struct ec_worker *w, struct ec_worker *to, struct ec_event *ev)
{
	struct ec_color *c;
	struct ec_batch b;

	ec_batch_begin(&b, w->base);
	c = ec_batch_color(&b, ev->task.color, ec_event_hint(ev));
	if (c != NULL && ec_load_relaxed(&c->home) == to->id)
		ec_store_relaxed(&c->home, (uint16_t)w->id);
	ec_batch_end(&b);
}

/*
 * Moves one event of a source at `w` to `to`, the home of its color. Both SOURCE locks are held. False: there is no
 * memory, or the poller of `to` refuses the descriptor. The event stays at `w` then.
 */
static bool event_move(struct ec_worker *w, struct ec_worker *to, struct ec_event *ev)
{
	bool is_timed = has_deadline(w->base, ev);
	int r = is_timed ? ec_timers_reserve(&to->timers) : 0;

	if (r == 0)
		r = ec_source_move(w, to, ev);
	if (r < 0) {
		ec_late_log_errno(EC_LOG_DEBUG, -r, "cannot move fd %d to another worker", ev->fd);
		home_return(w, to, ev);
		return false;
	}
	if (is_timed)
		deadline_move(w, to, ev);
	ec_event_set_state(ev, EC_EV_WORKER, to->id);
	note_late(w->base, ev);
	pending_move(w, to);
	return true;
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

/* Moves the first event of `s` that belongs to another worker. False: there is none, or it cannot move now. */
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
	if (to == NULL)
		return false;
	if (to == *locked)
		return event_move(w, to, ev);
	/* SOURCE locks are taken in the order of ids. So release, take both, check again. */
	ec_src_unlock(w);
	if (*locked != NULL)
		ec_src_unlock(*locked);
	*locked = to;
	ec_src_lock(w->id < to->id ? w : to);
	ec_src_lock(w->id < to->id ? to : w);
	return true;
}

void ec_migrate(struct ec_worker *w)
{
	struct ec_fd_stack *migrants = &w->fds.migrants;
	struct ec_worker *locked = NULL;
	struct ec_source *s;

	if (ec_load_relaxed(&w->migrants_num) == 0)
		return;
	ec_src_lock(w);
	while (migrants->num != 0) {
		s = w->fds.at[migrants->at[migrants->num - 1]];
		if (move_one(w, s, &locked))
			continue;
		migrants->num--;			/* without a move, the lock was not released */
		s->is_migrant = false;
		ec_counter_add(&w->migrants_num, UINT32_MAX);
	}
	if (locked != NULL)
		ec_src_unlock(locked);
	ec_src_unlock(w);
}
