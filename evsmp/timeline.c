#include "timeline.h"

#include <stdlib.h>
#include <string.h>

#include "flows.h"

#define TICKS_MASK ((UINT64_C(1) << 56) - 1)

/* More room for one more element; `at` is the array, `num` and `cap` belong to it. */
#define GROW(at, num, cap) \
	do { \
		if ((num) == (cap)) { \
			(cap) = 2 * (cap) + 64; \
			(at) = must(realloc((at), (cap) * sizeof(*(at)))); \
		} \
	} while (0)

/* ---------------------------------------------------------------- time */

/* A straight line through the first and the last time of the clock that are in the trace. */
struct clock {
	uint64_t ticks;		/* 56 bits */
	int64_t ns;
	double ns_per_tick;
};

static int64_t signed_56(uint64_t ticks)
{
	return (int64_t)(ticks << 8) >> 8;
}

/* A damaged trace may hold any number: a century either way is far enough. */
static int64_t limited(double ns)
{
	const double max = 3e18;

	return ns > max ? (int64_t)max : ns < -max ? -(int64_t)max : (int64_t)ns;
}

static int64_t to_ns(const struct clock *c, uint64_t ticks)
{
	return limited((double)c->ns + (double)signed_56(ticks - c->ticks) * c->ns_per_tick);
}

static struct clock clock_of(const struct rings *r)
{
	struct clock c = { .ns_per_tick = (double)r->head.tick_mult / 4294967296.0 };
	const struct record *first = NULL, *last = NULL, *at;
	int64_t ticks;
	uint32_t i;
	size_t j;

	for (i = 0; i < r->head.rings_num; i++) {
		for (j = 0; j < r->rings[i].num; j++) {
			at = &r->rings[i].at[j];
			if ((at->word[0] & 0xff) != EC_TRACE_CLOCK)
				continue;
			if (first == NULL || signed_56((at->word[0] >> 8) - (first->word[0] >> 8)) < 0)
				first = at;
			if (last == NULL || signed_56((at->word[0] >> 8) - (last->word[0] >> 8)) > 0)
				last = at;
		}
	}
	if (first == NULL)
		return c;
	c.ticks = first->word[0] >> 8;
	c.ns = limited((double)first->word[1]);
	ticks = signed_56((last->word[0] >> 8) - c.ticks);
	/* Between close ones, the time that a reading takes matters. */
	if (last->word[1] > first->word[1] && last->word[1] - first->word[1] > 10000000 && ticks > 0)
		c.ns_per_tick = (double)(last->word[1] - first->word[1]) / (double)ticks;
	return c;
}

/* ---------------------------------------------------------------- from records */

static struct slice slice_of_call(const struct record *r, const struct clock *c)
{
	const uint64_t *w = r->word;
	uint64_t begin = w[0] >> 8;
	struct slice s = {
		.type = SLICE_CALL,
		.at = to_ns(c, begin),
		.len = limited((double)EC_TRACE_LEN(w[3]) * c->ns_per_tick),
		.wait = -1,
		.fn = EC_TRACE_FN(w[1]),
		.home = (uint8_t)EC_TRACE_HOME(w[1]),
		.res = (uint8_t)EC_TRACE_RES(w[1]),
		.color = EC_TRACE_COLOR(w[2]),
		.fd = EC_TRACE_FD(w[2]) == EC_TRACE_NO_FD ? -1 : (int)EC_TRACE_FD(w[2]),
		.kind = (uint8_t)EC_TRACE_KIND(w[2]),
		.pri = (uint8_t)EC_TRACE_PRI(w[2]),
		.queued = UINT64_MAX,
	};

	if (EC_TRACE_HAS_WAIT(w[3])) {
		s.wait = limited((double)EC_TRACE_WAIT(w[3]) * c->ns_per_tick);
		s.queued = (begin - EC_TRACE_WAIT(w[3])) & TICKS_MASK;
	}
	return s;
}

static void add_slice(struct row *row, struct slice s)
{
	GROW(row->slices, row->slices_num, row->slices_cap);
	row->slices[row->slices_num++] = s;
}

static void add_mark(struct row *row, struct mark m)
{
	GROW(row->marks, row->marks_num, row->marks_cap);
	row->marks[row->marks_num++] = m;
}

/* What the record before tells of it: that is of the same callback if both began at the same time. */
static void add_object(struct slice *s, const struct record *object, const struct record *call)
{
	const uint64_t *w = object->word;

	if ((w[0] & 0xff) != EC_TRACE_OBJECT || w[0] >> 8 != call->word[0] >> 8)
		return;
	s->object = EC_TRACE_ADDRESS(w[1]);
	s->object_kind = (uint8_t)EC_TRACE_OBJECT_KIND(w[1]);
	s->own_fn = EC_TRACE_ADDRESS(w[2]);
	s->event = EC_TRACE_ADDRESS(w[3]);
}

/* `before`: the record before `r`, or `r` if it is the first. */
static void add_call(struct row *row, const struct record *before, const struct record *r, const struct clock *c)
{
	struct slice s = slice_of_call(r, c);

	add_object(&s, before, r);
	add_slice(row, s);
}

static void add_touch(struct row *row, const struct record *r, int64_t at)
{
	unsigned fd = EC_TRACE_FD(r->word[2]);

	GROW(row->touches, row->touches_num, row->touches_cap);
	row->touches[row->touches_num++] = (struct touch){
		.at = at,
		.object = EC_TRACE_ADDRESS(r->word[1]),
		.event = EC_TRACE_ADDRESS(r->word[3]),
		.fd = fd == EC_TRACE_NO_FD ? -1 : (int)fd,
	};
}

static void add_record(struct row *row, const struct record *before, const struct record *r, const struct clock *c)
{
	uint64_t type = r->word[0] & 0xff;
	int64_t at = to_ns(c, r->word[0] >> 8);

	switch (type) {
	case EC_TRACE_CALL: add_call(row, before, r, c); break;
	case EC_TRACE_TOUCH: add_touch(row, r, at); break;
	case EC_TRACE_POLL:
	case EC_TRACE_SLEEP:
	case EC_TRACE_SPIN:
		add_slice(row, (struct slice){
			.type = type == EC_TRACE_POLL ? SLICE_POLL : type == EC_TRACE_SLEEP ? SLICE_SLEEP : SLICE_SPIN,
			.at = at,
			.len = limited((double)r->word[1] * c->ns_per_tick),
			.wait = -1,
			.fd = -1,
			.queued = UINT64_MAX,
		});
		break;
	case EC_TRACE_QUEUE:
		GROW(row->levels, row->levels_num, row->levels_cap);
		row->levels[row->levels_num++] = (struct level){ at, r->word[1] };
		break;
	case EC_TRACE_OBJECT:
	case EC_TRACE_CLOCK: break;
	default:
		add_mark(row, (struct mark){ at, r->word[1], (uint32_t)r->word[2], (uint8_t)type });
		break;
	}
}

/* The callback that ran at the end, unless it has ended since. */
static void add_current(struct row *row, const struct ring *ring, const struct clock *c)
{
	struct slice s;
	size_t i;

	if (ring->current.word[0] == 0)
		return;
	for (i = ring->num; i > 0; i--) {
		if (ring->at[i - 1].word[0] == ring->current.word[0])
			return;
	}
	s = slice_of_call(&ring->current, c);
	s.is_open = true;
	add_slice(row, s);
}

void timeline_add(struct timeline *t, const struct rings *r, const char *program, struct symbols *symbols)
{
	struct clock c = clock_of(r);
	const struct ring *ring;
	struct band *b;
	size_t i, j;

	t->bands = must(realloc(t->bands, (t->bands_num + 1) * sizeof(*t->bands)));
	b = &t->bands[t->bands_num++];
	*b = (struct band){ .pid = (pid_t)r->head.pid, .base = r->head.base, .program = program, .symbols = symbols };
	for (i = 0; i < r->head.rings_num; i++) {
		if (r->rings[i].num != 0)
			b->rows_num = (unsigned)i + 1;
	}
	b->rows = must(calloc(b->rows_num + 1, sizeof(*b->rows)));
	for (i = 0; i < b->rows_num; i++) {
		ring = &r->rings[i];
		b->rows[i].lost = ring->lost;
		b->rows[i].damaged = ring->damaged;
		for (j = 0; j < ring->num; j++)
			add_record(&b->rows[i], &ring->at[j == 0 ? 0 : j - 1], &ring->at[j], &c);
		add_current(&b->rows[i], ring, &c);
	}
}

/* ---------------------------------------------------------------- order */

static int compare_slices(const void *a, const void *b)
{
	const struct slice *s = a, *t = b;

	if (s->at != t->at)
		return s->at < t->at ? -1 : 1;
	return s->len > t->len ? -1 : s->len < t->len;
}

static int compare_marks(const void *a, const void *b)
{
	const struct mark *m = a, *n = b;

	return m->at < n->at ? -1 : m->at > n->at;
}

static int compare_touches(const void *a, const void *b)
{
	const struct touch *t = a, *u = b;

	return t->at < u->at ? -1 : t->at > u->at;
}

static int compare_levels(const void *a, const void *b)
{
	const struct level *m = a, *n = b;

	return m->at < n->at ? -1 : m->at > n->at;
}

static int64_t end_of(const struct slice *s)
{
	return s->at + s->len;
}

/* Clocks differ a little, and a damaged trace may say anything: what reaches out of the slice around it is cut. */
static void nest(struct row *row)
{
	int64_t *ends = must(malloc((row->slices_num + 1) * sizeof(*ends)));
	size_t depth = 0, i;
	struct slice *s;

	for (i = 0; i < row->slices_num; i++) {
		s = &row->slices[i];
		while (depth > 0 && ends[depth - 1] <= s->at)
			depth--;
		if (depth > 0 && end_of(s) > ends[depth - 1])
			s->len = ends[depth - 1] - s->at;
		s->depth = depth < UINT8_MAX ? (uint8_t)depth : UINT8_MAX;
		ends[depth++] = end_of(s);
	}
	free(ends);
}

static void sort_row(struct row *row)
{
	if (row->slices_num != 0)
		qsort(row->slices, row->slices_num, sizeof(*row->slices), compare_slices);
	if (row->marks_num != 0)
		qsort(row->marks, row->marks_num, sizeof(*row->marks), compare_marks);
	if (row->touches_num != 0)
		qsort(row->touches, row->touches_num, sizeof(*row->touches), compare_touches);
	if (row->levels_num != 0)
		qsort(row->levels, row->levels_num, sizeof(*row->levels), compare_levels);
}

/* Calls fn for each row. */
static void each_row(struct timeline *t, void (*fn)(struct timeline *t, struct row *row))
{
	size_t i;
	unsigned j;

	for (i = 0; i < t->bands_num; i++) {
		for (j = 0; j < t->bands[i].rows_num; j++)
			fn(t, &t->bands[i].rows[j]);
	}
}

/* Records of an earlier trace may be in the same rings. A worker's sleep may have begun in one. */
static void leave_out(struct timeline *t, struct row *row)
{
	size_t num = 0, i;
	struct slice *s;

	if (t->from_ns == 0)
		return;
	for (i = 0; i < row->slices_num; i++) {
		s = &row->slices[i];
		if (end_of(s) < t->from_ns)
			continue;
		if (s->type != SLICE_CALL && s->at < t->from_ns) {
			s->len = end_of(s) - t->from_ns;
			s->at = t->from_ns;
		}
		row->slices[num++] = *s;
	}
	row->slices_num = num;
	for (num = 0, i = 0; i < row->marks_num; i++) {
		if (row->marks[i].at >= t->from_ns)
			row->marks[num++] = row->marks[i];
	}
	row->marks_num = num;
	for (num = 0, i = 0; i < row->levels_num; i++) {
		if (row->levels[i].at >= t->from_ns)
			row->levels[num++] = row->levels[i];
	}
	row->levels_num = num;
	for (num = 0, i = 0; i < row->touches_num; i++) {
		if (row->touches[i].at >= t->from_ns)
			row->touches[num++] = row->touches[i];
	}
	row->touches_num = num;
}

static void find_begin(struct timeline *t, struct row *row)
{
	size_t i;

	for (i = 0; i < row->slices_num; i++)
		t->start_ns = row->slices[i].at < t->start_ns ? row->slices[i].at : t->start_ns;
	for (i = 0; i < row->marks_num; i++)
		t->start_ns = row->marks[i].at < t->start_ns ? row->marks[i].at : t->start_ns;
	for (i = 0; i < row->levels_num; i++)
		t->start_ns = row->levels[i].at < t->start_ns ? row->levels[i].at : t->start_ns;
}

static void find_end(struct timeline *t, struct row *row)
{
	size_t i;

	for (i = 0; i < row->slices_num; i++)
		t->end = end_of(&row->slices[i]) > t->end ? end_of(&row->slices[i]) : t->end;
	for (i = 0; i < row->marks_num; i++)
		t->end = row->marks[i].at > t->end ? row->marks[i].at : t->end;
}

static void shift(struct timeline *t, struct row *row)
{
	size_t i;

	for (i = 0; i < row->slices_num; i++)
		row->slices[i].at -= t->start_ns;
	for (i = 0; i < row->marks_num; i++)
		row->marks[i].at -= t->start_ns;
	for (i = 0; i < row->levels_num; i++)
		row->levels[i].at -= t->start_ns;
	for (i = 0; i < row->touches_num; i++)
		row->touches[i].at -= t->start_ns;
}

static void finish_row(struct timeline *t, struct row *row)
{
	size_t i;

	for (i = 0; i < row->slices_num; i++) {
		if (row->slices[i].is_open)
			row->slices[i].len = t->end - row->slices[i].at;
	}
	sort_row(row);
	nest(row);
}

void timeline_finish(struct timeline *t)
{
	size_t i;

	each_row(t, leave_out);
	t->start_ns = INT64_MAX;
	each_row(t, find_begin);
	if (t->start_ns == INT64_MAX)
		t->start_ns = 0;
	each_row(t, shift);
	each_row(t, find_end);
	each_row(t, finish_row);
	for (i = 0; i < t->bands_num; i++)
		flows_find(&t->bands[i]);
}

void timeline_free(struct timeline *t)
{
	struct band *b;
	size_t i;
	unsigned j;

	for (i = 0; i < t->bands_num; i++) {
		b = &t->bands[i];
		for (j = 0; j < b->rows_num; j++) {
			free(b->rows[j].slices);
			free(b->rows[j].marks);
			free(b->rows[j].levels);
			free(b->rows[j].touches);
		}
		free(b->rows);
		free(b->flows);
	}
	free(t->bands);
	*t = (struct timeline){ 0 };
}

/* ---------------------------------------------------------------- names */

const char *slice_name(const struct band *b, const struct slice *s)
{
	switch (s->type) {
	case SLICE_POLL: return "poll";
	case SLICE_SLEEP: return "sleep";
	case SLICE_SPIN: return "spin";
	default: return s->fn == 0 ? "?" : symbols_name(b->symbols, s->fn);
	}
}

/* enum ec_kind of core/ec.h */
const char *slice_kind(const struct slice *s)
{
	static const char *const names[] = {
		"event", "persistent event", "event with a timeout", "?", "signal", "internal",
		"finalizer", "finalizer", "finalizer", "post",
	};

	if (s->type != SLICE_CALL)
		return slice_name(NULL, s);
	return s->kind < sizeof(names) / sizeof(*names) ? names[s->kind] : "?";
}

const char *mark_name(unsigned type)
{
	switch (type) {
	case EC_TRACE_STEAL: return "steal";
	case EC_TRACE_POST: return "post";
	case EC_TRACE_WAKEUP: return "wake-up";
	case EC_TRACE_MOVE: return "move";
	default: return "?";
	}
}
