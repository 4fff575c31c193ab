/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_CBUF_H
#define LIBASYNC_CBUF_H

/*
 * cbuf: a queue of bytes in a ring of fixed size. Bytes come in through iniov() and addbytes(), or copyin(), and leave
 * through outiov() or copyout(), and rembytes(). One color at a time. Asking for more than there is aborts.
 */
#include <sys/types.h>
#include <sys/uio.h>
#include <stddef.h>

#include "libasync_config.h"
#include "sysconf.h"

class LIBASYNC_EXPORT cbuf
{
	char *buf;
	size_t room;
	size_t first; /* where the first byte is */
	size_t used;
	iovec pieces[2];

	int make_pieces(size_t from, size_t len);

public:
	/* Of `n` bytes. */
	explicit cbuf(size_t n);
	~cbuf();
	cbuf(const cbuf &) = delete;
	cbuf &operator=(const cbuf &) = delete;

	/* Bytes that the ring can hold, holds, and can take. */
	size_t size() const { return room; }
	size_t bytes() const { return used; }
	size_t space() const { return room - used; }

	/* Place n of the ring, counted from the first byte; n < size(). */
	char &at(size_t n) const;
	/* Byte n; n < bytes(). */
	char &operator[](ptrdiff_t n) const;
	/* The number of the first byte that is `c`, or -1. */
	int find(char c);

	void clear() { first = used = 0; }
	/* Remove the first `n` bytes. */
	void rembytes(size_t n);
	/* The next `n` free places have become bytes. */
	void addbytes(size_t n);

	/* Copy the first `len` bytes, and keep them. */
	void copyout(void *_dst, size_t len);
	/* Append a copy of `len` bytes. */
	void copyin(const void *src, size_t len);

	/* Make the ring `n` bytes large, with the same bytes in it. */
	void resize(size_t n);

	/* The free places, or the bytes, as up to 2 pieces. Valid until the next call. */
	const iovec *iniov();
	int iniovcnt();
	const iovec *outiov();
	int outiovcnt();
};

#endif
