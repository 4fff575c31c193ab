/*
 * suio: pieces in an array, the ends of whose use move; chunks that the bytes of copy() go to; and the queue of what is
 * due when bytes have left.
 *
 * Everything that waits for bytes to leave is in one queue, ordered by the number of the byte it waits for: chunks
 * that are full, strings and objects that are held, callbacks. A chunk enters it when the next chunk begins, as no
 * later byte is in it.
 */
#include "suio++.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include <utility>
#include <variant>
#include <vector>

namespace
{

/* print() copies up to so many bytes; a piece of its own costs as much. */
constexpr size_t COPY_MAX = 128;
constexpr int PIECES_MAX = 1024;

struct chunk_owner {
	char *p;
	void (*deallocator)(void *p);

	chunk_owner(char *q, void (*d)(void *)) : p(q), deallocator(d) {}
	chunk_owner(chunk_owner &&o) noexcept : p(std::exchange(o.p, nullptr)), deallocator(o.deallocator) {}
	chunk_owner &operator=(chunk_owner &&o) noexcept
	{
		std::swap(p, o.p);
		std::swap(deallocator, o.deallocator);
		return *this;
	}
	~chunk_owner()
	{
		if (p != nullptr)
			deallocator(p);
	}
};

struct waiting {
	u_int64_t nbytes;
	std::variant<chunk_owner, str, ptr<void>, suio::cb_t> what;
};

} // namespace

struct suio::holds {
	std::vector<waiting> queue;
	size_t first = 0;

	bool is_due(u_int64_t nbytes) const { return first < queue.size() && queue[first].nbytes <= nbytes; }

	waiting pop()
	{
		waiting w = std::move(queue[first++]);

		if (first == queue.size()) {
			queue.clear();
			first = 0;
		} else if (first >= 64 && first > queue.size() / 2) {
			queue.erase(queue.begin(), queue.begin() + ptrdiff_t(first));
			first = 0;
		}
		return w;
	}
};

size_t iovsize(const iovec *iov, int cnt)
{
	size_t n = 0;

	for (int i = 0; i < cnt; i++)
		if (__builtin_add_overflow(n, iov[i].iov_len, &n))
			libasync::str_misused("iovsize: more bytes than memory");
	return n;
}

/* ---------------------------------------------------------------- iovmgr */

iovmgr::iovmgr(const iovec *v, int iovcnt) : iov(v), lim(v + iovcnt)
{
	cur = iovcnt > 0 ? *v : iovec{ nullptr, 0 };
}

void iovmgr::skip(size_t n)
{
	while (iov < lim && n >= cur.iov_len) {
		n -= cur.iov_len;
		if (++iov < lim)
			cur = *iov;
		else
			cur = iovec{ nullptr, 0 };
	}
	if (iov < lim) {
		cur.iov_base = static_cast<char *>(cur.iov_base) + n;
		cur.iov_len -= n;
	}
}

size_t iovmgr::copyout(char *buf, size_t len)
{
	size_t done = 0;

	while (done < len && iov < lim) {
		size_t n = len - done < cur.iov_len ? len - done : cur.iov_len;

		if (n > 0)
			memcpy(buf + done, cur.iov_base, n);
		done += n;
		skip(n);
	}
	return done;
}

size_t iovmgr::size() const
{
	return iov < lim ? cur.iov_len + iovsize(iov + 1, int(lim - iov - 1)) : 0;
}

/* ---------------------------------------------------------------- suio */

suio::suio()
    : allocator(malloc), deallocator(free), iovs(few), first(0), end(0), cap(sizeof(few) / sizeof(few[0])), left(0),
      removed(0), grow(nullptr), chunk(nullptr), held(nullptr), is_gone(nullptr)
{
	use_small();
}

suio::~suio()
{
	bool *outer = is_gone;

	/* Callbacks may append: until nothing is left that waits. */
	is_gone = nullptr;
	while (held != nullptr && (left > 0 || !held->queue.empty()))
		clear();
	if (outer != nullptr)
		*outer = true;
	if (chunk != nullptr)
		deallocator(chunk);
	if (iovs != few)
		free(iovs);
	delete held;
}

void suio::clear()
{
	rembytes(left);
}

void suio::use_small()
{
	scratch_pos = small;
	scratch_lim = small + sizeof(small);
}

suio::holds *suio::hold()
{
	if (held == nullptr)
		held = new holds;
	return held;
}

/* Start a chunk of at least `room` bytes. Chunks double up to blocksize. */
void suio::new_chunk(size_t room)
{
	size_t size = chunk == nullptr ? 1024 : size_t(blocksize);
	char *p;

	if (size < room)
		size = room;
	p = size < SIZE_MAX / 2 ? static_cast<char *>(allocator(size)) : nullptr;
	if (p == nullptr)
		libasync::str_misused("out of memory for a suio");
	if (chunk != nullptr && left > 0)
		hold()->queue.push_back({ byteno(), chunk_owner(chunk, deallocator) });
	else if (chunk != nullptr)
		deallocator(chunk);
	chunk = p;
	scratch_pos = p;
	scratch_lim = p + size;
}

void suio::push_piece(const char *base, size_t len)
{
	if (len == 0)
		return;
	if (end == cap && first > cap / 2) {
		memmove(iovs, iovs + first, (end - first) * sizeof(*iovs));
		end -= first;
		first = 0;
	} else if (end == cap) {
		iovec *more = static_cast<iovec *>(malloc(2 * cap * sizeof(*iovs)));

		if (more == nullptr)
			libasync::str_misused("out of memory for a suio");
		memcpy(more, iovs + first, (end - first) * sizeof(*iovs));
		if (iovs != few)
			free(iovs);
		iovs = more;
		end -= first;
		first = 0;
		cap *= 2;
	}
	iovs[end].iov_base = const_cast<char *>(base);
	iovs[end].iov_len = len;
	end++;
	left += len;
	grow = base + len;
}

void suio::copy_slowly(const void *buf, size_t len)
{
	const char *from = static_cast<const char *>(buf);
	size_t room = size_t(scratch_lim - scratch_pos);
	size_t n = len < room ? len : room;

	if (n > 0) {
		memcpy(scratch_pos, from, n);
		commit(n);
	}
	if (n == len)
		return;
	new_chunk(len - n);
	memcpy(scratch_pos, from + n, len - n);
	commit(len - n);
}

void suio::print(const void *buf, size_t len)
{
	const char *p = static_cast<const char *>(buf);

	if (len == 0)
		return;
	if (p == scratch_pos) {
		if (len > size_t(scratch_lim - scratch_pos))
			libasync::str_misused("suio::print: more bytes than getspace() gave");
		commit(len);
	} else if (len <= COPY_MAX) {
		copy(p, len);
	} else {
		/* This piece must not grow into memory that happens to follow it, nor scratch into what precedes it. */
		grow = nullptr;
		push_piece(p, len);
		grow = nullptr;
	}
}

void suio::copyv(const iovec *iov, size_t cnt, size_t skip)
{
	iovmgr from(iov, int(cnt));

	/* They may be our own: all are read before one is added. */
	from.skip(skip);
	size_t len = from.size();
	char *p = getspace(len);
	from.copyout(p, len);
	print(p, len);
}

void suio::copyu(const suio *uio)
{
	copyv(uio->iov(), uio->iovcnt());
}

void suio::fill(char c, ssize_t n)
{
	if (n <= 0)
		return;
	char *p = getspace(size_t(n));
	memset(p, c, size_t(n));
	print(p, size_t(n));
}

char *suio::getspace(size_t n)
{
	if (n > size_t(scratch_lim - scratch_pos))
		new_chunk(n);
	return scratch_pos;
}

void suio::take(suio *src)
{
	u_int64_t begin = byteno();

	if (src == this || src->left == 0)
		return;
	/* What is in src->small is copied. A chunk that begins now keeps the queue in order, a later one would not. */
	getspace(sizeof(src->small));
	grow = nullptr;
	for (size_t i = src->first; i < src->end; i++) {
		char *base = static_cast<char *>(src->iovs[i].iov_base);
		size_t len = src->iovs[i].iov_len;

		if (base >= src->small && base < src->small + sizeof(src->small))
			copy(base, len);
		else
			push_piece(base, len);
	}
	grow = nullptr;
	if (src->held != nullptr) {
		while (src->held->first < src->held->queue.size()) {
			waiting w = src->held->pop();
			w.nbytes = w.nbytes - src->removed + begin;
			hold()->queue.push_back(std::move(w));
		}
	}
	if (src->chunk != nullptr)
		hold()->queue.push_back({ byteno(), chunk_owner(src->chunk, src->deallocator) });
	src->removed += src->left;
	src->left = src->first = src->end = 0;
	src->grow = nullptr;
	src->chunk = nullptr;
	src->use_small();
}

int suio::input(int fd, size_t len)
{
	size_t room = size_t(scratch_lim - scratch_pos);
	iovec v[2];
	char *more = nullptr;
	ssize_t n;

	if (left == 0 && room < len) {
		new_chunk(len);
		room = size_t(scratch_lim - scratch_pos);
	}
	if (len > INT_MAX)
		len = INT_MAX;
	v[0] = { scratch_pos, room < len ? room : len };
	if (room < len) {
		v[1] = { nullptr, len - room };
		more = static_cast<char *>(allocator(v[1].iov_len < blocksize ? size_t(blocksize) : v[1].iov_len));
		if (more == nullptr)
			libasync::str_misused("out of memory for a suio");
		v[1].iov_base = more;
	}
	do
		n = readv(fd, v, more == nullptr ? 1 : 2);
	while (n < 0 && errno == EINTR);

	if (n > 0)
		commit(size_t(n) < v[0].iov_len ? size_t(n) : v[0].iov_len);
	if (n > 0 && size_t(n) > v[0].iov_len) {
		size_t over = size_t(n) - v[0].iov_len;

		if (chunk != nullptr)
			hold()->queue.push_back({ byteno(), chunk_owner(chunk, deallocator) });
		chunk = more;
		scratch_pos = more;
		scratch_lim = more + (v[1].iov_len < blocksize ? size_t(blocksize) : v[1].iov_len);
		commit(over);
	} else if (more != nullptr) {
		int e = errno;
		deallocator(more);
		errno = e;
	}
	return int(n);
}

void suio::hold_onto(str s)
{
	if (left > 0 && s)
		hold()->queue.push_back({ byteno(), std::move(s) });
}

void suio::hold_onto(ptr<void> v)
{
	if (left > 0 && v)
		hold()->queue.push_back({ byteno(), std::move(v) });
}

void suio::iovcb(cb_t cb)
{
	hold()->queue.push_back({ byteno(), cb });
	release();
}

size_t suio::linelen() const
{
	size_t before = 0;

	for (size_t i = first; i < end; i++) {
		const char *base = static_cast<const char *>(iovs[i].iov_base);
		const void *p = memchr(base, '\n', iovs[i].iov_len);

		if (p != nullptr)
			return before + size_t(static_cast<const char *>(p) - base) + 1;
		before += iovs[i].iov_len;
	}
	return 0;
}

size_t suio::copyout(void *buf, size_t len) const
{
	iovmgr m(iov(), int(iovcnt()));

	return m.copyout(static_cast<char *>(buf), len);
}

/* Let what waited for bytes that have left go, in order. Each may use and even destroy this suio. */
void suio::release()
{
	bool *outer = is_gone;
	bool gone = false;

	if (held == nullptr)
		return;
	is_gone = &gone;
	while (held->is_due(removed)) {
		{
			/* It may hold the owner of this suio: the test comes after its end. */
			waiting w = held->pop();

			if (suio::cb_t *cb = std::get_if<cb_t>(&w.what))
				(*cb)->trigger();
		}
		if (gone) {
			if (outer != nullptr)
				*outer = true;
			return;
		}
	}
	is_gone = outer;
}

void suio::rembytes(size_t n)
{
	if (n > left)
		libasync::str_misused("suio::rembytes: more bytes than there are");
	left -= n;
	removed += n;
	while (n > 0) {
		iovec *v = &iovs[first];

		if (n < v->iov_len) {
			v->iov_base = static_cast<char *>(v->iov_base) + n;
			v->iov_len -= n;
			break;
		}
		n -= v->iov_len;
		first++;
	}
	if (left == 0) {
		first = end = 0;
		grow = nullptr;
		if (chunk == nullptr)
			use_small();
		else
			scratch_pos = chunk;
	}
	release();
}

int suio::output(int fd, int cnt)
{
	bool is_written = false, gone = false;
	bool *outer = is_gone;

	while (left > 0 && cnt != 0) {
		int pieces = iovcnt() < PIECES_MAX ? int(iovcnt()) : PIECES_MAX;
		size_t before = iovcnt();
		ssize_t n;

		if (cnt > 0 && pieces > cnt)
			pieces = cnt;
		n = writev(fd, iov(), pieces);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
			return -1;
		if (n <= 0)
			break;
		is_written = true;
		is_gone = &gone;
		rembytes(size_t(n));
		if (gone) {
			if (outer != nullptr)
				*outer = true;
			return 1;
		}
		is_gone = outer;
		if (cnt > 0)
			cnt -= int(before - iovcnt());
	}
	return is_written;
}

/* ---------------------------------------------------------------- beside the class */

char *(suio_flatten)(const suio *uio)
{
	char *p = static_cast<char *>(malloc(uio->resid() + 1));

	if (p == nullptr)
		libasync::str_misused("out of memory for the bytes of a suio");
	uio->copyout(p);
	p[uio->resid()] = '\0';
	return p;
}

void suio_vuprintf(suio *uio, const char *fmt, va_list ap)
{
	size_t room = 80;
	va_list again;
	int n;

	va_copy(again, ap);
	char *p = uio->getspace(room);
	n = vsnprintf(p, room, fmt, ap);
	if (n >= int(room)) {
		p = uio->getspace(size_t(n) + 1);
		n = vsnprintf(p, size_t(n) + 1, fmt, again);
	}
	va_end(again);
	if (n < 0)
		libasync::str_misused("a format that cannot be printed");
	uio->print(p, size_t(n));
}

void suio_uprintf(suio *uio, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	suio_vuprintf(uio, fmt, ap);
	va_end(ap);
}
