/*
 * Files, and which of them a client has open.
 */
#ifndef FILESERVER_FILES_H
#define FILESERVER_FILES_H

#include <sys/stat.h>

#include "aiod.h"
#include "async.h"
#include "str.h"

/* An answer. */
typedef callback<void, str>::ref answer_cb_t;

/* A file below the folder that is served. */
class open_file : public virtual refcount
{
	const str path;
	const int fd;

public:
	struct stat st;

	open_file(const str &p, int f, const struct stat &s) : path(p), fd(f), st(s) {}
	~open_file() { close(fd); }

	/* NULL with errno. */
	static ptr<open_file> open(const str &name);

	/* Answer request `id`: at once if the kernel has the bytes in memory, else when they have been read. */
	void read(u_int32_t id, off_t pos, size_t len, answer_cb_t cb);
};

/* A client as the files see it. */
class session
{
	enum { HANDLES_MAX = 64 };

	vec<ptr<open_file>> handles;

	str open(u_int32_t id, const str &name);
	ptr<open_file> file_of(u_int64_t handle) const;

public:
	void request_cb(str request, answer_cb_t cb);
	void end_cb() { delete this; }
};

/* Before the loop runs. */
void serve_folder(const str &root);

/* Before the loop runs: let each read go to a thread, as if nothing were in memory. */
void read_slowly();

/* The number of requests, and the bytes that were read. */
struct file_sums {
	u_int64_t requests, bytes;
};

extern file_sums the_sums;

#endif
