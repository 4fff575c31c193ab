#include "metrics.h"

#include <stdlib.h>
#include <string.h>

enum { EVERY = 4 };			/* buckets of the file for one of the metric: about a doubling */

/* One family: all samples of a name stand together, so each is written for all bases in turn. */
struct family {
	const char *name, *type, *help;
	void (*write)(FILE *out, const char *name, struct source *source, const struct stats *s);
};

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

/* ---------------------------------------------------------------- of workers */

/* The counters of a worker that are plain numbers. */
struct number {
	const char *name;
	size_t offset;
};

static const struct number numbers[] = {
	{ "libevent_smp_callbacks_total", offsetof(struct stats_worker, callbacks) },
	{ "libevent_smp_posts_total", offsetof(struct stats_worker, posts) },
	{ "libevent_smp_posted_total", offsetof(struct stats_worker, posted) },
	{ "libevent_smp_turns_total", offsetof(struct stats_worker, turns) },
	{ "libevent_smp_sleeps_total", offsetof(struct stats_worker, sleeps) },
	{ "libevent_smp_steals_total", offsetof(struct stats_worker, steals) },
	{ "libevent_smp_steal_misses_total", offsetof(struct stats_worker, steal_misses) },
	{ "libevent_smp_stolen_colors_total", offsetof(struct stats_worker, stolen_colors) },
	{ "libevent_smp_color_moves_total", offsetof(struct stats_worker, moves) },
	{ "libevent_smp_wakeups_total", offsetof(struct stats_worker, wakeups) },
	{ "libevent_smp_queued_tasks", offsetof(struct stats_worker, queued) },
};

static void write_number(FILE *out, const char *name, struct source *source, const struct stats *s)
{
	uint64_t value;
	size_t at;
	unsigned i;

	(void)source;
	for (at = 0; strcmp(numbers[at].name, name) != 0; at++)
		;
	for (i = 0; i < s->workers_num; i++) {
		if (!s->workers[i].is_on)
			continue;
		memcpy(&value, (const char *)&s->workers[i] + numbers[at].offset, sizeof(value));
		fprintf(out, "%s{base=\"%u\",worker=\"%u\"} %llu\n", name, s->base, i, (unsigned long long)value);
	}
}

static void write_state(FILE *out, const char *name, const struct stats *s, unsigned i, const char *state, uint64_t ns)
{
	fprintf(out, "%s{base=\"%u\",worker=\"%u\",state=\"%s\"} %.9f\n", name, s->base, i, state, seconds(ns));
}

static void write_times(FILE *out, const char *name, struct source *source, const struct stats *s)
{
	const struct stats_worker *w;
	unsigned i;

	(void)source;
	for (i = 0; i < s->workers_num; i++) {
		w = &s->workers[i];
		if (!w->is_on)
			continue;
		write_state(out, name, s, i, "busy", w->busy_ns);
		write_state(out, name, s, i, "engine", w->engine_ns);
		write_state(out, name, s, i, "polling", w->polling_ns);
		write_state(out, name, s, i, "spinning", w->spinning_ns);
		write_state(out, name, s, i, "asleep", w->asleep_ns);
	}
}

static void write_running(FILE *out, const char *name, struct source *source, const struct stats *s)
{
	unsigned i;

	(void)source;
	for (i = 0; i < s->workers_num; i++) {
		if (s->workers[i].is_on)
			fprintf(out, "%s{base=\"%u\",worker=\"%u\"} %.9f\n", name, s->base, i,
				seconds(s->workers[i].running_ns));
	}
}

static void write_delays(FILE *out, const char *name, struct source *source, const struct stats *s)
{
	const struct stats_worker *w;
	uint64_t below;
	unsigned i, j;

	(void)source;
	for (i = 0; i < s->workers_num; i++) {
		w = &s->workers[i];
		if (!w->is_on)
			continue;
		for (j = 0, below = 0; j < EC_HISTOGRAM_BUCKETS - 1; j++) {
			below += w->delays[j];
			if (j % EVERY == 0)
				fprintf(out, "%s_bucket{base=\"%u\",worker=\"%u\",le=\"%.9g\"} %llu\n", name, s->base,
					i, seconds(ec_histogram_bound_ns(j)), (unsigned long long)below);
		}
		fprintf(out, "%s_bucket{base=\"%u\",worker=\"%u\",le=\"+Inf\"} %llu\n", name, s->base, i,
			(unsigned long long)w->delays_num);
		fprintf(out, "%s_sum{base=\"%u\",worker=\"%u\"} %.9f\n", name, s->base, i, seconds(w->delays_ns));
		fprintf(out, "%s_count{base=\"%u\",worker=\"%u\"} %llu\n", name, s->base, i,
			(unsigned long long)w->delays_num);
	}
}

/* ---------------------------------------------------------------- of colors and callbacks */

static void write_color_busy(FILE *out, const char *name, struct source *source, const struct stats *s)
{
	unsigned i;

	(void)source;
	for (i = 0; i < s->colors_num && i < EC_STATS_COLORS; i++)
		fprintf(out, "%s{base=\"%u\",color=\"%u\"} %.9f\n", name, s->base, s->colors[i].color,
			seconds(s->colors[i].busy_ns));
}

static void write_color_callbacks(FILE *out, const char *name, struct source *source, const struct stats *s)
{
	unsigned i;

	(void)source;
	for (i = 0; i < s->colors_num && i < EC_STATS_COLORS; i++)
		fprintf(out, "%s{base=\"%u\",color=\"%u\"} %llu\n", name, s->base, s->colors[i].color,
			(unsigned long long)s->colors[i].callbacks);
}

static void write_color_alone(FILE *out, const char *name, struct source *source, const struct stats *s)
{
	unsigned i;

	(void)source;
	for (i = 0; i < s->colors_num && i < EC_STATS_COLORS; i++)
		fprintf(out, "%s{base=\"%u\",color=\"%u\"} %.9f\n", name, s->base, s->colors[i].color,
			seconds(s->colors[i].alone_ns));
}

/* A label's value: a backslash, a quote and a newline are escaped. source.c lets no newline through. */
static void write_label(FILE *out, const char *value)
{
	for (; *value != '\0'; value++) {
		if (*value == '\\' || *value == '"')
			fputc('\\', out);
		fputc(*value, out);
	}
}

/* Two functions may have one name, and a sample must not be there twice: so the address is a label, too. */
static void write_site(FILE *out, const char *name, struct source *source, const struct stats *s, unsigned i)
{
	fprintf(out, "%s{base=\"%u\",callback=\"", name, s->base);
	write_label(out, source_name_or_address(source, s->sites[i].site));
	fprintf(out, "\",address=\"%#llx\"} ", (unsigned long long)s->sites[i].site);
}

static void write_site_busy(FILE *out, const char *name, struct source *source, const struct stats *s)
{
	unsigned i;

	for (i = 0; i < s->sites_num && i < EC_STATS_SITES; i++) {
		write_site(out, name, source, s, i);
		fprintf(out, "%.9f\n", seconds(s->sites[i].busy_ns));
	}
}

static void write_site_callbacks(FILE *out, const char *name, struct source *source, const struct stats *s)
{
	unsigned i;

	for (i = 0; i < s->sites_num && i < EC_STATS_SITES; i++) {
		write_site(out, name, source, s, i);
		fprintf(out, "%llu\n", (unsigned long long)s->sites[i].callbacks);
	}
}

static void write_site_longest(FILE *out, const char *name, struct source *source, const struct stats *s)
{
	unsigned i;

	for (i = 0; i < s->sites_num && i < EC_STATS_SITES; i++) {
		write_site(out, name, source, s, i);
		fprintf(out, "%.9f\n", seconds(s->sites[i].longest_ns));
	}
}

/* ---------------------------------------------------------------- all */

static const struct family families[] = {
	{ "libevent_smp_callbacks_total", "counter", "Callbacks that ended.", write_number },
	{ "libevent_smp_posts_total", "counter", "Callbacks that were posted, and ended.", write_number },
	{ "libevent_smp_posted_total", "counter", "Posts made by callbacks of this worker.", write_number },
	{ "libevent_smp_turns_total", "counter", "Polls.", write_number },
	{ "libevent_smp_sleeps_total", "counter", "Polls that were to block.", write_number },
	{ "libevent_smp_steals_total", "counter", "Steals that found work.", write_number },
	{ "libevent_smp_steal_misses_total", "counter", "Steals that found none.", write_number },
	{ "libevent_smp_stolen_colors_total", "counter", "Colors that this worker stole.", write_number },
	{ "libevent_smp_color_moves_total", "counter", "Homes of colors that moved to this worker.", write_number },
	{ "libevent_smp_wakeups_total", "counter", "Wake-ups that this worker sent.", write_number },
	{ "libevent_smp_queued_tasks", "gauge", "Tasks that wait at this worker.", write_number },
	{ "libevent_smp_worker_seconds_total", "counter", "What the worker's time went to.", write_times },
	{ "libevent_smp_running_callback_seconds", "gauge", "How long the present callback has run; 0: none runs.",
	  write_running },
	{ "libevent_smp_queueing_delay_seconds", "histogram", "From ready to run, where that is known.", write_delays },
	{ "libevent_smp_color_busy_seconds_total", "counter", "Time in callbacks of the busiest colors.",
	  write_color_busy },
	{ "libevent_smp_color_alone_seconds_total", "counter", "The same, while all other workers were idle.",
	  write_color_alone },
	{ "libevent_smp_color_callbacks_total", "counter", "Callbacks of the busiest colors.", write_color_callbacks },
	{ "libevent_smp_callback_busy_seconds_total", "counter", "Time in the busiest callback functions.",
	  write_site_busy },
	{ "libevent_smp_callback_calls_total", "counter", "Calls of the busiest callback functions.",
	  write_site_callbacks },
	{ "libevent_smp_callback_longest_seconds", "gauge", "The longest call of a callback function.",
	  write_site_longest },
};

static void write_info(FILE *out, const struct source *source)
{
	const char *version = source->is_attached ? source->attached.process.version : NULL;

	fputs("# HELP libevent_smp_info The process.\n# TYPE libevent_smp_info gauge\n", out);
	fprintf(out, "libevent_smp_info{pid=\"%d\",program=\"", (int)source->pid);
	write_label(out, source->program);
	fputs("\",version=\"", out);
	write_label(out, version == NULL ? "" : version);
	fputs("\"} 1\n", out);
}

void metrics_write(FILE *out, struct source *source, struct stats *room)
{
	const struct family *f;
	unsigned i, num = 0;

	for (i = 0; i < source->files_num; i++) {
		if (source_read(source, i, &room[num]))
			num++;
	}
	write_info(out, source);
	for (f = families; f < families + sizeof(families) / sizeof(*families); f++) {
		fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", f->name, f->help, f->name, f->type);
		for (i = 0; i < num; i++)
			f->write(out, f->name, source, &room[i]);
	}
}
