#include "pages.h"

#include <stdlib.h>

void put_json_string(FILE *out, const char *s)
{
	putc('"', out);
	for (; *s != '\0'; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c < ' ' || c >= 0x7f || c == '<' || c == '>' || c == '&')
			fprintf(out, "\\u%04x", c);
		else
			putc(c, out);
	}
	putc('"', out);
}

const char *row_name(const struct timeline *t, const struct band *b, unsigned row)
{
	static char name[64];
	size_t i, num = 0;

	for (i = 0; i < t->bands_num; i++)
		num += t->bands[i].pid == b->pid;
	if (num > 1)
		snprintf(name, sizeof(name), "base %u, worker %u", b->base, row);
	else
		snprintf(name, sizeof(name), "worker %u", row);
	return name;
}

const char *band_name(const struct band *b)
{
	static char name[64];

	snprintf(name, sizeof(name), "%.40s (%d)", b->program, (int)b->pid);
	return name;
}

/* ---------------------------------------------------------------- the order of flows */

static int compare_ends(const void *a, const void *b)
{
	const struct flow *f = *(const struct flow *const *)a, *g = *(const struct flow *const *)b;

	if (f->to != g->to)
		return f->to < g->to ? -1 : 1;
	return f->to_at < g->to_at ? -1 : f->to_at > g->to_at;
}

static int compare_starts(const void *a, const void *b)
{
	const struct flow *f = *(const struct flow *const *)a, *g = *(const struct flow *const *)b;

	if (f->from != g->from)
		return f->from < g->from ? -1 : 1;
	return f->from_at < g->from_at ? -1 : f->from_at > g->from_at;
}

static const struct flow **sorted(const struct band *b, int (*compare)(const void *, const void *))
{
	const struct flow **at = must(calloc(b->flows_num + 1, sizeof(*at)));
	size_t i;

	for (i = 0; i < b->flows_num; i++)
		at[i] = &b->flows[i];
	if (b->flows_num != 0)
		qsort(at, b->flows_num, sizeof(*at), compare);
	return at;
}

const struct flow **flows_by_end(const struct band *b)
{
	return sorted(b, compare_ends);
}

const struct flow **flows_by_start(const struct band *b)
{
	return sorted(b, compare_starts);
}
