/*
 * Chrome's trace format, in JSON: about://tracing, Perfetto and other viewers read it. A process is a base's process, a
 * thread is a worker.
 */
#include "pages.h"

struct page {
	FILE *out;
	const struct timeline *t;
	const struct band *band;
	unsigned row;
	bool has_any;
	uint64_t flow;			/* the number of the next one */
};

static unsigned long long thread_of(const struct band *b, unsigned row)
{
	return (unsigned long long)b->base * 65536 + row;
}

/* `"ph":"X","pid":1,"tid":65536,"ts":1.5,` and so on: the caller goes on after the comma */
static void begin(struct page *p, const char *phase, int64_t at)
{
	fprintf(p->out, "%s\n{\"ph\":\"%s\",\"pid\":%d,\"tid\":%llu,\"ts\":%lld.%03d,", p->has_any ? "," : "", phase,
		(int)p->band->pid, thread_of(p->band, p->row), (long long)at / 1000, (int)(at % 1000));
	p->has_any = true;
}

static void put_name(struct page *p, const char *name, const char *category)
{
	fprintf(p->out, "\"cat\":\"%s\",\"name\":", category);
	put_json_string(p->out, name);
}

static void put_metadata(struct page *p, const char *what, const char *value)
{
	begin(p, "M", 0);
	fprintf(p->out, "\"name\":\"%s\",\"args\":{\"name\":", what);
	put_json_string(p->out, value);
	fputs("}}", p->out);
}

static void put_slice(struct page *p, const struct slice *s)
{
	begin(p, "X", s->at);
	fprintf(p->out, "\"dur\":%lld.%03d,", (long long)s->len / 1000, (int)(s->len % 1000));
	put_name(p, slice_name(p->band, s), s->type == SLICE_CALL ? "callback" : "worker");
	if (s->type == SLICE_CALL) {
		fprintf(p->out, ",\"args\":{\"color\":%u,\"kind\":\"%s\"", s->color, slice_kind(s));
		if (s->wait >= 0)
			fprintf(p->out, ",\"wait_ns\":%lld", (long long)s->wait);
		if (s->fd >= 0)
			fprintf(p->out, ",\"fd\":%d", s->fd);
		fprintf(p->out, ",\"results\":%u,\"priority\":%u%s}", s->res, s->pri,
			s->is_open ? ",\"running\":true" : "");
	}
	fputs("}", p->out);
}

static void put_mark(struct page *p, const struct mark *m)
{
	begin(p, "i", m->at);
	fputs("\"s\":\"t\",", p->out);
	put_name(p, mark_name(m->type), "mark");
	if (m->type == EC_TRACE_WAKEUP)
		fprintf(p->out, ",\"args\":{\"worker\":%llu}}", (unsigned long long)m->value);
	else if (m->type == EC_TRACE_STEAL)
		fprintf(p->out, ",\"args\":{\"colors\":%llu}}", (unsigned long long)m->value);
	else
		fprintf(p->out, ",\"args\":{\"color\":%u}}", m->color);
}

static void put_level(struct page *p, const struct level *l)
{
	begin(p, "C", l->at);
	fprintf(p->out, "\"name\":\"waiting, %s\",\"args\":{\"tasks\":%llu}}", row_name(p->t, p->band, p->row),
		(unsigned long long)l->num);
}

static void put_flow_end(struct page *p, const struct flow *f, unsigned row, int64_t at, const char *phase)
{
	p->row = row;
	begin(p, phase, at);
	put_name(p, mark_name(f->type), "flow");
	fprintf(p->out, ",\"id\":%llu%s}", (unsigned long long)p->flow, *phase == 'f' ? ",\"bp\":\"e\"" : "");
}

static void put_band(struct page *p)
{
	const struct band *b = p->band;
	const struct row *r;
	size_t i;

	p->row = 0;
	put_metadata(p, "process_name", b->program);
	for (p->row = 0; p->row < b->rows_num; p->row++) {
		r = &b->rows[p->row];
		put_metadata(p, "thread_name", row_name(p->t, b, p->row));
		for (i = 0; i < r->slices_num; i++)
			put_slice(p, &r->slices[i]);
		for (i = 0; i < r->marks_num; i++)
			put_mark(p, &r->marks[i]);
		for (i = 0; i < r->levels_num; i++)
			put_level(p, &r->levels[i]);
	}
	for (i = 0; i < b->flows_num; i++, p->flow++) {
		put_flow_end(p, &b->flows[i], b->flows[i].from, b->flows[i].from_at, "s");
		put_flow_end(p, &b->flows[i], b->flows[i].to, b->flows[i].to_at, "f");
	}
}

void page_json(FILE *out, const struct timeline *t)
{
	struct page p = { .out = out, .t = t, .flow = 1 };
	size_t i;

	fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", out);
	for (i = 0; i < t->bands_num; i++) {
		p.band = &t->bands[i];
		put_band(&p);
	}
	fputs("\n]}\n", out);
}
