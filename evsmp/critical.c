/*
 * The work with as many workers as it can use: no callback waits for a worker, but for its cause, and for the callbacks
 * of its color that were ready before it. Which ones these are depends on the workers: the record of one worker has
 * another order.
 */
#include "replay.h"

#include <stdlib.h>

#include "agenda.h"

struct state {
	const struct workload *w;
	const struct coloring *c;
	struct work_effects effects;
	struct agenda agenda;			/* what: a call that becomes ready */
	int64_t *ends;				/* of each call */
	uint32_t *before;			/* the call that it waited for */
	int64_t *color_ends;
	uint32_t *color_last;
};

static void run(struct state *s, uint32_t call, int64_t ready_at)
{
	const struct work_call *calls = s->w->calls;
	uint32_t color = s->c->colors[call], i;
	int64_t at = ready_at, end;

	s->before[call] = calls[call].cause;
	if (s->color_ends[color] > at) {
		at = s->color_ends[color];
		s->before[call] = s->color_last[color];
	}
	end = at + calls[call].len + s->w->engine_ns;
	s->ends[call] = s->color_ends[color] = end;
	s->color_last[color] = call;
	for (i = s->effects.first[call]; i != WORK_NONE; i = s->effects.next[i])
		agenda_put(&s->agenda, 0, i, (calls[i].ready == WORK_CALL ? at : end) + calls[i].delay);
}

/* Returns the call that ends last. */
static uint32_t find_ends(struct state *s)
{
	struct agenda_item next;
	uint32_t last = 0, i;

	work_effects_make(s->w, &s->effects);
	for (i = 0; i < s->w->calls_num; i++) {
		if (s->w->calls[i].cause == WORK_NONE)
			agenda_put(&s->agenda, 0, i, s->w->calls[i].delay);
	}
	while (s->agenda.num != 0) {
		next = agenda_take(&s->agenda);
		run(s, next.what, next.at);
		if (s->ends[next.what] > s->ends[last])
			last = next.what;
	}
	work_effects_free(&s->effects);
	agenda_free(&s->agenda);
	return last;
}

struct end {
	int64_t at, len;
};

static int compare(const void *a, const void *b)
{
	const struct end *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* When four fifths of the work are done. */
static int64_t find_most(const struct workload *w, const int64_t *ends)
{
	struct end *sorted = must(calloc(w->calls_num + 1, sizeof(*sorted)));
	int64_t left = 0, at = 0;
	size_t i;

	for (i = 0; i < w->calls_num; i++) {
		sorted[i] = (struct end){ ends[i], w->calls[i].len + 1 };
		left += w->calls[i].len + 1;
	}
	qsort(sorted, w->calls_num, sizeof(*sorted), compare);
	left = left / 5 * 4;
	for (i = 0; i < w->calls_num && left > 0; i++) {
		left -= sorted[i].len;
		at = sorted[i].at;
	}
	free(sorted);
	return at;
}

void critical_find(const struct workload *w, const struct coloring *c, struct critical *ret)
{
	struct state s = {
		.w = w,
		.c = c,
		.ends = must(calloc(w->calls_num + 1, sizeof(int64_t))),
		.before = must(calloc(w->calls_num + 1, sizeof(uint32_t))),
		.color_ends = must(calloc(c->num + 1, sizeof(int64_t))),
		.color_last = must(calloc(c->num + 1, sizeof(uint32_t))),
	};
	uint32_t i;

	*ret = (struct critical){ .fn_ns = must(calloc(w->fns_num + 1, sizeof(int64_t))) };
	for (i = w->calls_num == 0 ? WORK_NONE : find_ends(&s); i != WORK_NONE; i = s.before[i]) {
		if (s.ends[i] > ret->span_ns)
			ret->span_ns = s.ends[i];
		ret->calls++;
		ret->run_ns += w->calls[i].len + w->engine_ns;
		ret->fn_ns[w->calls[i].fn] += w->calls[i].len + w->engine_ns;
	}
	ret->most_ns = find_most(w, s.ends);
	free(s.ends);
	free(s.before);
	free(s.color_ends);
	free(s.color_last);
}

void critical_free(struct critical *c)
{
	free(c->fn_ns);
	*c = (struct critical){ 0 };
}
