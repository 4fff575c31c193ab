#include "workload.h"

#include <stdlib.h>

#include "core/ec.h"
#include "ids.h"

enum {
	POLL_MAX_NS = 3000,
	POLLS_SEEN = 1024,
	FDS_OF_CONNECTION = 2,		/* a proxy has two descriptors for a connection */
	GAP_NS = 20000000,		/* a sleep this long ends what went on before */
	TRACE_NS = 100,			/* what the trace itself costs a callback */
	SLEEP_MAX_S = 1000,		/* longer ones, and longer callbacks, are of a damaged trace: sums stay small */
	CALL_MAX_S = 10000,
	ENGINE_MAX_NS = 1000000000,
	EVENTS = EC_READ | EC_WRITE | EC_CLOSED | EC_SIGNAL,
};

/* When the worker slept, in order; `before`: how long it slept before that. */
struct sleep {
	int64_t from, to, before;
};

/* What is known of a descriptor, an object or an event when the next callback begins. */
struct last {
	uint32_t call;		/* the last one that had to do with it */
	uint64_t creator;	/* of an object: whose callback touched it first */
	int fds[FDS_OF_CONNECTION];	/* of an object: the first ones, all different */
	unsigned fds_num;	/* the same: how many; more than FDS_OF_CONNECTION: there were others */
	bool has_run;		/* a callback was about it */
};

struct maker {
	const struct row *row;
	struct workload *w;
	struct sleep *sleeps;
	size_t sleeps_num, polls_num;
	struct ids ids;		/* of all that has a struct last */
	struct last *lasts;
	size_t lasts_num, lasts_cap;
	struct ids fns;
	size_t fns_cap;
	size_t touch;		/* the next one */
	int64_t from;		/* calls count from here on */
	uint32_t before_gap;	/* the last call before the newest long sleep; WORK_NONE: there was none */
};

#define NS_OF(s) ((s) * INT64_C(1000000000))

static int64_t at_most(int64_t ns, int64_t max)
{
	return ns < max ? ns : max;
}

static int64_t not_negative(int64_t ns)
{
	return ns > 0 ? ns : 0;
}

/* ---------------------------------------------------------------- sleep */

static int compare_ns(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static bool is_poll(const struct slice *s)
{
	return s->depth == 0 && (s->type == SLICE_POLL || s->type == SLICE_SLEEP);
}

/* What a poll costs by itself: one of the shortest. */
static int64_t poll_cost(const struct row *row)
{
	static int64_t lens[POLLS_SEEN];
	size_t num = 0, i;

	for (i = 0; i < row->slices_num && num < POLLS_SEEN; i++) {
		if (is_poll(&row->slices[i]))
			lens[num++] = row->slices[i].len;
	}
	if (num == 0)
		return 0;
	qsort(lens, num, sizeof(*lens), compare_ns);
	return lens[num / 20] < POLL_MAX_NS ? lens[num / 20] : POLL_MAX_NS;
}

static void find_sleeps(struct maker *m)
{
	const struct slice *s;
	int64_t before = 0, at, len;
	size_t i;

	m->w->poll_ns = poll_cost(m->row);
	m->sleeps = must(calloc(m->row->slices_num + 1, sizeof(*m->sleeps)));
	for (i = 0; i < m->row->slices_num; i++) {
		s = &m->row->slices[i];
		if (!is_poll(s) || s->at < m->from)
			continue;
		m->polls_num++;
		if (s->type != SLICE_SLEEP || s->len <= m->w->poll_ns)
			continue;
		at = s->at - m->from + m->w->poll_ns;
		len = at_most(s->len - m->w->poll_ns, NS_OF(SLEEP_MAX_S));
		m->sleeps[m->sleeps_num++] = (struct sleep){ at, at + len, before };
		before += len;
	}
}

/* How long the worker slept up to a time. */
static int64_t slept_until(const struct maker *m, int64_t at)
{
	size_t low = 0, high = m->sleeps_num, middle;
	const struct sleep *s;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (m->sleeps[middle].from < at)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return 0;
	s = &m->sleeps[low - 1];
	return s->before + ((at < s->to ? at : s->to) - s->from);
}

/* ---------------------------------------------------------------- what is known */

enum kind { KIND_FD = 1, KIND_OBJECT, KIND_EVENT };

/* Valid until the next call. */
static struct last *last_of(struct maker *m, enum kind kind, uint64_t value)
{
	uint32_t id = ids_get(&m->ids, value << 2 | kind);

	if (id >= m->lasts_cap) {
		m->lasts_cap = 2 * m->lasts_cap + 64;
		m->lasts = must(realloc(m->lasts, m->lasts_cap * sizeof(*m->lasts)));
	}
	if (id >= m->lasts_num) {
		m->lasts[id] = (struct last){ .call = WORK_NONE };
		m->lasts_num = id + 1;
	}
	return &m->lasts[id];
}

static uint32_t later(uint32_t a, uint32_t b)
{
	return a == WORK_NONE || (b != WORK_NONE && b > a) ? b : a;
}

static uint32_t last_call(struct maker *m, enum kind kind, uint64_t value)
{
	return value == 0 ? WORK_NONE : last_of(m, kind, value)->call;
}

static void note_call(struct maker *m, enum kind kind, uint64_t value, uint32_t call)
{
	if (value != 0)
		last_of(m, kind, value)->call = call;
}

static uint64_t fd_key(int fd)
{
	return fd < 0 ? 0 : (uint64_t)fd + 1;
}

/* ---------------------------------------------------------------- functions */

static uint32_t fn_of(struct maker *m, const struct slice *s)
{
	uint64_t address = s->own_fn != 0 ? s->own_fn : s->fn;
	uint32_t id = ids_get(&m->fns, address);
	struct workload *w = m->w;

	if (id >= m->fns_cap) {
		m->fns_cap = 2 * m->fns_cap + 16;
		w->fns = must(realloc(w->fns, m->fns_cap * sizeof(*w->fns)));
	}
	if (id >= w->fns_num) {
		w->fns[id] = (struct work_fn){ .address = address, .kind = s->object_kind };
		w->fns_num = id + 1;
	}
	return id;
}

static void count(struct work_fn *f, const struct slice *s)
{
	f->calls++;
	f->ns += s->len;
	f->has_fd |= s->fd >= 0;
	f->is_of_post |= s->kind == EC_KIND_POST;
	if (s->object_kind > f->kind)
		f->kind = s->object_kind;
	if (s->len > f->longest_ns)
		f->longest_ns = s->len;
}

/* ---------------------------------------------------------------- causes */

/* The call that had begun and ran at a time, of those before `num`. */
static uint32_t running_at(const struct workload *w, size_t num, int64_t at)
{
	size_t low = 0, high = num, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (w->calls[middle].at < at)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || at >= w->calls[low - 1].at + w->calls[low - 1].len)
		return WORK_NONE;
	return (uint32_t)low - 1;
}

static int64_t end_of(const struct workload *w, uint32_t call)
{
	return call == WORK_NONE ? 0 : w->calls[call].at + w->calls[call].len;
}

/* After a long sleep, what comes is new: a client that began when another one had ended, for instance. */
static void note_gap(struct maker *m, int64_t at, size_t num)
{
	if (num != 0 && slept_until(m, at) - slept_until(m, end_of(m->w, (uint32_t)num - 1)) >= GAP_NS)
		m->before_gap = (uint32_t)num - 1;
}

static void find_cause(struct maker *m, struct work_call *c, const struct slice *s, size_t num)
{
	int64_t ready = c->at - (c->wait < 0 ? 0 : c->wait), end;

	c->cause = running_at(m->w, num, ready);
	if (c->cause != WORK_NONE) {
		c->ready = WORK_CALL;
		c->delay = ready - m->w->calls[c->cause].at;
		return;
	}
	c->ready = (s->res & EC_TIMEOUT) != 0 && (s->res & EVENTS) == 0 ? WORK_TIMER : WORK_OUTSIDE;
	c->cause = last_call(m, KIND_EVENT, s->event);
	if (c->ready == WORK_OUTSIDE || c->cause == WORK_NONE)
		c->cause = later(c->cause,
				 later(last_call(m, KIND_FD, fd_key(s->fd)), last_call(m, KIND_OBJECT, s->object)));
	if (c->ready == WORK_OUTSIDE)
		c->cause = later(c->cause, m->before_gap);
	end = end_of(m->w, c->cause);
	if (c->ready == WORK_TIMER)
		c->delay = at_most(not_negative(ready - end), NS_OF(CALL_MAX_S));
	else
		c->delay = at_most(not_negative(slept_until(m, ready) - slept_until(m, end)), NS_OF(CALL_MAX_S));
}

/* ---------------------------------------------------------------- objects */

/* A connection's descriptors take turns, so a change of the descriptor does not tell that it is another one. */
static void note_fd(struct last *o, int fd)
{
	unsigned i;

	if (o->fds_num > FDS_OF_CONNECTION)
		return;
	for (i = 0; i < o->fds_num; i++) {
		if (o->fds[i] == fd)
			return;
	}
	if (o->fds_num < FDS_OF_CONNECTION)
		o->fds[o->fds_num] = fd;
	o->fds_num++;
}

static void note_object(struct maker *m, struct work_call *c)
{
	struct last *o;

	if (c->object == 0)
		return;
	o = last_of(m, KIND_OBJECT, c->object);
	o->has_run = true;
	c->creator = o->creator;
	if (c->fd >= 0)
		note_fd(o, c->fd);
}

/* What a callback touches has to do with it from then on; what it touches first, it made. */
static void note_touches(struct maker *m, const struct work_call *c, uint32_t call)
{
	const struct row *row = m->row;
	const struct touch *t;
	struct last *o;

	for (; m->touch < row->touches_num && row->touches[m->touch].at < m->from + c->at + c->len; m->touch++) {
		t = &row->touches[m->touch];
		if (t->at < m->from + c->at || t->object == 0)
			continue;
		o = last_of(m, KIND_OBJECT, t->object);
		o->call = call;
		if (!o->has_run && o->creator == 0)
			o->creator = c->object;
		else if (o->has_run)
			m->w->fns[c->fn].touches++;
		note_call(m, KIND_FD, fd_key(t->fd), call);
		note_call(m, KIND_EVENT, t->event, call);
	}
}

/* Output for another bufferevent makes a callback of that ready. */
static void note_activation(struct maker *m, const struct work_call *c)
{
	struct work_call *by;

	if (c->ready != WORK_CALL)
		return;
	by = &m->w->calls[c->cause];
	if (by->object != c->object && c->object != 0)
		m->w->fns[by->fn].touches++;
}

static void add_call(struct maker *m, const struct slice *s)
{
	struct workload *w = m->w;
	uint32_t call = (uint32_t)w->calls_num;
	struct work_call *c = &w->calls[call];

	*c = (struct work_call){
		.at = s->at - m->from,
		.len = at_most(not_negative(s->len), NS_OF(CALL_MAX_S)),
		.wait = s->wait,
		.fn = fn_of(m, s),
		.color = s->color,
		.object = s->object,
		.fd = s->fd,
	};
	note_gap(m, c->at, call);
	find_cause(m, c, s, call);
	note_object(m, c);
	w->calls_num++;
	count(&w->fns[c->fn], s);
	note_activation(m, c);
	note_call(m, KIND_FD, fd_key(s->fd), call);
	note_call(m, KIND_OBJECT, s->object, call);
	note_call(m, KIND_EVENT, s->event, call);
	note_touches(m, c, call);
	w->has_objects |= s->object != 0;
	w->has_colors |= s->color != 0;
	w->run_ns += c->len;
}

/* ---------------------------------------------------------------- all */

static bool is_call(const struct slice *s)
{
	return s->type == SLICE_CALL && s->depth == 0 && !s->is_open;
}

/* The newest ones. Returns the first slice. */
static size_t first_slice(const struct row *row, size_t *ret_left_out)
{
	size_t num = 0, i = row->slices_num;

	while (i > 0 && num < WORK_CALLS_MAX)
		num += is_call(&row->slices[--i]);
	while (i < row->slices_num && !is_call(&row->slices[i]))
		i++;
	*ret_left_out = 0;
	for (num = 0; num < i; num++)
		*ret_left_out += is_call(&row->slices[num]);
	return i;
}

static void add_calls(struct maker *m)
{
	size_t i = first_slice(m->row, &m->w->left_out);

	m->from = i < m->row->slices_num ? m->row->slices[i].at : 0;
	find_sleeps(m);
	while (m->touch < m->row->touches_num && m->row->touches[m->touch].at < m->from)
		m->touch++;
	m->w->calls = must(calloc(m->row->slices_num + 1, sizeof(*m->w->calls)));
	for (; i < m->row->slices_num; i++) {
		if (is_call(&m->row->slices[i]))
			add_call(m, &m->row->slices[i]);
	}
}

static void mark_shared_objects(struct maker *m)
{
	struct work_call *c;
	size_t i;

	for (i = 0; i < m->w->calls_num; i++) {
		c = &m->w->calls[i];
		c->is_shared_object = c->object != 0 && last_of(m, KIND_OBJECT, c->object)->fds_num > FDS_OF_CONNECTION;
	}
}

/* What is neither callbacks, polls nor sleep is the engine's, and is shared among the callbacks. */
static void find_engine(struct maker *m)
{
	struct workload *w = m->w;
	int64_t busy;

	if (w->calls_num == 0)
		return;
	w->span_ns = end_of(w, (uint32_t)w->calls_num - 1);
	w->asleep_ns = slept_until(m, w->span_ns);
	busy = w->span_ns - w->asleep_ns - w->run_ns - w->poll_ns * (int64_t)m->polls_num;
	w->engine_ns = at_most(not_negative(busy / (int64_t)w->calls_num - TRACE_NS), ENGINE_MAX_NS);
}

/* What is before and behind the load: a program that starts, and whose clients are not there yet, or have gone. */
static void find_load(struct maker *m)
{
	struct workload *w = m->w;
	int64_t edge_ns = w->run_ns / 100, run_ns = 0, from = -1, to = 0;
	size_t i;

	for (i = 0; i < w->calls_num; i++) {
		if (run_ns >= w->run_ns - edge_ns)
			break;
		run_ns += w->calls[i].len;
		if (run_ns > edge_ns && from < 0)
			from = w->calls[i].at;
		to = end_of(w, (uint32_t)i);
	}
	if (from < 0 || to <= from)
		return;
	w->load_ns = to - from;
	w->load_asleep_ns = slept_until(m, to) - slept_until(m, from);
}

const char *workload_make(const struct band *b, struct workload *ret)
{
	struct workload w = { 0 };
	struct maker m = { .w = &w, .before_gap = WORK_NONE };

	if (b->rows_num == 0)
		return "no callback ran";
	if (b->rows_num > 1)
		return "several workers ran it: what they would do alone is not known";
	m.row = &b->rows[0];
	add_calls(&m);
	mark_shared_objects(&m);
	find_engine(&m);
	find_load(&m);
	free(m.sleeps);
	free(m.lasts);
	ids_free(&m.ids);
	ids_free(&m.fns);
	*ret = w;
	if (w.calls_num != 0)
		return NULL;
	workload_free(ret);
	return "no callback ran";
}

void workload_free(struct workload *w)
{
	free(w->calls);
	free(w->fns);
	*w = (struct workload){ 0 };
}

/* ---------------------------------------------------------------- effects */

void work_effects_make(const struct workload *w, struct work_effects *ret)
{
	size_t i;

	ret->first = must(calloc(w->calls_num + 1, sizeof(*ret->first)));
	ret->next = must(calloc(w->calls_num + 1, sizeof(*ret->next)));
	for (i = 0; i < w->calls_num; i++)
		ret->first[i] = WORK_NONE;
	/* From the end, so that each list is in order. */
	for (i = w->calls_num; i-- > 0;) {
		if (w->calls[i].cause == WORK_NONE)
			continue;
		ret->next[i] = ret->first[w->calls[i].cause];
		ret->first[w->calls[i].cause] = (uint32_t)i;
	}
}

void work_effects_free(struct work_effects *e)
{
	free(e->first);
	free(e->next);
	*e = (struct work_effects){ 0 };
}
