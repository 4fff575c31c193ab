/*
 * A file of counters, made by hand: both workers were observed from 1 s to 2 s, and slept but for what a test adds.
 */
#ifndef COUNTERS_FILE_H
#define COUNTERS_FILE_H

#include <stdint.h>
#include <string.h>

#include "evsmp/stats.h"

enum { WORKERS = 2, SECOND = 1000000000 };

struct file {
	struct ec_stats_header header;
	struct ec_stats_worker workers[WORKERS];
};

static inline void file_begin(struct file *f, enum ec_stats_mode mode)
{
	unsigned i;

	memset(f, 0, sizeof(*f));
	memcpy(f->header.magic, EC_STATS_MAGIC, sizeof(f->header.magic));
	f->header.layout = EC_STATS_LAYOUT;
	f->header.header_size = sizeof(f->header);
	f->header.worker_size = sizeof(f->workers[0]);
	f->header.workers_num = WORKERS;
	f->header.pid = 17;
	f->header.base = 3;
	f->header.mode = mode;
	for (i = 0; i < WORKERS; i++) {
		f->workers[i].since_ns = SECOND;
		f->workers[i].until_ns = 2 * (uint64_t)SECOND;
		f->workers[i].asleep_ns = SECOND;
	}
}

/* `percent` of the second of a worker go to a color and a callback, in `callbacks` calls. */
static inline void file_add(struct file *f, unsigned worker, uint32_t color, uint64_t site, unsigned percent,
			    uint64_t callbacks)
{
	struct ec_stats_worker *w = &f->workers[worker];
	struct ec_stats_color *c = &w->colors[w->colors_num++];
	struct ec_stats_site *t = &w->sites[w->sites_num++];
	uint64_t ns = (uint64_t)SECOND / 100 * percent;

	w->busy_ns += ns;
	w->asleep_ns -= ns;
	w->callbacks += callbacks;
	c->seq = c->seq_end = 1;
	c->color = color;
	c->home = worker;
	c->site = site;
	c->busy_ns = ns;
	c->callbacks = callbacks;
	c->longest_ns = callbacks == 0 ? 0 : ns / callbacks;
	t->seq = t->seq_end = 1;
	t->site = site;
	t->busy_ns = ns;
	t->callbacks = callbacks;
	t->longest_ns = c->longest_ns;
	t->color = color;
}

#endif
