/*
 * The viewer (viewer.html) with the timeline in it: one file that needs no network. The data is JSON, in columns and as
 * differences, since most of the file is that.
 */
#include <stdlib.h>
#include <string.h>

#include "color_name.h"
#include "pages.h"

/* The viewer, of which the build makes a string. */
static const char viewer[] =
#include "evsmp/viewer.inc"
	;

enum { SLICES_MAX = 250000, COLORS_MAX = 200, NAMES_NEAR = 1000 };

/* Names by the pointer that slice_name() returns. */
struct names {
	const char **at;
	size_t num, cap;
};

struct page {
	FILE *out;
	const struct timeline *t;
	struct names names;
	size_t row_max;			/* slices of each row; older ones are left out */
	uint64_t left_out;
};

static size_t name_of(struct page *p, const struct band *b, const struct slice *s)
{
	const char *name = slice_name(b, s);
	struct names *n = &p->names;
	size_t i;

	/* The newest first: one callback often comes in a row. Of very many, some are there twice. */
	for (i = n->num; i > 0 && n->num - i < NAMES_NEAR; i--) {
		if (n->at[i - 1] == name)
			return i - 1;
	}
	if (n->num == n->cap) {
		n->cap = 2 * n->cap + 64;
		n->at = must(realloc(n->at, n->cap * sizeof(*n->at)));
	}
	n->at[n->num] = name;
	return n->num++;
}

/* ---------------------------------------------------------------- rows */

static size_t first_of(const struct page *p, const struct row *r)
{
	return r->slices_num > p->row_max ? r->slices_num - p->row_max : 0;
}

static void put_slices(struct page *p, const struct band *b, const struct row *r)
{
	size_t first = first_of(p, r), i;
	const struct slice *s;
	int64_t before = 0;

	fputs("\"slices\":[", p->out);
	for (i = first; i < r->slices_num; i++) {
		s = &r->slices[i];
		fprintf(p->out, "%s%lld,%lld,%zu,%u,%lld,%u,%d,%u,%u", i == first ? "" : ",",
			(long long)(s->at - before), (long long)s->len, name_of(p, b, s), s->color,
			(long long)s->wait, s->kind, s->fd, s->type, s->depth);
		before = s->at;
	}
	fputs("]", p->out);
	p->left_out += first + r->lost;
}

static void put_levels(struct page *p, const struct row *r)
{
	size_t first = r->levels_num > p->row_max ? r->levels_num - p->row_max : 0, i;
	int64_t before = 0;

	fputs(",\"levels\":[", p->out);
	for (i = first; i < r->levels_num; i++) {
		fprintf(p->out, "%s%lld,%llu", i == first ? "" : ",", (long long)(r->levels[i].at - before),
			(unsigned long long)r->levels[i].num);
		before = r->levels[i].at;
	}
	fputs("]", p->out);
}

static void put_band(struct page *p, const struct band *b)
{
	size_t first, i;
	unsigned row;

	fputs("{\"name\":", p->out);
	put_json_string(p->out, band_name(b));
	fputs(",\"rows\":[", p->out);
	for (row = 0; row < b->rows_num; row++) {
		fprintf(p->out, "%s\n{\"name\":\"%s\",", row == 0 ? "" : ",", row_name(p->t, b, row));
		put_slices(p, b, &b->rows[row]);
		put_levels(p, &b->rows[row]);
		fputs("}", p->out);
	}
	first = b->flows_num > p->row_max ? b->flows_num - p->row_max : 0;
	fputs("],\n\"flows\":[", p->out);
	for (i = first; i < b->flows_num; i++)
		fprintf(p->out, "%s%u,%lld,%u,%lld,%u", i == first ? "" : ",", b->flows[i].from,
			(long long)b->flows[i].from_at, b->flows[i].to, (long long)b->flows[i].to_at, b->flows[i].type);
	fputs("]}", p->out);
}

/* ---------------------------------------------------------------- latency */

static void put_delay(struct page *p, const struct delay *d)
{
	const struct row *r = &d->band->rows[d->row];
	size_t index = (size_t)(d->slice - r->slices), first = first_of(p, r);
	unsigned i;

	fprintf(p->out, "{\"band\":%zu,\"row\":%u,\"slice\":%lld,\"wait\":%lld,\"color\":%u,\"name\":%zu,\"causes\":[",
		(size_t)(d->band - p->t->bands), d->row, index < first ? -1 : (long long)(index - first),
		(long long)d->slice->wait, d->slice->color, name_of(p, d->band, d->slice));
	for (i = 0; i < d->causes_num; i++)
		fprintf(p->out, "%s[%zu,%u,%llu,%lld,%u]", i == 0 ? "" : ",", name_of(p, d->band, d->causes[i].slice),
			d->causes[i].slice->color, (unsigned long long)d->causes[i].num, (long long)d->causes[i].ns,
			d->causes[i].slice->type);
	fputs("]}", p->out);
}

static void put_color(struct page *p, const struct color_times *c)
{
	fprintf(p->out, "[%u,%llu,%lld,%llu,%lld,%lld,%zu,%lld,%zu,%zu,%d,", c->color, (unsigned long long)c->calls,
		(long long)c->run_ns, (unsigned long long)c->waits, (long long)c->wait_ns, (long long)c->wait_max_ns,
		name_of(p, c->band, c->longest), (long long)c->longest->len, (size_t)(c->band - p->t->bands),
		name_of(p, c->band, c->most), c->fd);
	put_json_string(p->out, color_name(c->color));
	fputs("]", p->out);
}

static void put_latency(struct page *p)
{
	struct latency l;
	char *advice;
	size_t i;

	latency_find(p->t, &l);
	advice = latency_advice(&l);
	fputs("\"advice\":", p->out);
	put_json_string(p->out, advice);
	fputs(",\"delays\":[", p->out);
	for (i = 0; i < l.delays_num; i++) {
		fputs(i == 0 ? "\n" : ",\n", p->out);
		put_delay(p, &l.delays[i]);
	}
	fputs("],\"colors\":[", p->out);
	for (i = 0; i < l.colors_num && i < COLORS_MAX; i++) {
		fputs(i == 0 ? "\n" : ",\n", p->out);
		put_color(p, &l.colors[i]);
	}
	fputs("],\n", p->out);
	free(advice);
	latency_free(&l);
}

/* ---------------------------------------------------------------- the page */

static void put_kinds(struct page *p)
{
	struct slice s = { .type = SLICE_CALL };

	fputs("\"kinds\":[", p->out);
	for (s.kind = 0; s.kind < 16; s.kind++)
		fprintf(p->out, "%s\"%s\"", s.kind == 0 ? "" : ",", slice_kind(&s));
	fputs("],\n", p->out);
}

static void put_data(struct page *p)
{
	const struct timeline *t = p->t;
	size_t i;

	fprintf(p->out, "{\"end\":%lld,\"title\":", (long long)t->end);
	put_json_string(p->out, t->bands_num == 0 ? "nothing" : band_name(&t->bands[0]));
	fputs(",\n\"bands\":[", p->out);
	for (i = 0; i < t->bands_num; i++) {
		fputs(i == 0 ? "" : ",\n", p->out);
		put_band(p, &t->bands[i]);
	}
	fputs("],\n", p->out);
	put_latency(p);
	put_kinds(p);
	fputs("\"note\":", p->out);
	put_json_string(p->out, p->left_out == 0 ? "" : "Older events are not shown.");
	fputs(",\n\"names\":[", p->out);
	for (i = 0; i < p->names.num; i++) {
		fputs(i == 0 ? "" : ",", p->out);
		put_json_string(p->out, p->names.at[i]);
	}
	fputs("]}", p->out);
}

void page_html(FILE *out, const struct timeline *t)
{
	static const char marker[] = "@DATA@";
	const char *at = strstr(viewer, marker);
	struct page p = { .out = out, .t = t };
	size_t rows = 0, i;

	for (i = 0; i < t->bands_num; i++)
		rows += t->bands[i].rows_num;
	p.row_max = SLICES_MAX / (rows + 1);
	fwrite(viewer, 1, (size_t)(at - viewer), out);
	put_data(&p);
	fputs(at + strlen(marker), out);
	free(p.names.at);
}
