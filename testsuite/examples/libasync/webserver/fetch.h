/*
 * Reads one file into a page, or sees that the page of before is still right.
 */
#ifndef WEBSERVER_FETCH_H
#define WEBSERVER_FETCH_H

#include "cache.h"

class fetch
{
	const str path;
	const page_cb_t done;
	str file;
	struct stat st;
	ptr<aiofh> fh;
	ptr<aiobuf> buf;
	mstr body;
	size_t got;

	void finish(ptr<page> pg, int err);
	void open();
	void read();
	void check_cb(struct stat *s, int err);
	void open_cb(ptr<aiofh> f, int err);
	void stat_cb(struct stat *s, int err);
	void read_cb(ptr<aiobuf> b, ssize_t n, int err);
	void room_cb();

public:
	ptr<page> before;	/* NULL: there was none */
	vec<page_cb_t> waiters;	/* of the cache */

	fetch(const str &p, page_cb_t cb);
	void start();
};

#endif
