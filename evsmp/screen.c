#include "screen.h"

#include <stdlib.h>
#include <string.h>

#include "pages.h"

enum { BAR = 40, NAME_MIN = 10 };

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

/* A bar of BAR places: what the worker did in the time. */
static void show_bar(FILE *out, const struct stats_worker *w)
{
	const struct {
		uint64_t ns;
		char c;
	} parts[] = { { w->busy_ns, '#' }, { w->engine_ns + w->polling_ns, '+' }, { w->spinning_ns, '~' } };
	double sum = 0;
	unsigned i, at = 0;

	fputc('[', out);
	for (i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		sum += share(parts[i].ns, w->all_ns);
		for (; at < BAR && at + 0.5 < sum * BAR; at++)
			fputc(parts[i].c, out);
	}
	for (; at < BAR; at++)
		fputc('.', out);
	fputc(']', out);
}

static void show_worker(FILE *out, unsigned id, const struct stats_worker *w)
{
	char time[SENTENCES_TIME_LEN];

	fprintf(out, "%6u ", id);
	show_bar(out, w);
	fprintf(out, " %3.0f %% %9.0f %9s %6llu %8.0f %8.0f\n", 100 * share(w->busy_ns, w->all_ns),
		rate(w->callbacks, w->all_ns), sentences_time(mean(w->busy_ns, w->callbacks), time),
		(unsigned long long)w->queued, rate(w->steals, w->all_ns), rate(w->wakeups, w->all_ns));
}

/* Returns the lines. */
static unsigned show_workers(FILE *out, const struct stats *s, unsigned max)
{
	unsigned i, num = 0, left = 0;

	fprintf(out, "%6s  %-*s  %5s %9s %9s %6s %8s %8s\n", "WORKER", BAR, "# callbacks  + engine  ~ spins  . asleep",
		"BUSY", "CALLS/S", "MEAN", "QUEUE", "STEALS/S", "WAKES/S");
	for (i = 0; i < s->workers_num; i++) {
		if (!s->workers[i].is_on)
			continue;
		if (num < max)
			show_worker(out, i, &s->workers[i]);
		else
			left++;
		num++;
	}
	if (left != 0)
		fprintf(out, "       and %u more\n", left);
	return left != 0 ? max + 2 : num + 1;
}

static void show_color(FILE *out, const struct screen *screen, struct source *source, const struct stats_color *c,
		       uint64_t all_ns)
{
	char times[4][SENTENCES_TIME_LEN];
	unsigned room = screen->columns > 80 + NAME_MIN ? screen->columns - 80 : NAME_MIN;

	fprintf(out, "%10u %4u %5.1f %9.0f %9s %9s %9s %9s %5u  %.*s\n", c->color, c->home,
		100 * share(c->busy_ns, all_ns), rate(c->callbacks, all_ns),
		sentences_time(mean(c->busy_ns, c->callbacks), times[0]), sentences_time(c->longest_ns, times[1]),
		sentences_time(ec_histogram_quantile_ns(c->delays, 50, 100), times[2]),
		sentences_time(wait99_ns(c), times[3]), c->moves, (int)room, source_name_or_address(source, c->site));
}

static void show_colors(FILE *out, const struct screen *screen, struct source *source, struct stats *s, unsigned max)
{
	enum screen_sort sort = screen->sort;
	uint64_t all_ns = passed_ns(s);
	unsigned i;

	qsort_r(s->colors, s->colors_num, sizeof(*s->colors), by_key, &sort);
	fprintf(out, "%s%10s %4s %5s %9s %9s %9s %9s %9s %5s  %s%s\n", screen->is_styled ? "\033[7m" : "", "COLOR",
		"HOME", "%", "CALLS/S", "MEAN", "LONGEST", "WAIT50", "WAIT99", "MOVES", "CALLBACK",
		screen->is_styled ? "\033[0m" : "");
	for (i = 0; i < s->colors_num && i < max; i++) {
		if (s->colors[i].callbacks != 0 || s->colors[i].busy_ns != 0)
			show_color(out, screen, source, &s->colors[i], all_ns);
	}
}

static void show_sites(FILE *out, struct source *source, const struct stats *s, unsigned max)
{
	char times[2][SENTENCES_TIME_LEN];
	uint64_t all_ns = passed_ns(s);
	const struct stats_site *site;
	unsigned i;

	fprintf(out, "\n%5s %9s %9s %9s %10s  %s\n", "%", "CALLS/S", "MEAN", "LONGEST", "OF COLOR", "CALLBACK");
	for (i = 0; i < s->sites_num && i < max; i++) {
		site = &s->sites[i];
		if (site->callbacks == 0)
			continue;
		fprintf(out, "%5.1f %9.0f %9s %9s %10u  %s\n", 100 * share(site->busy_ns, all_ns),
			rate(site->callbacks, all_ns), sentences_time(mean(site->busy_ns, site->callbacks), times[0]),
			sentences_time(site->longest_ns, times[1]), site->color,
			source_name_or_address(source, site->site));
	}
}

/* The rows that are left are for colors first, then for callbacks. */
void screen_show(FILE *out, const struct screen *screen, struct source *source, struct stats *s)
{
	enum { SITES = 8, WORKERS = 16 };
	unsigned rows = screen->rows == 0 ? 10000 : screen->rows, used = 2, i, left;
	struct sentences say;

	sentences_make(s, source_name, source, &say);
	fprintf(out, "%s (%d), base %u: %s, %u worker%s, %.1f s\n\n", source->program, (int)source->pid, s->base,
		mode_name(s->mode), s->workers_on, s->workers_on == 1 ? "" : "s", seconds(passed_ns(s)));
	for (i = 0; i < say.num; i++, used++)
		fprintf(out, "  %s%s%s\n", screen->is_styled ? "\033[1m" : "", say.at[i],
			screen->is_styled ? "\033[0m" : "");
	fputc('\n', out);
	used += 1 + show_workers(out, s, rows > 40 ? EC_STATS_WORKERS_MAX : WORKERS);
	fputc('\n', out);
	left = rows > used + 2 ? rows - used - 2 : 1;
	show_colors(out, screen, source, s, screen->rows == 0 ? 20 : left > SITES + 6 ? left - SITES - 3 : left);
	if (screen->rows == 0 || left > SITES + 6)
		show_sites(out, source, s, SITES);
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
