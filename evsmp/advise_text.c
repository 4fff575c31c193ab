#include "advise_pages.h"

#include <stdlib.h>
#include <string.h>

#include "core/ec.h"
#include "latency.h"
#include "lines.h"

const char *advised_fn(const struct advised *a, uint32_t fn)
{
	uint64_t address = a->advice->w->fns[fn].address;

	return address == 0 ? "?" : symbols_name(a->band->symbols, address);
}

/* ---------------------------------------------------------------- doubts */

static char *add_line(char *text_so_far, char *line)
{
	char *more = text("%s%s\n", text_so_far, line);

	free(text_so_far);
	free(line);
	return more;
}

char *advised_doubts(const struct advised *a)
{
	const struct advice *d = a->advice;
	const double fits = 0.15;
	char *doubts = text("%s", "");

	if (a->lost != 0)
		doubts = add_line(doubts, text("%llu records are lost, so causes may be wrong: record for a shorter "
					       "time.",
					       (unsigned long long)a->lost));
	if (a->damaged != 0)
		doubts = add_line(doubts, text("%llu records were damaged, and are left out.",
					       (unsigned long long)a->damaged));
	if (d->w->left_out != 0 || a->has_older)
		doubts = add_line(doubts, text("Of more callbacks, these are the newest %zu.", d->w->calls_num));
	if (a->bases_left_out != 0)
		doubts = add_line(doubts, text("%zu other event_base%s had less work, and %s left out.",
					       a->bases_left_out, a->bases_left_out == 1 ? "" : "s",
					       a->bases_left_out == 1 ? "is" : "are"));
	if (!d->w->has_objects)
		doubts = add_line(doubts, text("The trace does not tell which object a callback is about, so "
					       "connections are descriptors."));
	if (d->fit > 1 + fits || d->fit < 1 - fits)
		doubts = add_line(doubts, text("Replayed on one worker, it takes %.2f times as long as it did: "
					       "do not trust the figures.",
					       d->fit));
	return doubts;
}

/* ---------------------------------------------------------------- what to do */

/* Enough digits, no more. */
static void put_times(FILE *out, double times)
{
	fprintf(out, times < 9.95 ? "%.1f" : "%.0f", times);
}

static void put_first(FILE *out, const struct advised *a)
{
	const struct advice *d = a->advice;
	char *why_not;

	if (d->best == NULL) {
		why_not = advice_why_not(d);
		fprintf(out, "%s\n", why_not);
		free(why_not);
		return;
	}
	if (d->best->coloring.rule == RULE_OWN)
		fputs("Its own colors are the best", out);
	else
		fprintf(out, "Color it %s", rule_name(d->best->coloring.rule));
	fputs(": ", out);
	put_times(out, option_speed(d->best, 1));
	fputs(" times as fast on 2 workers, ", out);
	put_times(out, option_speed(d->best, 2));
	fputs(" on 4, ", out);
	put_times(out, option_speed(d->best, 3));
	fputs(" on 8.\n", out);
}

static void put_change(FILE *out, const struct advised *a, uint32_t fn, const char *change)
{
	const struct workload *w = a->advice->w;
	char *line = line_of(a->band->symbols, w->fns[fn].address);

	fprintf(out, "  %s\n      for ", change);
	put_shown(out, advised_fn(a, fn));
	fprintf(out, " (%s", advice_kind(w, fn));
	if (line != NULL) {
		fputs(", ", out);
		put_shown(out, line);
	}
	fprintf(out, "): %.0f %% of the time in callbacks\n", 100 * (double)w->fns[fn].ns / (double)(w->run_ns + 1));
	free(line);
}

/* Functions that hardly matter are not worth a line. */
static void put_changes(FILE *out, const struct advised *a)
{
	const struct advice *d = a->advice;
	const double little = 0.01;
	const char *change;
	bool has_head = false;
	size_t i;

	for (i = 0; d->best != NULL && i < d->fns_num; i++) {
		change = advice_change(d->w, d->best->coloring.rule, d->fns[i]);
		if (change == NULL || (double)d->w->fns[d->fns[i]].ns < little * (double)d->w->run_ns)
			continue;
		if (!has_head)
			fputs("\nWhat to change:\n", out);
		has_head = true;
		put_change(out, a, d->fns[i], change);
	}
}

static void put_touches(FILE *out, const struct advised *a)
{
	const struct workload *w = a->advice->w;
	uint32_t i;

	for (i = 0; i < w->fns_num && a->advice->best != NULL; i++) {
		/* Listeners make objects; what happens once in a while is the end of one. */
		if (w->fns[i].touches * 100 <= w->fns[i].calls || w->fns[i].kind == EC_OBJECT_LISTENER)
			continue;
		fputs("  ", out);
		put_shown(out, advised_fn(a, i));
		fprintf(out,
			" uses objects of other connections (%llu times): let it post to them,\n"
			"      by event_base_post or bufferevent_post\n",
			(unsigned long long)w->fns[i].touches);
	}
}

static void put_next(FILE *out, const struct advised *a)
{
	const struct option *best = a->advice->best;
	const char *by;

	if (best == NULL || best->coloring.rule == RULE_OWN)
		return;
	by = best->coloring.rule == RULE_DESCRIPTOR || best->coloring.rule == RULE_CALLBACK ?
		     rule_word(best->coloring.rule) :
		     "connection";
	fprintf(out,
		"\nMemory that colors share does not show here. Compile it with -fsanitize=thread, and ask\n"
		"  evsmp check-colors --color-by=%s ",
		by);
	put_shown(out, a->program);
	putc('\n', out);
}

/* ---------------------------------------------------------------- tables */

static void put_head(FILE *out, const char *title, const char *last)
{
	unsigned i;

	fprintf(out, "\n%-42s", title);
	for (i = 0; i < ADVICE_WORKERS; i++)
		fprintf(out, "%7u", advice_workers[i]);
	fprintf(out, "  %s\n", last);
}

static void put_tables(FILE *out, const struct advised *a)
{
	const struct advice *d = a->advice;
	const struct option *o;
	unsigned place;
	size_t i;

	put_head(out, "TIMES AS FAST, WITH SO MANY WORKERS", "AT MOST");
	for (i = 0; i < d->options_num; i++) {
		o = &d->options[i];
		fprintf(out, "%-42s", rule_name(o->coloring.rule));
		for (place = 0; place < ADVICE_WORKERS; place++)
			fprintf(out, option_speed(o, place) < 9.95 ? "%7.2f" : "%7.1f", option_speed(o, place));
		fprintf(out, o->most < 9.95 ? "%9.2f\n" : "%9.1f\n", o->most);
	}
	put_head(out, "99 % WAIT NO LONGER THAN", "");
	for (i = 0; i < d->options_num; i++) {
		o = &d->options[i];
		fprintf(out, "%-42s", rule_name(o->coloring.rule));
		for (place = 0; place < ADVICE_WORKERS; place++)
			fprintf(out, "%7s", duration_short(o->results[place].wait99_ns));
		putc('\n', out);
	}
	fprintf(out, "%.0f callbacks a second on one worker.\n", d->options[0].results[0].calls_per_s);
}

/* ---------------------------------------------------------------- limits */

static void put_part(FILE *out, const struct option *o, int64_t ns, const char *name)
{
	double part = 100 * (double)ns / (double)(o->critical.span_ns + 1);

	if (part < 1)
		return;
	fprintf(out, "  %3.0f %%  ", part);
	put_shown(out, name);
	putc('\n', out);
}

static void put_critical(FILE *out, const struct advised *a, const struct option *o)
{
	enum { TOP = 3 };
	const int64_t *ns = o->critical.fn_ns;
	int64_t below = INT64_MAX;
	unsigned num;
	uint32_t i, top;

	fprintf(out, "\nThe critical path, %s, takes %s of %s. No number of workers can shorten it:\n",
		rule_name(o->coloring.rule), duration(o->critical.span_ns), duration(o->results[0].span_ns));
	for (num = 0; num < TOP; num++) {
		top = WORK_NONE;
		for (i = 0; i < a->advice->w->fns_num; i++) {
			if (ns[i] < below && ns[i] > 0 && (top == WORK_NONE || ns[i] > ns[top]))
				top = i;
		}
		if (top == WORK_NONE)
			break;
		below = ns[top];
		put_part(out, o, below, advised_fn(a, top));
	}
	put_part(out, o, o->critical.span_ns - o->critical.run_ns, "waiting for the outside");
}

/* A color that has more than its share of two workers' time. */
static void put_splits(FILE *out, const struct advised *a, const struct option *o)
{
	const double half = 0.5, eighth = 0.125, idle = 0.7;

	if (o->biggest_share < eighth || (a->advice->best == NULL && a->advice->busy < idle))
		return;
	fputs("\nSplit ", out);
	put_shown(out, advised_fn(a, o->biggest_fn));
	fprintf(out, ": its color has %.0f %% of all time, the most, and %s it is at most %.1f times as fast%s.\n",
		100 * o->biggest_share, rule_name(o->coloring.rule), o->most,
		o->biggest_share > half ? ", not even on 2 workers" : "");
}

void advise_text(FILE *out, const struct advised *a)
{
	const struct advice *d = a->advice;
	const struct option *o = d->best != NULL ? d->best : &d->options[0];
	char *doubts = advised_doubts(a);

	put_first(out, a);
	fputs(doubts, out);
	put_changes(out, a);
	put_touches(out, a);
	put_next(out, a);
	put_tables(out, a);
	put_splits(out, a, o);
	put_critical(out, a, o);
	free(doubts);
}
