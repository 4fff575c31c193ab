/*
 * The simulation goes from event to event: a callback becomes ready, a worker ends one, a worker looks after another.
 * What it has of the engine (ARCHITECTURE.md, "The life of an event"):
 *
 *  - A color runs on one worker at a time, its callbacks in the order in which they became ready.
 *  - It has a home, whose worker polls its descriptors: a busy worker finds out late what is ready.
 *  - A color that used up its budget goes behind the others.
 *  - A worker without colors takes half of another's, the one that has most. A color that is stolen often moves.
 *  - If a callback takes long, another worker takes over what waits there.
 */
#include "replay.h"

#include <stdlib.h>

#include "agenda.h"

enum {
	/* The engine's: testsuite/evsmp/replay_rules.py compares them. */
	BUDGET_NS = 200000,
	BUDGET_CALLS = 128,
	STUCK_NS = 150000,
	TAKE_MAX = 32,
	AWAY = 8,
	MOVE_AT = 4 * AWAY,
};

const struct replay_costs replay_costs_usual = {
	.steal_ns = 1000,
	.wake_ns = 10000,
	.rescue_ns = 1000000,
	.poll_every_ns = 200000,
};

enum event_type { EVENT_READY, EVENT_DONE, EVENT_WAKE, EVENT_RESCUE };

/* Calls or colors, in order. */
struct queue {
	uint32_t first, last, num;
};

struct color {
	struct queue calls;
	uint32_t next;			/* in its worker's queue */
	unsigned home;
	unsigned away;
	bool is_queued, is_running, has_home;
};

struct worker {
	struct queue colors;		/* that may run */
	struct queue unseen;		/* calls whose descriptors are ready, until the next poll */
	int64_t polled_at, began_at, run_ns, busy_ns;
	uint32_t color, calls_in_row;	/* that it runs, or ran last */
	uint32_t call;			/* that it runs; WORK_NONE: none */
	bool is_idle;
	bool is_woken;
};

struct sim {
	const struct workload *w;
	const struct coloring *c;
	const struct replay_costs *costs;
	replay_watch_fn watch;		/* NULL: none */
	void *watch_arg;
	unsigned workers_num, next_home;
	int64_t mean_ns;		/* of a callback */
	struct worker workers[REPLAY_WORKERS_MAX];
	struct color *colors;
	uint32_t *next;			/* call after this one in a queue */
	struct work_effects effects;
	int64_t *ready_at, *waits;
	struct agenda agenda;		/* enum event_type; what: call, or worker */
	uint64_t steals;
	size_t done_num;
	int64_t done_ns, most_ns, most_at, end;
};

static void push(struct sim *s, enum event_type type, uint32_t what, int64_t at)
{
	agenda_put(&s->agenda, (uint8_t)type, what, at);
}

/* ---------------------------------------------------------------- queues */

static void call_put(struct sim *s, struct queue *q, uint32_t call)
{
	s->next[call] = WORK_NONE;
	if (q->num++ == 0)
		q->first = call;
	else
		s->next[q->last] = call;
	q->last = call;
}

static uint32_t call_take(struct sim *s, struct queue *q)
{
	uint32_t call = q->first;

	q->first = s->next[call];
	q->num--;
	return call;
}

static void color_put(struct sim *s, struct worker *w, uint32_t color)
{
	struct queue *q = &w->colors;

	s->colors[color].next = WORK_NONE;
	s->colors[color].is_queued = true;
	if (q->num++ == 0)
		q->first = color;
	else
		s->colors[q->last].next = color;
	q->last = color;
}

static uint32_t color_take(struct sim *s, struct worker *w)
{
	uint32_t color = w->colors.first;

	w->colors.first = s->colors[color].next;
	w->colors.num--;
	s->colors[color].is_queued = false;
	return color;
}

/* ---------------------------------------------------------------- ready */

static struct worker *home_of(struct sim *s, uint32_t color)
{
	struct color *c = &s->colors[color];

	if (!c->has_home && color != s->c->pinned)
		c->home = s->next_home++ % s->workers_num;
	c->has_home = true;
	return &s->workers[c->home];
}

static struct worker *idle_one(struct sim *s)
{
	unsigned i;

	for (i = 0; i < s->workers_num; i++) {
		if (s->workers[i].is_idle && !s->workers[i].is_woken)
			return &s->workers[i];
	}
	return NULL;
}

static void wake(struct sim *s, struct worker *w, int64_t at)
{
	if (!w->is_idle || w->is_woken)
		return;
	w->is_woken = true;
	push(s, EVENT_WAKE, (uint32_t)(w - s->workers), at);
}

/* `w` has a color that may run. If it is busy, an idle worker comes for it. */
static void find_runner(struct sim *s, struct worker *w, int64_t at, int64_t wake_ns)
{
	struct worker *thief;

	if (w->is_idle) {
		wake(s, w, at + wake_ns);
		return;
	}
	thief = idle_one(s);
	if (thief != NULL && s->mean_ns * w->colors.num > s->costs->steal_ns)
		wake(s, thief, at + s->costs->wake_ns);
}

static void enqueue(struct sim *s, uint32_t call, struct worker *w)
{
	uint32_t color = s->c->colors[call];
	struct color *c = &s->colors[color];

	call_put(s, &c->calls, call);
	if (!c->is_queued && !c->is_running)
		color_put(s, w, color);
}

/* By a callback that runs. */
static void ready_inside(struct sim *s, uint32_t call, int64_t at)
{
	struct worker *w = home_of(s, s->c->colors[call]);

	enqueue(s, call, w);
	find_runner(s, w, at, s->costs->wake_ns);
}

/* The worker that polls for it sleeps in its poll, or finds out later. */
static void ready_outside(struct sim *s, uint32_t call, int64_t at)
{
	struct worker *w = home_of(s, s->c->colors[call]);

	if (w->is_idle) {
		enqueue(s, call, w);
		wake(s, w, at);
		return;
	}
	call_put(s, &w->unseen, call);
	if (idle_one(s) != NULL)
		push(s, EVENT_RESCUE, (uint32_t)(w - s->workers), at + s->costs->rescue_ns);
}

static void ready(struct sim *s, uint32_t call, int64_t at)
{
	s->ready_at[call] = at;
	if (s->w->calls[call].ready == WORK_CALL)
		ready_inside(s, call, at);
	else
		ready_outside(s, call, at);
}

/* ---------------------------------------------------------------- running */

static void release(struct sim *s, uint32_t call, bool by_begin, int64_t at)
{
	const struct work_call *w;
	uint32_t effect;

	for (effect = s->effects.first[call]; effect != WORK_NONE; effect = s->effects.next[effect]) {
		w = &s->w->calls[effect];
		if ((w->ready == WORK_CALL) == by_begin)
			push(s, EVENT_READY, effect, at + w->delay);
	}
}

static void run(struct sim *s, struct worker *w, uint32_t color, int64_t at)
{
	struct color *c = &s->colors[color];
	uint32_t call = call_take(s, &c->calls);
	int64_t ns = s->w->calls[call].len + s->w->engine_ns;

	if (c->home == (unsigned)(w - s->workers) && c->away > 0)
		c->away--;
	c->is_running = true;
	w->color = color;
	w->call = call;
	w->began_at = at;
	w->busy_ns += ns;
	w->run_ns += ns;
	w->calls_in_row++;
	s->waits[s->done_num++] = at - s->ready_at[call];
	if (s->watch != NULL)
		s->watch(s->watch_arg, call, (unsigned)(w - s->workers), at, ns);
	push(s, EVENT_DONE, (uint32_t)(w - s->workers), at + ns);
	release(s, call, true, at);
}

static void begin_color(struct sim *s, struct worker *w, int64_t at)
{
	w->run_ns = 0;
	w->calls_in_row = 0;
	run(s, w, color_take(s, w), at);
}

/* ---------------------------------------------------------------- polling and stealing */

/* What is ready at the descriptors of `from` goes to the queue of `to`. */
static void see(struct sim *s, struct worker *from, struct worker *to)
{
	while (from->unseen.num != 0)
		enqueue(s, call_take(s, &from->unseen), to);
}

static int64_t poll(struct sim *s, struct worker *w, int64_t at)
{
	see(s, w, w);
	at += s->w->poll_ns;
	w->polled_at = at;
	return at;
}

static struct worker *victim_of(struct sim *s, const struct worker *thief)
{
	struct worker *v = NULL;
	unsigned i;

	for (i = 0; i < s->workers_num; i++) {
		if (&s->workers[i] != thief && s->workers[i].colors.num != 0 &&
		    (v == NULL || s->workers[i].colors.num > v->colors.num))
			v = &s->workers[i];
	}
	return v != NULL && s->mean_ns * v->colors.num > s->costs->steal_ns ? v : NULL;
}

static void note_steal(struct sim *s, const struct worker *thief, struct color *c)
{
	unsigned id = (unsigned)(thief - s->workers);

	if (c->home == id) {
		c->away = 0;
	} else if ((c->away += AWAY) >= MOVE_AT) {
		c->away = 0;
		c->home = id;
	}
}

/* Returns the time when it is done. */
static int64_t steal(struct sim *s, struct worker *thief, int64_t at)
{
	struct worker *v = victim_of(s, thief);
	uint32_t max, left, color;

	if (v == NULL)
		return at;
	max = (v->colors.num + (v->call != WORK_NONE)) / 2;
	max = max > TAKE_MAX ? TAKE_MAX : max;
	for (left = v->colors.num; left > 0; left--) {
		color = color_take(s, v);
		if (max == 0 || color == s->c->pinned) {
			color_put(s, v, color);
			continue;
		}
		max--;
		s->steals++;
		at += s->costs->steal_ns;
		note_steal(s, thief, &s->colors[color]);
		color_put(s, thief, color);
	}
	return at;
}

/* What a worker does after a callback, or a sleep. One worker polls when nothing else is left. */
static void go_on(struct sim *s, struct worker *w, int64_t at)
{
	w->call = WORK_NONE;
	if (w->colors.num == 0 || (s->workers_num > 1 && at - w->polled_at >= s->costs->poll_every_ns))
		at = poll(s, w, at);
	if (w->colors.num == 0)
		at = steal(s, w, at);
	w->is_idle = w->colors.num == 0;
	if (w->is_idle)
		return;
	begin_color(s, w, at);
	if (w->colors.num != 0)
		find_runner(s, w, at, 0);
}

/* ---------------------------------------------------------------- events */

static void note_progress(struct sim *s, const struct work_call *c, int64_t at)
{
	s->done_ns += c->len + 1;
	if (s->most_at == 0 && s->done_ns >= s->most_ns)
		s->most_at = at;
	s->end = at;
}

/* The same color goes on, within its budget. Else it goes behind the others, or home. */
static void done(struct sim *s, struct worker *w, int64_t at)
{
	struct color *c = &s->colors[w->color];

	note_progress(s, &s->w->calls[w->call], at);
	release(s, w->call, false, at);
	c->is_running = false;
	if (c->calls.num != 0 && w->run_ns < BUDGET_NS && w->calls_in_row < BUDGET_CALLS) {
		run(s, w, w->color, at);
		return;
	}
	if (c->calls.num != 0)
		color_put(s, w, w->color);
	go_on(s, w, at);
}

/* A callback at `from` has run for long, and an idle worker notices. */
static void rescue(struct sim *s, struct worker *from, int64_t at)
{
	struct worker *to = idle_one(s);

	if (to == NULL || from->is_idle || from->unseen.num == 0 || at - from->began_at < STUCK_NS)
		return;
	see(s, from, to);
	if (to->colors.num != 0)
		wake(s, to, at);
}

static void happen(struct sim *s, const struct agenda_item *e)
{
	struct worker *w = e->type == EVENT_READY ? NULL : &s->workers[e->what];

	switch (e->type) {
	case EVENT_READY: ready(s, e->what, e->at); break;
	case EVENT_DONE: done(s, w, e->at); break;
	case EVENT_RESCUE: rescue(s, w, e->at); break;
	case EVENT_WAKE:
		w->is_woken = w->is_idle = false;
		go_on(s, w, e->at);
		break;
	}
}

/* ---------------------------------------------------------------- begin and end */

static void *words(size_t num, size_t size)
{
	return must(calloc(num + 1, size));
}

static void begin_calls(struct sim *s)
{
	const struct work_call *calls = s->w->calls;
	size_t i;

	work_effects_make(s->w, &s->effects);
	for (i = 0; i < s->w->calls_num; i++) {
		s->most_ns += calls[i].len + 1;
		if (calls[i].cause == WORK_NONE)
			push(s, EVENT_READY, (uint32_t)i, calls[i].delay);
	}
	s->most_ns = s->most_ns / 5 * 4;
}

static void begin(struct sim *s)
{
	size_t num = s->w->calls_num;
	unsigned i;

	s->mean_ns = s->w->run_ns / (int64_t)(num + (num == 0)) + s->w->engine_ns;
	s->colors = words(s->c->num, sizeof(*s->colors));
	s->next = words(num, sizeof(*s->next));
	s->ready_at = words(num, sizeof(*s->ready_at));
	s->waits = words(num, sizeof(*s->waits));
	for (i = 0; i < s->workers_num; i++) {
		s->workers[i].is_idle = true;
		s->workers[i].call = WORK_NONE;
	}
	begin_calls(s);
}

static int compare(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void finish(struct sim *s, struct replay_result *ret)
{
	int64_t busy_ns = 0;
	unsigned i;

	for (i = 0; i < s->workers_num; i++)
		busy_ns += s->workers[i].busy_ns;
	*ret = (struct replay_result){ .span_ns = s->end, .steals = s->steals };
	if (s->most_at > 0)
		ret->calls_per_s = 0.8e9 * (double)s->w->calls_num / (double)s->most_at;
	if (s->end > 0)
		ret->busy = (double)busy_ns / (double)s->end / s->workers_num;
	if (s->done_num != 0) {
		qsort(s->waits, s->done_num, sizeof(*s->waits), compare);
		ret->wait50_ns = s->waits[s->done_num / 2];
		ret->wait99_ns = s->waits[s->done_num * 99 / 100];
	}
	free(s->colors);
	free(s->next);
	work_effects_free(&s->effects);
	free(s->ready_at);
	free(s->waits);
	agenda_free(&s->agenda);
}

void replay_watched(const struct workload *w, const struct coloring *c, unsigned workers,
		    const struct replay_costs *costs, struct replay_result *ret, replay_watch_fn watch, void *arg)
{
	struct sim *s = must(calloc(1, sizeof(*s)));
	struct agenda_item e;

	s->w = w;
	s->c = c;
	s->costs = costs;
	s->watch = watch;
	s->watch_arg = arg;
	s->workers_num = workers > REPLAY_WORKERS_MAX ? REPLAY_WORKERS_MAX : workers;
	begin(s);
	while (s->agenda.num != 0) {
		e = agenda_take(&s->agenda);
		happen(s, &e);
	}
	finish(s, ret);
	free(s);
}

void replay(const struct workload *w, const struct coloring *c, unsigned workers, const struct replay_costs *costs,
	    struct replay_result *ret)
{
	replay_watched(w, c, workers, costs, ret, NULL, NULL);
}
