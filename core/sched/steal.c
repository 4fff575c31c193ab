#include "steal.h"

#include "colors.h"
#include "gate.h"
#include "mailbox.h"
#include "observed.h"
#include "os/clock.h"
#include "queue.h"

enum {
	MANY = 8,			/* stolen at once: the share of each color in the time is that of its move */
	MOVES = 6,			/* take as long as the cache misses of a color's run, which no clock sees */
	TAKE_MIN_NS = 130, TAKE_MAX_NS = 400, /* the limits of that estimate */
	STUCK_NS = 150000,		/* in one run */
	TAKE_MAX = 32,
	SCAN_MAX = 64,			/* colors checked in one queue */
	MISS_BACKOFF = 8,			/* after a failed steal: no other for this many times its duration */
	POOR = 2,			/* a steal that brings less work than this many times its duration is poor */
	POOR_MAX_NS = 64000,		/* after a poor steal: the longest wait */
	AWAY = 8,			/* a steal adds this to `away`; a run at home subtracts 1 */
	MOVE_AT = 4 * AWAY,		/* the home moves: four steals in a row, or one run in nine stolen */
};

bool ec_steal_is_busy_for(struct ec_worker *v, uint64_t now, uint64_t ns)
{
	uint64_t since = ec_load_relaxed(&v->busy_since);

	return since != 0 && now > since && ec_clock_ticks_to_ns(now - since) > ns;
}

bool ec_steal_is_stuck(struct ec_worker *v, uint64_t now)
{
	return !ec_load_relaxed(&v->is_started) || ec_steal_is_busy_for(v, now, STUCK_NS);
}

bool ec_steal_is_unattended(struct ec_worker *v)
{
	return !ec_load_relaxed(&v->is_started) &&
	       (ec_load_relaxed(&v->has_thread) || ec_load_relaxed(&v->pending_num) != 0);
}

bool ec_steal_is_worth_any(struct ec_worker *v)
{
	uint64_t mean = ec_load_relaxed(&v->run_ns);

	return mean == 0 || mean > TAKE_MIN_NS || ec_load_relaxed(&v->base->has_costs) ||
	       ec_steal_is_stuck(v, ec_clock_ticks());
}

bool ec_steal_is_worth_trying(struct ec_worker *v)
{
	return ec_worker_runnable(v) != 0 && ec_steal_is_worth_any(v);
}

/* Under RUNQ of `v`: the expected time of `c`; 0: not known. */
static uint64_t left_ns(struct ec_worker *v, struct ec_color *c)
{
	uint64_t left = (uint64_t)c->tasks_num * c->cost_ns;

	if (c->cost_ns == 0)
		return ec_load_relaxed(&v->run_ns);
	/* A color that posts to itself has a short queue and a long run. */
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

/* Under RUNQ of `v`: is one of the first SCAN_MAX colors worth a steal? */
static bool has_worth(struct ec_worker *thief, struct ec_worker *v, bool stuck)
{
	struct ec_color *c = ec_runq_first(&v->runq);
	unsigned left = SCAN_MAX;

	for (; c != NULL && left > 0; c = ec_runq_next(&v->runq, c), left--) {
		if (is_worth(thief, v, c, stuck))
			return true;
	}
	return false;
}

enum ec_victim ec_steal_probe(struct ec_worker *thief, struct ec_worker *v)
{
	uint64_t now = ec_clock_ticks();
	enum ec_victim victim = EC_VICTIM_IDLE;

	ec_run_lock(v);
	ec_mailbox_deliver(v);				/* by MAIL: S3 in park.h */
	if (v->current != NULL || ec_load_relaxed(&v->runq.num) != 0 || ec_steal_is_unattended(v))
		victim = EC_VICTIM_BUSY;
	if ((v->current != NULL || ec_steal_is_stuck(v, now) || ec_load_relaxed(&v->runq.num) > 1) &&
	    ec_steal_is_worth_trying(v) && has_worth(thief, v, ec_steal_is_stuck(v, now)))
		victim = EC_VICTIM_WORTH;
	ec_run_unlock(v);
	return victim;
}

/* Under both RUNQ locks: moves `c`, which is runnable at `victim`, to the thief. */
static void move(struct ec_worker *thief, struct ec_worker *victim, struct ec_color *c)
{
	ec_runq_remove(&victim->runq, c);
	ec_queue_forget_color(victim, c);
	ec_color_take(c, thief);
	ec_color_enqueue(thief, c);
	ec_counter_add(&victim->active_num, (uint32_t)-c->tasks_num);
	ec_counter_add(&thief->active_num, c->tasks_num);
}

/* `c` was stolen. After many steals, its home moves, too. */
static void note_steal(struct ec_worker *thief, struct ec_color *c)
{
	if (ec_load_relaxed(&c->home) == thief->id) {
		c->away = 0;
	} else if ((c->away = (uint8_t)(c->away + AWAY)) >= MOVE_AT) {
		c->away = 0;
		ec_store_relaxed(&c->home, (uint16_t)thief->id);
		ec_counter_add(&thief->stats.moves, 1);
		ec_observed_note(thief, EC_PROBE_MOVE, ec_load_relaxed(&c->number), 0);
	}
}

/* Under both RUNQ locks. Returns the number of colors taken. */
static unsigned take(struct ec_worker *thief, struct ec_worker *v, bool stuck)
{
	bool is_running = v->current != NULL || stuck;
	unsigned max = (ec_load_relaxed(&v->runq.num) + is_running) / 2, left = SCAN_MAX, num = 0;
	struct ec_color *c = ec_runq_first(&v->runq), *next;

	if (max > TAKE_MAX)
		max = TAKE_MAX;
	for (; c != NULL && left > 0 && num < max; c = next, left--) {
		next = ec_runq_next(&v->runq, c);
		if (!is_worth(thief, v, c, stuck))
			continue;
		move(thief, v, c);
		note_steal(thief, c);
		num++;
	}
	return num;
}

static uint32_t mean_of(uint32_t mean, uint64_t ns)
{
	return (uint32_t)(mean == 0 ? ns : (mean * UINT64_C(7) + ns) / 8);
}

/* What a stolen color costs this thief at least. */
static uint64_t take_min(const struct ec_worker *thief)
{
	uint64_t ns = MOVES * (uint64_t)thief->move_ns;

	if (ns > TAKE_MAX_NS)
		return TAKE_MAX_NS;
	return ns < TAKE_MIN_NS ? TAKE_MIN_NS : ns;
}

unsigned ec_steal_from(struct ec_worker *thief, struct ec_worker *v)
{
	uint64_t start = ec_clock_ticks();
	bool is_stuck = ec_steal_is_stuck(v, start);
	unsigned num = 0;
	uint64_t end, ns;

	ec_run_lock(thief);
	if (ec_spin_trylock_peer(&v->run)) {
		ec_mailbox_shut(v);
		num = take(thief, v, is_stuck);
		ec_mailbox_reopen(v);
		ec_spin_unlock(&v->run);
	}
	ec_run_unlock(thief);
	end = ec_clock_ticks();
	if (num == 0) {
		thief->steal_at = end + MISS_BACKOFF * (end - start);
		return 0;
	}
	ns = ec_clock_ticks_to_ns(end - start);
	thief->stolen_cost_ns = ns;
	thief->stolen_busy_ns = ec_load_relaxed(&thief->stats.busy_ns);
	thief->steal_ns = (thief->steal_ns * 7 + ns) / 8;
	if (num >= MANY)
		thief->move_ns = mean_of(thief->move_ns, ns / num);
	thief->take_ns = (thief->take_ns * 7 + ns / num) / 8;
	if (thief->take_ns < take_min(thief))
		thief->take_ns = take_min(thief);
	ec_store_relaxed(&thief->stats.steal_ns, thief->steal_ns);
	ec_counter_add(&thief->stats.steals, 1);
	ec_counter_add(&thief->stats.stolen_colors, num);
	ec_observed_note(thief, EC_PROBE_STEAL, 0, num);
	return num;
}

/*
 * Judges the last steal, after its colors have run. A steal takes the victim's lock, which the victim needs for each
 * post and each run. So many thieves that take a few short colors each time slow it down more than they help. A thief
 * waits after a poor steal, twice as long after each further one. Meanwhile there is more to steal at once.
 */
static bool must_wait(struct ec_worker *thief)
{
	uint64_t cost = thief->stolen_cost_ns;

	thief->stolen_cost_ns = 0;
	if (cost == 0)
		return false;
	if (ec_load_relaxed(&thief->stats.busy_ns) - thief->stolen_busy_ns >= POOR * cost) {
		thief->poor_ns = 0;
		return false;
	}
	thief->poor_ns = thief->poor_ns < cost ? cost : thief->poor_ns * 2;
	if (thief->poor_ns > POOR_MAX_NS)
		thief->poor_ns = POOR_MAX_NS;
	thief->steal_at = ec_clock_ticks() + ec_clock_ns_to_ticks(thief->poor_ns);
	return true;
}

bool ec_steal(struct ec_worker *thief)
{
	struct ec_base *base = thief->base;
	unsigned i, n = ec_workers_num(base);
	struct ec_worker *v;

	if (!base->steals || ec_gate_is_closed(base) || ec_ticks_before(ec_clock_ticks(), thief->steal_at) ||
	    must_wait(thief))
		return false;
	if (thief->take_ns == 0)
		thief->take_ns = take_min(thief);
	for (i = 0; i + 1 < n; i++) {
		v = base->workers[thief->victims[i]];
		if (ec_steal_is_worth_trying(v) && ec_steal_from(thief, v) != 0)
			return true;
	}
	ec_counter_add(&thief->stats.steal_misses, 1);
	ec_observed_note(thief, EC_PROBE_STEAL_MISS, 0, 0);
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
		if (is_locked && at != thief)
			ec_mailbox_shut(at);
		is_there = is_locked && ec_load_acquire(&c->worker) == at;
		is_queued = is_there && c->state == EC_COLOR_QUEUED;
		if (is_queued && at != thief)
			move(thief, at, c);
		if (is_locked && at != thief) {
			ec_mailbox_reopen(at);
			ec_spin_unlock(&at->run);
		}
		if (is_queued)
			return true;
		ec_run_unlock(thief);
		if (is_there)
			return false;
		ec_cpu_relax();
	}
}
