/*
 * The latency view, as text: colors, then the longest delays with what ran before them, then what to do.
 */
#include <stdlib.h>

#include "color_name.h"
#include "pages.h"
#include "say.h"

enum { COLORS_SHOWN = 20 };

static void put_name(FILE *out, const struct band *b, const struct slice *s)
{
	put_shown(out, slice_name(b, s));
}

static const char *average(int64_t ns, uint64_t num)
{
	return num == 0 ? "-" : duration(ns / (int64_t)num);
}

/* What else is known of a color: what it is for. */
static void put_owner(FILE *out, const struct color_times *c)
{
	if (c->most->fn != c->longest->fn) {
		fputs("; mostly ", out);
		put_name(out, c->band, c->most);
	}
	if (c->fd >= 0)
		fprintf(out, "; descriptor %d", c->fd);
	putc('\n', out);
}

static void put_colors(FILE *out, const struct timeline *t, const struct latency *l)
{
	const struct color_times *c;
	size_t i;

	fprintf(out, "%s%10s %9s %9s %9s %9s %9s %9s  %s\n", t->bands_num > 1 ? "  PID-BASE " : "", "COLOR",
		"CALLBACKS", "RUN", "AVERAGE", "WAIT", "AVERAGE", "LONGEST", "LONGEST CALLBACK");
	for (i = 0; i < l->colors_num && i < COLORS_SHOWN; i++) {
		c = &l->colors[i];
		if (t->bands_num > 1)
			fprintf(out, "%8d-%u ", (int)c->band->pid, c->band->base);
		fprintf(out, "%10s %9llu %9s %9s ", color_name(c->color), (unsigned long long)c->calls,
			duration(c->run_ns), average(c->run_ns, c->calls));
		if (c->waits == 0)
			fprintf(out, "%9s %9s %9s  ", "?", "?", "?");
		else
			fprintf(out, "%9s %9s %9s  ", duration(c->wait_ns), average(c->wait_ns, c->waits),
				duration(c->wait_max_ns));
		put_name(out, c->band, c->longest);
		fprintf(out, ", %s", duration(c->longest->len));
		put_owner(out, c);
	}
	if (l->colors_num > COLORS_SHOWN)
		fprintf(out, "%10s %zu more colors\n", "", l->colors_num - COLORS_SHOWN);
}

static void put_delay(FILE *out, const struct timeline *t, const struct delay *d)
{
	const struct slice *s = d->slice;
	const struct cause *c;
	unsigned i;

	fprintf(out, "%9s  ", duration(s->wait));
	put_name(out, d->band, s);
	fprintf(out, " (color %s, %s), %s, at %.6f s\n", color_name(s->color), slice_kind(s),
		row_name(t, d->band, d->row),
		(double)s->at / 1e9);
	if (d->waited_row != d->row)
		fprintf(out, "%11sstolen from %s, which did:\n", "", row_name(t, d->band, d->waited_row));
	for (i = 0; i < d->causes_num; i++) {
		c = &d->causes[i];
		fprintf(out, "%11s%9s  ", "", duration(c->ns));
		put_name(out, d->band, c->slice);
		if (c->slice->type == SLICE_CALL)
			fprintf(out, " (color %s), %llu time%s", color_name(c->slice->color),
				(unsigned long long)c->num,
				c->num == 1 ? "" : "s");
		putc('\n', out);
	}
	if (d->other_ns > s->wait / 10)
		fprintf(out, "%11s%9s  other things\n", "", duration(d->other_ns));
}

void page_latency(FILE *out, const struct timeline *t)
{
	struct latency l;
	char *advice;
	size_t i;

	latency_find(t, &l);
	advice = latency_advice(&l);
	put_shown(out, advice);
	fputs("\n\n", out);
	if (l.calls != 0)
		put_colors(out, t, &l);
	if (l.delays_num != 0)
		fputs("\nThe longest times between ready and running, and what ran on that worker meanwhile:\n", out);
	for (i = 0; i < l.delays_num; i++)
		put_delay(out, t, &l.delays[i]);
	free(advice);
	latency_free(&l);
}
