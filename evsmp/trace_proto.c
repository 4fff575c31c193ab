/*
 * Perfetto's format: a protobuf message Trace. The numbers of the fields are those of Perfetto's published .proto
 * files: trace_packet.proto, track_descriptor.proto, track_event.proto, debug_annotation.proto.
 */
#include <stdlib.h>
#include <string.h>

#include "pages.h"

enum {
	TRACE_PACKET = 1,

	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_EVENT = 11,
	PACKET_TRACK = 60,

	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT = 5,
	TRACK_COUNTER = 8,

	PROCESS_PID = 1,
	PROCESS_NAME = 6,
	THREAD_PID = 1,
	THREAD_TID = 2,
	THREAD_NAME = 5,

	EVENT_ANNOTATION = 4,
	EVENT_TYPE = 9,
	EVENT_TRACK = 11,
	EVENT_CATEGORY = 22,
	EVENT_NAME = 23,
	EVENT_COUNTER = 30,
	EVENT_FLOW = 47,
	EVENT_FLOW_END = 48,

	ANNOTATION_UINT = 3,
	ANNOTATION_INT = 4,
	ANNOTATION_STRING = 6,
	ANNOTATION_NAME = 10,

	TYPE_BEGIN = 1,
	TYPE_END = 2,
	TYPE_INSTANT = 3,
	TYPE_COUNTER = 4,

	WIRE_VARINT = 0,
	WIRE_FIXED64 = 1,
	WIRE_BYTES = 2,

	SEQUENCE = 1,
};

/* ---------------------------------------------------------------- messages */

struct message {
	unsigned char *at;
	size_t len, cap;
};

static void put_byte(struct message *m, unsigned char byte)
{
	if (m->len == m->cap) {
		m->cap = 2 * m->cap + 256;
		m->at = must(realloc(m->at, m->cap));
	}
	m->at[m->len++] = byte;
}

static void put_varint(struct message *m, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		put_byte(m, (unsigned char)(value | 0x80));
	put_byte(m, (unsigned char)value);
}

static void put_uint(struct message *m, unsigned field, uint64_t value)
{
	put_varint(m, field << 3 | WIRE_VARINT);
	put_varint(m, value);
}

static void put_fixed(struct message *m, unsigned field, uint64_t value)
{
	unsigned i;

	put_varint(m, field << 3 | WIRE_FIXED64);
	for (i = 0; i < 8; i++)
		put_byte(m, (unsigned char)(value >> 8 * i));
}

static void put_bytes(struct message *m, unsigned field, const void *data, size_t len)
{
	size_t i;

	put_varint(m, field << 3 | WIRE_BYTES);
	put_varint(m, len);
	for (i = 0; i < len; i++)
		put_byte(m, ((const unsigned char *)data)[i]);
}

/* A string of protobuf is UTF-8. */
static void put_string(struct message *m, unsigned field, const char *s)
{
	size_t len = strlen(s), i;

	put_varint(m, field << 3 | WIRE_BYTES);
	put_varint(m, len);
	for (i = 0; i < len; i++)
		put_byte(m, (unsigned char)s[i] < 0x80 ? (unsigned char)s[i] : '?');
}

/* `part` is empty after. */
static void put_message(struct message *m, unsigned field, struct message *part)
{
	put_bytes(m, field, part->at, part->len);
	part->len = 0;
}

/* ---------------------------------------------------------------- packets */

struct page {
	FILE *out;
	const struct timeline *t;
	const struct band *band;
	uint64_t band_id, flow_base;
	struct message packet, event, part, outer;
};

/* Tracks: 1: a process; 2: a worker; 3: its counter. */
static uint64_t track(const struct page *p, unsigned what, unsigned row)
{
	return p->band_id << 20 | (uint64_t)row << 2 | what;
}

static void end_packet(struct page *p)
{
	put_uint(&p->packet, PACKET_SEQUENCE, SEQUENCE);
	put_message(&p->outer, TRACE_PACKET, &p->packet);
	fwrite(p->outer.at, 1, p->outer.len, p->out);
	p->outer.len = 0;
}

static void begin_event(struct page *p, unsigned type, uint64_t track_id)
{
	put_uint(&p->event, EVENT_TYPE, type);
	put_uint(&p->event, EVENT_TRACK, track_id);
}

static void end_event(struct page *p, int64_t at)
{
	put_uint(&p->packet, PACKET_TIMESTAMP, (uint64_t)p->t->start_ns + (uint64_t)at);
	put_message(&p->packet, PACKET_EVENT, &p->event);
	end_packet(p);
}

static void annotate_int(struct page *p, const char *name, int64_t value)
{
	put_string(&p->part, ANNOTATION_NAME, name);
	put_uint(&p->part, ANNOTATION_INT, (uint64_t)value);
	put_message(&p->event, EVENT_ANNOTATION, &p->part);
}

static void annotate_text(struct page *p, const char *name, const char *value)
{
	put_string(&p->part, ANNOTATION_NAME, name);
	put_string(&p->part, ANNOTATION_STRING, value);
	put_message(&p->event, EVENT_ANNOTATION, &p->part);
}

/* ---------------------------------------------------------------- tracks */

static void put_process(struct page *p)
{
	struct message track_message = { 0 };

	put_uint(&track_message, TRACK_UUID, track(p, 1, 0));
	put_uint(&p->part, PROCESS_PID, (uint64_t)p->band->pid);
	put_string(&p->part, PROCESS_NAME, p->band->program);
	put_message(&track_message, TRACK_PROCESS, &p->part);
	put_message(&p->packet, PACKET_TRACK, &track_message);
	end_packet(p);
	free(track_message.at);
}

static void put_worker(struct page *p, unsigned row)
{
	struct message track_message = { 0 };
	char name[96];

	put_uint(&track_message, TRACK_UUID, track(p, 2, row));
	put_uint(&track_message, TRACK_PARENT, track(p, 1, 0));
	put_uint(&p->part, THREAD_PID, (uint64_t)p->band->pid);
	/* The number of the thread is not in the trace. */
	put_uint(&p->part, THREAD_TID, (uint64_t)p->band->base * 65536 + row);
	put_string(&p->part, THREAD_NAME, row_name(p->t, p->band, row));
	put_message(&track_message, TRACK_THREAD, &p->part);
	put_message(&p->packet, PACKET_TRACK, &track_message);
	end_packet(p);

	put_uint(&track_message, TRACK_UUID, track(p, 3, row));
	put_uint(&track_message, TRACK_PARENT, track(p, 1, 0));
	snprintf(name, sizeof(name), "waiting, %s", row_name(p->t, p->band, row));
	put_string(&track_message, TRACK_NAME, name);
	put_bytes(&track_message, TRACK_COUNTER, "", 0);
	put_message(&p->packet, PACKET_TRACK, &track_message);
	end_packet(p);
	free(track_message.at);
}

/* ---------------------------------------------------------------- events */

/* Flows in the order in which a row's events need them: each is taken once. */
struct flow_list {
	const struct flow **at;
	size_t num, next;
};

static uint64_t flow_id(const struct page *p, const struct flow *f)
{
	return p->flow_base + (uint64_t)(f - p->band->flows) + 1;
}

static void put_flow_ends(struct page *p, struct flow_list *ends, unsigned row, int64_t at)
{
	const struct flow *f;

	for (; ends->next < ends->num; ends->next++) {
		f = ends->at[ends->next];
		if (f->to > row || (f->to == row && f->to_at > at))
			return;
		if (f->to == row && f->to_at == at && f->type != EC_TRACE_WAKEUP)
			put_fixed(&p->event, EVENT_FLOW_END, flow_id(p, f));
	}
}

static void put_begin(struct page *p, const struct slice *s, unsigned row, struct flow_list *ends)
{
	begin_event(p, TYPE_BEGIN, track(p, 2, row));
	put_string(&p->event, EVENT_CATEGORY, s->type == SLICE_CALL ? "callback" : "worker");
	put_string(&p->event, EVENT_NAME, slice_name(p->band, s));
	if (s->type == SLICE_CALL) {
		annotate_int(p, "color", s->color);
		annotate_text(p, "kind", slice_kind(s));
		if (s->wait >= 0)
			annotate_int(p, "wait_ns", s->wait);
		if (s->fd >= 0)
			annotate_int(p, "fd", s->fd);
		annotate_int(p, "results", s->res);
		put_flow_ends(p, ends, row, s->at);
	}
	end_event(p, s->at);
}

static void put_end(struct page *p, int64_t at, unsigned row)
{
	begin_event(p, TYPE_END, track(p, 2, row));
	end_event(p, at);
}

/* Each slice's end comes before the beginning of the next one that is not within it. */
static void put_slices(struct page *p, unsigned row, struct flow_list *ends)
{
	const struct row *r = &p->band->rows[row];
	int64_t *open = must(malloc((r->slices_num + 1) * sizeof(*open)));
	size_t depth = 0, i;

	for (i = 0; i < r->slices_num; i++) {
		while (depth > 0 && open[depth - 1] <= r->slices[i].at)
			put_end(p, open[--depth], row);
		put_begin(p, &r->slices[i], row, ends);
		open[depth++] = r->slices[i].at + r->slices[i].len;
	}
	while (depth > 0)
		put_end(p, open[--depth], row);
	free(open);
}

static void begin_instant(struct page *p, unsigned row, const char *name)
{
	begin_event(p, TYPE_INSTANT, track(p, 2, row));
	put_string(&p->event, EVENT_CATEGORY, "mark");
	put_string(&p->event, EVENT_NAME, name);
}

/* The beginning of an arrow is an instant of its own; so is the end of one to a sleep. */
static void put_flows(struct page *p)
{
	const struct flow *f;
	size_t i;

	for (i = 0; i < p->band->flows_num; i++) {
		f = &p->band->flows[i];
		begin_instant(p, f->from, f->type == EC_TRACE_STEAL ? "stolen" : mark_name(f->type));
		put_fixed(&p->event, EVENT_FLOW, flow_id(p, f));
		end_event(p, f->from_at);
		if (f->type != EC_TRACE_WAKEUP)
			continue;
		begin_instant(p, f->to, "awake");
		put_fixed(&p->event, EVENT_FLOW_END, flow_id(p, f));
		end_event(p, f->to_at);
	}
}

static void put_marks(struct page *p, unsigned row)
{
	const struct row *r = &p->band->rows[row];
	size_t i;

	for (i = 0; i < r->marks_num; i++) {
		begin_instant(p, row, mark_name(r->marks[i].type));
		annotate_int(p, "color", r->marks[i].color);
		annotate_int(p, "value", (int64_t)r->marks[i].value);
		end_event(p, r->marks[i].at);
	}
	for (i = 0; i < r->levels_num; i++) {
		begin_event(p, TYPE_COUNTER, track(p, 3, row));
		put_uint(&p->event, EVENT_COUNTER, r->levels[i].num);
		end_event(p, r->levels[i].at);
	}
}

static void put_band(struct page *p)
{
	struct flow_list ends = { flows_by_end(p->band), p->band->flows_num, 0 };
	unsigned row;

	put_process(p);
	for (row = 0; row < p->band->rows_num; row++)
		put_worker(p, row);
	for (row = 0; row < p->band->rows_num; row++) {
		put_slices(p, row, &ends);
		put_marks(p, row);
	}
	put_flows(p);
	p->flow_base += p->band->flows_num;
	free(ends.at);
}

void page_proto(FILE *out, const struct timeline *t)
{
	struct page p = { .out = out, .t = t };
	size_t i;

	for (i = 0; i < t->bands_num; i++) {
		p.band = &t->bands[i];
		p.band_id = i + 1;
		put_band(&p);
	}
	free(p.packet.at);
	free(p.event.at);
	free(p.part.at);
	free(p.outer.at);
}
