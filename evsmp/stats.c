#include "stats.h"

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- reading */

static uint64_t get(const ec_stat *counter)
{
	return atomic_load_explicit(counter, memory_order_acquire);
}

static uint32_t get32(const ec_stat32 *counter)
{
	return atomic_load_explicit(counter, memory_order_acquire);
}

/* a + b; the largest number if that is too large. */
static uint64_t plus(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

static uint64_t minus(uint64_t a, uint64_t b)
{
	return a < b ? 0 : a - b;
}

/*
 * The time since the worker wrote last, in which it did one thing: the callback that runs, or it sleeps. Of a worker
 * that writes all the time this is next to nothing.
 */
static void add_present(const struct ec_stats_worker *r, uint64_t now_ns, struct stats_worker *w)
{
	uint64_t ns = minus(now_ns, get(&r->until_ns)), began_ns = get(&r->running_since_ns);

	/* They are on again once the worker's callback ends: which one runs is not known. */
	if (get(&r->is_off) != 0) {
		w->all_ns = minus(get(&r->until_ns), get(&r->since_ns));
		return;
	}
	if (began_ns != 0) {
		w->running_ns = minus(now_ns, began_ns);
		w->busy_ns = plus(w->busy_ns, w->running_ns < ns ? w->running_ns : ns);
	} else {
		w->asleep_ns = plus(w->asleep_ns, ns);
	}
	w->all_ns = minus(now_ns, get(&r->since_ns));
}

/* Adds the counts; returns the number of those in the file. */
static uint64_t delays_read(const ec_stat from[EC_HISTOGRAM_BUCKETS], uint64_t to[EC_HISTOGRAM_BUCKETS])
{
	uint64_t all = 0, num;
	unsigned i;

	for (i = 0; i < EC_HISTOGRAM_BUCKETS; i++) {
		num = get(&from[i]);
		to[i] = plus(to[i], num);
		all = plus(all, num);
	}
	return all;
}

static void worker_read(const struct ec_stats_worker *r, uint64_t now_ns, struct stats_worker *w)
{
	*w = (struct stats_worker){ .is_on = get(&r->since_ns) != 0 };
	if (!w->is_on)
		return;
	w->busy_ns = get(&r->busy_ns);
	w->engine_ns = get(&r->engine_ns);
	w->polling_ns = get(&r->polling_ns);
	w->spinning_ns = get(&r->spinning_ns);
	w->asleep_ns = get(&r->asleep_ns);
	w->alone_ns = get(&r->alone_ns);
	w->callbacks = get(&r->callbacks);
	w->posts = get(&r->posts);
	w->posted = get(&r->posted);
	w->turns = get(&r->turns);
	w->sleeps = get(&r->sleeps);
	w->spins = get(&r->spins);
	w->steals = get(&r->steals);
	w->steal_misses = get(&r->steal_misses);
	w->stolen_colors = get(&r->stolen_colors);
	w->moves = get(&r->moves);
	w->wakeups = get(&r->wakeups);
	w->queued = get(&r->queued);
	w->queued_max = get(&r->queued_max);
	w->running_site = get(&r->running_site);
	w->running_color = (uint32_t)get(&r->running_color);
	w->delays_ns = get(&r->delays_ns);
	w->delays_num = delays_read(r->delays, w->delays);
	add_present(r, now_ns, w);
}

/* ---------------------------------------------------------------- colors and callbacks */

static struct stats_color *color_find(struct stats *s, uint32_t color)
{
	unsigned i;

	for (i = 0; i < s->colors_num; i++) {
		if (s->colors[i].color == color)
			return &s->colors[i];
	}
	if (s->colors_num == STATS_COLORS_MAX)
		return NULL;
	s->colors[s->colors_num] = (struct stats_color){ .color = color };
	return &s->colors[s->colors_num++];
}

static struct stats_site *site_find(struct stats *s, uint64_t site)
{
	unsigned i;

	for (i = 0; i < s->sites_num; i++) {
		if (s->sites[i].site == site)
			return &s->sites[i];
	}
	if (s->sites_num == STATS_SITES_MAX)
		return NULL;
	s->sites[s->sites_num] = (struct stats_site){ .site = site };
	return &s->sites[s->sites_num++];
}

static void color_add(struct stats *s, unsigned worker, const struct ec_stats_color *r)
{
	struct stats_color *c = color_find(s, get32(&r->color));
	uint64_t busy_ns = get(&r->busy_ns), ns;

	if (c == NULL)
		return;
	if (busy_ns >= c->busiest_ns) {
		c->busiest_ns = busy_ns;
		c->busiest = worker;
		c->home = get32(&r->home);
		c->site = get(&r->site);
	}
	c->moves += get32(&r->moves);
	c->busy_ns = plus(c->busy_ns, busy_ns);
	c->alone_ns = plus(c->alone_ns, get(&r->alone_ns));
	c->error_ns = plus(c->error_ns, get(&r->error_ns));
	c->callbacks = plus(c->callbacks, get(&r->callbacks));
	ns = get(&r->longest_ns);
	if (ns > c->longest_ns)
		c->longest_ns = ns;
	c->delays_ns = plus(c->delays_ns, get(&r->delays_ns));
	c->delays_num = plus(c->delays_num, delays_read(r->delays, c->delays));
}

/* The callback that runs is not in the records yet. */
static void running_add(struct stats *s, unsigned worker, const struct stats_worker *w, uint64_t present_ns)
{
	uint64_t ns = w->running_ns < present_ns ? w->running_ns : present_ns;
	struct stats_color *c = ns == 0 ? NULL : color_find(s, w->running_color);

	if (c == NULL)
		return;
	c->busy_ns = plus(c->busy_ns, ns);
	if (c->busy_ns - ns <= c->busiest_ns) {
		c->busiest = worker;
		c->site = w->running_site;
	}
}

static void site_add(struct stats *s, const struct ec_stats_site *r)
{
	struct stats_site *site = site_find(s, get(&r->site));
	uint64_t ns = get(&r->longest_ns);

	if (site == NULL)
		return;
	site->callbacks = plus(site->callbacks, get(&r->callbacks));
	site->busy_ns = plus(site->busy_ns, get(&r->busy_ns));
	site->error_ns = plus(site->error_ns, get(&r->error_ns));
	if (ns <= site->longest_ns)
		return;
	site->longest_ns = ns;
	site->longest_at_ns = get(&r->longest_at_ns);
	site->color = get32(&r->color);
}

/* R1 to R3 of core/observe/stats.h: `seq` was copied before the fields, and `seq_end` after. 0: never used. */
static bool is_whole(const ec_stat32 *seq, const ec_stat32 *seq_end)
{
	return get32(seq) == get32(seq_end) && get32(seq) != 0;
}

static void records_read(const struct ec_stats_worker *r, unsigned worker, struct stats *s)
{
	unsigned i, num = get32(&r->colors_num);

	for (i = 0; i < num && i < EC_STATS_COLORS; i++) {
		if (is_whole(&r->colors[i].seq, &r->colors[i].seq_end))
			color_add(s, worker, &r->colors[i]);
	}
	num = get32(&r->sites_num);
	for (i = 0; i < num && i < EC_STATS_SITES; i++) {
		if (is_whole(&r->sites[i].seq, &r->sites[i].seq_end))
			site_add(s, &r->sites[i]);
	}
}

static int by_color_time(const void *a, const void *b)
{
	const struct stats_color *x = a, *y = b;

	if (x->busy_ns != y->busy_ns)
		return x->busy_ns > y->busy_ns ? -1 : 1;
	return x->color < y->color ? -1 : x->color > y->color;
}

static int by_site_time(const void *a, const void *b)
{
	const struct stats_site *x = a, *y = b;

	if (x->busy_ns != y->busy_ns)
		return x->busy_ns > y->busy_ns ? -1 : 1;
	return x->site < y->site ? -1 : x->site > y->site;
}

static void sort(struct stats *s)
{
	qsort(s->colors, s->colors_num, sizeof(*s->colors), by_color_time);
	qsort(s->sites, s->sites_num, sizeof(*s->sites), by_site_time);
}

/* ---------------------------------------------------------------- the file */

static bool is_header(const struct ec_stats_header *h, size_t len)
{
	if (len < sizeof(*h) || memcmp(h->magic, EC_STATS_MAGIC, sizeof(h->magic)) != 0)
		return false;
	if (h->layout != EC_STATS_LAYOUT || h->header_size != sizeof(*h) ||
	    h->worker_size != sizeof(struct ec_stats_worker))
		return false;
	return h->workers_num >= 1 && h->workers_num <= EC_STATS_WORKERS_MAX &&
	       len >= sizeof(*h) + h->workers_num * sizeof(struct ec_stats_worker);
}

bool stats_parse(const void *data, size_t len, uint64_t now_ns, struct stats *ret)
{
	const struct ec_stats_file_layout *file = data;
	const struct ec_stats_header *h = data;
	unsigned i;

	if (!is_header(h, len))
		return false;
	ret->pid = h->pid;
	ret->base = h->base;
	ret->mode = get32(&h->mode) <= EC_STATS_SEVERAL ? (enum ec_stats_mode)get32(&h->mode) : EC_STATS_UNCOLORED;
	ret->workers_num = h->workers_num;
	ret->workers_on = ret->colors_num = ret->sites_num = 0;
	for (i = 0; i < ret->workers_num; i++) {
		worker_read(&file->workers[i], now_ns, &ret->workers[i]);
		if (!ret->workers[i].is_on)
			continue;
		ret->workers_on++;
		records_read(&file->workers[i], i, ret);
		running_add(ret, i, &ret->workers[i], minus(now_ns, get(&file->workers[i].until_ns)));
	}
	sort(ret);
	return true;
}

/* ---------------------------------------------------------------- differences */

static uint64_t delays_subtract(uint64_t to[EC_HISTOGRAM_BUCKETS], const uint64_t before[EC_HISTOGRAM_BUCKETS])
{
	uint64_t all = 0;
	unsigned i;

	for (i = 0; i < EC_HISTOGRAM_BUCKETS; i++) {
		to[i] = minus(to[i], before[i]);
		all = plus(all, to[i]);
	}
	return all;
}

static void worker_subtract(struct stats_worker *w, const struct stats_worker *b)
{
	if (!b->is_on)
		return;
	w->all_ns = minus(w->all_ns, b->all_ns);
	w->busy_ns = minus(w->busy_ns, b->busy_ns);
	w->engine_ns = minus(w->engine_ns, b->engine_ns);
	w->polling_ns = minus(w->polling_ns, b->polling_ns);
	w->spinning_ns = minus(w->spinning_ns, b->spinning_ns);
	w->asleep_ns = minus(w->asleep_ns, b->asleep_ns);
	w->alone_ns = minus(w->alone_ns, b->alone_ns);
	w->callbacks = minus(w->callbacks, b->callbacks);
	w->posts = minus(w->posts, b->posts);
	w->posted = minus(w->posted, b->posted);
	w->turns = minus(w->turns, b->turns);
	w->sleeps = minus(w->sleeps, b->sleeps);
	w->spins = minus(w->spins, b->spins);
	w->steals = minus(w->steals, b->steals);
	w->steal_misses = minus(w->steal_misses, b->steal_misses);
	w->stolen_colors = minus(w->stolen_colors, b->stolen_colors);
	w->moves = minus(w->moves, b->moves);
	w->wakeups = minus(w->wakeups, b->wakeups);
	w->delays_ns = minus(w->delays_ns, b->delays_ns);
	w->delays_num = delays_subtract(w->delays, b->delays);
}

/* A color that lost its place since, and got one again, counts from then. */
static void color_subtract(struct stats_color *c, const struct stats_color *b)
{
	if (c->callbacks < b->callbacks || c->busy_ns < b->busy_ns || c->delays_num < b->delays_num)
		return;
	c->busy_ns -= b->busy_ns;
	c->busiest_ns = minus(c->busiest_ns, b->busiest_ns);
	c->alone_ns = minus(c->alone_ns, b->alone_ns);
	c->callbacks -= b->callbacks;
	c->moves = c->moves < b->moves ? 0 : c->moves - b->moves;
	c->delays_ns = minus(c->delays_ns, b->delays_ns);
	c->delays_num = delays_subtract(c->delays, b->delays);
}

static void site_subtract(struct stats_site *s, const struct stats_site *b)
{
	if (s->callbacks < b->callbacks || s->busy_ns < b->busy_ns)
		return;
	s->callbacks -= b->callbacks;
	s->busy_ns -= b->busy_ns;
}

void stats_subtract(struct stats *ret, const struct stats *before)
{
	unsigned i, j;

	for (i = 0; i < ret->workers_num && i < before->workers_num; i++)
		worker_subtract(&ret->workers[i], &before->workers[i]);
	for (i = 0; i < ret->colors_num; i++) {
		for (j = 0; j < before->colors_num; j++) {
			if (ret->colors[i].color == before->colors[j].color)
				color_subtract(&ret->colors[i], &before->colors[j]);
		}
	}
	for (i = 0; i < ret->sites_num; i++) {
		for (j = 0; j < before->sites_num; j++) {
			if (ret->sites[i].site == before->sites[j].site)
				site_subtract(&ret->sites[i], &before->sites[j]);
		}
	}
	sort(ret);
}

struct stats_worker stats_sum(const struct stats *s)
{
	struct stats_worker sum = { 0 };
	const struct stats_worker *w;

	for (w = s->workers; w < s->workers + s->workers_num; w++) {
		if (!w->is_on)
			continue;
		sum.is_on = true;
		sum.all_ns = plus(sum.all_ns, w->all_ns);
		sum.busy_ns = plus(sum.busy_ns, w->busy_ns);
		sum.engine_ns = plus(sum.engine_ns, w->engine_ns);
		sum.polling_ns = plus(sum.polling_ns, w->polling_ns);
		sum.spinning_ns = plus(sum.spinning_ns, w->spinning_ns);
		sum.asleep_ns = plus(sum.asleep_ns, w->asleep_ns);
		sum.alone_ns = plus(sum.alone_ns, w->alone_ns);
		sum.callbacks = plus(sum.callbacks, w->callbacks);
		sum.posts = plus(sum.posts, w->posts);
		sum.turns = plus(sum.turns, w->turns);
		sum.sleeps = plus(sum.sleeps, w->sleeps);
		sum.steals = plus(sum.steals, w->steals);
		sum.moves = plus(sum.moves, w->moves);
		sum.wakeups = plus(sum.wakeups, w->wakeups);
		sum.queued = plus(sum.queued, w->queued);
	}
	return sum;
}
