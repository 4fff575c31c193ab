/*
 * What a base reports: its counters, those of its workers and colors, and what runs. Also the hints on colors.
 */
#include <limits.h>
#include <string.h>

#include "ec.h"
#include "io/deadline.h"
#include "io/fds.h"
#include "os/clock.h"
#include "sched/above.h"
#include "sched/base.h"
#include "sched/color.h"
#include "sched/colors.h"
#include "sched/event.h"
#include "sched/post.h"
#include "sched/refs.h"
#include "sched/slabs.h"
#include "sched/worker.h"

enum { TRIES_MAX = 8 };		/* registrations move seldom: after many steals */

/* ---------------------------------------------------------------- what runs */

unsigned ec_base_workers(struct ec_base *base)
{
	return base->workers_max;
}

int ec_base_running_color(struct ec_base *base, uint32_t *ret)
{
	struct ec_worker *w = ec_worker_in(base);

	if (w == NULL)
		return -ENOENT;
	if (ec_is_colored(base) && w->current == NULL)
		return -ENOENT;
	if (base->is_single)
		*ret = w->running_color;
	else
		*ret = w->current == NULL ? 0 : ec_load_relaxed(&w->current->number);
	return 0;
}

void ec_base_inherit_colors(struct ec_base *base, bool is_on)
{
	ec_store_relaxed(&base->is_color_inherited, is_on);
}

uint32_t ec_base_color_to_inherit(struct ec_base *base)
{
	uint32_t color;

	if (!ec_load_relaxed(&base->is_color_inherited) || ec_base_running_color(base, &color) < 0)
		return 0;
	return color;
}

static __attribute__((noinline)) bool runs_color(struct ec_base *base, uint32_t color)
{
	uint32_t running;

	return (ec_base_running_color(base, &running) == 0 ? running : 0) == color;
}

bool ec_base_has_colors(struct ec_base *base)
{
	return ec_has_colors(base);
}

/* Without colors, all that runs is color 0's. */
bool ec_base_may_call(struct ec_base *base, uint32_t color)
{
	if (!ec_load_relaxed(&base->is_locked) || (color == 0 && !ec_has_colors(base)))
		return true;
	return runs_color(base, color);
}

unsigned ec_base_running_worker(struct ec_base *base)
{
	struct ec_worker *w = ec_worker_in(base);

	return w == NULL ? UINT_MAX : w->id;
}

struct ec_event *ec_base_running_event(struct ec_base *base)
{
	struct ec_worker *w = ec_worker_in(base);

	return w == NULL ? NULL : ec_load_relaxed(&w->running_event);
}

/* ---------------------------------------------------------------- hints */

int ec_color_set_cost(struct ec_base *base, uint32_t color, uint32_t ns)
{
	_Atomic(uint32_t) hint = 0;
	struct ec_color *c;
	int r;

	if (color == 0)
		return -EINVAL;
	r = ec_base_start_colors(base, EC_BIRTH_MAY_FAIL);
	if (r < 0 || base->is_single) /* single: nothing is ever stolen */
		return r;
	c = ec_color_lock(base, color, &hint);
	if (c == NULL)
		return -ENOMEM;
	c->cost_ns = ns;
	ec_store_relaxed(&base->has_costs, true);
	ec_color_keep(base, c, EC_COLOR_COST_SET, ns != 0);
	ec_color_unlock(c);
	return 0;
}

int ec_color_set_penalty(struct ec_base *base, uint32_t color, uint32_t factor)
{
	_Atomic(uint32_t) hint = 0;
	struct ec_color *c;
	int r;

	if (color == 0 || factor > UINT16_MAX)
		return -EINVAL;
	r = ec_base_start_colors(base, EC_BIRTH_MAY_FAIL);
	if (r < 0 || base->is_single)
		return r;
	c = ec_color_lock(base, color, &hint);
	if (c == NULL)
		return -ENOMEM;
	c->penalty = (uint16_t)factor;
	ec_color_keep(base, c, EC_COLOR_PENALTY_SET, factor != 1);
	ec_color_unlock(c);
	return 0;
}

/* ---------------------------------------------------------------- workers and colors */

static uint32_t homed_colors(struct ec_base *base, unsigned worker)
{
	uint32_t i, num = 0, used = ec_colors_used(&base->colors);
	struct ec_color *c;

	for (i = 0; i < used; i++) {
		c = ec_color_at(base, i);
		if (ec_load_acquire(&c->alive) != 0 && ec_load_relaxed(&c->home) == worker)
			num++;
	}
	return num;
}

/* Of a base without workers: the time in its lanes, up to now if the calling thread is in one. */
static uint64_t lanes_ns(struct ec_worker *w)
{
	uint64_t cycles = ec_load_plain(&w->lanes_cycles);

	if (!ec_is_colored(w->base) && ec_worker_is_mine(w) && w->current != NULL)
		cycles += ec_clock_cycles() - w->lanes_began;
	return cycles == 0 ? 0 : ec_clock_cycles_to_ns(cycles);
}

int ec_base_worker_stats(struct ec_base *base, unsigned worker, struct ec_worker_stats *ret)
{
	struct ec_worker *w;

	if (worker >= base->workers_max)
		return -EINVAL;
	memset(ret, 0, sizeof(*ret));
	if (worker >= ec_workers_num(base))
		return 0;
	w = base->workers[worker];
	ret->callbacks = ec_load_relaxed(&w->stats.callbacks);
	ret->posts = ec_load_relaxed(&w->stats.posts);
	ret->turns = ec_load_relaxed(&w->stats.turns);
	ret->sleeps = ec_load_relaxed(&w->stats.sleeps);
	ret->wakeups = ec_load_relaxed(&w->stats.wakeups);
	ret->steals = ec_load_relaxed(&w->stats.steals);
	ret->stolen_colors = ec_load_relaxed(&w->stats.stolen_colors);
	ret->steal_misses = ec_load_relaxed(&w->stats.steal_misses);
	ret->steal_ns = ec_load_relaxed(&w->stats.steal_ns);
	ret->moves = ec_load_relaxed(&w->stats.moves);
	ret->disarms = ec_load_relaxed(&w->stats.disarms);
	ret->busy_ns = ec_load_relaxed(&w->stats.busy_ns) + lanes_ns(w);
	ec_run_lock(w);
	ret->runnable_colors = ec_load_relaxed(&w->runq.num);
	ec_run_unlock(w);
	ret->homed_colors = homed_colors(base, worker);
	return 0;
}

/* The events of one color that are pending. */
struct count {
	/* const */
	struct ec_base *base;
	uint32_t color;

	/* own */
	uint32_t num;
};

/* `ev` has a deadline. Only SOURCE is held, but a run of the event changes other bits of the word under RUNQ. */
static bool is_timer_only(const struct count *n, const struct ec_event *ev)
{
	_Atomic(uint32_t) hint = 0;
	struct ec_color *c;
	bool is_inserted;

	if ((ev->events & (EC_DESCRIPTOR | EC_SIGNAL)) == 0)
		return true;
	c = ec_color_lock_existing(n->base, n->color, &hint);
	is_inserted = (ev->task.flags & EC_IN_INSERTED) != 0;
	if (c != NULL)
		ec_color_unlock(c);
	return !is_inserted;
}

/* The other events are counted by what they watch. */
static void count_timer(struct ec_event *ev, void *arg)
{
	struct count *n = arg;

	if (ec_event_color_now(ev) == n->color && is_timer_only(n, ev))
		n->num++;
}

static void count_watching(struct count *n, struct ec_worker *w)
{
	struct ec_signals *signals = &n->base->signals;
	struct ec_source *s;
	struct ec_list *at;
	int i;

	for (i = 0; i < w->fds.cap; i++) {
		s = ec_source_find(&w->fds, i);
		for (at = s == NULL ? NULL : s->events.next; at != NULL && at != &s->events; at = at->next)
			n->num += ec_event_color_now(ec_container_of(at, struct ec_event, of.io.link)) == n->color;
	}
	for (i = 1; w->id == 0 && signals->at != NULL && i < EC_SIGNALS; i++) {
		for (at = signals->at[i].next; at != &signals->at[i]; at = at->next)
			n->num += ec_event_color_now(ec_container_of(at, struct ec_event, of.sig.link)) == n->color;
	}
}

/*
 * Searches all events, one worker after another, each under its SOURCE: a timer that begins anew may change its place.
 * False: a registration has moved to another worker meanwhile (M1 in quiet.c). Those of color 0 stay at worker 0.
 */
static bool count_once(struct count *n)
{
	unsigned i, num = n->color == 0 ? 1 : ec_workers_num(n->base);
	uint32_t moves = ec_load_acquire(&n->base->pending_moves);
	struct ec_worker *w;

	n->num = 0;
	for (i = 0; i < num; i++) {
		w = n->base->workers[i];
		ec_src_lock(w);
		count_watching(n, w);
		ec_deadlines_visit(w, count_timer, n);
		ec_src_unlock(w);
	}
	return n->color == 0 || ec_load_acquire(&n->base->pending_moves) == moves;
}

static uint32_t count_pending(struct ec_base *base, uint32_t color)
{
	struct count n = { .base = base, .color = color };
	int tries = TRIES_MAX;

	while (!count_once(&n) && --tries != 0)
		;
	return n.num;
}

static uint32_t count_queued(const struct ec_list *head, uint32_t color)
{
	const struct ec_list *at;
	uint32_t num = 0;

	for (at = head->next; at != head; at = at->next)
		num += ec_container_of(at, struct ec_task, link)->color == color;
	return num;
}

/* Posts of the running callback to its own color, and those of the queue that run before them: its worker knows. */
static uint32_t count_local(struct ec_base *base, uint32_t color)
{
	const struct ec_worker *w = ec_worker_in(base);
	uint32_t i, num = 0;

	if (w == NULL || w->ring == NULL)
		return 0;
	for (i = w->local_head; i != w->local_tail; i++)
		num += w->ring->at[i % EC_LOCAL_MAX].color == color;
	return num;
}

/* A color is only a name there, and has no counters: count all that is queued or pending. */
static int single_color_stats(struct ec_base *base, struct ec_color_stats *stats)
{
	unsigned i;

	ec_run_lock(&base->zero);
	for (i = 0; i < base->lanes_num; i++)
		stats->queued += count_queued(&base->lanes[i].posts, stats->color) +
				 count_queued(&base->lanes[i].others, stats->color);
	ec_run_unlock(&base->zero);
	stats->queued += count_local(base, stats->color);
	stats->events = count_pending(base, stats->color);
	return stats->color != 0 && stats->queued + stats->events == 0 ? -ENOENT : 0;
}

/* Under RUNQ: the references of pending events, and of posts that are reserved. */
static uint32_t event_refs(const struct ec_color *c)
{
	uint32_t runs = c->state == EC_COLOR_RUNNING ? 1 : c->readers;
	uint32_t hints = (c->flags & (EC_COLOR_COST_SET | EC_COLOR_PENALTY_SET)) != 0;

	return c->refs - c->tasks_num - runs - hints;
}

static int several_color_stats(struct ec_base *base, struct ec_color_stats *stats)
{
	_Atomic(uint32_t) hint = 0;
	struct ec_color *c;

	c = ec_color_lock_existing(base, stats->color, &hint);
	if (c == NULL)
		return -ENOENT;
	stats->worker = ec_load_relaxed(&c->worker)->id;
	stats->home = ec_load_relaxed(&c->home);
	stats->queued = c->tasks_num;
	stats->events = c == &base->color0 ? UINT32_MAX : event_refs(c);
	stats->cost_ns = c->cost_ns;
	stats->callbacks = c->callbacks;
	ec_color_unlock(c);
	stats->queued += count_local(base, stats->color);
	/* Color 0 has no such references. */
	if (stats->color == 0 || (stats->events != 0 && ec_load_relaxed(&base->has_reserved)))
		stats->events = count_pending(base, stats->color);
	return 0;
}

int ec_base_color_stats(struct ec_base *base, uint32_t color, struct ec_color_stats *ret)
{
	struct ec_color_stats stats = { .color = color };
	int r = 0;

	if (!ec_has_colors(base) && color != 0)
		return -ENOENT;
	if (!ec_has_colors(base)) {
		stats.queued = ec_load_relaxed(&base->zero.active_num);	/* all of it is queued color 0's */
		stats.events = count_pending(base, 0);
	} else {
		r = base->is_single ? single_color_stats(base, &stats) : several_color_stats(base, &stats);
	}
	if (r == 0)
		*ret = stats;
	return r;
}

/* ---------------------------------------------------------------- numbers of events */

static inline uint32_t active_num(const struct ec_worker *w)
{
	return ec_load_relaxed(&w->active_num) + ec_worker_messages(w);
}

int ec_base_num_events(struct ec_base *base, unsigned which)
{
	uint32_t active = active_num(&base->zero), pending = ec_load_relaxed(&base->zero.pending_num), num = 0;
	unsigned i;

	for (i = 1; i < ec_workers_num(base); i++) {
		active += active_num(base->workers[i]);
		pending += ec_load_relaxed(&base->workers[i]->pending_num);
	}
	if ((which & EC_COUNT_ACTIVE) != 0)
		num += active;
	if ((which & EC_COUNT_VIRTUAL) != 0)
		num += ec_load_relaxed(&base->virtuals);
	if ((which & EC_COUNT_ADDED) != 0)
		num += pending + active;
	return (int)num;
}

static int max_take(_Atomic(int) *max, bool clear)
{
	return clear ? ec_swap_acq_rel(max, 0) : ec_load_relaxed(max);
}

int ec_base_max_events(struct ec_base *base, unsigned which, bool clear)
{
	int num = 0;

	ec_base_note_max(base);
	if ((which & EC_COUNT_ACTIVE) != 0)
		num += max_take(&base->max_active, clear);
	if ((which & EC_COUNT_VIRTUAL) != 0)
		num += max_take(&base->max_virtual, clear);
	if ((which & EC_COUNT_ADDED) != 0)
		num += max_take(&base->max_added, clear);
	return num;
}

void ec_base_add_virtual(struct ec_base *base)
{
	ec_src_lock(&base->zero);
	ec_counter_add(&base->virtuals, 1);
	ec_base_raise_max(base, &base->max_virtual, (int)ec_load_relaxed(&base->virtuals));
	ec_src_unlock(&base->zero);
}

void ec_base_del_virtual(struct ec_base *base)
{
	ec_src_lock(&base->zero);
	ec_counter_add(&base->virtuals, UINT32_MAX);
	ec_src_unlock(&base->zero);
}
