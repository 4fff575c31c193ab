#include "busy.h"

#include <stdlib.h>

#include "color_name.h"
#include "latency.h"
#include "say.h"
#include "thresholds.h"

/* ---------------------------------------------------------------- calls */

/* The time of one callback, without what ran within it. */
struct call {
	const struct slice *slice;
	int64_t ns;
};

struct calls {
	struct call *at;
	size_t num;
};

/* Slices are sorted: those within one follow it. */
static int64_t own_ns(const struct row *row, size_t i)
{
	const struct slice *s = &row->slices[i], *within;
	int64_t ns = s->len;

	for (within = s + 1; within < row->slices + row->slices_num && within->depth > s->depth; within++)
		ns -= within->depth == s->depth + 1 ? within->len : 0;
	return ns > 0 ? ns : 0;
}

static void calls_add(struct calls *calls, const struct row *row)
{
	size_t i;

	for (i = 0; i < row->slices_num; i++) {
		if (row->slices[i].type == SLICE_CALL)
			calls->at[calls->num++] = (struct call){ .slice = &row->slices[i], .ns = own_ns(row, i) };
	}
}

/* The callbacks of rows from `first` up to, without, `end`. */
static struct calls calls_of(const struct band *b, unsigned first, unsigned end)
{
	struct calls calls = { .num = 0 };
	size_t max = 1;
	unsigned row;

	for (row = first; row < end; row++)
		max += b->rows[row].slices_num;
	calls.at = must(calloc(max, sizeof(*calls.at)));
	for (row = first; row < end; row++)
		calls_add(&calls, &b->rows[row]);
	return calls;
}

static int64_t calls_ns(const struct calls *calls)
{
	int64_t ns = 0;
	size_t i;

	for (i = 0; i < calls->num; i++)
		ns += calls->at[i].ns;
	return ns;
}

/* ---------------------------------------------------------------- the most of something */

static int by_color(const void *a, const void *b)
{
	const struct call *c = a, *d = b;

	return c->slice->color < d->slice->color ? -1 : c->slice->color > d->slice->color;
}

static int by_fn(const void *a, const void *b)
{
	const struct call *c = a, *d = b;

	return c->slice->fn < d->slice->fn ? -1 : c->slice->fn > d->slice->fn;
}

/* The run of calls that are equal by `compare`, and took the most time together. Sorts them. */
static struct calls most_of(struct calls calls, int (*compare)(const void *, const void *))
{
	struct calls best = { .num = 0 }, same;
	int64_t best_ns = -1, ns;
	size_t i, begin;

	qsort(calls.at, calls.num, sizeof(*calls.at), compare);
	for (begin = 0; begin < calls.num; begin = i) {
		for (i = begin + 1; i < calls.num && compare(&calls.at[begin], &calls.at[i]) == 0; i++)
			;
		same = (struct calls){ .at = &calls.at[begin], .num = i - begin };
		ns = calls_ns(&same);
		if (ns > best_ns) {
			best = same;
			best_ns = ns;
		}
	}
	return best;
}

static struct busy_function function_of(struct calls calls)
{
	struct calls most = most_of(calls, by_fn);

	if (most.num == 0)
		return (struct busy_function){ .slice = NULL };
	return (struct busy_function){ .slice = most.at[0].slice, .num = most.num, .ns = calls_ns(&most) };
}

/* ---------------------------------------------------------------- all */

static int64_t band_ns(const struct band *b)
{
	int64_t from = INT64_MAX, to = 0;
	const struct slice *s;
	const struct row *r;
	size_t i;

	for (r = b->rows; r < b->rows + b->rows_num; r++) {
		for (i = 0; i < r->slices_num; i++) {
			s = &r->slices[i];
			from = s->at < from ? s->at : from;
			to = s->at + s->len > to ? s->at + s->len : to;
		}
	}
	return to > from ? to - from : 0;
}

static void note_longest(struct busy *ret, const struct band *b, const struct calls *calls)
{
	size_t i;

	for (i = 0; i < calls->num; i++) {
		ret->is_colored |= calls->at[i].slice->color != 0;
		if (ret->longest != NULL && calls->at[i].ns <= ret->longest_ns)
			continue;
		ret->longest = calls->at[i].slice;
		ret->longest_ns = calls->at[i].ns;
		ret->longest_band = b;
	}
}

static void find_row(struct busy *ret, const struct band *b)
{
	struct calls calls;
	unsigned row;
	int64_t ns;

	for (row = 0; row < b->rows_num; row++) {
		calls = calls_of(b, row, row + 1);
		ns = calls_ns(&calls);
		if (ns > ret->row_ns || row == 0) {
			ret->row = row;
			ret->row_ns = ns;
			ret->of_row = function_of(calls);
		}
		free(calls.at);
	}
}

static void band_find(const struct band *b, struct busy *ret)
{
	struct calls calls = calls_of(b, 0, b->rows_num), color;

	*ret = (struct busy){ .calls = calls.num };
	if (calls.num != 0) {
		ret->band = b;
		ret->band_ns = band_ns(b);
		ret->all_ns = calls_ns(&calls);
		note_longest(ret, b, &calls);
		ret->of_band = function_of(calls);
		color = most_of(calls, by_color);
		ret->color = color.at[0].slice->color;
		ret->color_ns = calls_ns(&color);
		ret->of_color = function_of(color);
		find_row(ret, b);
	}
	free(calls.at);
}

static unsigned percent(int64_t part, int64_t all)
{
	double share = all <= 0 ? 0 : 100.0 * (double)part / (double)all + 0.5;

	return share > 100 ? 100 : (unsigned)share;
}

unsigned busy_percent(const struct busy *b)
{
	return percent(b->row_ns, b->band_ns);
}

void busy_find(const struct timeline *t, struct busy *ret)
{
	struct busy busiest = { .band = NULL }, b, longest = busiest;
	size_t i;

	for (i = 0; i < t->bands_num; i++) {
		band_find(&t->bands[i], &b);
		if (b.band == NULL)
			continue;
		if (longest.band == NULL || b.longest_ns > longest.longest_ns)
			longest = b;
		if (busiest.band == NULL || busy_percent(&b) > busy_percent(&busiest))
			busiest = b;
	}
	busiest.longest_band = longest.longest_band;
	busiest.longest = longest.longest;
	busiest.longest_ns = longest.longest_ns;
	*ret = busiest;
}

/* ---------------------------------------------------------------- advice */

/* "b_tick took 94 % of that, in 452 runs of 2.1 ms" */
static char *text_of(const struct band *b, const struct busy_function *f, int64_t all_ns)
{
	return text("%s took %u %% of that, in %llu run%s of %s", slice_name(b, f->slice), percent(f->ns, all_ns),
		    (unsigned long long)f->num, f->num == 1 ? "" : "s", duration(f->ns / (int64_t)f->num));
}

/* Callbacks of a shared color may overlap: then it has more than the time of one worker. */
static bool is_one_color(const struct busy *b)
{
	return percent(b->color_ns, b->band_ns) >= ALONE && b->color_ns <= b->band_ns + b->band_ns / 20;
}

static char *advise_color(const struct busy *b)
{
	char *most = text_of(b->band, &b->of_color, b->color_ns), *advice;
	unsigned share = percent(b->color_ns, b->band_ns);

	if (b->color == 0)
		advice = text("Callbacks without a color (color 0) took %u %% of the time of the one worker that they "
			      "have: color them. %s.", share, most);
	else
		advice = text("Color %s alone took %u %% of the time of a worker: split it. %s.",
			      color_name(b->color), share, most);
	free(most);
	return advice;
}

static char *advise_row(const struct busy *b)
{
	char *most = text_of(b->band, &b->of_row, b->row_ns), *advice;
	int64_t mean_ns = b->row_ns / (int64_t)b->calls;

	if (mean_ns < SHORT_NS)
		advice = text("One thread ran all callbacks, %u %% of the time; they average %s: coloring gains "
			      "nothing. %s.", busy_percent(b), duration(mean_ns), most);
	else if (b->is_colored)
		advice = text("One worker ran all colors, and was busy %u %% of the time: give it more "
			      "(EVENT_WORKERS). %s.", busy_percent(b), most);
	else
		advice = text("One thread ran all callbacks, and was busy %u %% of the time: color them (evsmp advise "
			      "says how), or make them shorter. %s.", busy_percent(b), most);
	free(most);
	return advice;
}

char *busy_advice(const struct busy *b)
{
	char *most, *advice;

	if (b->band == NULL || !is_enough(b->calls, (uint64_t)b->band_ns))
		return NULL;
	if (b->band->rows_num == 1)
		return busy_percent(b) >= HOT ? advise_row(b) : NULL;
	if (is_one_color(b))
		return advise_color(b);
	if (percent(b->all_ns / b->band->rows_num, b->band_ns) < HOT)
		return NULL;
	most = text_of(b->band, &b->of_band, b->all_ns);
	advice = text("All %u workers were busy: give it more (and CPUs), or make callbacks shorter. %s.",
		      b->band->rows_num, most);
	free(most);
	return advice;
}

char *busy_advice_longest(const struct busy *b, const struct slice *known)
{
	if (b->longest == NULL || b->longest_ns < LONG_NS || (known != NULL && known->fn == b->longest->fn))
		return NULL;
	return text("%s (color %s) ran for %s at once%s, and all of its color and its worker would have waited for it: "
		    "split it, or move what it waits for to another thread.",
		    slice_name(b->longest_band, b->longest), color_name(b->longest->color), duration(b->longest_ns),
		    b->longest->is_open ? " and had not ended" : "");
}
