#include "steal.h"

#include "colors.h"
#include "gate.h"
#include "os/clock.h"
#include "queue.h"

enum {
	TAKE_MIN_NS = 400,		/* for each color of a steal: later cache misses are not measured */
	PREY_NS = 400,			/* of work in a queue, at least, to look into it */
	WAKE_NS = 5000,			/* …, to wake a thief for it: what that costs who wakes it, and more */
	STUCK_NS = 150000,		/* in one run: longer than it may take, but for its last callback */
	TAKE_MAX = 32,
	LOOK_MAX = 64,			/* colors looked at in one queue */
	MISS_REST = 8,			/* after a look that found nothing: so many times as long without one */
	AWAY = 8,			/* what a steal adds to `away`, and a run at home takes 1 of */
	MOVE_AT = 4 * AWAY,		/* that much moves a home: four steals in a row, or one run in nine stolen */
};

bool ec_steal_is_busy_for(struct ec_worker *v, uint64_t now, uint64_t ns)
{
	uint64_t since = ec_load_relaxed(&v->busy_since);

	return since != 0 && now > since && ec_clock_ticks_to_ns(now - since) > ns;
}

/* Nothing that waits at `v` is found soon: it has no thread, or one in its start callback or in a long run. */
bool ec_steal_is_stuck(struct ec_worker *v, uint64_t now)
{
	return !ec_load_relaxed(&v->is_started) || ec_steal_is_busy_for(v, now, STUCK_NS);
}

bool ec_steal_is_unattended(struct ec_worker *v)
{
	return !ec_load_relaxed(&v->is_started) &&
	       (ec_load_relaxed(&v->has_thread) || ec_load_relaxed(&v->pending_num) != 0);
}

/*
 * Without locks: would what waits at `v` take longer than `ns`? Many colors, each of which runs shorter than
 * it takes to move it, are best left where they are, however many they are.
 */
static bool is_longer(struct ec_worker *v, uint64_t ns)
{
	uint64_t num = ec_worker_runnable(v), mean = ec_load_relaxed(&v->run_ns);

	if (num == 0)
		return false;
	return mean == 0 || (mean > TAKE_MIN_NS && num * mean > ns) || ec_load_relaxed(&v->base->has_costs) ||
	       ec_steal_is_stuck(v, ec_clock_ticks());
}

bool ec_steal_is_worth_waking(struct ec_worker *v)
{
	return is_longer(v, WAKE_NS);
}

/* Under RUNQ of `v`: the time that `c` is expected to take; 0: nobody knows. */
static uint64_t left_ns(struct ec_worker *v, struct ec_color *c)
{
	uint64_t left = (uint64_t)c->tasks_num * c->cost_ns;

	if (c->cost_ns == 0)
		return ec_load_relaxed(&v->run_ns);
	/* What posts to itself has a short queue and a long run. */
	return (c->flags & EC_COLOR_COST_SET) == 0 && c->run_ns > left ? c->run_ns : left;
}

static bool is_worth(struct ec_worker *thief, struct ec_worker *v, struct ec_color *c, bool stuck)
{
	uint64_t left;

	if ((c->flags & EC_COLOR_PINNED) != 0 || c->penalty == 0)
		return false;
	if (stuck)
		return true;
	left = left_ns(v, c);
	return left == 0 || left > thief->take_ns * c->penalty;
}

static struct ec_color *next_in(struct ec_list *head, struct ec_list *at)
{
	return at->next == head ? NULL : ec_container_of(at->next, struct ec_color, node);
}

/* Walk the run queue in order; up to LOOK_MAX colors. The callback returns false to stop. */
static void walk(struct ec_runq *q, bool (*fn)(struct ec_color *c, void *arg), void *arg)
{
	unsigned level = ec_runq_level(q), looks = 0, i;
	struct ec_color *c, *next;

	if (level == EC_PRI_MAX)
		return;
	for (; level < q->levels_num; level++) {
		struct ec_list *heads[] = { &q->level[level].posts, &q->level[level].others };

		for (i = 0; i < 2; i++) {
			for (c = next_in(heads[i], heads[i]); c != NULL; c = next) {
				next = next_in(heads[i], &c->node);
				if (looks++ == LOOK_MAX || !fn(c, arg))
					return;
			}
		}
	}
}

struct look {
	struct ec_worker *thief, *victim;
	bool stuck;
	bool found;
};

static bool look_at(struct ec_color *c, void *arg)
{
	struct look *l = arg;

	l->found = is_worth(l->thief, l->victim, c, l->stuck);
	return !l->found;
}

enum ec_prey ec_steal_look(struct ec_worker *thief, struct ec_worker *v)
{
	uint64_t now = ec_clock_ticks();
	struct look l = { .thief = thief, .victim = v, .stuck = ec_steal_is_stuck(v, now) };
	enum ec_prey prey = EC_PREY_NONE;

	ec_run_lock(v);
	if (v->current != NULL || ec_load_relaxed(&v->runq.num) != 0 || ec_steal_is_unattended(v))
		prey = EC_PREY_BUSY;
	if ((v->current != NULL || !ec_load_relaxed(&v->is_started) || ec_load_relaxed(&v->runq.num) > 1) &&
	    is_longer(v, PREY_NS))
		walk(&v->runq, look_at, &l);
	ec_run_unlock(v);
	return l.found ? EC_PREY_WORTH : prey;
}

struct take {
	struct ec_worker *thief, *victim;
	bool stuck;
	unsigned max, num, tasks;
};

void ec_steal_color(struct ec_worker *thief, struct ec_worker *victim, struct ec_color *c)
{
	ec_runq_remove(&victim->runq, c);
	ec_color_take(c, thief);
	ec_color_enqueue(thief, c);
}

static bool take_one(struct ec_color *c, void *arg)
{
	struct take *t = arg;

	if (!is_worth(t->thief, t->victim, c, t->stuck))
		return true;
	ec_steal_color(t->thief, t->victim, c);
	if (ec_load_relaxed(&c->home) == t->thief->id) {
		c->away = 0;
	} else if ((c->away = (uint8_t)(c->away + AWAY)) >= MOVE_AT) {
		c->away = 0;
		ec_store_relaxed(&c->home, (uint16_t)t->thief->id);
		ec_counter_add(&t->thief->stats.moves, 1);
	}
	t->tasks += c->tasks_num;
	t->num++;
	return t->num < t->max;
}

/* Both RUNQ locks held: from here on the colors are the thief's as if they had always been. */
static void take(struct take *t)
{
	unsigned runnable = ec_load_relaxed(&t->victim->runq.num);
	bool is_running = t->victim->current != NULL || !ec_load_relaxed(&t->victim->is_started);

	t->max = is_running ? (runnable + 1) / 2 : runnable / 2;
	if (t->max > TAKE_MAX)
		t->max = TAKE_MAX;
	if (t->max == 0)
		return;
	walk(&t->victim->runq, take_one, t);
	ec_counter_add(&t->victim->active_num, (uint32_t)-t->tasks);
	ec_counter_add(&t->thief->active_num, t->tasks);
}

unsigned ec_steal_rob(struct ec_worker *thief, struct ec_worker *v)
{
	uint64_t start = ec_clock_ticks();
	struct take t = { .thief = thief, .victim = v, .stuck = ec_steal_is_stuck(v, start) };
	uint64_t end, ns;

	ec_run_lock(thief);
	if (ec_spin_trylock_peer(&v->run)) {
		ec_mail_look(v);
		take(&t);
		ec_spin_unlock(&v->run);
	}
	ec_run_unlock(thief);
	end = ec_clock_ticks();
	if (t.num == 0) {
		thief->steal_at = end + MISS_REST * (end - start);
		return 0;
	}
	ns = ec_clock_ticks_to_ns(end - start);
	thief->steal_ns = (thief->steal_ns * 7 + ns) / 8;
	thief->take_ns = (thief->take_ns * 7 + ns / t.num) / 8;
	if (thief->take_ns < TAKE_MIN_NS)
		thief->take_ns = TAKE_MIN_NS;
	ec_store_relaxed(&thief->stats.steal_ns, thief->steal_ns);
	ec_counter_add(&thief->stats.steals, 1);
	ec_counter_add(&thief->stats.stolen_colors, t.num);
	return t.num;
}

bool ec_steal(struct ec_worker *thief)
{
	struct ec_base *base = thief->base;
	unsigned i, n = ec_workers_num(base);
	struct ec_worker *v;

	if (!base->steals || ec_gate_is_closed(base) || ec_clock_ticks() < thief->steal_at)
		return false;
	if (thief->take_ns == 0)
		thief->take_ns = TAKE_MIN_NS;
	for (i = 0; i + 1 < n; i++) {
		v = base->workers[thief->victims[i]];
		if (is_longer(v, PREY_NS) && ec_steal_rob(thief, v) != 0)
			return true;
	}
	ec_counter_add(&thief->stats.steal_misses, 1);
	return false;
}

bool ec_steal_fetch(struct ec_worker *thief, struct ec_color *c) EC_NO_ANALYSIS
{
	bool is_locked, is_there, is_queued;
	struct ec_worker *at;

	for (;;) {
		ec_run_lock(thief);
		at = ec_load_acquire(&c->worker);			/* meets ec_color_take */
		is_locked = at == thief || ec_spin_trylock_peer(&at->run);
		if (is_locked)
			ec_mail_look(at);
		is_there = is_locked && ec_load_acquire(&c->worker) == at;
		is_queued = is_there && c->state == EC_COLOR_QUEUED;
		if (is_queued && at != thief) {
			ec_steal_color(thief, at, c);
			ec_counter_add(&at->active_num, (uint32_t)-c->tasks_num);
			ec_counter_add(&thief->active_num, c->tasks_num);
		}
		if (is_locked && at != thief)
			ec_spin_unlock(&at->run);
		if (is_queued)
			return true;
		ec_run_unlock(thief);
		if (is_there)
			return false;
		ec_cpu_relax();
	}
}
