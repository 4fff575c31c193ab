/*
 * The cache of pages, in ten parts: each knows the pages of the paths that hash to it, and is full by itself.
 */
#ifndef WEBSERVER_CACHE_H
#define WEBSERVER_CACHE_H

#include "aiod.h"
#include "async.h"
#include "ihash.h"
#include "list.h"
#include "page.h"
#include "qhash.h"

/* Pages are files below a folder. What is set once, before the loop runs. */
struct site {
	str root;
	size_t page_max;	/* bytes; larger files are not kept in memory */
	size_t cache_max;	/* bytes of all parts */
	time_t fresh_secs;	/* a page that was compared with its file that long ago is compared again */
	ptr<aiod> disk;
};

extern site the_site;

/* The file of a path. */
str file_of(const str &path);

/* A page, or NULL and an error number. EISDIR: the path lacks the slash of a folder. */
typedef callback<void, ptr<page>, int>::ref page_cb_t;

class fetch;

class cache_part
{
	struct entry {
		const str path;
		const ref<page> pg;
		time_t checked;
		ihash_entry<entry> hlink;
		tailq_entry<entry> link;

		explicit entry(ref<page> p) : path(p->path), pg(p), checked(sfs_get_timenow()) {}
	};

	ihash<const str, entry, &entry::path, &entry::hlink> entries;
	tailq<entry, &entry::link> by_use;	/* the longest unused first */
	qhash<str, fetch *> fetches;
	size_t used;	/* bytes */

	void drop(entry *e);
	void evict();
	void fetched_cb(str path, ptr<page> pg, int err);

public:
	cache_part() : used(0) {}
	void get_cb(const str &path, const page_cb_t &cb);
	void clear_cb(cbv cb);
};

enum { PARTS = 10 };

/* Call `cb` with the page of a path. */
void find_page(const str &path, const page_cb_t &cb);

/* Forget all pages, then call `cb`, once for each part. */
void clear_cache(cbv cb);

#endif
