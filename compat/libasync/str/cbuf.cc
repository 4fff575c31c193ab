/*
 * cbuf: a ring of bytes.
 */
#include "cbuf.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "libasync_str.h"

static char *ring_alloc(size_t n)
{
	char *p = n < SIZE_MAX / 2 ? static_cast<char *>(malloc(n > 0 ? n : 1)) : nullptr;

	if (p == nullptr)
		libasync::str_misused("out of memory for a cbuf");
	return p;
}

cbuf::cbuf(size_t n) : buf(ring_alloc(n)), room(n), first(0), used(0)
{
}

cbuf::~cbuf()
{
	free(buf);
}

char &cbuf::at(size_t n) const
{
	if (n >= room)
		libasync::str_misused("cbuf::at: beyond its size");
	size_t before_end = room - first;

	return buf[n < before_end ? first + n : n - before_end];
}

char &cbuf::operator[](ptrdiff_t n) const
{
	if (size_t(n) >= used)
		libasync::str_misused("cbuf: index out of range");
	return at(size_t(n));
}

/* `len` places, `from` places after the first byte. */
int cbuf::make_pieces(size_t from, size_t len)
{
	size_t begin = from < room - first ? first + from : from - (room - first);
	size_t in_row = len < room - begin ? len : room - begin;

	pieces[0] = { buf + begin, in_row };
	pieces[1] = { buf, len - in_row };
	return len == 0 ? 0 : in_row == len ? 1 : 2;
}

const iovec *cbuf::iniov()
{
	make_pieces(used, space());
	return pieces;
}

int cbuf::iniovcnt()
{
	return make_pieces(used, space());
}

const iovec *cbuf::outiov()
{
	make_pieces(0, used);
	return pieces;
}

int cbuf::outiovcnt()
{
	return make_pieces(0, used);
}

int cbuf::find(char c)
{
	size_t before = 0;
	int n = make_pieces(0, used);

	for (int i = 0; i < n; i++) {
		const char *base = static_cast<const char *>(pieces[i].iov_base);
		const void *p = memchr(base, c, pieces[i].iov_len);

		if (p != nullptr)
			return int(before + size_t(static_cast<const char *>(p) - base));
		before += pieces[i].iov_len;
	}
	return -1;
}

void cbuf::rembytes(size_t n)
{
	if (n > used)
		libasync::str_misused("cbuf::rembytes: more bytes than there are");
	first = n < room - first ? first + n : n - (room - first);
	used -= n;
	if (used == 0)
		first = 0;
}

void cbuf::addbytes(size_t n)
{
	if (n > space())
		libasync::str_misused("cbuf::addbytes: more bytes than there is space");
	used += n;
}

void cbuf::copyout(void *_dst, size_t len)
{
	if (len > used)
		libasync::str_misused("cbuf::copyout: more bytes than there are");
	if (len == 0)
		return;
	make_pieces(0, len);
	memcpy(_dst, pieces[0].iov_base, pieces[0].iov_len);
	memcpy(static_cast<char *>(_dst) + pieces[0].iov_len, pieces[1].iov_base, pieces[1].iov_len);
}

void cbuf::copyin(const void *src, size_t len)
{
	if (len > space())
		libasync::str_misused("cbuf::copyin: more bytes than there is space");
	if (len == 0)
		return;
	make_pieces(used, len);
	memcpy(pieces[0].iov_base, src, pieces[0].iov_len);
	memcpy(pieces[1].iov_base, static_cast<const char *>(src) + pieces[0].iov_len, pieces[1].iov_len);
	used += len;
}

void cbuf::resize(size_t n)
{
	if (n < used)
		libasync::str_misused("cbuf::resize: smaller than what it holds");
	char *p = ring_alloc(n);

	copyout(p, used);
	free(buf);
	buf = p;
	room = n;
	first = 0;
}
