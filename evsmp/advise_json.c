#include "advise_pages.h"

#include <stdlib.h>

#include "pages.h"

static void put_results(FILE *out, const struct option *o)
{
	const struct replay_result *r;
	unsigned place;

	fputs("\"workers\": [", out);
	for (place = 0; place < ADVICE_WORKERS; place++) {
		r = &o->results[place];
		fprintf(out,
			"%s{\"workers\": %u, \"times\": %.3f, \"calls_per_s\": %.0f, \"wait50_ns\": %lld, "
			"\"wait99_ns\": %lld, \"busy\": %.3f, \"steals\": %llu}",
			place == 0 ? "" : ", ", advice_workers[place], option_speed(o, place), r->calls_per_s,
			(long long)r->wait50_ns, (long long)r->wait99_ns, r->busy, (unsigned long long)r->steals);
	}
	fputs("]", out);
}

static void put_critical(FILE *out, const struct advised *a, const struct option *o)
{
	bool is_first = true;
	uint32_t i;

	fprintf(out, "\"critical\": {\"ns\": %lld, \"run_ns\": %lld, \"callbacks\": %llu, \"functions\": [",
		(long long)o->critical.span_ns, (long long)o->critical.run_ns, (unsigned long long)o->critical.calls);
	for (i = 0; i < a->advice->w->fns_num; i++) {
		if (o->critical.fn_ns[i] == 0)
			continue;
		fputs(is_first ? "{\"name\": " : ", {\"name\": ", out);
		put_json_string(out, advised_fn(a, i));
		fprintf(out, ", \"ns\": %lld}", (long long)o->critical.fn_ns[i]);
		is_first = false;
	}
	fputs("]}", out);
}

static void put_option(FILE *out, const struct advised *a, const struct option *o)
{
	fprintf(out, "{\"rule\": \"%s\", \"colors\": %u, \"at_most\": %.3f, ", rule_word(o->coloring.rule),
		o->coloring.num, o->most);
	fprintf(out, "\"biggest_color\": {\"share\": %.3f, \"function\": ", o->biggest_share);
	put_json_string(out, advised_fn(a, o->biggest_fn));
	fputs("}, ", out);
	put_results(out, o);
	fputs(", ", out);
	put_critical(out, a, o);
	fputs("}", out);
}

static void put_functions(FILE *out, const struct advised *a)
{
	const struct advice *d = a->advice;
	const struct work_fn *f;
	const char *change;
	uint32_t i;

	fputs("\"functions\": [", out);
	for (i = 0; i < d->w->fns_num; i++) {
		f = &d->w->fns[i];
		change = d->best == NULL ? NULL : advice_change(d->w, d->best->coloring.rule, i);
		fputs(i == 0 ? "\n  {\"name\": " : ",\n  {\"name\": ", out);
		put_json_string(out, advised_fn(a, i));
		fprintf(out,
			", \"kind\": \"%s\", \"callbacks\": %llu, \"ns\": %lld, \"longest_ns\": %lld, "
			"\"touches\": %llu, \"change\": ",
			advice_kind(d->w, i), (unsigned long long)f->calls, (long long)f->ns, (long long)f->longest_ns,
			(unsigned long long)f->touches);
		if (change == NULL)
			fputs("null", out);
		else
			put_json_string(out, change);
		fputs("}", out);
	}
	fputs("]", out);
}

void advise_json(FILE *out, const struct advised *a)
{
	const struct advice *d = a->advice;
	char *doubts = advised_doubts(a);
	size_t i;

	fputs("{\"program\": ", out);
	put_json_string(out, a->program);
	fprintf(out, ", \"callbacks\": %zu, \"ns\": %lld, \"busy\": %.3f, \"fit\": %.3f, \"lost\": %llu, \"best\": ",
		d->w->calls_num, (long long)d->w->span_ns, d->busy, d->fit, (unsigned long long)a->lost);
	fprintf(out, d->best == NULL ? "null" : "\"%s\"", d->best == NULL ? "" : rule_word(d->best->coloring.rule));
	fputs(", \"doubts\": ", out);
	put_json_string(out, doubts);
	fputs(",\n\"options\": [", out);
	for (i = 0; i < d->options_num; i++) {
		fputs(i == 0 ? "\n  " : ",\n  ", out);
		put_option(out, a, &d->options[i]);
	}
	fputs("],\n", out);
	put_functions(out, a);
	fputs("}\n", out);
	free(doubts);
}
