#include "replay.h"

#include <stdlib.h>

struct state {
	int64_t *ends;			/* of each call */
	uint32_t *before;		/* the call that it waited for */
	int64_t *color_ends;
	uint32_t *color_last;
};

/* When it may begin, and what it waited for. Calls are in an order in which causes come first. */
static int64_t begin_of(const struct workload *w, const struct coloring *c, const struct state *s, uint32_t call,
			uint32_t *ret_before)
{
	const struct work_call *k = &w->calls[call];
	int64_t at = k->delay, by_color = s->color_ends[c->colors[call]];

	*ret_before = k->cause;
	if (k->cause != WORK_NONE)
		at += s->ends[k->cause] - (k->ready == WORK_CALL ? w->calls[k->cause].len + w->engine_ns : 0);
	if (by_color <= at)
		return at;
	*ret_before = s->color_last[c->colors[call]];
	return by_color;
}

static uint32_t find_ends(const struct workload *w, const struct coloring *c, struct state *s)
{
	uint32_t last = 0, i, color;

	for (i = 0; i < w->calls_num; i++) {
		color = c->colors[i];
		s->ends[i] = begin_of(w, c, s, i, &s->before[i]) + w->calls[i].len + w->engine_ns;
		s->color_ends[color] = s->ends[i];
		s->color_last[color] = i;
		if (s->ends[i] > s->ends[last])
			last = i;
	}
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
		.ends = must(calloc(w->calls_num + 1, sizeof(int64_t))),
		.before = must(calloc(w->calls_num + 1, sizeof(uint32_t))),
		.color_ends = must(calloc(c->num + 1, sizeof(int64_t))),
		.color_last = must(calloc(c->num + 1, sizeof(uint32_t))),
	};
	uint32_t i;

	*ret = (struct critical){ .fn_ns = must(calloc(w->fns_num + 1, sizeof(int64_t))) };
	for (i = w->calls_num == 0 ? WORK_NONE : find_ends(w, c, &s); i != WORK_NONE; i = s.before[i]) {
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
