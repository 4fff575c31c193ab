#include "virtual.h"

#include <string.h>

#include "ec.h"
#include "io/deadline.h"
#include "io/ordered.h"
#include "io/polling.h"
#include "mode.h"
#include "observe/check.h"
#include "os/clock.h"
#include "os/virtual_clock.h"
#include "policy.h"
#include "sched/gate.h"
#include "sched/post.h"
#include "sched/queue.h"
#include "sched/run.h"

enum {
	READY_MAX = 1024,		/* colors to choose from; more wait until these have run */
	ROW = 128,			/* callbacks of a color in a row, by order */
	TURN = 64,			/* callbacks until the colors without posts go first, or no longer */
	OTHERS = 64,			/* of so many runs of a color, in one its posts go last */
	READY_PER_POLL = 8,		/* a poll for each such part of the ready colors: with many, it costs most */
};

struct ec_virtual {
	/* const */
	struct ec_ordered ordered;
	uint64_t id;			/* of the base, among those of the process */
	bool is_alone;			/* one worker is configured: priorities hold between colors */

	/* own: the loop's thread */
	struct ec_color *last;		/* that ran last */
	unsigned row;			/* its callbacks in a row */
	bool is_others_turn;		/* colors without posts go first; changes between two rows only */
	uint64_t turn_began;		/* at so many runs */
	uint64_t runs;
	uint32_t until_poll;		/* turns without a poll */
	uint32_t num;			/* of those to choose from; ready[0] is the one by order */
	struct ec_color *ready[READY_MAX + 1]; /* NULL: the clock */
	uint64_t keys[READY_MAX + 1];
};

/* The race checker needs no seed: then the order is that of the queues. */
static bool is_wanted(bool ignores_env)
{
	return (!ignores_env && ec_mode_is_on()) || ec_check_mode() != EC_CHECK_OFF;
}

struct ec_virtual *ec_virtual_new(bool ignores_env, unsigned workers_num)
{
	static _Atomic(uint64_t) ids;
	struct ec_virtual *v;

	if (!is_wanted(ignores_env))
		return NULL;
	v = ec_malloc(sizeof(*v));
	if (v == NULL) {
		ec_log(EC_LOG_WARN, "no memory for virtual workers: this base has none");
		return NULL;
	}
	v->id = ec_add_relaxed(&ids, 1);
	v->is_alone = workers_num == 1;
	v->last = NULL;
	v->row = 0;
	v->is_others_turn = false;
	v->turn_began = 0;
	v->runs = 0;
	v->until_poll = 0;
	v->num = 0;
	return v;
}

void ec_virtual_free(struct ec_virtual *v)
{
	ec_free(v);
}

void ec_virtual_take_poller(struct ec_base *base)
{
	ec_ordered_take(&base->virtual->ordered, base->zero.poller);
}

/* ---------------------------------------------------------------- what is ready */

static uint64_t key_of(const struct ec_base *base, const struct ec_color *c)
{
	return base->virtual->id << 32 | (c == &base->color0 ? 0 : c->index + 1);
}

/* By order: the color that ran last, for a while; else the first, and in turns the first that has no post due. */
static uint32_t first_by_order(const struct ec_virtual *v, unsigned level)
{
	uint32_t i, other = 0;

	for (i = v->num; i-- > 0;) {
		if (v->ready[i] == v->last && v->row < ROW && v->last->level == level)
			return i;
		if (v->ready[i]->level == level && (v->ready[i]->flags & EC_COLOR_IN_POSTS) == 0)
			other = i;
	}
	return v->is_others_turn ? other : 0;
}

static void move_to_front(struct ec_virtual *v, uint32_t i)
{
	struct ec_color *c = v->ready[i];

	memmove(&v->ready[1], &v->ready[0], i * sizeof(struct ec_color *));
	v->ready[0] = c;
}

/* Colors with posts come first in the queue. If they leave no place, one without has the last. */
static void include_other(struct ec_virtual *v, struct ec_runq *q)
{
	struct ec_color **last = &v->ready[READY_MAX - 1];
	const struct ec_list *others = &q->level[(*last)->level].others;

	if (((*last)->flags & EC_COLOR_IN_POSTS) != 0 && !ec_list_is_empty(others))
		*last = ec_container_of(others->next, struct ec_color, node);
}

/* is_last: only what must still run before the loop ends. */
static void colors_find(struct ec_base *base, bool is_last)
{
	struct ec_virtual *v = base->virtual;
	struct ec_runq *q = &base->zero.runq;
	unsigned level = EC_PRI_MAX;
	struct ec_color *c;
	uint32_t i;

	v->num = 0;
	ec_run_lock(&base->zero);
	for (c = ec_runq_first(q); c != NULL && v->num < READY_MAX; c = ec_runq_next(q, c)) {
		if (is_last && c->last_num == 0)
			continue;
		if (v->num == 0)
			level = c->level;
		if (v->is_alone && c->level != level)
			break;
		v->ready[v->num++] = c;
	}
	if (v->num == READY_MAX && !is_last)
		include_other(v, q);
	if (v->num != 0)
		move_to_front(v, first_by_order(v, level));
	for (i = 0; i < v->num; i++)
		v->keys[i] = key_of(base, v->ready[i]);
	ec_run_unlock(&base->zero);
}

static int64_t next_deadline(struct ec_worker *w)
{
	uint64_t next;

	ec_src_lock(w);
	next = ec_timers_next_ns(&w->timers);
	ec_src_unlock(w);
	return next > INT64_MAX ? INT64_MAX : (int64_t)next;
}

/* After the colors, if there are any: a clock that jumps to the next deadline. */
static void clock_find(struct ec_base *base)
{
	struct ec_virtual *v = base->virtual;
	int64_t now_ns = ec_monotonic_ns(), next_ns;

	if (v->num == 0 || !ec_virtual_clock_is_on() || base->zero.timers.num == 0)
		return;
	next_ns = next_deadline(&base->zero);
	if (next_ns <= now_ns || next_ns - now_ns > ec_mode_slack_ns())
		return;
	v->ready[v->num] = NULL;
	v->keys[v->num++] = v->id << 32 | UINT32_MAX;
}

/* ---------------------------------------------------------------- running */

static struct ec_due due_of(struct ec_base *base, struct ec_color *c)
{
	struct ec_due due = { .fn = NULL };
	struct ec_task *t;

	if (c == NULL)
		return due;
	ec_run_lock(&base->zero);
	due.color = ec_load_relaxed(&c->number);
	t = ec_color_due(base, c);
	if (t != NULL)
		due.fn = (const void *)(uintptr_t)t->fn.post;
	ec_run_unlock(&base->zero);
	return due;
}

static void note(struct ec_base *base, const struct ec_switch *s)
{
	struct ec_due ran, first;

	if (!ec_mode_has_out())
		return;
	ran = due_of(base, base->virtual->ready[s->choice]);
	first = due_of(base, base->virtual->ready[0]);
	ec_mode_note(s, &ran, &first);
}

/* A turn is counted from its begin: turns at multiples of TURN could always meet the same end of a row. */
static void note_row(struct ec_virtual *v, struct ec_color *c)
{
	v->runs++;
	if (c == v->last && v->row < ROW) {
		v->row++;
		return;
	}
	v->last = c;
	v->row = 1;
	if (v->runs - v->turn_began < TURN)
		return;
	v->is_others_turn = !v->is_others_turn;
	v->turn_began = v->runs;
}

/* The color to run, of those found; NULL: the clock. */
static struct ec_color *choose(struct ec_base *base)
{
	struct ec_virtual *v = base->virtual;
	struct ec_switch s = { .num = v->num };
	struct ec_color *c;

	s.choice = ec_policy_choose(v->keys, v->num, &s.step);
	if (s.choice != 0)
		note(base, &s);
	c = v->ready[s.choice];
	if (c != NULL)
		note_row(v, c);
	return c;
}

/* False: nothing is ready. */
static bool run_next(struct ec_base *base)
{
	struct ec_virtual *v = base->virtual;
	struct ec_color *c;

	colors_find(base, false);
	clock_find(base);
	if (v->num == 0)
		return false;
	c = choose(base);
	if (c == NULL) {
		ec_virtual_clock_advance(next_deadline(&base->zero));
		v->until_poll = 0;
	} else {
		(void)ec_run_one(&base->zero, c, ec_policy_mix(v->id, v->runs) % OTHERS == 0);
	}
	return true;
}

static int poll_if_due(struct ec_base *base)
{
	struct ec_virtual *v = base->virtual;

	if (v->until_poll != 0) {
		v->until_poll--;
		return 0;
	}
	v->until_poll = v->num / READY_PER_POLL;
	return ec_worker_poll(&base->zero, false);
}

/* Nothing is ready: as colored_idle in loop.c, for one worker, which has just polled. */
static enum ec_outcome idle(struct ec_base *base)
{
	enum ec_outcome o;

	ec_store_release(&base->wants_quiet, true);		/* meets ec_loop_idle: with the flags */
	o = ec_base_is_quiet(base) ? ec_quiet_outcome(base) : EC_GO_ON;
	if (o == EC_GO_ON && ec_worker_poll(&base->zero, true) < 0)
		o = EC_FAILED;
	ec_store_relaxed(&base->wants_quiet, false);
	return o;
}

enum ec_outcome ec_virtual_turn(struct ec_base *base)
{
	if (ec_loop_must_stop(base))
		return EC_STOPPED;
	if (ec_gate_is_closed(base) && ec_gate_wait_open(base) < 0)
		return EC_FAILED;
	ec_inbox_drain(base);
	if (poll_if_due(base) < 0)
		return EC_FAILED;
	if (ec_quiet_is_enough(base))
		return EC_ENOUGH;
	if (run_next(base))
		return EC_GO_ON;
	if (base->virtual->until_poll != 0) {
		base->virtual->until_poll = 0;
		return EC_GO_ON;
	}
	return idle(base);
}

int ec_virtual_turn_nested(struct ec_base *base)
{
	int r = ec_worker_poll(&base->zero, false);

	if (r < 0 || run_next(base))
		return r;
	r = ec_worker_poll(&base->zero, true);
	if (r >= 0)
		(void)run_next(base);
	return r;
}

void ec_virtual_finish(struct ec_base *base)
{
	struct ec_virtual *v = base->virtual;

	for (;;) {
		colors_find(base, true);
		if (v->num == 0 || !ec_run_last(&base->zero, choose(base)))
			return;
	}
}
