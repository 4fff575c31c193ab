/*
 * Every callback of a connection ends in settle(), which alone decides what to wait for and whether the connection
 * ends. It ends when nothing is on its way any more, so no callback finds it gone.
 */
#include "conn.h"

#include <errno.h>
#include <sys/socket.h>

enum {
	READ_MAX = 0x4000,	/* bytes at once */
	IN_MAX = 0x10000,	/* requests ahead: more are not read from a client */
	OUT_MAX = 0x10000,	/* of answers: no more are made for a client that does not read */
	CHUNK = 0x10000,	/* of a file */
};

time_t conn::idle_secs = 60;

conn::conn(int f, str p)
    : fd(f), peer(p), found(wrap(this, &conn::found_cb)), idle(NULL), pos(0), end(0), is_busy(false),
      is_serving(false), is_active(false), is_waiting(false), is_last(false), is_lingering(false), is_eof(false),
      is_broken(false), is_read_watched(false), is_write_watched(false)
{
}

conn::~conn()
{
	fdcb(fd, selread, NULL);
	fdcb(fd, selwrite, NULL);
	timecb_remove(idle);
	close(fd);
	conn_closed(done);
}

void conn::start()
{
	if (idle_secs)
		idle = delaycb(idle_secs, wrap(this, &conn::idle_cb));
	watch();
}

/* ---------------------------------------------------------------- reading */

bool conn::can_serve() const
{
	return !is_busy && !is_last && !is_broken && out.resid() < OUT_MAX;
}

/* Answer what is complete of these bytes, while answers do not have to wait. The number of bytes used. */
size_t conn::serve(const char *p, size_t len)
{
	size_t used = 0;

	is_serving = true;
	while (used < len && can_serve()) {
		int n = parse_request(p + used, len - used, &req);

		if (n == 0)
			break;
		if (n < 0) {
			is_last = true;
			req.is_kept = false;
			answer_text(-n);
			used = len;
			break;
		}
		used += size_t(n);
		is_last = !req.is_kept;
		is_busy = true;
		find_page(req.path, found);
	}
	is_serving = false;
	return used;
}

/* The same for what was read before. */
void conn::serve_rest()
{
	size_t len = in.resid();

	if (len == 0 || !can_serve())
		return;
	if (in.iovcnt() > 1) {
		str flat(in);
		char *p;

		in.clear();
		p = in.getspace(len);
		memcpy(p, flat.cstr(), len);
		in.print(p, len);
	}
	in.rembytes(serve(static_cast<const char *>(in.iov()->iov_base), len));
	if (is_last)
		in.clear();
}

void conn::read_cb()
{
	static thread_local char room[READ_MAX];
	const ssize_t n = read(fd, room, sizeof(room));

	is_active = is_active || !is_lingering;
	if (n < 0) {
		is_broken = errno != EAGAIN;
	} else if (n == 0) {
		is_eof = true;
	} else if (!is_last) {
		const size_t used = in.resid() ? 0 : serve(room, size_t(n));

		if (used < size_t(n) && !is_last)
			in.copy(room + used, size_t(n) - used);
		if (used == 0)
			serve_rest();
	}
	settle();
}

/* ---------------------------------------------------------------- writing */

/* Answers go out at once if the client takes them; settle() sees to the rest. */
void conn::flush()
{
	if (out.resid() && out.output(fd) < 0)
		is_broken = true;
}

void conn::write_cb()
{
	is_active = true;
	flush();
	if (is_waiting && !is_broken && out.resid() < OUT_MAX) {
		is_waiting = false;
		read_file();
	}
	serve_rest();
	settle();
}

/* The client may still send. If it were closed now, the kernel would drop what the client has not read. */
void conn::linger()
{
	if (is_lingering)
		return;
	is_lingering = true;
	if (shutdown(fd, SHUT_WR) < 0)
		is_broken = true;
}

void conn::watch()
{
	const bool reads = !is_eof && in.resid() < IN_MAX;
	const bool writes = out.resid() > 0;

	if (reads && !is_read_watched)
		fdcb(fd, selread, wrap(this, &conn::read_cb));
	if (!reads && is_read_watched)
		fdcb(fd, selread, NULL);
	is_read_watched = reads;
	if (writes && !is_write_watched)
		fdcb(fd, selwrite, wrap(this, &conn::write_cb));
	if (!writes && is_write_watched)
		fdcb(fd, selwrite, NULL);
	is_write_watched = writes;
}

/* It may delete the connection. */
void conn::settle()
{
	if (!is_broken && !is_busy && out.resid() == 0) {
		if (is_last && !is_eof)
			linger();
		else if (is_eof)
			is_broken = true;	/* what is left is no whole request */
	}
	if (!is_broken) {
		watch();
		return;
	}
	if (is_busy && !is_waiting) {
		fdcb(fd, selread, NULL);
		fdcb(fd, selwrite, NULL);
		is_read_watched = is_write_watched = false;
		return;
	}
	delete this;
}

void conn::idle_cb()
{
	idle = NULL;
	if (!is_active && (!is_busy || is_waiting)) {
		is_broken = true;
	} else {
		idle = delaycb(idle_secs, wrap(this, &conn::idle_cb));
		is_active = false;
	}
	settle();
}

/* ---------------------------------------------------------------- answers */

static void put(suio *uio, const str &s)
{
	uio->copy(s.cstr(), s.len());
}

static void put(suio *uio, const char *s)
{
	uio->copy(s, strlen(s));
}

/* The last fields, with the line after them. `len`: bytes of the body, which is sent unless the request is HEAD. */
void conn::finish_head(int status, off_t len)
{
	out.copy(date_now(), DATE_LEN);
	if (!req.is_kept)
		put(&out, "\r\nConnection: close\r\n\r\n");
	else if (req.is_http10)
		put(&out, "\r\nConnection: keep-alive\r\n\r\n");
	else
		put(&out, "\r\n\r\n");
	if (req.is_head)
		len = 0;
	done.answers++;
	done.bytes += u_int64_t(len);
	if (has_log())
		log_line(strbuf("%s \"%s %s\" %d %jd", peer.cstr(), req.is_head ? "HEAD" : "GET",
				req.path ? req.path.cstr() : "?", status, intmax_t(len)));
}

void conn::begin_answer(int status)
{
	suio_uprintf(&out, "HTTP/1.1 %d %s\r\n", status, reason(status));
}

/* An answer without page. */
void conn::answer_text(int status)
{
	const str text = error_text(status);

	begin_answer(status);
	if (status == 301) {
		put(&out, "Location: ");
		for (size_t i = 0; i < req.path.len(); i++) {
			const u_char c = u_char(req.path[ptrdiff_t(i)]);

			if (isalnum(c) || strchr("/-._~", c))
				out.fill(char(c), 1);
			else
				suio_uprintf(&out, "%%%02X", c);
		}
		put(&out, "/\r\n");
	}
	suio_uprintf(&out, "Content-Type: text/html\r\nContent-Length: %zu\r\nDate: ", text.len());
	finish_head(status, off_t(text.len()));
	if (!req.is_head)
		put(&out, text);
	flush();
}

bool conn::is_unchanged(const page &pg) const
{
	if (req.none_match)
		return req.none_match == "*" || strstr(req.none_match, pg.etag);
	return req.modified_since >= pg.st.st_mtime;
}

/* Set pos and end. The status of the answer. */
int conn::find_range(off_t size)
{
	pos = 0;
	end = size;
	if (!req.has_range)
		return 200;
	if (req.first < 0) {
		if (req.last == 0 || size == 0)
			return 416;
		pos = req.last < size ? size - req.last : 0;
		return 206;
	}
	if (req.first >= size)
		return 416;
	pos = req.first;
	if (req.last >= 0 && req.last < size)
		end = req.last + 1;
	return 206;
}

void conn::answer_page(ref<page> pg)
{
	int status = is_unchanged(*pg) ? 304 : find_range(pg->size());

	if (!pg->body && !req.is_head && !large && status < 300) {
		open_file(pg);
		return;
	}
	if (status == 200) {
		put(&out, pg->head);
	} else {
		begin_answer(status);
		if (status == 206)
			suio_uprintf(&out, "Content-Range: bytes %jd-%jd/%jd\r\nContent-Length: %jd\r\n", intmax_t(pos),
				     intmax_t(end - 1), intmax_t(pg->size()), intmax_t(end - pos));
		else if (status == 416)
			suio_uprintf(&out, "Content-Range: bytes */%jd\r\nContent-Length: 0\r\n",
				     intmax_t(pg->size()));
		put(&out, pg->fields);
		put(&out, "Date: ");
		if (status >= 300)
			pos = end = 0;
	}
	finish_head(status, end - pos);
	if (!req.is_head && pg->body)
		out.print(pg->body.cstr() + pos, size_t(end - pos));
	flush();
	if (out.resid())
		out.hold_onto(pg);
}

static int status_of(int err)
{
	switch (err) {
	case EISDIR: return 301;
	case EACCES:
	case EPERM:
	case ELOOP: return 403;
	case ENOENT:
	case ENOTDIR:
	case ENXIO:
	case ENAMETOOLONG: return 404;
	default: return 500;
	}
}

void conn::found_cb(ptr<page> pg, int err)
{
	is_busy = false;
	if (is_broken) {
		settle();
		return;
	}
	if (pg)
		answer_page(pg);
	else
		answer_text(status_of(err));
	if (is_serving)
		return;
	serve_rest();
	settle();
}

/* ---------------------------------------------------------------- large files */

void conn::open_file(ref<page> pg)
{
	is_busy = true;
	large = pg;
	the_site.disk->open(file_of(pg->path), O_RDONLY, 0, wrap(this, &conn::open_cb));
}

void conn::open_cb(ptr<aiofh> f, int err)
{
	if (err || is_broken) {
		is_busy = false;
		large = NULL;
		if (!is_broken)
			answer_text(status_of(err));
		serve_rest();
		settle();
		return;
	}
	file = f;
	answer_page(large);
	read_file();
	settle();
}

void conn::read_file()
{
	if (pos == end || is_broken) {
		large = NULL;
		file = NULL;
		is_busy = false;
		return;
	}
	if (out.resid() >= OUT_MAX) {
		is_waiting = true;
		return;
	}
	buf = the_site.disk->bufalloc(size_t(min<off_t>(CHUNK, end - pos)));
	if (buf)
		file->read(pos, buf, wrap(this, &conn::chunk_cb));
	else
		the_site.disk->bufwait(wrap(this, &conn::room_cb));
}

void conn::room_cb()
{
	read_file();
	serve_rest();
	settle();
}

void conn::chunk_cb(ptr<aiobuf> b, ssize_t n, int)
{
	if (n <= 0) {
		/* A file that has become shorter: the client sees that bytes are missing. */
		is_broken = true;
	} else {
		n = min<ssize_t>(n, end - pos);
		out.copy(b->base(), size_t(n));
		pos += n;
		flush();
	}
	b = NULL;
	buf = NULL;
	read_file();
	serve_rest();
	settle();
}
