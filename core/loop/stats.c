/*
 * What a base reports: its counters, those of its workers and colors, and what runs. Also the hints on colors.
 */
#include <limits.h>
#include <string.h>

#include "ec.h"
#include "os/clock.h"
#include "sched/above.h"
#include "sched/base.h"
#include "sched/color.h"
#include "sched/colors.h"
#include "sched/event.h"
#include "sched/refs.h"
#include "sched/slabs.h"
#include "sched/worker.h"

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

/* Without colors, all that runs is color 0's. */
bool ec_base_has_colors(struct ec_base *base)
{
	return ec_has_colors(base);
}

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

static int count_event(struct ec_base *base, struct ec_event *ev, void *arg)
{
	struct ec_color_stats *stats = arg;

	(void)base;
	if (ev->task.color == stats->color && ec_event_is_pending(ev))
		stats->events++;
	return 0;
}

static void count_queued(struct ec_list *head, struct ec_color_stats *stats)
{
	struct ec_list *at;

	for (at = head->next; at != head; at = at->next) {
		if (ec_container_of(at, struct ec_task, link)->color == stats->color)
			stats->queued++;
	}
}

/* A color is only a name there, and has no counters: count all that is queued or pending. */
static int single_color_stats(struct ec_base *base, struct ec_color_stats *stats)
{
	unsigned i;

	ec_run_lock(&base->zero);
	for (i = 0; i < base->lanes_num; i++) {
		count_queued(&base->lanes[i].posts, stats);
		count_queued(&base->lanes[i].others, stats);
	}
	ec_run_unlock(&base->zero);
	if (ec_base_foreach_event(base, count_event, stats) < 0)
		return -ENOMEM;
	return stats->queued + stats->events == 0 ? -ENOENT : 0;
}

int ec_base_color_stats(struct ec_base *base, uint32_t color, struct ec_color_stats *ret)
{
	_Atomic(uint32_t) hint = 0;
	struct ec_color *c;

	if (base->is_single && color != 0) {
		*ret = (struct ec_color_stats){ .color = color };
		return single_color_stats(base, ret);
	}
	c = ec_color_lock_existing(base, color, &hint);
	if (c == NULL)
		return -ENOENT;
	*ret = (struct ec_color_stats){
		.color = color,
		.worker = ec_load_relaxed(&c->worker)->id,
		.home = ec_load_relaxed(&c->home),
		.queued = c->tasks_num,
		.events = color == 0 ? ec_load_relaxed(&base->zero.pending_num) : c->refs - c->tasks_num,
		.cost_ns = c->cost_ns,
		.callbacks = c->callbacks,
	};
	ec_color_unlock(c);
	return 0;
}

/* ---------------------------------------------------------------- numbers of events */

int ec_base_num_events(struct ec_base *base, unsigned which)
{
	int active = 0, pending = 0, num = 0;
	unsigned i;

	for (i = 0; i < ec_workers_num(base); i++) {
		active += (int)(ec_load_relaxed(&base->workers[i]->active_num) +
				ec_load_relaxed(&base->workers[i]->mailbox_num));
		pending += (int)ec_load_relaxed(&base->workers[i]->pending_num);
	}
	if ((which & EC_COUNT_ACTIVE) != 0)
		num += active;
	if ((which & EC_COUNT_VIRTUAL) != 0)
		num += (int)ec_load_relaxed(&base->virtuals);
	if ((which & EC_COUNT_ADDED) != 0)
		num += pending + active;
	return num;
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
