#include "flows.h"

#include <stdlib.h>

#define TICKS_MASK ((UINT64_C(1) << 56) - 1)

static void add(struct band *b, struct flow f)
{
	if (b->flows_num == b->flows_cap) {
		b->flows_cap = 2 * b->flows_cap + 64;
		b->flows = must(realloc(b->flows, b->flows_cap * sizeof(*b->flows)));
	}
	b->flows[b->flows_num++] = f;
}

/* ---------------------------------------------------------------- posts */

/* A post and its callback tell the same color and time, to the tick. */
struct post {
	uint64_t ticks;
	const struct mark *mark;	/* NULL: free, or taken */
	unsigned row;
	bool is_used;
};

struct posts {
	struct post *at;
	size_t cap;			/* a power of 2, more than twice what is in it */
};

static size_t place_of(const struct posts *p, uint64_t ticks, uint32_t color)
{
	uint64_t hash = (ticks ^ (uint64_t)color << 32) * UINT64_C(0x9e3779b97f4a7c15);

	return (size_t)(hash >> 20) & (p->cap - 1);
}

static void post_add(struct posts *p, const struct mark *m, unsigned row)
{
	uint64_t ticks = m->value & TICKS_MASK;
	size_t i = place_of(p, ticks, m->color);

	while (p->at[i].is_used)
		i = (i + 1) & (p->cap - 1);
	p->at[i] = (struct post){ ticks, m, row, true };
}

/* Takes it out: a second callback has another post. */
static bool post_take(struct posts *p, uint64_t ticks, uint32_t color, struct post *ret)
{
	size_t i;

	for (i = place_of(p, ticks, color); p->at[i].is_used; i = (i + 1) & (p->cap - 1)) {
		if (p->at[i].mark == NULL || p->at[i].ticks != ticks || p->at[i].mark->color != color)
			continue;
		*ret = p->at[i];
		p->at[i].mark = NULL;
		return true;
	}
	return false;
}

static void collect_posts(const struct band *b, struct posts *p)
{
	size_t num = 0, i;
	unsigned row;

	for (row = 0; row < b->rows_num; row++)
		num += b->rows[row].marks_num;
	for (p->cap = 64; p->cap < 2 * num + 2; p->cap *= 2)
		;
	p->at = must(calloc(p->cap, sizeof(*p->at)));
	for (row = 0; row < b->rows_num; row++) {
		for (i = 0; i < b->rows[row].marks_num; i++) {
			if (b->rows[row].marks[i].type == EC_TRACE_POST)
				post_add(p, &b->rows[row].marks[i], row);
		}
	}
}

static void find_posts(struct band *b)
{
	struct posts posts;
	struct post post;
	const struct slice *s;
	unsigned row;
	size_t i;

	collect_posts(b, &posts);
	for (row = 0; row < b->rows_num; row++) {
		for (i = 0; i < b->rows[row].slices_num; i++) {
			s = &b->rows[row].slices[i];
			if (s->queued == UINT64_MAX || !post_take(&posts, s->queued, s->color, &post))
				continue;
			add(b, (struct flow){ post.mark->at, s->at, post.row, row, EC_TRACE_POST });
		}
	}
	free(posts.at);
}

/* ---------------------------------------------------------------- wake-ups */

/* The sleep that goes on at a time; NULL: none. */
static const struct slice *sleep_at(const struct row *row, int64_t at)
{
	size_t low = 0, high = row->slices_num, middle, steps;
	const struct slice *s;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (row->slices[middle].at <= at)
			low = middle + 1;
		else
			high = middle;
	}
	/* Within it there may be other slices, but not many. */
	for (steps = 0; low > 0 && steps < 16; steps++) {
		s = &row->slices[--low];
		if (s->type == SLICE_SLEEP && s->at + s->len >= at)
			return s;
	}
	return NULL;
}

static void find_wakeups(struct band *b)
{
	const struct slice *s;
	const struct mark *m;
	unsigned row;
	size_t i;

	for (row = 0; row < b->rows_num; row++) {
		for (i = 0; i < b->rows[row].marks_num; i++) {
			m = &b->rows[row].marks[i];
			if (m->type != EC_TRACE_WAKEUP || m->value >= b->rows_num)
				continue;
			s = sleep_at(&b->rows[m->value], m->at);
			if (s != NULL)
				add(b, (struct flow){ m->at, s->at + s->len, row, (unsigned)m->value, m->type });
		}
	}
}

/* ---------------------------------------------------------------- steals */

/* The newest steal of a row up to a time; that time if there is none. `*from` only grows. */
static int64_t steal_before(const struct row *row, int64_t at, size_t *from)
{
	int64_t found = at;

	for (; *from < row->marks_num && row->marks[*from].at <= at; ++*from) {
		if (row->marks[*from].type == EC_TRACE_STEAL)
			found = row->marks[*from].at;
	}
	return found;
}

/*
 * A color that runs elsewhere than at home was stolen. Of a row of its callbacks, the first one gets the arrow: `last`
 * is the color before, on this worker.
 */
static void find_steals(struct band *b)
{
	const struct slice *s;
	const struct row *r;
	unsigned row;
	uint32_t last;
	size_t i, from;
	int64_t at;
	bool is_away;

	for (row = 0; row < b->rows_num; row++) {
		r = &b->rows[row];
		last = 0;
		from = 0;
		for (i = 0; i < r->slices_num; i++) {
			s = &r->slices[i];
			if (s->type != SLICE_CALL)
				continue;
			is_away = s->home != row && s->home < b->rows_num && s->color != 0;
			if (is_away && s->color != last) {
				at = steal_before(r, s->at, &from);
				add(b, (struct flow){ at, s->at, s->home, row, EC_TRACE_STEAL });
			}
			last = is_away ? s->color : 0;
		}
	}
}

void flows_find(struct band *b)
{
	find_posts(b);
	find_wakeups(b);
	find_steals(b);
}
