#include "cache.h"

#include <errno.h>

#include "fetch.h"

/* What an entry needs beside its body. */
enum { ENTRY_COST = 1024 };

site the_site;

static cache_part parts[PARTS];

static size_t cost_of(const page &pg)
{
	return pg.body.len() + ENTRY_COST;
}

str file_of(const str &path)
{
	strbuf sb;

	sb << the_site.root << path;
	if (path[ptrdiff_t(path.len()) - 1] == '/')
		sb << "index.html";
	return sb;
}

void find_page(const str &path, const page_cb_t &cb)
{
	const unsigned i = hash_t(path) / 64 % PARTS;

	parts[i].get_cb(path, cb);
}

void clear_cache(cbv cb)
{
	for (unsigned i = 0; i < PARTS; i++)
		parts[i].clear_cb(cb);
}

void cache_part::drop(entry *e)
{
	used -= cost_of(*e->pg);
	entries.remove(e);
	by_use.remove(e);
	delete e;
}

void cache_part::evict()
{
	while (used > the_site.cache_max / PARTS)
		drop(by_use.first);
}

/* From memory, if it may be; else `cb` waits for the fetch that runs already, or for a new one. */
void cache_part::get_cb(const str &path, const page_cb_t &cb)
{
	entry *e = entries[path];
	fetch **running;
	fetch *f;

	if (e && sfs_get_timenow() - e->checked < the_site.fresh_secs) {
		if (e != by_use.last()) {
			by_use.remove(e);
			by_use.insert_tail(e);
		}
		cb(e->pg, 0);
		return;
	}
	running = fetches[path];
	if (running) {
		(*running)->waiters.push_back(cb);
		return;
	}
	f = New fetch(path, wrap(this, &cache_part::fetched_cb, path));
	if (e)
		f->before = e->pg;
	f->waiters.push_back(cb);
	fetches.insert(path, f);
	f->start();
}

void cache_part::fetched_cb(str path, ptr<page> pg, int err)
{
	entry *e = entries[path];
	fetch *f = *fetches[path];
	vec<page_cb_t> waiters;

	swap(waiters, f->waiters);
	fetches.remove(path);
	if (e && e->pg == pg) {
		e->checked = sfs_get_timenow();
	} else {
		if (e)
			drop(e);
		if (pg) {
			e = New entry(pg);
			used += cost_of(*pg);
			entries.insert(e);
			by_use.insert_tail(e);
			evict();
		}
	}
	for (size_t i = 0; i < waiters.size(); i++)
		waiters[i](pg, err);
}

void cache_part::clear_cb(cbv cb)
{
	while (by_use.first)
		drop(by_use.first);
	cb();
}
