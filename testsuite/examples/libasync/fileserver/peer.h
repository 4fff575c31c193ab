/*
 * A client's connection.
 */
#ifndef FILESERVER_PEER_H
#define FILESERVER_PEER_H

#include "async.h"
#include "channel.h"
#include "files.h"

class peer : public virtual refcount
{
	/* Few requests: a block that waits long leaves the cache. But two workers need some that wait. */
	enum { REQUESTS_MAX = 4, OUT_MAX = 0x80000, LATE_SECS = 10 };

	const int fd;
	session *const files;
	suio in, out;
	seal *from_client, *to_client;	/* NULL: the client has not greeted */
	unsigned requests_num;		/* without answer */
	timecb_t *late;
	bool is_taking;			/* take_requests() is on the stack */
	bool is_eof, is_ended, is_read_watched, is_write_watched;

	void read_cb();
	void write_cb();
	void late_cb();
	void answer_cb(str answer);

	bool greet();
	bool can_take() const;
	void take_requests();
	void settle();
	void end(const char *why);

protected:
	~peer();

public:
	static str key;	/* before the loop runs */

	explicit peer(int f);
	void start();
};

/* main.cc's: a client has gone. */
void peer_ended(const char *why);

#endif
