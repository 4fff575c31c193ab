#include "latency.h"

#include <stdlib.h>
#include <string.h>

#include "color_name.h"

const char *duration(int64_t ns)
{
	static char texts[4][32];
	static unsigned next;
	char *s = texts[next++ % 4];
	double value = (double)ns;

	if (ns < 1000)
		snprintf(s, sizeof(texts[0]), "%lld ns", (long long)ns);
	else if (ns < 1000000)
		snprintf(s, sizeof(texts[0]), "%.1f us", value / 1e3);
	else if (ns < 1000000000)
		snprintf(s, sizeof(texts[0]), "%.1f ms", value / 1e6);
	else
		snprintf(s, sizeof(texts[0]), "%.2f s", value / 1e9);
	return s;
}

const char *duration_short(int64_t ns)
{
	static char texts[4][32];
	static unsigned next;
	static const char *const units[] = { "ns", "us", "ms", "s" };
	char *s = texts[next++ % 4];
	double value = (double)ns;
	unsigned unit = 0;

	for (; value >= 999.5 && unit < 3; unit++)
		value /= 1000;
	snprintf(s, sizeof(texts[0]), unit > 0 && value < 9.95 ? "%.1f%s" : "%.0f%s", value, units[unit]);
	return s;
}

/* ---------------------------------------------------------------- colors */

struct color_table {
	struct color_times *at;
	size_t num, cap;		/* cap: a power of 2; at most half full */
};

static size_t place_of(const struct color_times *at, size_t cap, const struct band *b, uint32_t color)
{
	size_t i = (size_t)((color + (uint64_t)b->base * 7919) * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (cap - 1);

	while (at[i].band != NULL && (at[i].band != b || at[i].color != color))
		i = (i + 1) & (cap - 1);
	return i;
}

static void table_grow(struct color_table *t)
{
	size_t cap = t->cap == 0 ? 64 : 2 * t->cap, i;
	struct color_times *at = must(calloc(cap, sizeof(*at)));

	for (i = 0; i < t->cap; i++) {
		if (t->at[i].band != NULL)
			at[place_of(at, cap, t->at[i].band, t->at[i].color)] = t->at[i];
	}
	free(t->at);
	t->at = at;
	t->cap = cap;
}

static struct color_times *color_of(struct color_table *t, const struct band *b, uint32_t color)
{
	struct color_times *c;

	if (2 * t->num >= t->cap)
		table_grow(t);
	c = &t->at[place_of(t->at, t->cap, b, color)];
	if (c->band == NULL) {
		c->band = b;
		c->color = color;
		c->fd = -1;
		t->num++;
	}
	return c;
}

/* The function that has more than half of the time is there at the end (Boyer and Moore's vote, by nanoseconds). */
static void note_most(struct color_times *c, const struct slice *s)
{
	uint64_t len = (uint64_t)s->len;

	if (c->most == NULL || (c->most->fn != s->fn && c->most_ns < len)) {
		c->most_ns = len - c->most_ns;
		c->most = s;
	} else {
		c->most_ns = c->most->fn == s->fn ? c->most_ns + len : c->most_ns - len;
	}
}

static void note_fd(struct color_times *c, const struct slice *s)
{
	if (s->fd < 0)
		return;
	c->fd = !c->has_fd || c->fd == s->fd ? s->fd : -1;
	c->has_fd = true;
}

static int compare_colors(const void *a, const void *b)
{
	const struct color_times *c = a, *d = b;

	if ((c->band == NULL) != (d->band == NULL))
		return c->band == NULL ? 1 : -1;
	if (c->wait_ns != d->wait_ns)
		return c->wait_ns > d->wait_ns ? -1 : 1;
	if (c->run_ns != d->run_ns)
		return c->run_ns > d->run_ns ? -1 : 1;
	return c->color < d->color ? -1 : c->color > d->color;
}

/* ---------------------------------------------------------------- delays */

/* Keeps the longest, in order. */
static void note_delay(struct latency *l, const struct band *b, unsigned row, const struct slice *s)
{
	size_t i;

	if (l->delays_num == DELAYS_MAX && l->delays[DELAYS_MAX - 1].slice->wait >= s->wait)
		return;
	if (l->delays_num < DELAYS_MAX)
		l->delays_num++;
	for (i = l->delays_num - 1; i > 0 && l->delays[i - 1].slice->wait < s->wait; i--)
		l->delays[i] = l->delays[i - 1];
	l->delays[i] = (struct delay){ .band = b, .row = row, .slice = s };
}

static bool is_same_cause(const struct slice *a, const struct slice *b)
{
	return a->type == b->type && a->fn == b->fn && a->color == b->color;
}

enum { CAUSES_SEEN = 64 };		/* more different ones hardly ever run within one wait */

struct causes {
	struct cause at[CAUSES_SEEN];
	unsigned num;
};

static void note_cause(struct causes *c, const struct slice *s, int64_t ns)
{
	unsigned i;

	for (i = 0; i < c->num && !is_same_cause(c->at[i].slice, s); i++)
		;
	if (i == CAUSES_SEEN)
		return;
	if (i == c->num)
		c->at[c->num++] = (struct cause){ .slice = s };
	c->at[i].num++;
	c->at[i].ns += ns;
}

static int compare_causes(const void *a, const void *b)
{
	const struct cause *c = a, *d = b;

	return c->ns > d->ns ? -1 : c->ns < d->ns;
}

/* The number of slices of a row that begin before a time. */
static size_t num_before(const struct row *row, int64_t at)
{
	size_t low = 0, high = row->slices_num, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (row->slices[middle].at < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* What a worker did between ready and running: slices that are within no other. */
static void find_causes_in(struct delay *d, unsigned waited_row)
{
	const struct row *row = &d->band->rows[waited_row];
	int64_t to = d->slice->at, from = to - d->slice->wait, begin, end;
	struct causes c = { .num = 0 };
	const struct slice *s;
	unsigned i;

	d->waited_row = waited_row;
	d->causes_num = 0;
	d->other_ns = d->slice->wait;
	for (s = row->slices + num_before(row, to); s-- > row->slices;) {
		if (s->depth != 0)
			continue;
		begin = s->at > from ? s->at : from;
		end = s->at + s->len < to ? s->at + s->len : to;
		if (s->at + s->len < from)
			break;
		if (end > begin)
			note_cause(&c, s, end - begin);
	}
	qsort(c.at, c.num, sizeof(*c.at), compare_causes);
	for (i = 0; i < c.num && i < CAUSES_MAX; i++) {
		d->causes[d->causes_num++] = c.at[i];
		d->other_ns -= c.at[i].ns;
	}
}

/* A stolen callback may have waited for its home worker, until it was stolen. */
static void find_causes(struct delay *d)
{
	const unsigned home = d->slice->home;
	struct delay at_home = *d;

	find_causes_in(d, d->row);
	if (home == d->row || home >= d->band->rows_num || d->slice->color == 0)
		return;
	find_causes_in(&at_home, home);
	if (at_home.other_ns < d->other_ns)
		*d = at_home;
}

/* ---------------------------------------------------------------- all */

static void note_call(struct latency *l, struct color_table *colors, const struct band *b, unsigned row,
		      const struct slice *s)
{
	struct color_times *c = color_of(colors, b, s->color);

	l->calls++;
	l->run_ns += s->len;
	c->calls++;
	c->run_ns += s->len;
	note_most(c, s);
	note_fd(c, s);
	if (c->longest == NULL || s->len > c->longest->len)
		c->longest = s;
	if (s->wait < 0)
		return;
	l->waits++;
	l->wait_ns += s->wait;
	c->waits++;
	c->wait_ns += s->wait;
	if (s->wait > c->wait_max_ns)
		c->wait_max_ns = s->wait;
	note_delay(l, b, row, s);
}

void latency_find(const struct timeline *t, struct latency *ret)
{
	struct latency l = { 0 };
	struct color_table colors = { 0 };
	const struct row *r;
	unsigned row;
	size_t i, j;

	for (i = 0; i < t->bands_num; i++) {
		for (row = 0; row < t->bands[i].rows_num; row++) {
			r = &t->bands[i].rows[row];
			for (j = 0; j < r->slices_num; j++) {
				if (r->slices[j].type == SLICE_CALL)
					note_call(&l, &colors, &t->bands[i], row, &r->slices[j]);
			}
		}
	}
	for (i = 0; i < l.delays_num; i++)
		find_causes(&l.delays[i]);
	if (colors.cap != 0)
		qsort(colors.at, colors.cap, sizeof(*colors.at), compare_colors);
	l.colors = colors.at;
	l.colors_num = colors.num;
	busy_find(t, &l.busy);
	*ret = l;
}

void latency_free(struct latency *l)
{
	free(l->colors);
	*l = (struct latency){ 0 };
}

/* ---------------------------------------------------------------- advice */

/* Delays with one cause. */
struct repeated {
	const struct delay *longest;
	unsigned num;
	unsigned episodes;		/* of these, so many that no other one overlaps */
	int64_t ns;
};

/* A callback that took a good part of the wait. */
static bool has_cause(const struct delay *d)
{
	return d->causes_num != 0 && d->causes[0].slice->type == SLICE_CALL && d->causes[0].ns >= d->slice->wait / 4;
}

static bool is_alike(const struct delay *a, const struct delay *b)
{
	return has_cause(a) && has_cause(b) && a->band == b->band &&
	       is_same_cause(a->causes[0].slice, b->causes[0].slice);
}

static bool overlaps(const struct delay *a, const struct delay *b)
{
	return a->slice->at > b->slice->at - b->slice->wait && b->slice->at > a->slice->at - a->slice->wait;
}

/* All delays that have the cause of this one. */
static struct repeated repeated_of(const struct latency *l, const struct delay *d)
{
	struct repeated r = { .longest = d };
	const struct delay *other, *earlier;
	bool is_apart;

	for (other = l->delays; other < l->delays + l->delays_num; other++) {
		if (other != d && !is_alike(other, d))
			continue;
		is_apart = true;
		for (earlier = l->delays; earlier < other; earlier++)
			is_apart &= !is_alike(earlier, d) || !overlaps(earlier, other);
		r.num++;
		r.episodes += is_apart;
		r.ns += other->slice->wait;
	}
	return r;
}

/* The cause that came most often; the one of the longest delay only if that was much longer, or if none came again. */
static struct repeated main_cause(const struct latency *l)
{
	const struct delay *first = &l->delays[0], *d;
	struct repeated best = repeated_of(l, first), r;
	int64_t least_ns = has_cause(first) ? first->slice->wait / 4 : 0;

	for (d = first + 1; d < first + l->delays_num; d++) {
		r = repeated_of(l, d);
		if (has_cause(d) && r.episodes >= 2 && r.ns >= least_ns && (best.episodes < 2 || r.ns > best.ns))
			best = r;
	}
	return best;
}

/* One wait, as an example. */
static char *advise_one(const struct delay *d)
{
	const struct cause *c = &d->causes[0];
	const char *name = slice_name(d->band, c->slice), *own = slice_name(d->band, d->slice);

	if (c->slice->type == SLICE_SLEEP || c->slice->type == SLICE_SPIN || c->slice->type == SLICE_POLL)
		return text("The longest wait (%s, %s) was for a worker that did nothing else: the CPUs were busy with "
			    "other threads, or the timer was due then. Look at the load of the machine.",
			    duration(d->slice->wait), own);
	if (c->num == 1)
		return text("The longest wait (%s, %s) was for one run of %s (color %s, %s): split that callback%s.",
			    duration(d->slice->wait), own, name, color_name(c->slice->color), duration(c->ns),
			    c->slice->color == d->slice->color ? ", or give it a color of its own" : "");
	if (c->slice->color == d->slice->color)
		return text("The longest wait (%s, %s) was for %llu runs of %s in the same color %s: give what is "
			    "independent in that color colors of its own.",
			    duration(d->slice->wait), own, (unsigned long long)c->num, name,
			    color_name(c->slice->color));
	return text("The longest wait (%s, %s) was for %llu runs of %s (color %s) on the same worker: more workers "
		    "would shorten it.",
		    duration(d->slice->wait), own, (unsigned long long)c->num, name,
		    color_name(c->slice->color));
}

static char *advise_repeated(const struct latency *l, const struct repeated *r)
{
	const struct delay *d = r->longest;
	const struct cause *c = &d->causes[0];
	char *many = r->num == l->delays_num ? text("All of") : text("%u of", r->num);
	char *begin = text("%s the %zu longest waits (up to %s, %s) were for %sruns of %s (color %s)", many,
			   l->delays_num, duration(d->slice->wait), slice_name(d->band, d->slice),
			   c->num == 1 ? "single " : "", slice_name(d->band, c->slice), color_name(c->slice->color)),
	     *advice;

	if (c->num == 1)
		advice = text("%s: split that callback%s.", begin,
			      c->slice->color == d->slice->color ? ", or give it a color of its own" : "");
	else if (c->slice->color == d->slice->color)
		advice = text("%s in the same color: give what is independent in that color colors of its own.",
			      begin);
	else
		advice = text("%s on the same worker: more workers would shorten them.", begin);
	free(begin);
	free(many);
	return advice;
}

static char *advise_wait(const struct latency *l, const struct repeated *r)
{
	const struct delay *d = r->longest;

	if (r->episodes >= 2)
		return advise_repeated(l, r);
	if (d->causes_num == 0 || d->causes[0].ns < d->slice->wait / 4)
		return text("The longest wait (%s, %s) was for many different callbacks, or for nothing that the trace "
			    "has: the CPUs may have been busy with other threads.",
			    duration(d->slice->wait), slice_name(d->band, d->slice));
	return advise_one(d);
}

/* Callbacks hardly waited. */
static char *advise_nothing(const struct latency *l)
{
	unsigned busy = busy_percent(&l->busy);

	if (l->waits == 0)
		return text("It is not known how long callbacks waited. The busiest worker ran callbacks %u %% of the "
			    "time.", busy);
	return text("No callback waited longer than %s, and the busiest worker ran callbacks %u %% of the time: "
		    "nothing is to be gained here.",
		    duration(l->delays[0].slice->wait), busy);
}

static char *join(char *first, char *second)
{
	char *both = first != NULL && second != NULL ? text("%s %s", first, second) : NULL;

	if (both == NULL)
		return first != NULL ? first : second;
	free(first);
	free(second);
	return both;
}

char *latency_advice(const struct latency *l)
{
	const int64_t short_ns = 100000;
	const struct busy *b = &l->busy;
	const bool is_late = l->waits != 0 && l->delays[0].slice->wait >= short_ns;
	bool is_one_call;
	struct repeated r;
	char *busy, *wait, *longest;

	if (l->calls == 0)
		return text("No callback ran. Trace for longer, or while the program has work.");
	if (is_late)
		r = main_cause(l);
	wait = is_late ? advise_wait(l, &r) : NULL;
	longest = busy_advice_longest(b, is_late && has_cause(r.longest) ? r.longest->causes[0].slice : NULL);
	is_one_call = longest != NULL && b->longest_band == b->band && b->longest_ns > b->row_ns / 2;
	busy = is_one_call ? NULL : busy_advice(b);
	if (busy == NULL && longest == NULL && wait == NULL)
		return advise_nothing(l);
	if (busy != NULL && longest != NULL) {
		free(longest);
		longest = NULL;
	}
	return join(busy, join(longest, wait));
}
