/*
 * advise: records a program on one thread, replays that under colors it does not have yet, and says what to color.
 */
#include <stdlib.h>
#include <string.h>

#include "advise_pages.h"
#include "command.h"
#include "latency.h"
#include "record.h"

struct options {
	struct record_options record;
	bool is_json;
	const char *svg;		/* NULL: no picture */
};

/* ---------------------------------------------------------------- options */

static bool take_option(struct options *o, int argc, char **argv, int *i)
{
	const char *value;

	if (strcmp(argv[*i], "--json") == 0)
		o->is_json = o->record.owns_stdout = true;
	else if ((value = record_value("advise", "--seconds", argc, argv, i)) != NULL)
		o->record.seconds = record_seconds(value);
	else if ((value = record_value("advise", "--svg", argc, argv, i)) != NULL)
		o->svg = value;
	else if ((value = record_value("advise", "--read", argc, argv, i)) != NULL)
		o->record.read = value;
	else
		return false;
	return true;
}

/* Returns the number of words that were options. */
static int read_options(int argc, char **argv, struct options *ret)
{
	int i;

	*ret = (struct options){ .record = { .command = "advise", .workers = "1", .has_objects = true } };
	for (i = 0; i < argc && argv[i][0] == '-'; i++) {
		if (strcmp(argv[i], "--") == 0)
			return i + 1;
		if (!take_option(ret, argc, argv, &i))
			die(EVSMP_USAGE, "advise has no option %s (evsmp advise --help lists them).", argv[i]);
	}
	return i;
}

/* ---------------------------------------------------------------- what was recorded */

static int64_t work_of(const struct band *b)
{
	int64_t ns = 0;
	unsigned row;
	size_t i;

	for (row = 0; row < b->rows_num; row++) {
		for (i = 0; i < b->rows[row].slices_num; i++) {
			if (b->rows[row].slices[i].type == SLICE_CALL && b->rows[row].slices[i].depth == 0)
				ns += b->rows[row].slices[i].len;
		}
	}
	return ns;
}

/* The base with the most work. */
static const struct band *band_of(const struct timeline *t)
{
	const struct band *b = &t->bands[0];
	size_t i;

	for (i = 1; i < t->bands_num; i++) {
		if (work_of(&t->bands[i]) > work_of(b))
			b = &t->bands[i];
	}
	return b;
}

/* With so many records lost, a prediction would be a guess. */
static void refuse_losses(const struct advised *a)
{
	size_t num = a->advice->w->calls_num;

	if (a->lost > num / 10)
		die(EVSMP_SYSTEM,
		    "%llu records are lost, and %zu callbacks are left: nothing can be predicted from that. Use "
		    "--seconds with a smaller number.",
		    (unsigned long long)a->lost, num);
}

/* ---------------------------------------------------------------- the result */

static void put_svg(const struct options *o, const struct advised *a)
{
	FILE *out = record_page_open(o->svg, 0, "");

	advise_svg(out, a);
	record_page_close(out, o->svg, "");
	say_note("%s is written. Open it with a browser.", o->svg);
}

static void show(const struct options *o, struct advised *a, const struct workload *w)
{
	struct advice advice;

	advice_make(w, &replay_costs_usual, &advice);
	a->advice = &advice;
	refuse_losses(a);
	say_note("%zu callback%s in %s on one thread, which was busy %.0f %% of the time.", w->calls_num,
		 w->calls_num == 1 ? "" : "s", duration(w->span_ns), 100 * advice.busy);
	if (w->load_ns > 0 && w->load_ns < w->span_ns / 10 * 9)
		say_note("That is of %s; before and after it, the program had next to no load.", duration(w->load_ns));
	if (o->is_json)
		advise_json(stdout, a);
	else
		advise_text(stdout, a);
	if (o->svg != NULL)
		put_svg(o, a);
	advice_free(&advice);
}

enum status command_advise(int argc, char **argv)
{
	struct recording r = { 0 };
	struct advised a;
	struct options o;
	struct workload w;
	struct timeline t;
	enum status status;
	const char *why;
	int first = read_options(argc, argv, &o);

	if (o.svg != NULL)
		record_page_test(o.svg, 0, "");
	if (!record_timeline(&o.record, argc - first, argv + first, &r, &t, &status))
		return status;
	a = (struct advised){
		.band = band_of(&t),
		.lost = recording_gaps(&r),
		.has_older = recording_lost(&r) != recording_gaps(&r),
		.damaged = recording_damaged(&r),
		.bases_left_out = t.bands_num - 1,
	};
	a.program = a.band->program;
	why = workload_make(a.band, &w);
	if (why != NULL)
		die(EVSMP_SYSTEM, "nothing can be predicted: %s. Record it with EVENT_WORKERS=1, while it has work.",
		    why);
	show(&o, &a, &w);
	workload_free(&w);
	return status;
}
