/*
 * trace: records what the workers of a process do, and writes a page that shows it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "pages.h"
#include "record.h"

/* ---------------------------------------------------------------- options */

struct form {
	const char *name;		/* of --format */
	const char *suffixes[3];	/* of -o; the first one is for a file that got no name */
	void (*put)(FILE *out, const struct timeline *t);
	const char *open_with;
};

static const struct form forms[] = {
	{ "html", { ".html", ".htm" }, page_html, "a browser" },
	{ "json", { ".json" }, page_json, "https://ui.perfetto.dev, or chrome://tracing" },
	{ "perfetto", { ".pftrace", ".perfetto-trace", ".pb" }, page_proto, "https://ui.perfetto.dev" },
	{ "svg", { ".svg" }, page_svg, "a browser" },
};

struct options {
	struct record_options record;
	const char *out;		/* NULL: none was given */
	const struct form *form;	/* NULL: the name of the file tells */
	bool is_latency;
};

static const struct form *form_named(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		if (strcmp(forms[i].name, name) == 0)
			return &forms[i];
	}
	die(EVSMP_USAGE, "--format is html, json, perfetto or svg, not \"%s\".", name);
}

static const struct form *form_of_file(const char *path)
{
	size_t i, j;

	for (i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		for (j = 0; j < 3 && forms[i].suffixes[j] != NULL; j++) {
			if (ends_with(path, forms[i].suffixes[j]))
				return &forms[i];
		}
	}
	die(EVSMP_USAGE, "the end of %s does not tell a format. Use .html, .json, .pftrace or .svg, or --format.",
	    path);
}

static const char *value_of(const char *name, int argc, char **argv, int *i)
{
	return record_value("trace", name, argc, argv, i);
}

static bool take_option(struct options *o, int argc, char **argv, int *i)
{
	const char *value;

	if (strcmp(argv[*i], "--latency") == 0)
		o->is_latency = true;
	else if (strcmp(argv[*i], "--html") == 0 || strcmp(argv[*i], "--svg") == 0)
		o->form = form_named(argv[*i] + 2);
	else if ((value = value_of("--format", argc, argv, i)) != NULL)
		o->form = form_named(value);
	else if ((value = value_of("--seconds", argc, argv, i)) != NULL)
		o->record.seconds = record_seconds(value);
	else if ((value = value_of("-o", argc, argv, i)) != NULL)
		o->out = value;
	else if ((value = value_of("--read", argc, argv, i)) != NULL)
		o->record.read = value;
	else if ((value = value_of("--workers", argc, argv, i)) != NULL)
		o->record.workers = o->record.workers_asked = command_workers(value);
	else
		return false;
	return true;
}

/* Returns the number of words that were options. */
static int read_options(int argc, char **argv, struct options *ret)
{
	struct options o = { .record.command = "trace" };
	int i;

	for (i = 0; i < argc && argv[i][0] == '-'; i++) {
		if (strcmp(argv[i], "--") == 0) {
			i++;
			break;
		}
		if (!take_option(&o, argc, argv, &i))
			die(EVSMP_USAGE, "trace has no option %s (evsmp trace --help lists them).", argv[i]);
	}
	if (o.form == NULL && o.out != NULL)
		o.form = form_of_file(o.out);
	if (o.form == NULL)
		o.form = &forms[0];
	*ret = o;
	return i;
}

/* ---------------------------------------------------------------- the result */

static const char how[] = " with -o";

static const char *page_path(const struct options *o)
{
	return o->out != NULL ? o->out : text("evsmp-trace%s", o->form->suffixes[0]);
}

/* evsmp-trace.html may be a link that somebody left in a directory of all users. */
static int page_flags(const struct options *o)
{
	return o->out == NULL ? O_NOFOLLOW : 0;
}

static void put_page(const struct options *o, const struct timeline *t)
{
	const char *path = page_path(o);
	bool is_stdout = strcmp(path, "-") == 0;
	FILE *out = is_stdout ? stdout : record_page_open(path, page_flags(o), how);

	o->form->put(out, t);
	if (is_stdout)
		return;
	record_page_close(out, path, how);
	say_note("%s is written. Open it with %s.", path, o->form->open_with);
}

static void say_summary(const struct options *o, const struct recording *r, const struct timeline *t)
{
	unsigned workers = 0;
	struct latency l;
	char *advice;
	size_t i;

	for (i = 0; i < t->bands_num; i++)
		workers += t->bands[i].rows_num;
	latency_find(t, &l);
	advice = latency_advice(&l);
	say_note("%llu callbacks of %zu color%s in %s, on %u worker%s of %zu base%s.", (unsigned long long)l.calls,
		 l.colors_num, l.colors_num == 1 ? "" : "s", duration(t->end), workers, workers == 1 ? "" : "s",
		 t->bands_num, t->bands_num == 1 ? "" : "s");
	if (!o->is_latency)		/* which says it, too */
		say_note("%s", advice);
	if (recording_lost(r) != 0)
		say_note("%llu older records are lost: trace for a shorter time.",
			 (unsigned long long)recording_lost(r));
	if (recording_damaged(r) != 0)
		say_note("%llu records were damaged, and are left out.", (unsigned long long)recording_damaged(r));
	free(advice);
	latency_free(&l);
}

enum status command_trace(int argc, char **argv)
{
	struct recording r = { 0 };
	struct options o;
	struct timeline t;
	enum status status;
	int first = read_options(argc, argv, &o);

	o.record.owns_stdout = o.out != NULL && strcmp(o.out, "-") == 0;
	if ((!o.is_latency || o.out != NULL) && !o.record.owns_stdout)
		record_page_test(page_path(&o), page_flags(&o), how);
	if (!record_timeline(&o.record, argc - first, argv + first, &r, &t, &status))
		return status;
	say_summary(&o, &r, &t);
	if (o.is_latency)
		page_latency(stdout, &t);
	if (!o.is_latency || o.out != NULL)
		put_page(&o, &t);
	return status;
}
