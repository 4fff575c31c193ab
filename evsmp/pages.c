#include "pages.h"

#include <stdlib.h>
#include <string.h>

#include "utf8.h"

static void put_json_ascii(FILE *out, char c)
{
	if (c == '"' || c == '\\')
		fprintf(out, "\\%c", c);
	else if (c < ' ' || c == 0x7f || c == '<' || c == '>' || c == '&')
		fprintf(out, "\\u%04x", (unsigned)c);
	else
		putc(c, out);
}

/* Of several bytes. A terminal may take U+0080 to U+009F for commands; U+2028 and U+2029 end lines of JavaScript. */
static void put_json_wide(FILE *out, const char *s, size_t len)
{
	if (len == 2 && s[0] == '\xc2' && (unsigned char)s[1] < 0xa0)
		fprintf(out, "\\u%04x", (unsigned char)s[1]);
	else if (strncmp(s, "\u2028", len) == 0 || strncmp(s, "\u2029", len) == 0)
		fprintf(out, "\\u202%c", strncmp(s, "\u2028", len) == 0 ? '8' : '9');
	else
		fwrite(s, 1, len, out);
}

void put_json_string(FILE *out, const char *s)
{
	size_t len;

	putc('"', out);
	for (; *s != '\0'; s += len == 0 ? 1 : len) {
		len = utf8_len(s);
		if (len == 0)
			fputs("\\ufffd", out);
		else if (len == 1)
			put_json_ascii(out, *s);
		else
			put_json_wide(out, s, len);
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
