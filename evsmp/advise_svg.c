/*
 * The picture: how many times as fast, over the number of workers; a line for each rule. Both axes are logarithmic, so
 * that "twice the workers, twice as fast" is the diagonal.
 */
#include "advise_pages.h"

#include <stdlib.h>

enum { WIDTH = 760, HEIGHT = 420, LEFT = 60, RIGHT = 480, TOP = 50, BOTTOM = 370 };

static const char *const paints[RULES] = { "#444", "#1668b8", "#7a3fb0", "#1f8a4c", "#c07a10", "#b03030" };

static double x_of(unsigned place)
{
	return LEFT + (double)(RIGHT - LEFT) * place / (ADVICE_WORKERS - 1);
}

/* The binary logarithm of 1 to 64, to a thousandth: each squaring tells one more bit. */
static double log_of(double times)
{
	double log = 0, bit = 1;

	for (; times >= 2; times /= 2)
		log += 1;
	for (; bit > 0.001; times *= times) {
		if (times >= 2) {
			times /= 2;
			log += bit;
		}
		bit /= 2;
	}
	return log;
}

/* 1 is at the bottom, 64 at the top. */
static double y_of(double times)
{
	double most = advice_workers[ADVICE_WORKERS - 1];

	times = times < 1 ? 1 : times > most ? most : times;
	return BOTTOM - (BOTTOM - TOP) * log_of(times) / (ADVICE_WORKERS - 1);
}

static void put_escaped(FILE *out, const char *s)
{
	for (; *s != '\0'; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '<' || c == '>' || c == '&' || c < ' ' || c >= 0x7f)
			fprintf(out, "&#%u;", c < ' ' || c >= 0x7f ? '?' : c);
		else
			putc(c, out);
	}
}

static void put_axes(FILE *out)
{
	unsigned i;

	for (i = 0; i < ADVICE_WORKERS; i++) {
		fprintf(out, "<line x1=\"%.0f\" y1=\"%d\" x2=\"%.0f\" y2=\"%d\" class=\"tick\"/>\n", x_of(i), TOP,
			x_of(i), BOTTOM);
		fprintf(out, "<text x=\"%.0f\" y=\"%d\" text-anchor=\"middle\">%u</text>\n", x_of(i), BOTTOM + 18,
			advice_workers[i]);
		fprintf(out, "<line x1=\"%d\" y1=\"%.0f\" x2=\"%d\" y2=\"%.0f\" class=\"tick\"/>\n", LEFT,
			y_of(advice_workers[i]), RIGHT, y_of(advice_workers[i]));
		fprintf(out, "<text x=\"%d\" y=\"%.0f\" text-anchor=\"end\">%u</text>\n", LEFT - 8,
			y_of(advice_workers[i]) + 4, advice_workers[i]);
	}
	fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">workers</text>\n", (LEFT + RIGHT) / 2,
		BOTTOM + 38);
	fprintf(out, "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" class=\"ideal\"/>\n", LEFT, BOTTOM, RIGHT, TOP);
}

/* Of the rules that end at the same height, the names are below each other. */
static void put_line(FILE *out, const struct option *o, size_t number, bool is_best)
{
	const char *paint = paints[o->coloring.rule];
	unsigned i;

	fprintf(out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"%d\" points=\"", paint, is_best ? 3 : 1);
	for (i = 0; i < ADVICE_WORKERS; i++)
		fprintf(out, "%.1f,%.1f ", x_of(i), y_of(option_speed(o, i)));
	fprintf(out, "\"><title>%s: at most %.1f</title></polyline>\n", rule_name(o->coloring.rule), o->most);
	fprintf(out, "<text x=\"%d\" y=\"%zu\" fill=\"%s\"%s>%s</text>\n", RIGHT + 16, TOP + 20 + 34 * number, paint,
		is_best ? " font-weight=\"bold\"" : "", rule_name(o->coloring.rule));
	fprintf(out, "<text x=\"%d\" y=\"%zu\" fill=\"%s\" class=\"small\">", RIGHT + 16, TOP + 34 + 34 * number,
		paint);
	fprintf(out, "2: %.2f, 4: %.2f, 8: %.2f, at most %.1f</text>\n", option_speed(o, 1), option_speed(o, 2),
		option_speed(o, 3), o->most);
}

void advise_svg(FILE *out, const struct advised *a)
{
	const struct advice *d = a->advice;
	size_t i;

	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" "
		"font-size=\"12\">\n"
		"<style>.small{font-size:10px}.tick{stroke:#ddd}.ideal{stroke:#aaa;stroke-dasharray:4 4}</style>\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
		"<text x=\"%d\" y=\"24\" font-size=\"15\" font-weight=\"bold\">",
		WIDTH, HEIGHT, LEFT);
	put_escaped(out, a->program);
	fputs(": times as fast</text>\n", out);
	put_axes(out);
	for (i = 0; i < d->options_num; i++)
		put_line(out, &d->options[i], i, &d->options[i] == d->best);
	fputs("</svg>\n", out);
}
