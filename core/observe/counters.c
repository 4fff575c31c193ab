#include "counters.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ec.h"
#include "os/clock.h"
#include "os/thread.h"
#include "sketch.h"
#include "stats_file.h"

/*
 * One for each probe. The time of a worker is divided into callbacks, the engine between them, polls, spinning, and
 * sleep: each probe's call ends one of these, which began at p->mark. What runs within a callback (ec_base_turn) is
 * that callback's time, but for other callbacks.
 */
struct ec_counters {
	/* const */
	struct ec_stats_worker *record;
	struct ec_stats_header *header;
	struct ec_stats_file *file;	/* that has both */

	/* own: the probe's thread */
	struct ec_sketch colors, sites;	/* their places are those of the record */
	uint64_t anchor, anchor_ns;	/* a moment in ticks, and as time of the clock */
	uint64_t tick_mult;		/* nanoseconds of a tick, times 2^32 */
	const void *key;		/* ec_thread_key() of the thread */
};

static void add(ec_stat *counter, uint64_t by)
{
	ec_counter_add(counter, by);
}

static void grow(ec_stat *max, uint64_t value)
{
	if (value > ec_load_relaxed(max))
		ec_store_relaxed(max, value);
}

/* ---------------------------------------------------------------- time */

static inline uint64_t to_ns(const struct ec_counters *c, uint64_t ticks)
{
	return ec_clock_ticks_by(ticks, c->tick_mult);
}

static void anchor(struct ec_counters *c, uint64_t now)
{
	c->tick_mult = ec_clock_ticks_to_ns(UINT64_C(1) << 32);
	c->anchor = now;
	c->anchor_ns = (uint64_t)ec_monotonic_ns();
}

/* A tick is measured roughly, so the clock is read again now and then. */
static void anchor_anew(struct ec_counters *c, uint64_t now)
{
	enum { EVERY_NS = 1000000 };

	if (ec_clock_ticks_to_ns(now - c->anchor) > EVERY_NS)
		anchor(c, now);
}

static uint64_t clock_ns(const struct ec_counters *c, uint64_t ticks)
{
	return c->anchor_ns + to_ns(c, ticks - c->anchor);
}

/* Since the end of what the worker did last. */
static uint64_t passed_ns(const struct ec_probe *p)
{
	return to_ns(p->counters, p->now - p->mark);
}

/* ---------------------------------------------------------------- records that change hands */

/* W1 to W3 of stats.h; the callers write the fields between these. */
static void renew_begin(ec_stat32 *seq_end)
{
	ec_store_relaxed(seq_end, ec_load_relaxed(seq_end) + 1);		/* W1 */
}

static void renew_end(ec_stat32 *seq, ec_stat32 *seq_end)
{
	ec_store_release(seq, ec_load_relaxed(seq_end));			/* W3 */
}

static void color_renew(struct ec_stats_color *s, uint32_t color, uint64_t error_ns)
{
	unsigned i;

	renew_begin(&s->seq_end);
	ec_store_release(&s->color, color);
	ec_store_release(&s->moves, 0);
	ec_store_release(&s->error_ns, error_ns);
	ec_store_release(&s->callbacks, 0);
	ec_store_release(&s->busy_ns, 0);
	ec_store_release(&s->alone_ns, 0);
	ec_store_release(&s->longest_ns, 0);
	ec_store_release(&s->site, 0);
	ec_store_release(&s->delays_ns, 0);
	for (i = 0; i < EC_HISTOGRAM_BUCKETS; i++)
		ec_store_release(&s->delays[i], 0);
	renew_end(&s->seq, &s->seq_end);
}

static void site_renew(struct ec_stats_site *s, uint64_t site, uint64_t error_ns)
{
	renew_begin(&s->seq_end);
	ec_store_release(&s->site, site);
	ec_store_release(&s->color, 0);
	ec_store_release(&s->error_ns, error_ns);
	ec_store_release(&s->callbacks, 0);
	ec_store_release(&s->busy_ns, 0);
	ec_store_release(&s->longest_ns, 0);
	ec_store_release(&s->longest_at_ns, 0);
	renew_end(&s->seq, &s->seq_end);
}

/* ---------------------------------------------------------------- callbacks */

static void begin(struct ec_probe *p, const struct ec_probe_call *call)
{
	struct ec_counters *c = p->counters;

	if (call->outer == NULL)
		add(&c->record->engine_ns, passed_ns(p));
	ec_store_relaxed(&c->record->running_site, call->fn);
	ec_store_relaxed(&c->record->running_color, call->color);
	ec_store_relaxed(&c->record->running_since_ns, clock_ns(c, p->now));
}

static void rename_call(struct ec_probe *p, const struct ec_probe_call *call)
{
	ec_store_relaxed(&p->counters->record->running_site, call->fn);
}

static void delay_note(struct ec_counters *c, struct ec_stats_color *s, const struct ec_probe_call *call)
{
	struct ec_stats_worker *r = c->record;
	unsigned bucket;
	uint64_t ns;

	if (call->queued_at == 0 || call->queued_at > call->began_at)
		return;
	ns = to_ns(c, call->began_at - call->queued_at);
	bucket = ec_histogram_bucket(ns);
	add(&r->delays_ns, ns);
	add(&r->delays[bucket], 1);
	add(&s->delays_ns, ns);
	add(&s->delays[bucket], 1);
}

static __attribute__((noinline)) unsigned color_find(struct ec_counters *c, uint32_t color)
{
	uint64_t error_ns = 0;
	unsigned place;
	bool is_new;

	place = ec_sketch_find(&c->colors, color, &error_ns, &is_new);
	if (is_new) {
		color_renew(&c->record->colors[place], color, error_ns);
		ec_store_relaxed(&c->record->colors_num, c->colors.num);
	}
	return place;
}

static __attribute__((noinline)) unsigned site_find(struct ec_counters *c, uint64_t site)
{
	uint64_t error_ns = 0;
	unsigned place;
	bool is_new;

	place = ec_sketch_find(&c->sites, site, &error_ns, &is_new);
	if (is_new) {
		site_renew(&c->record->sites[place], site, error_ns);
		ec_store_relaxed(&c->record->sites_num, c->sites.num);
	}
	return place;
}

static inline void color_note(struct ec_counters *c, const struct ec_probe_call *call, uint64_t ns)
{
	unsigned place = ec_sketch_is_last(&c->colors, call->color) ? c->colors.last : color_find(c, call->color);
	struct ec_stats_color *s = &c->record->colors[place];

	ec_sketch_add(&c->colors, place, ns);
	ec_store_relaxed(&s->home, call->home);
	ec_store_relaxed(&s->site, call->fn);
	add(&s->callbacks, 1);
	add(&s->busy_ns, ns);
	if (call->is_alone)
		add(&s->alone_ns, ns);
	grow(&s->longest_ns, ns);
	delay_note(c, s, call);
}

static inline void site_note(struct ec_counters *c, const struct ec_probe_call *call, uint64_t ns)
{
	unsigned place = ec_sketch_is_last(&c->sites, call->fn) ? c->sites.last : site_find(c, call->fn);
	struct ec_stats_site *s = &c->record->sites[place];

	ec_sketch_add(&c->sites, place, ns);
	add(&s->callbacks, 1);
	add(&s->busy_ns, ns);
	if (ns <= ec_load_relaxed(&s->longest_ns))
		return;
	ec_store_relaxed(&s->longest_ns, ns);
	ec_store_relaxed(&s->longest_at_ns, clock_ns(c, call->began_at));
	ec_store_relaxed(&s->color, call->color);
}

/* The callback that goes on, or none. */
static void running_note(struct ec_counters *c, const struct ec_probe_call *call)
{
	struct ec_stats_worker *r = c->record;

	ec_store_relaxed(&r->running_since_ns, call != NULL ? clock_ns(c, call->began_at) : 0);
	ec_store_relaxed(&r->running_site, call != NULL ? call->fn : 0);
	ec_store_relaxed(&r->running_color, call != NULL ? call->color : 0);
}

static void end(struct ec_probe *p, const struct ec_probe_call *call)
{
	struct ec_counters *c = p->counters;
	uint64_t ns = to_ns(c, p->now - call->began_at - call->inner);
	struct ec_stats_worker *r = c->record;

	add(&r->callbacks, 1);
	add(&r->busy_ns, ns);
	if (call->kind == EC_KIND_POST)
		add(&r->posts, 1);
	if (call->is_alone)
		add(&r->alone_ns, ns);
	color_note(c, call, ns);
	site_note(c, call, ns);
	running_note(c, call->outer);
	ec_store_relaxed(&r->until_ns, clock_ns(c, p->now));
}

/* ---------------------------------------------------------------- the rest */

static void time_note(struct ec_probe *p, enum ec_probe_what what)
{
	struct ec_stats_worker *r = p->counters->record;
	uint64_t ns = passed_ns(p);

	if (p->call != NULL)
		return;
	if (what == EC_PROBE_SPIN_BEGIN)
		add(&r->engine_ns, ns);
	else if (what == EC_PROBE_SPIN_END || p->is_spinning)
		add(&r->spinning_ns, ns);
	else if (what == EC_PROBE_SLEEP_END)
		add(&r->asleep_ns, ns);
	else
		add(&r->polling_ns, ns);
}

static void move_note(struct ec_counters *c, uint32_t color)
{
	unsigned i;

	add(&c->record->moves, 1);
	for (i = 0; i < c->colors.num; i++) {
		if (c->colors.keys[i] == color)
			ec_counter_add(&c->record->colors[i].moves, 1);
	}
}

/* A loop may get another thread. */
static void thread_note(struct ec_counters *c)
{
	long tid;

	if (c->key == ec_thread_key())
		return;
	c->key = ec_thread_key();
	tid = syscall(SYS_gettid);
	ec_store_relaxed(&c->record->tid, tid > 0 ? (uint64_t)tid : 0);
}

static void turn_note(struct ec_probe *p, uint64_t mode)
{
	struct ec_counters *c = p->counters;

	anchor_anew(c, p->now);
	thread_note(c);
	add(&c->record->turns, 1);
	ec_store_relaxed(&c->record->until_ns, clock_ns(c, p->now));
	if (p->worker == 0)
		ec_store_relaxed(&c->header->mode, (uint32_t)mode);
}

static void note(struct ec_probe *p, enum ec_probe_what what, uint32_t color, uint64_t value)
{
	struct ec_stats_worker *r = p->counters->record;

	switch (what) {
	case EC_PROBE_TURN:
		turn_note(p, value);
		return;
	case EC_PROBE_POLL_BEGIN:
	case EC_PROBE_SLEEP_BEGIN:
		return;
	case EC_PROBE_SPIN_BEGIN:
		add(&r->spins, 1);
		time_note(p, what);
		return;
	case EC_PROBE_SLEEP_END:
		add(&r->sleeps, 1);
		time_note(p, what);
		return;
	case EC_PROBE_POLL_END:
	case EC_PROBE_SPIN_END:
		time_note(p, what);
		return;
	case EC_PROBE_STEAL:
		add(&r->steals, 1);
		add(&r->stolen_colors, value);
		return;
	case EC_PROBE_STEAL_MISS:
		add(&r->steal_misses, 1);
		return;
	case EC_PROBE_POST:
		add(&r->posted, 1);
		return;
	case EC_PROBE_WAKEUP:
		add(&r->wakeups, 1);
		return;
	case EC_PROBE_MOVE:
		move_note(p->counters, color);
		return;
	case EC_PROBE_QUEUE:
		ec_store_relaxed(&r->queued, value);
		grow(&r->queued_max, value);
		return;
	case EC_PROBE_TOUCH:
		return;
	}
}

/* ---------------------------------------------------------------- on and off */

static uint64_t color_weight_ns(const struct ec_stats_color *s)
{
	return ec_load_relaxed(&s->error_ns) + ec_load_relaxed(&s->busy_ns);
}

static uint64_t site_weight_ns(const struct ec_stats_site *s)
{
	return ec_load_relaxed(&s->error_ns) + ec_load_relaxed(&s->busy_ns);
}

/* The record goes on from what it was: a reader may have seen it. */
static void sketches_resume(struct ec_counters *c)
{
	uint64_t error_ns;
	unsigned i, place;
	bool is_new;

	for (i = 0; i < ec_load_relaxed(&c->record->colors_num); i++) {
		place = ec_sketch_find(&c->colors, ec_load_relaxed(&c->record->colors[i].color), &error_ns, &is_new);
		ec_sketch_add(&c->colors, place, color_weight_ns(&c->record->colors[i]));
	}
	for (i = 0; i < ec_load_relaxed(&c->record->sites_num); i++) {
		place = ec_sketch_find(&c->sites, ec_load_relaxed(&c->record->sites[i].site), &error_ns, &is_new);
		ec_sketch_add(&c->sites, place, site_weight_ns(&c->record->sites[i]));
	}
}

static int open_counters(struct ec_probe *p)
{
	struct ec_counters *c;
	int r;

	c = ec_calloc(1, sizeof(*c));
	if (c == NULL)
		return -ENOMEM;
	r = ec_stats_file_open(p->observer);
	if (r < 0)
		goto free_counters;
	c->file = p->observer->stats;
	c->header = c->file->header;
	c->record = ec_stats_file_worker(p->observer, p->worker);
	r = c->record == NULL ? -errno : 0;
	if (r < 0)
		goto free_counters;	/* the file stays, for the other workers, until the base is freed */
	anchor(c, p->now);
	thread_note(c);
	sketches_resume(c);
	/* Not the time while it was off. */
	add(&c->record->since_ns, c->anchor_ns - ec_load_relaxed(&c->record->until_ns));
	ec_store_relaxed(&c->record->until_ns, c->anchor_ns);
	ec_store_relaxed(&c->record->is_off, 0);
	p->counters = c;
	return 0;

free_counters:
	ec_free(c);
	return r;
}

static void close_counters(struct ec_probe *p)
{
	running_note(p->counters, NULL);
	ec_store_relaxed(&p->counters->record->is_off, 1);
	ec_stats_file_put(p->observer, p->counters->file);
	ec_free(p->counters);
	p->counters = NULL;
}

const struct ec_consumer ec_counters_consumer = {
	.bit = EC_OBSERVE_COUNT,
	.name = "counters",
	.open = open_counters,
	.close = close_counters,
	.begin = begin,
	.rename = rename_call,
	.end = end,
	.note = note,
	.fini = ec_stats_file_close,
};
