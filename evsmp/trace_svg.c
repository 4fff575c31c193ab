/*
 * A picture for documents: one bar for each worker, colored by the color of the callbacks. What is narrower than a
 * third of a pixel is drawn together.
 */
#include <stdlib.h>

#include "color_name.h"
#include "pages.h"

enum { WIDTH = 1200, LEFT = 130, ROW = 28, BAR = 20, TOP = 34, LABEL_MIN = 40, CHAR = 6, FLOWS_MAX = 400 };

/* At most `len` characters of it. */
static void put_xml(FILE *out, const char *s, size_t len)
{
	for (; *s != '\0' && len > 0; s++, len--) {
		unsigned char c = (unsigned char)*s;

		if (c == '&' || c == '<' || c == '>' || c == '"')
			fprintf(out, "&#%d;", c);
		else
			putc(c < ' ' || c >= 0x7f ? '?' : c, out);
	}
}

struct page {
	FILE *out;
	const struct timeline *t;
	const struct band *band;
	unsigned top;			/* of the band's first row */
	double scale;			/* pixels of a nanosecond */
};

static double x_of(const struct page *p, int64_t at)
{
	return LEFT + (double)at * p->scale;
}

static double y_of(const struct page *p, unsigned row)
{
	return p->top + (double)row * ROW;
}

/* Neighbours among colors are apart in the circle of hues. */
static unsigned hue(uint32_t color)
{
	return (unsigned)((color * UINT64_C(137508) / 1000) % 360);
}

static void put_fill(FILE *out, const struct slice *s)
{
	if (s->type == SLICE_POLL)
		fputs("#c8ccd0", out);
	else if (s->type == SLICE_SLEEP)
		fputs("#eef0f2", out);
	else if (s->type == SLICE_SPIN)
		fputs("#ded8c0", out);
	else if (s->color == 0)
		fputs("#7a8794", out);
	else
		fprintf(out, "hsl(%u,60%%,60%%)", hue(s->color));
}

static void put_label(const struct page *p, const struct slice *s, double x, double width, double y)
{
	const char *name = slice_name(p->band, s);
	double chars = width / CHAR - 1;

	if (width < LABEL_MIN)
		return;
	fprintf(p->out, "<text x=\"%.1f\" y=\"%.0f\" class=\"in\">", x + 3, y + 14);
	put_xml(p->out, name, (size_t)chars);
	fputs("</text>\n", p->out);
}

static void put_slice(const struct page *p, const struct slice *s, unsigned row)
{
	double x = x_of(p, s->at), width = (double)s->len * p->scale, y = y_of(p, row) + (s->depth != 0 ? 4 : 0);

	fprintf(p->out, "<rect x=\"%.1f\" y=\"%.0f\" width=\"%.2f\" height=\"%d\" fill=\"", x, y,
		width < 0.3 ? 0.3 : width, s->depth != 0 ? BAR - 8 : BAR);
	put_fill(p->out, s);
	fputs("\"><title>", p->out);
	put_xml(p->out, slice_name(p->band, s), SIZE_MAX);
	if (s->type == SLICE_CALL)
		fprintf(p->out, ", color %s, %s", color_name(s->color), slice_kind(s));
	if (s->fd >= 0)
		fprintf(p->out, ", descriptor %d", s->fd);
	fprintf(p->out, ", %s", duration(s->len));
	if (s->wait >= 0)
		fprintf(p->out, ", waited %s", duration(s->wait));
	fputs("</title></rect>\n", p->out);
	put_label(p, s, x, width, y);
}

static void put_row(const struct page *p, unsigned row)
{
	const struct row *r = &p->band->rows[row];
	const double least = 0.33;
	double drawn = -1, end;
	size_t i;

	fprintf(p->out, "<text x=\"4\" y=\"%.0f\">%s</text>\n", y_of(p, row) + 14, row_name(p->t, p->band, row));
	for (i = 0; i < r->slices_num; i++) {
		end = x_of(p, r->slices[i].at + r->slices[i].len);
		if (end - drawn < least)
			continue;
		put_slice(p, &r->slices[i], row);
		drawn = end;
	}
}

static void put_flows(const struct page *p)
{
	const struct flow *f;
	size_t i;

	if (p->band->flows_num > FLOWS_MAX)
		return;
	for (i = 0; i < p->band->flows_num; i++) {
		f = &p->band->flows[i];
		if (f->from == f->to)
			continue;
		fprintf(p->out, "<line x1=\"%.1f\" y1=\"%.0f\" x2=\"%.1f\" y2=\"%.0f\" class=\"flow\">",
			x_of(p, f->from_at), y_of(p, f->from) + BAR / 2, x_of(p, f->to_at), y_of(p, f->to) + BAR / 2);
		fprintf(p->out, "<title>%s</title></line>\n", mark_name(f->type));
	}
}

/* 1, 2 or 5 times a power of ten: about ten of them. */
static int64_t step_of(int64_t len)
{
	int64_t step = 1;

	while (step * 10 < len && step < INT64_MAX / 100)
		step *= 10;
	if (len / step < 2)
		return step / 5 == 0 ? 1 : step / 5;
	return len / step < 5 ? (step / 2 == 0 ? 1 : step / 2) : step;
}

static void put_axis(const struct page *p, unsigned height)
{
	int64_t step = step_of(p->t->end), at;

	for (at = 0; at <= p->t->end; at += step)
		fprintf(p->out,
			"<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%u\" class=\"tick\"/>"
			"<text x=\"%.1f\" y=\"12\" class=\"in\">%s</text>\n",
			x_of(p, at), 16, x_of(p, at), height, x_of(p, at) + 2, duration(at));
}

static unsigned height_of(const struct timeline *t)
{
	unsigned height = TOP;
	size_t i;

	for (i = 0; i < t->bands_num; i++)
		height += ROW + t->bands[i].rows_num * ROW;
	return height;
}

void page_svg(FILE *out, const struct timeline *t)
{
	struct page p = { .out = out, .t = t, .top = TOP, .scale = (double)(WIDTH - LEFT - 20) / (double)(t->end + 1) };
	unsigned height = height_of(t), row;
	size_t i;

	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" font-family=\"sans-serif\" "
		"font-size=\"12\">\n"
		"<style>.in{font-size:10px}.tick{stroke:#ddd}.flow{stroke:#b03030;stroke-width:.7}</style>\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
		WIDTH, height);
	put_axis(&p, height);
	for (i = 0; i < t->bands_num; i++) {
		p.band = &t->bands[i];
		fprintf(out, "<text x=\"4\" y=\"%u\" font-weight=\"bold\">", p.top + 12);
		put_xml(out, band_name(p.band), SIZE_MAX);
		fputs("</text>\n", out);
		p.top += 18;
		for (row = 0; row < p.band->rows_num; row++)
			put_row(&p, row);
		put_flows(&p);
		p.top += p.band->rows_num * ROW + ROW - 18;
	}
	fputs("</svg>\n", out);
}
