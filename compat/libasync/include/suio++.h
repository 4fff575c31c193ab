/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_SUIO_H
#define LIBASYNC_SUIO_H

/*
 * suio: a queue of bytes in pieces, for readv and writev. Bytes enter at the end and leave at the front. Some are
 * copied into chunks of the suio's own; others stay where they are, and the suio can hold on to their owner.
 *
 * Threads: one color at a time. Lengths are bytes. Without memory all functions print a message and abort.
 */
#include <sys/types.h>
#include <sys/uio.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include "libasync_config.h"
#include "refcnt.h"
#include "callback.h"
#include "libasync_str.h"

/* The sum of the lengths of `cnt` pieces. */
LIBASYNC_EXPORT size_t iovsize(const iovec *iov, int cnt);

/* A place in an array of pieces. It reads the array, which must stay as it is. */
class LIBASYNC_EXPORT iovmgr
{
	const iovec *iov;
	const iovec *lim;
	iovec cur; /* what is left of iov[0] */

public:
	iovmgr(const iovec *iov, int iovcnt);

	/* Pass over `n` bytes, or all if there are fewer. */
	void skip(size_t n);

	/* Copy up to `len` bytes and pass over them. Their number. */
	size_t copyout(char *buf, size_t len);

	/* Bytes left. */
	size_t size() const;
};

struct LIBASYNC_EXPORT suio {
	enum { blocksize = 0x2000 };
	typedef callback<void>::ref cb_t;

	/* What iovcb registers: call `cb` when all bytes before number `nbytes` are gone. */
	struct uiocb {
		u_int64_t nbytes;
		cb_t cb;

		uiocb(u_int64_t nb, cb_t c) : nbytes(nb), cb(c) {}
	};

	/* Where chunks come from, malloc and free at first. Set both before the first byte, or none. */
	void *(*allocator)(size_t size);
	void (*deallocator)(void *p);

	suio();
	/* As clear(). */
	~suio();
	suio(const suio &) = delete;
	suio &operator=(const suio &) = delete;

	/* Remove all bytes; so all callbacks of iovcb run. */
	void clear();

	/* ---- bytes in */

	/* Append a copy. */
	void copy(const void *buf, size_t len)
	{
		if (len <= size_t(scratch_lim - scratch_pos) && len > 0) {
			memcpy(scratch_pos, buf, len);
			commit(len);
		} else {
			copy_slowly(buf, len);
		}
	}

	/*
	 * Append bytes, of which more than 128 stay where they are: they must not change or go before they have left
	 * the suio. hold_onto() and iovcb() say when that is. What getspace() returned is appended as it is.
	 */
	void print(const void *buf, size_t len);

	/* Append a copy of the pieces but for their first `skip` bytes, or of another suio's bytes. */
	void copyv(const iovec *iov, size_t cnt, size_t skip = 0);
	void copyu(const suio *uio);

	/* Append `n` times `c`; nothing if n < 0. */
	void fill(char c, ssize_t n);

	/* Move all bytes of `src` to the end of this, with what it holds and its callbacks; `src` is then empty. */
	void take(suio *src);

	/* Room for `n` bytes in a row. They count when print() gets this pointer, before any other call. */
	char *getspace(size_t n);

	/* Read up to `len` bytes. Their number, 0 at end of file, -1 with errno. */
	int input(int fd, size_t len = blocksize);

	/* Keep an owner until all bytes that are here now have left. */
	void hold_onto(str s);
	void hold_onto(ptr<void> v);

	/* The next byte starts a new piece. */
	void breakiov() { grow = nullptr; }

	/* ---- bytes out */

	/* The pieces; valid until the suio changes. */
	const iovec *iov() const { return iovs + first; }
	size_t iovcnt() const { return end - first; }

	/* Bytes. */
	size_t resid() const { return left; }

	/* The number that the next byte to come in will have; the first byte ever had number 0. */
	u_int64_t byteno() const { return removed + left; }

	/* Bytes up to and with the first newline; 0: there is none. */
	size_t linelen() const;

	/* Copy up to `len` bytes, or all, and keep them. The number copied. */
	size_t copyout(void *buf, size_t len) const;
	size_t copyout(void *buf) const { return copyout(buf, left); }

	/* Remove the first `n`; aborts if there are fewer. */
	void rembytes(size_t n);

	/*
	 * Write as much as `fd` takes, of at most `cnt` pieces unless cnt < 0, and remove what was written. 1: some
	 * was, 0: none (the descriptor takes none now, or there are no bytes), -1 with errno.
	 */
	int output(int fd, int cnt = -1);

	/*
	 * Call `cb` when all bytes that are here now have left; at once if there are none. A callback of another color
	 * runs there, soon after.
	 */
	void iovcb(cb_t cb);

private:
	struct holds;

	void commit(size_t len)
	{
		push(scratch_pos, len);
		scratch_pos += len;
	}

	/* Append one piece, or let the last one grow. */
	void push(const char *base, size_t len)
	{
		if (base == grow) {
			iovs[end - 1].iov_len += len;
			left += len;
			grow += len;
		} else {
			push_piece(base, len);
		}
	}

	void push_piece(const char *base, size_t len);
	void copy_slowly(const void *buf, size_t len);
	void new_chunk(size_t room);
	void use_small();
	holds *hold();
	void release();
	size_t drop_pieces(size_t n);

	iovec *iovs;
	size_t first, end, cap; /* pieces: those in use, room */
	size_t left;
	u_int64_t removed; /* bytes that have left */
	const char *grow;  /* the end of the last piece if it may grow */
	char *scratch_pos, *scratch_lim;
	char *chunk;	   /* the heap memory of scratch, NULL: it is `small` */
	holds *held;
	bool *is_gone;	   /* of callbacks that run: set if one destroys the suio */
	iovec few[4];
	char small[120];
};

/* All bytes in memory of malloc, with a NUL behind them. */
LIBASYNC_EXPORT char *suio_flatten(const suio *uio);

/* Append formatted text. */
LIBASYNC_EXPORT void suio_uprintf(suio *uio, const char *fmt, ...) LIBASYNC_PRINTF(2, 3);
LIBASYNC_EXPORT void suio_vuprintf(suio *uio, const char *fmt, va_list ap) LIBASYNC_PRINTF(2, 0);

inline void suio_print(suio *uio, const void *buf, size_t len)
{
	uio->print(buf, len);
}

#define suio_callback(uio, cb) ((uio)->iovcb(cb))
#define suio_copy(uio, buf, len) ((uio)->copy(buf, len))
#define suio_printcheck(uio, buf, len) ((uio)->print(buf, len))
#define suio_flatten(uio) (suio_flatten)(uio)

#endif
