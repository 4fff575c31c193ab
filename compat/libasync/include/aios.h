/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_AIOS_H
#define LIBASYNC_AIOS_H

/*
 * aios: lines and bytes over a descriptor, without blocking.
 *
 *   aios_t a = aios::alloc (fd);
 *   a << "hello\n";
 *   a->readline (wrap (got_line, a));
 *
 * Errors are error numbers. After the first one, all reads end with it, and what is written is dropped. Only EFBIG
 * leaves the aios as it was: readany gets the bytes of the line that was too long.
 *
 * Colors: an aios is in one color at a time, that of its last read callback; before the first read, that of the
 * callback that writes. Use it in that color. A read with a callback of another color hands it over: the call only
 * posts, and from then on the aios is the other color's, which also sends what is left. The last reference may go in
 * any color.
 */
#include <utility>

#include "amisc.h"
#include "async.h"
#include "cbuf.h"
#include "str.h"
#include "suio++.h"
#include "vec.h"

namespace libasync
{
class standard_aios;
}

class LIBASYNC_EXPORT aios : public virtual refcount
{
	friend class libasync::standard_aios;

public:
	/* A line or bytes and 0; NULL and 0 at the end of the stream; NULL and an error number. */
	typedef callback<void, str, int>::ptr rcb_t;
	typedef callback<void, int>::ptr wcb_t;
	enum { defrbufsize = 0x2000 };

protected:
	enum read_mode { READ_NONE, READ_LINE, READ_ANY };

	struct passed_fd {
		u_int64_t at; /* byte of the output that it goes with */
		int fd;
	};

	/* own: the color's of the aios */
	int fd;
	cbuf inb;
	suio outb;
	bool eof;	/* nothing more comes in */
	bool weof;	/* nothing more goes out: shutdown follows the last byte */
	bool is_closed; /* by abort */
	int err;
	read_mode mode;
	rcb_t rcb;
	wcb_t wcb;
	color home;
	bool has_home; /* set by the first read or write */
	bool is_reading, is_writing;
	bool is_unused; /* the last reference is gone */
	class stay;
	stay *inner; /* the innermost call in progress that may call the program */
	u_int64_t written;
	vec<passed_fd> fds;
	time_t timeoutval;
	timecb_t *timer;
	str debugname;

	aios(int, size_t);
	~aios();
	void finalize() override;
	void input();
	void output();
	void fail(int e);

	void expect(read_mode m, rcb_t cb);
	void settle();
	void leave();
	void end();
	bool find_line(str *ret);
	bool find_bytes(str *ret);
	bool find_result(str *ret, int *ret_err);
	void answer(const str &s, int e);
	void arm();
	void disarm();
	void arm_timer();
	void timed_out();
	void expect_output();
	ssize_t send_some();
	void sent_all();
	void show(const char *arrow, const str &s);
	color own_color();
	bool is_foreign() const;

public:
	/* Owns `fd` from now on, and makes it non-blocking. A line may have up to `rbsz` bytes. */
	static ::ref<aios> alloc(int fd, size_t rbsz = defrbufsize);

	int fdno() { return fd; }
	/* What is sent and received goes to the error output too, after `name`. */
	void setdebug(str name) { debugname = name; }
	/* ETIMEDOUT when an unfinished read or write makes no progress for so many seconds. 0: no limit. */
	void settimeout(time_t secs) { timeoutval = secs; }

	/*
	 * One read at a time. readline: without LF or CRLF; EFBIG if no LF is in the buffer's size. The last line
	 * may end without LF. readany: all bytes that are there, at least one. If the answer is there already, the
	 * callback runs before the call returns, if the caller has its color and not many such calls are in progress.
	 */
	void readline(rcb_t cb) { expect(READ_LINE, std::move(cb)); }
	void readany(rcb_t cb) { expect(READ_ANY, std::move(cb)); }
	void readcancel();

	/* Copies of the bytes are sent soon. */
	void write(void *buf, size_t len);
	void write(const void *buf, size_t len);
	void writev(const iovec *iov, int iovcnt);
	void write(suio *uio);
	/* Is something not yet sent? */
	bool writing() { return outb.resid() != 0; }
	/* Called once all that is written now has been sent, with 0; or with an error number. */
	void setwcb(wcb_t cb);
	/*
	 * Send what the descriptor takes now. 1: something was sent or all is; 0: it takes nothing now; -1 with
	 * errno.
	 */
	int flush();
	/*
	 * Over a Unix-domain socket, with the next byte that is written and has none yet: a byte carries one. Closes
	 * `sfd` afterwards.
	 */
	void sendfd(int sfd);
	/* After the last byte, the end of the stream. */
	void sendeof();
	/* Close now; what is not sent is lost, and no callback runs. */
	void abort();
};

typedef ::ref<aios> aios_t;

namespace libasync
{

/*
 * The aios of standard input or output, made when it is first used. exit() sends what the descriptor takes then, unless
 * another color than the caller's has the aios.
 */
class LIBASYNC_EXPORT standard_aios
{
	int fd;
	mutable ptr<aios> a;

public:
	explicit standard_aios(int f) : fd(f) {}
	~standard_aios();
	aios_t get() const;
	operator aios_t() const { return get(); }
	operator ptr<aios>() const { return get(); }
	aios *operator->() const { return get(); }
};

} // namespace libasync

extern LIBASYNC_EXPORT libasync::standard_aios ain, aout;

/* Collects what << appends, and writes it at the end of the statement. */
class LIBASYNC_EXPORT aiosout
{
	aios_t a;
	aiosout &operator=(const aiosout &) = delete;

public:
	strbuf sb;

	aiosout(const aios_t &s) : a(s) {}
	aiosout(const aios_t::ptr &s) : a(s) {}
	aiosout(const libasync::standard_aios &s) : a(s.get()) {}
	/* Another statement on the same aios. */
	aiosout(const aiosout &o) : a(o.a) {}
	~aiosout() { a->write(sb.tosuio()); }
};

template <class T> inline const strbuf &operator<<(const aiosout &o, const T &a)
{
	return o.sb << a;
}

inline const strbuf &operator<<(const aiosout &o, const char *a)
{
	return o.sb << a;
}

inline const strbuf &operator<<(const aiosout &o, const str &s)
{
	return o.sb << s;
}

#endif
