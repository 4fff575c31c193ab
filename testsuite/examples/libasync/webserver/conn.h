/*
 * A connection: it reads requests, one after the other, and writes the answers in the same order.
 */
#ifndef WEBSERVER_CONN_H
#define WEBSERVER_CONN_H

#include "async.h"
#include "cache.h"
#include "date.h"
#include "log.h"
#include "request.h"

class conn
{
	const int fd;
	const str peer;		/* NULL: nobody needs it */
	const page_cb_t found;	/* for each request the same */
	timecb_t *idle;
	suio in, out;
	request req;
	sums done;

	/* A file that is too large for the cache is read in pieces, as fast as the client takes them. */
	ptr<page> large;
	ptr<aiofh> file;
	ptr<aiobuf> buf;
	off_t pos, end;

	bool is_busy;		/* a callback of the cache or of the disk is on its way */
	bool is_serving;	/* serve() is on the stack */
	bool is_active;		/* since the timer ran last */
	bool is_waiting;	/* the file, for the client */
	bool is_last;		/* no request is read any more: the connection ends with this answer */
	bool is_lingering;	/* all is written; reading until the client ends too */
	bool is_eof;		/* the client writes no more */
	bool is_broken;
	bool is_read_watched, is_write_watched;

	void read_cb();
	void write_cb();
	void idle_cb();
	void found_cb(ptr<page> pg, int err);
	void open_cb(ptr<aiofh> f, int err);
	void chunk_cb(ptr<aiobuf> b, ssize_t n, int err);
	void room_cb();

	bool can_serve() const;
	size_t serve(const char *p, size_t len);
	void serve_rest();
	void flush();
	void settle();
	void watch();
	void linger();

	void finish_head(int status, off_t len);
	void begin_answer(int status);
	void answer_text(int status);
	void answer_page(ref<page> pg);
	bool is_unchanged(const page &pg) const;
	int find_range(off_t size);
	void open_file(ref<page> pg);
	void read_file();

	~conn();

public:
	conn(int f, str p);
	void start();

	/* Before the loop runs. 0: a silent client may stay. */
	static time_t idle_secs;
};

/* main.cc's: a connection has ended. */
void conn_closed(const sums &done);

#endif
