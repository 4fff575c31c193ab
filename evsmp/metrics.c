#include "metrics.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "utf8.h"

enum { EVERY = 4 };			/* buckets of the file for one of the metric: about a doubling */

/* One family: all samples of a name stand together, so each is written for all bases in turn. */
struct family {
	const char *name, *type, *help;
	void (*write)(FILE *out, const struct family *f, struct source *source, const struct stats *s);
	size_t offset;			/* of its number in the record of a worker, color or callback; 0: none */
	bool is_ns;			/* that number is a time, written in seconds */
};

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

static void write_value(FILE *out, const struct family *f, const void *record)
{
	uint64_t value;

	memcpy(&value, (const char *)record + f->offset, sizeof(value));
	if (f->is_ns)
		fprintf(out, "%.9f\n", seconds(value));
	else
		fprintf(out, "%llu\n", (unsigned long long)value);
}

/* ---------------------------------------------------------------- of workers */

static void write_worker(FILE *out, const struct family *f, struct source *source, const struct stats *s)
{
	unsigned i;

	(void)source;
	for (i = 0; i < s->workers_num; i++) {
		if (!s->workers[i].is_on)
			continue;
		fprintf(out, "%s{base=\"%u\",worker=\"%u\"} ", f->name, s->base, i);
		write_value(out, f, &s->workers[i]);
	}
}

static void write_state(FILE *out, const char *name, const struct stats *s, unsigned i, const char *state, uint64_t ns)
{
	fprintf(out, "%s{base=\"%u\",worker=\"%u\",state=\"%s\"} %.9f\n", name, s->base, i, state, seconds(ns));
}

static void write_times(FILE *out, const struct family *f, struct source *source, const struct stats *s)
{
	const char *name = f->name;
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

static void write_delays(FILE *out, const struct family *f, struct source *source, const struct stats *s)
{
	const char *name = f->name;
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

/*
 * For each worker: if it gives the record to another color, the counter ends, and may begin at 0 again, which
 * Prometheus understands. A sum over workers would shrink in part, and all that is left of it would count as new.
 */
static void write_color(FILE *out, const struct family *f, struct source *source, const struct stats *s)
{
	struct stats_color c;
	unsigned i, worker;

	(void)source;
	for (i = 0; i < s->colors_num && i < EC_STATS_COLORS; i++) {
		for (worker = 0; worker < s->workers_num; worker++) {
			if (!stats_color_of(s, worker, s->colors[i].color, &c))
				continue;
			fprintf(out, "%s{base=\"%u\",worker=\"%u\",color=\"%u\"} ", f->name, s->base, worker,
				c.color);
			write_value(out, f, &c);
		}
	}
}

/* A label's value: a backslash, a quote and a newline are escaped. What is not UTF-8 becomes U+FFFD. */
static void write_label(FILE *out, const char *value)
{
	size_t len;

	for (; *value != '\0'; value += len == 0 ? 1 : len) {
		len = utf8_len(value);
		if (len == 0)
			fputs("\ufffd", out);
		else if (*value == '\n')
			fputs("\\n", out);
		else if (*value == '\\' || *value == '"')
			fprintf(out, "\\%c", *value);
		else
			fwrite(value, 1, len, out);
	}
}

/* Two functions may have one name, and a sample must not be there twice: so the address is a label, too. */
static void write_site(FILE *out, const struct family *f, struct source *source, const struct stats *s)
{
	struct stats_site site;
	unsigned i, worker;

	for (i = 0; i < s->sites_num && i < EC_STATS_SITES; i++) {
		for (worker = 0; worker < s->workers_num; worker++) {
			if (!stats_site_of(s, worker, s->sites[i].site, &site))
				continue;
			fprintf(out, "%s{base=\"%u\",worker=\"%u\",callback=\"", f->name, s->base, worker);
			write_label(out, source_name_or_address(source, site.site));
			fprintf(out, "\",address=\"%#llx\"} ", (unsigned long long)site.site);
			write_value(out, f, &site);
		}
	}
}

/* ---------------------------------------------------------------- all */

#define WORKER(field) offsetof(struct stats_worker, field)
#define COLOR(field) offsetof(struct stats_color, field)
#define SITE(field) offsetof(struct stats_site, field)

static const struct family families[] = {
	{ "libevent_smp_callbacks_total", "counter", "Callbacks that ended.",
	  write_worker, WORKER(callbacks), false },
	{ "libevent_smp_posts_total", "counter", "Callbacks that were posted, and ended.",
	  write_worker, WORKER(posts), false },
	{ "libevent_smp_posted_total", "counter", "Posts made by callbacks of this worker.",
	  write_worker, WORKER(posted), false },
	{ "libevent_smp_turns_total", "counter", "Polls.",
	  write_worker, WORKER(turns), false },
	{ "libevent_smp_sleeps_total", "counter", "Polls that were to block.",
	  write_worker, WORKER(sleeps), false },
	{ "libevent_smp_steals_total", "counter", "Steals that found work.",
	  write_worker, WORKER(steals), false },
	{ "libevent_smp_steal_misses_total", "counter", "Steals that found none.",
	  write_worker, WORKER(steal_misses), false },
	{ "libevent_smp_stolen_colors_total", "counter", "Colors that this worker stole.",
	  write_worker, WORKER(stolen_colors), false },
	{ "libevent_smp_color_moves_total", "counter", "Homes of colors that moved to this worker.",
	  write_worker, WORKER(moves), false },
	{ "libevent_smp_wakeups_total", "counter", "Wake-ups that this worker sent.",
	  write_worker, WORKER(wakeups), false },
	{ "libevent_smp_queued_tasks", "gauge", "Tasks that wait at this worker.",
	  write_worker, WORKER(queued), false },
	{ "libevent_smp_worker_seconds_total", "counter", "What the worker's time went to.",
	  write_times, 0, false },
	{ "libevent_smp_running_callback_seconds", "gauge", "How long the present callback has run; 0: none runs.",
	  write_worker, WORKER(running_ns), true },
	{ "libevent_smp_queueing_delay_seconds", "histogram", "From ready to run, where that is known.",
	  write_delays, 0, false },
	{ "libevent_smp_color_busy_seconds_total", "counter", "Time in callbacks of the busiest colors.",
	  write_color, COLOR(busy_ns), true },
	{ "libevent_smp_color_alone_seconds_total", "counter", "The same, while all other workers were idle.",
	  write_color, COLOR(alone_ns), true },
	{ "libevent_smp_color_callbacks_total", "counter", "Callbacks of the busiest colors.",
	  write_color, COLOR(callbacks), false },
	{ "libevent_smp_callback_busy_seconds_total", "counter", "Time in the busiest callback functions.",
	  write_site, SITE(busy_ns), true },
	{ "libevent_smp_callback_calls_total", "counter", "Calls of the busiest callback functions.",
	  write_site, SITE(callbacks), false },
	{ "libevent_smp_callback_longest_seconds", "gauge", "The longest call of a callback function.",
	  write_site, SITE(longest_ns), true },
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

unsigned metrics_write(FILE *out, struct source *source, struct metrics_room *room)
{
	const struct family *f;
	unsigned i, num = 0;

	for (i = 0; i < source->files_num; i++) {
		if (!source_read(source, i, &room[num].stats))
			continue;
		stats_keep(&room[num].stats, &room[num].bytes);
		num++;
	}
	write_info(out, source);
	for (f = families; f < families + sizeof(families) / sizeof(*families); f++) {
		fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", f->name, f->help, f->name, f->type);
		for (i = 0; i < num; i++)
			f->write(out, f, source, &room[i].stats);
	}
	return num;
}
