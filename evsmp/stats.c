#include "stats.h"

#include <stdlib.h>
#include <string.h>

#include "say.h"

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
		w->present_ns = w->running_ns < ns ? w->running_ns : ns;
		w->busy_ns = plus(w->busy_ns, w->present_ns);
	} else {
		w->asleep_ns = plus(w->asleep_ns, ns);
	}
	w->all_ns = minus(now_ns, get(&r->since_ns));
}

/* How far a counter grew. */
static uint64_t since(const ec_stat *now, const ec_stat *before)
{
	return minus(get(now), get(before));
}

/* What a record is compared with that was not there before. */
static struct ec_stats_color no_color;
static struct ec_stats_site no_site;

/* Adds the counts that came; returns their number. */
static uint64_t delays_add(uint64_t to[EC_HISTOGRAM_BUCKETS], const ec_stat now[EC_HISTOGRAM_BUCKETS],
			   const ec_stat before[EC_HISTOGRAM_BUCKETS])
{
	uint64_t all = 0, num;
	unsigned i;

	for (i = 0; i < EC_HISTOGRAM_BUCKETS; i++) {
		num = since(&now[i], &before[i]);
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
	w->tid = get(&r->tid);
	w->running_site = get(&r->running_site);
	w->running_color = (uint32_t)get(&r->running_color);
	w->delays_ns = get(&r->delays_ns);
	w->delays_num = delays_add(w->delays, r->delays, no_color.delays);
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

/* R1 to R3 of core/observe/stats.h: `seq` was copied before the fields, and `seq_end` after. 0: never used. */
static bool is_whole(const ec_stat32 *seq, const ec_stat32 *seq_end)
{
	return get32(seq) == get32(seq_end) && get32(seq) != 0;
}

/* A worker's records, and what they were at the last look. */
struct part {
	unsigned worker;
	const struct ec_stats_worker *file, *file_before;	/* the latter NULL: all of it is new */
	const struct stats_worker *now, *before;		/* the same */
};

/* A place with the same `seq` as then has had one color all the time. Another one counts from when it got the place. */
static const struct ec_stats_color *color_before(const struct part *p, unsigned place)
{
	const struct ec_stats_color *b = p->file_before == NULL ? &no_color : &p->file_before->colors[place];

	return is_whole(&b->seq, &b->seq_end) && get32(&b->seq) == get32(&p->file->colors[place].seq) ? b : &no_color;
}

static const struct ec_stats_site *site_before(const struct part *p, unsigned place)
{
	const struct ec_stats_site *b = p->file_before == NULL ? &no_site : &p->file_before->sites[place];

	return is_whole(&b->seq, &b->seq_end) && get32(&b->seq) == get32(&p->file->sites[place].seq) ? b : &no_site;
}

static bool is_running(const struct stats_worker *w, uint32_t color)
{
	return w != NULL && w->present_ns != 0 && w->running_color == color;
}

/*
 * `ns` are those of the records. They have a callback when it ends: what it took by now comes on top, and what it took
 * until the last look was counted then.
 */
static void busy_add(struct stats_color *c, const struct part *p, uint64_t ns, uint64_t site)
{
	if (is_running(p->now, c->color)) {
		ns = plus(ns, p->now->present_ns);
		site = p->now->running_site;
	}
	if (is_running(p->before, c->color))
		ns = minus(ns, p->before->present_ns);
	c->busy_ns = plus(c->busy_ns, ns);
	if (ns < c->busiest_ns)
		return;
	c->busiest_ns = ns;
	c->busiest = p->worker;
	c->site = site;
}

/* All but the time. */
static void color_count(struct stats_color *c, const struct ec_stats_color *r, const struct ec_stats_color *b)
{
	uint64_t ns = get(&r->longest_ns);

	c->moves += get32(&r->moves) < get32(&b->moves) ? 0 : get32(&r->moves) - get32(&b->moves);
	c->alone_ns = plus(c->alone_ns, since(&r->alone_ns, &b->alone_ns));
	c->error_ns = plus(c->error_ns, since(&r->error_ns, &b->error_ns));
	c->callbacks = plus(c->callbacks, since(&r->callbacks, &b->callbacks));
	if (ns > c->longest_ns)
		c->longest_ns = ns;
	c->delays_ns = plus(c->delays_ns, since(&r->delays_ns, &b->delays_ns));
	c->delays_num = plus(c->delays_num, delays_add(c->delays, r->delays, b->delays));
}

static void color_add(struct stats *s, const struct part *p, unsigned place)
{
	const struct ec_stats_color *r = &p->file->colors[place], *b = color_before(p, place);
	struct stats_color *c = color_find(s, get32(&r->color));

	if (c == NULL)
		return;
	busy_add(c, p, since(&r->busy_ns, &b->busy_ns), get(&r->site));
	if (c->busiest == p->worker)
		c->home = get32(&r->home);
	color_count(c, r, b);
}

static void site_count(struct stats_site *site, const struct ec_stats_site *r, const struct ec_stats_site *b)
{
	uint64_t ns = get(&r->longest_ns);

	site->callbacks = plus(site->callbacks, since(&r->callbacks, &b->callbacks));
	site->busy_ns = plus(site->busy_ns, since(&r->busy_ns, &b->busy_ns));
	site->error_ns = plus(site->error_ns, since(&r->error_ns, &b->error_ns));
	if (ns > get(&b->longest_ns) && ns > site->longest_new_ns)
		site->longest_new_ns = ns;
	if (ns <= site->longest_ns)
		return;
	site->longest_ns = ns;
	site->longest_at_ns = get(&r->longest_at_ns);
	site->color = get32(&r->color);
}

static void site_add(struct stats *s, const struct part *p, unsigned place)
{
	const struct ec_stats_site *r = &p->file->sites[place];
	struct stats_site *site = site_find(s, get(&r->site));

	if (site != NULL)
		site_count(site, r, site_before(p, place));
}

static unsigned at_most(const ec_stat32 *num, unsigned max)
{
	return get32(num) < max ? get32(num) : max;
}

static void colors_add(struct stats *s, const struct part *p)
{
	unsigned i, num = at_most(&p->file->colors_num, EC_STATS_COLORS);
	uint32_t running = p->now->running_color;
	bool is_recorded = false;
	struct stats_color *c;

	for (i = 0; i < num; i++) {
		if (!is_whole(&p->file->colors[i].seq, &p->file->colors[i].seq_end))
			continue;
		is_recorded |= get32(&p->file->colors[i].color) == running;
		color_add(s, p, i);
	}
	c = is_recorded || !is_running(p->now, running) ? NULL : color_find(s, running);
	if (c != NULL)
		busy_add(c, p, 0, p->now->running_site);
}

static void sites_add(struct stats *s, const struct part *p)
{
	unsigned i, num = at_most(&p->file->sites_num, EC_STATS_SITES);

	for (i = 0; i < num; i++) {
		if (is_whole(&p->file->sites[i].seq, &p->file->sites[i].seq_end))
			site_add(s, p, i);
	}
}

static const struct ec_stats_worker *worker_file(const struct stats *s, unsigned worker)
{
	return &((const struct ec_stats_file_layout *)s->file)->workers[worker];
}

/* Each place of each worker is compared with itself: of a sum it could not be told which part of it began anew. */
static void records_add(struct stats *s, unsigned worker, const struct stats *before)
{
	struct part p = { .worker = worker, .file = worker_file(s, worker), .now = &s->workers[worker] };

	if (before != NULL) {
		p.file_before = worker_file(before, worker);
		p.before = &before->workers[worker];
	}
	colors_add(s, &p);
	sites_add(s, &p);
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
	ret->file = data;
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
		records_add(ret, i, NULL);
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
	w->no_cpu_ns = w->tid != 0 && w->tid == b->tid ? minus(w->no_cpu_since_ns, b->no_cpu_since_ns) : 0;
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

void stats_subtract(struct stats *ret, const struct stats *before)
{
	bool was_on;
	unsigned i;

	ret->colors_num = ret->sites_num = 0;
	for (i = 0; i < ret->workers_num; i++) {
		if (!ret->workers[i].is_on)
			continue;
		was_on = i < before->workers_num && before->workers[i].is_on;
		if (was_on)
			worker_subtract(&ret->workers[i], &before->workers[i]);
		records_add(ret, i, was_on ? before : NULL);
	}
	sort(ret);
}

void stats_keep(struct stats *s, struct stats_copy *copy)
{
	size_t len = sizeof(struct ec_stats_header) + s->workers_num * sizeof(struct ec_stats_worker);

	if (len > copy->size) {
		free(copy->bytes);
		copy->bytes = must(malloc(len));
		copy->size = len;
	}
	memcpy(copy->bytes, s->file, len);
	s->file = copy->bytes;
}

/* ---------------------------------------------------------------- sums and parts */

bool stats_color_of(const struct stats *s, unsigned worker, uint32_t color, struct stats_color *ret)
{
	const struct ec_stats_worker *w = worker_file(s, worker);
	unsigned i = at_most(&w->colors_num, EC_STATS_COLORS);
	const struct ec_stats_color *r;

	/* A color that moved to another place while the file was read may be there twice: the later one is newer. */
	while (i-- > 0) {
		r = &w->colors[i];
		if (get32(&r->color) != color || !is_whole(&r->seq, &r->seq_end))
			continue;
		*ret = (struct stats_color){ .color = color, .busy_ns = get(&r->busy_ns) };
		color_count(ret, r, &no_color);
		return true;
	}
	return false;
}

bool stats_site_of(const struct stats *s, unsigned worker, uint64_t site, struct stats_site *ret)
{
	const struct ec_stats_worker *w = worker_file(s, worker);
	unsigned i = at_most(&w->sites_num, EC_STATS_SITES);
	const struct ec_stats_site *r;

	while (i-- > 0) {
		r = &w->sites[i];
		if (get(&r->site) != site || !is_whole(&r->seq, &r->seq_end))
			continue;
		*ret = (struct stats_site){ .site = site };
		site_count(ret, r, &no_site);
		return true;
	}
	return false;
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
