#include "screen.h"

#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "color_name.h"
#include "pages.h"

enum { BAR = 40 };

static const char *const sort_names[SORTS] = { "busy", "calls", "wait", "longest", "color" };

const char *screen_sort_name(enum screen_sort sort)
{
	return sort_names[sort];
}

enum screen_sort screen_sort_of(const char *name)
{
	unsigned i;

	for (i = 0; i < SORTS && strcmp(sort_names[i], name) != 0; i++)
		;
	return (enum screen_sort)i;
}

/* ---------------------------------------------------------------- numbers */

static double share(uint64_t part, uint64_t all)
{
	double r = all == 0 ? 0 : (double)part / (double)all;

	return r > 1 ? 1 : r;
}

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

static double rate(uint64_t num, uint64_t ns)
{
	return ns == 0 ? 0 : (double)num / seconds(ns);
}

static uint64_t mean(uint64_t sum, uint64_t num)
{
	return num == 0 ? 0 : sum / num;
}

static uint64_t passed_ns(const struct stats *s)
{
	uint64_t ns = 0;
	unsigned i;

	for (i = 0; i < s->workers_num; i++) {
		if (s->workers[i].is_on && s->workers[i].all_ns > ns)
			ns = s->workers[i].all_ns;
	}
	return ns;
}

static uint64_t wait99_ns(const struct stats_color *c)
{
	return ec_histogram_quantile_ns(c->delays, 99, 100);
}

/* ---------------------------------------------------------------- order */

static uint64_t key_of(const struct stats_color *c, enum screen_sort sort)
{
	switch (sort) {
	case SORT_CALLS:
		return c->callbacks;
	case SORT_WAIT:
		return wait99_ns(c);
	case SORT_LONGEST:
		return c->longest_ns;
	case SORT_COLOR:
		return UINT32_MAX - c->color;
	default:
		return c->busy_ns;
	}
}

static int by_key(const void *a, const void *b, void *sort)
{
	uint64_t x = key_of(a, *(const enum screen_sort *)sort), y = key_of(b, *(const enum screen_sort *)sort);

	if (x != y)
		return x > y ? -1 : 1;
	return ((const struct stats_color *)a)->color < ((const struct stats_color *)b)->color ? -1 : 1;
}

/* ---------------------------------------------------------------- text */

static const char *mode_name(enum ec_stats_mode mode)
{
	switch (mode) {
	case EC_STATS_SINGLE:
		return "colors on one worker";
	case EC_STATS_SEVERAL:
		return "colors on several workers";
	default:
		return "no colors: one thread";
	}
}

/* What is left of the terminal. */
struct page {
	FILE *out;
	bool is_styled;
	unsigned columns;	/* of a line; UINT_MAX: no limit */
	unsigned lines;		/* that may follow; the last row of the terminal is the caller's */
};

static const char bold[] = "\033[1m", reverse[] = "\033[7m";

/* Bytes that have room in so many columns: a character may have several. */
static size_t len_in(const char *s, unsigned columns)
{
	size_t len = 0;

	for (; s[len] != '\0'; len++) {
		if (((unsigned char)s[len] & 0xc0) != 0x80 && columns-- == 0)
			break;
	}
	return len;
}

static void put_line(struct page *p, const char *style, const char *line, size_t len)
{
	if (p->lines == 0)
		return;
	if (p->lines != UINT_MAX)
		p->lines--;
	if (style != NULL && p->is_styled)
		fprintf(p->out, "%s%.*s\033[0m\n", style, (int)len, line);
	else
		fprintf(p->out, "%.*s\n", (int)len, line);
}

/* A line, which ends where the terminal does. */
static void show_line(struct page *p, const char *style, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void show_line(struct page *p, const char *style, const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	put_line(p, style, line, len_in(line, p->columns));
}

/* In as many lines as it needs, broken at spaces. */
static void show_sentence(struct page *p, const char *sentence)
{
	char line[SENTENCE_LEN + 8];
	const char *indent = "  ";
	size_t len, end;

	for (; *sentence != '\0'; sentence += end + strspn(sentence + end, " "), indent = "    ") {
		(void)snprintf(line, sizeof(line), "%s%s", indent, sentence);
		len = len_in(line, p->columns);
		if (line[len] != '\0') {
			for (end = len; end > strlen(indent) && line[end] != ' '; end--)
				;
			if (end > strlen(indent))
				len = end;
		}
		end = len > strlen(indent) ? len - strlen(indent) : strlen(sentence);
		put_line(p, bold, line, len);
	}
}

/* A time in nine columns. */
static const char *time_column(uint64_t ns, char *ret)
{
	char time[SENTENCES_TIME_LEN];

	(void)snprintf(ret, SENTENCES_TIME_LEN, "%9s", sentences_time(ns, time));
	return ret;
}

/* ---------------------------------------------------------------- workers */

/* Places of a bar: what the other columns leave. */
static unsigned bar_len(const struct page *p)
{
	enum { OTHERS = 60, BAR_MIN = 10 };

	if (p->columns >= OTHERS + BAR)
		return BAR;
	return p->columns > OTHERS + BAR_MIN ? p->columns - OTHERS : BAR_MIN;
}

/* What the worker did in the time. */
static const char *bar(const struct stats_worker *w, unsigned len, char ret[BAR + 1])
{
	const struct {
		uint64_t ns;
		char c;
	} parts[] = { { w->busy_ns, '#' }, { w->engine_ns + w->polling_ns, '+' }, { w->spinning_ns, '~' } };
	double sum = 0;
	unsigned i, at = 0;

	for (i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		sum += share(parts[i].ns, w->all_ns);
		for (; at < len && at + 0.5 < sum * len; at++)
			ret[at] = parts[i].c;
	}
	for (; at < len; at++)
		ret[at] = '.';
	ret[at] = '\0';
	return ret;
}

static void show_worker(struct page *p, unsigned id, const struct stats_worker *w)
{
	char time[SENTENCES_TIME_LEN], places[BAR + 1];

	show_line(p, NULL, "%6u [%s] %3.0f %% %9.0f %s %6llu %8.0f %8.0f", id, bar(w, bar_len(p), places),
		  100 * share(w->busy_ns, w->all_ns), rate(w->callbacks, w->all_ns),
		  time_column(mean(w->busy_ns, w->callbacks), time), (unsigned long long)w->queued,
		  rate(w->steals, w->all_ns), rate(w->wakeups, w->all_ns));
}

static void show_workers(struct page *p, const struct stats *s, unsigned max)
{
	const char *legend = bar_len(p) == BAR ? "# callbacks  + engine  ~ spins  . asleep" : "# busy + ~ . asleep";
	int len = (int)bar_len(p);
	unsigned i, num = 0;

	show_line(p, NULL, "%6s  %-*.*s  %5s %9s %9s %6s %8s %8s", "WORKER", len, len, legend, "BUSY", "CALLS/S",
		  "MEAN", "QUEUE", "STEALS/S", "WAKES/S");
	for (i = 0; i < s->workers_num; i++) {
		if (!s->workers[i].is_on)
			continue;
		if (num++ < max)
			show_worker(p, i, &s->workers[i]);
	}
	if (num > max)
		show_line(p, NULL, "       and %u more", num - max);
}

/* ---------------------------------------------------------------- colors and callbacks */

/* A narrow terminal has the name of the callback instead of some figures. */
static bool is_narrow(const struct page *p)
{
	return p->columns < 100;
}

static void show_color(struct page *p, struct source *source, const struct stats_color *c, uint64_t all_ns)
{
	char times[4][SENTENCES_TIME_LEN], wait50[SENTENCES_TIME_LEN + 1] = "", moves[16] = "";

	if (!is_narrow(p)) {
		(void)snprintf(wait50, sizeof(wait50), " %s",
			       time_column(ec_histogram_quantile_ns(c->delays, 50, 100), times[2]));
		(void)snprintf(moves, sizeof(moves), " %5u", c->moves);
	}
	show_line(p, NULL, "%10s %4u %5.1f %9.0f %s %s%s %s%s  %s", color_name(c->color), c->home,
		  100 * share(c->busy_ns, all_ns), rate(c->callbacks, all_ns),
		  time_column(mean(c->busy_ns, c->callbacks), times[0]), time_column(c->longest_ns, times[1]), wait50,
		  time_column(wait99_ns(c), times[3]), moves, source_name_or_address(source, c->site));
}

static void show_colors(struct page *p, struct source *source, enum screen_sort sort, struct stats *s, unsigned max)
{
	uint64_t all_ns = passed_ns(s);
	unsigned i, num = 0;

	qsort_r(s->colors, s->colors_num, sizeof(*s->colors), by_key, &sort);
	show_line(p, reverse, "%10s %4s %5s %9s %9s %9s%s %9s%s  %s", "COLOR", "HOME", "%", "CALLS/S", "MEAN",
		  "LONGEST", is_narrow(p) ? "" : "    WAIT50", "WAIT99", is_narrow(p) ? "" : " MOVES", "CALLBACK");
	for (i = 0; i < s->colors_num && num < max; i++) {
		if (s->colors[i].callbacks == 0 && s->colors[i].busy_ns == 0)
			continue;
		show_color(p, source, &s->colors[i], all_ns);
		num++;
	}
}

static void show_sites(struct page *p, struct source *source, const struct stats *s, unsigned max)
{
	char times[2][SENTENCES_TIME_LEN];
	uint64_t all_ns = passed_ns(s);
	const struct stats_site *site;
	unsigned i;

	show_line(p, NULL, "%s", "");
	show_line(p, NULL, "%5s %9s %9s %9s %10s  %s", "%", "CALLS/S", "MEAN", "LONGEST", "OF COLOR", "CALLBACK");
	for (i = 0; i < s->sites_num && i < max; i++) {
		site = &s->sites[i];
		if (site->callbacks == 0)
			continue;
		show_line(p, NULL, "%5.1f %9.0f %s %s %10s  %s", 100 * share(site->busy_ns, all_ns),
			  rate(site->callbacks, all_ns),
			  time_column(mean(site->busy_ns, site->callbacks), times[0]),
			  time_column(site->longest_ns, times[1]), color_name(site->color),
			  source_name_or_address(source, site->site));
	}
}

/* ---------------------------------------------------------------- all of it */

static void show_head(struct page *p, const struct screen *screen, const struct source *source, const struct stats *s)
{
	char of[24] = "";

	if (screen->bases_num > 1)
		(void)snprintf(of, sizeof(of), " (one of %u)", screen->bases_num);
	show_line(p, NULL, "%s (%d), base %u%s: %s, %u worker%s, %.1f s", source->program, (int)source->pid, s->base,
		  of, mode_name(s->mode), s->workers_on, s->workers_on == 1 ? "" : "s", seconds(passed_ns(s)));
	show_line(p, NULL, "%s", "");
}

/* Sentences have the lines that they need. The others are for workers, then colors, then callbacks. */
void screen_show(FILE *out, const struct screen *screen, struct source *source, struct stats *s)
{
	enum { SITES = 8, COLORS = 20 };
	bool is_terminal = screen->rows != 0;
	struct page p = { .out = out, .is_styled = screen->is_styled };
	struct sentences say;
	unsigned i, colors = COLORS;

	p.columns = is_terminal ? screen->columns : UINT_MAX;
	p.lines = is_terminal ? screen->rows - 1 : UINT_MAX;
	sentences_make(s, source_name, source, &say);
	show_head(&p, screen, source, s);
	for (i = 0; i < say.num; i++)
		show_sentence(&p, say.at[i]);
	for (i = 0; i < screen->notes_num; i++)
		show_line(&p, NULL, "  %s", screen->notes[i]);
	show_line(&p, NULL, "%s", "");
	show_workers(&p, s, !is_terminal || screen->rows > 40 ? EC_STATS_WORKERS_MAX : p.lines / 3);
	show_line(&p, NULL, "%s", "");
	if (is_terminal)
		colors = p.lines > SITES + 6 ? p.lines - SITES - 3 : p.lines;
	show_colors(&p, source, screen->sort, s, colors);
	if (!is_terminal || p.lines >= 3)
		show_sites(&p, source, s, SITES);
}

/* ---------------------------------------------------------------- JSON */

static void json_workers(FILE *out, const struct stats *s)
{
	const struct stats_worker *w;
	const char *comma = "";
	unsigned i;

	for (i = 0; i < s->workers_num; i++) {
		w = &s->workers[i];
		if (!w->is_on)
			continue;
		fprintf(out, "%s\n    {\"worker\": %u, \"seconds\": %.6f, \"busy\": %.6f, \"engine\": %.6f, "
			     "\"polling\": %.6f, \"spinning\": %.6f, \"asleep\": %.6f, \"alone\": %.6f,\n     ",
			comma, i, seconds(w->all_ns), seconds(w->busy_ns), seconds(w->engine_ns),
			seconds(w->polling_ns), seconds(w->spinning_ns), seconds(w->asleep_ns), seconds(w->alone_ns));
		fprintf(out, "\"callbacks\": %llu, \"posts\": %llu, \"turns\": %llu, \"sleeps\": %llu, "
			     "\"steals\": %llu, \"steal_misses\": %llu, \"stolen_colors\": %llu, "
			     "\"wakeups\": %llu, \"queued\": %llu}",
			(unsigned long long)w->callbacks, (unsigned long long)w->posts, (unsigned long long)w->turns,
			(unsigned long long)w->sleeps, (unsigned long long)w->steals,
			(unsigned long long)w->steal_misses, (unsigned long long)w->stolen_colors,
			(unsigned long long)w->wakeups, (unsigned long long)w->queued);
		comma = ",";
	}
}

static void json_colors(FILE *out, struct source *source, const struct stats *s)
{
	const struct stats_color *c;
	const char *comma = "";
	unsigned i;

	for (i = 0; i < s->colors_num; i++) {
		c = &s->colors[i];
		fprintf(out, "%s\n    {\"color\": %u, \"home\": %u, \"worker\": %u, \"moves\": %u, "
			     "\"callbacks\": %llu, \"busy\": %.6f, \"alone\": %.6f, \"error\": %.6f, "
			     "\"longest\": %.9f,\n     \"callback\": ",
			comma, c->color, c->home, c->busiest, c->moves, (unsigned long long)c->callbacks,
			seconds(c->busy_ns), seconds(c->alone_ns), seconds(c->error_ns), seconds(c->longest_ns));
		put_json_string(out, source_name_or_address(source, c->site));
		fprintf(out, ", \"waits\": %llu, \"wait_mean\": %.9f, \"wait_50\": %.9f, \"wait_99\": %.9f}",
			(unsigned long long)c->delays_num, seconds(mean(c->delays_ns, c->delays_num)),
			seconds(ec_histogram_quantile_ns(c->delays, 50, 100)), seconds(wait99_ns(c)));
		comma = ",";
	}
}

static void json_sites(FILE *out, struct source *source, const struct stats *s)
{
	const struct stats_site *site;
	const char *comma = "";
	unsigned i;

	for (i = 0; i < s->sites_num; i++) {
		site = &s->sites[i];
		fprintf(out, "%s\n    {\"callback\": ", comma);
		put_json_string(out, source_name_or_address(source, site->site));
		fprintf(out, ", \"callbacks\": %llu, \"busy\": %.6f, \"longest\": %.9f, \"color\": %u}",
			(unsigned long long)site->callbacks, seconds(site->busy_ns), seconds(site->longest_ns),
			site->color);
		comma = ",";
	}
}

void screen_json(FILE *out, struct source *source, struct stats *s)
{
	static const char *const modes[] = { "uncolored", "uncolored", "single", "several" };
	struct sentences say;
	unsigned i;

	sentences_make(s, source_name, source, &say);
	fprintf(out, "  {\"base\": %u, \"mode\": \"%s\", \"seconds\": %.6f, \"sentences\": [", s->base, modes[s->mode],
		seconds(passed_ns(s)));
	for (i = 0; i < say.num; i++) {
		fputs(i == 0 ? "\n    " : ",\n    ", out);
		put_json_string(out, say.at[i]);
	}
	fputs("],\n   \"workers\": [", out);
	json_workers(out, s);
	fputs("],\n   \"colors\": [", out);
	json_colors(out, source, s);
	fputs("],\n   \"callbacks\": [", out);
	json_sites(out, source, s);
	fputs("]}", out);
}
