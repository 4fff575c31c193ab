#include "fetch.h"

#include <errno.h>
#include <string.h>

/* Bytes of a file that are read at once. */
enum { CHUNK = 0x10000 };

fetch::fetch(const str &p, page_cb_t cb) : path(p), done(cb), file(file_of(p)), got(0)
{
	memset(&st, 0, sizeof(st));
}

void fetch::start()
{
	if (before)
		the_site.disk->stat(file, wrap(this, &fetch::check_cb));
	else
		open();
}

void fetch::finish(ptr<page> pg, int err)
{
	buf = NULL;
	fh = NULL;
	done(pg, err);
	delete this;
}

void fetch::check_cb(struct stat *s, int err)
{
	if (!err && stat_unchanged(s, &before->st))
		finish(before, 0);
	else
		open();
}

/* O_NONBLOCK: opening a FIFO does not wait for a writer. */
void fetch::open()
{
	the_site.disk->open(file, O_RDONLY | O_NONBLOCK, 0, wrap(this, &fetch::open_cb));
}

void fetch::open_cb(ptr<aiofh> f, int err)
{
	fh = f;
	if (err)
		finish(NULL, err);
	else
		fh->fstat(wrap(this, &fetch::stat_cb));
}

void fetch::stat_cb(struct stat *s, int err)
{
	if (err || !S_ISREG(s->st_mode)) {
		finish(NULL, err ? err : S_ISDIR(s->st_mode) ? EISDIR : EACCES);
		return;
	}
	st = *s;
	if (size_t(st.st_size) > the_site.page_max) {
		finish(New refcounted<page>(path, st, str()), 0);
		return;
	}
	body = mstr(size_t(st.st_size));
	if (body.len())
		read();
	else
		finish(New refcounted<page>(path, st, str("")), 0);
}

/* Fetches that find no buffer take turns. */
void fetch::read()
{
	buf = the_site.disk->bufalloc(min<size_t>(CHUNK, body.len() - got));
	if (buf)
		fh->read(off_t(got), buf, wrap(this, &fetch::read_cb));
	else
		the_site.disk->bufwait(wrap(this, &fetch::room_cb));
}

void fetch::room_cb()
{
	read();
}

void fetch::read_cb(ptr<aiobuf> b, ssize_t n, int err)
{
	if (n <= 0) {
		/* A file that has become shorter is another one. */
		b = NULL;
		finish(NULL, err ? err : ESTALE);
		return;
	}
	memcpy(body.cstr() + got, b->base(), min<size_t>(size_t(n), body.len() - got));
	got += size_t(n);
	buf = NULL;
	b = NULL;
	if (got < body.len())
		read();
	else
		finish(New refcounted<page>(path, st, str(body)), 0);
}
