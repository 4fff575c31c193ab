/*
 * Adding bytes by copying them: append, prepend, print.
 */
#include "buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Make sure that `last` and the spare chunks have room for `len` bytes. */
static int make_room(struct evbuffer *buf, size_t len)
{
	struct le_chunk *end = buf->last, *c;
	size_t room = 0;

	if (end != NULL) {
		if (le_chunk_move(end, len))
			return 0;
		room = le_chunk_room(end);
	}
	for (c = le_buffer_spare(buf); c != NULL && room < len; c = c->next) {
		room += c->cap;
		end = c;
	}
	if (room >= len)
		return 0;
	c = le_buffer_new_chunk(buf, len);
	if (c == NULL)
		return -1;
	if (end != NULL)
		end->next = c;
	else
		buf->first = c;
	return 0;
}

static __attribute__((noinline)) int append_slowly(struct evbuffer *buf, const unsigned char *data,
						   size_t len)
{
	struct le_chunk *c = buf->last;
	size_t num;

	if (len == 0)
		return 0;
	if (make_room(buf, len) < 0)
		return -1;
	if (c == NULL)
		c = buf->first;
	for (; len > 0; c = c->next) {
		num = le_chunk_room(c);
		if (num == 0)		/* the last chunk may be a file's, not in memory */
			continue;
		if (num > len)
			num = len;
		le_copy(le_chunk_tail(c), data, num);
		le_buffer_fill(buf, c, num);
		data += num;
		len -= num;
	}
	return 0;
}

int le_buffer_append(struct evbuffer *buf, const void *data, size_t len)
{
	struct le_chunk *c = buf->last;

	if (le_buffer_is_back_frozen(buf))
		return le_buffer_refuse(EPERM);
	if (__builtin_expect(len > LE_BUFFER_MAX - buf->total, 0))
		return le_buffer_refuse(ENOMEM);
	if (c == NULL && buf->first == NULL && len > 0) {
		c = le_chunk_new(len);
		if (c == NULL)
			return -1;
		buf->first = c;
		buf->last = c;
	}
	if (c == NULL || len - 1 >= le_chunk_room(c)) /* also for no bytes */
		return append_slowly(buf, data, len);
	le_copy(le_chunk_tail(c), data, len);
	c->len += len;
	buf->total += len;
	return 0;
}

/*
 * Is there room at the end of `buf`? A chunk is smaller than LE_BUFFER_MAX, so the sum does not
 * wrap. False for no bytes: memcpy() does not take the NULL that may come with them.
 */
static inline bool has_room(const struct evbuffer *buf, size_t len)
{
	const struct le_chunk *c = buf->last;

	return __builtin_expect(c != NULL && len - 1 < le_chunk_room(c) &&
					buf->total + len <= LE_BUFFER_MAX,
				1);
}

/* The copy comes last: a tail call keeps no registers. */
static inline void append_there(struct evbuffer *buf, const void *data, size_t len)
{
	struct le_chunk *c = buf->last;
	unsigned char *to = le_chunk_tail(c);

	c->len += len;
	buf->total += len;
	le_copy(to, data, len);
}

/* The caller holds the lock, if there is one. This function releases it. */
static __attribute__((noinline)) int add(struct evbuffer *buf, const void *data, size_t len)
{
	int r;

	if (le_buffer_is_plain(buf, LE_BUFFER_BACK_FROZEN) && buf->first == NULL &&
	    len - 1 < LE_CHUNK_SMALL - LE_CHUNK_HEAD && le_buffer_begin(buf, data, len))
		r = 0;
	else
		r = le_buffer_append(buf, data, len);
	le_buffer_leave(buf, r == 0 ? len : 0, 0);
	return r;
}

/* The buffer has a lock or another LE_BUFFER_… property. */
static __attribute__((noinline)) int lock_and_add(struct evbuffer *buf, const void *data,
						  size_t len)
{
	le_buffer_lock(buf);
	if (!le_buffer_is_plain(buf, LE_BUFFER_SLOW_BEHIND) || !has_room(buf, len))
		return add(buf, data, len);
	append_there(buf, data, len);
	le_buffer_notify_owner(buf, len);
	le_buffer_unlock(buf);
	return 0;
}

/* Ends in a jump or a copy, so it saves no registers for either. */
int evbuffer_add(struct evbuffer *buf, const void *data, size_t datlen)
{
	if (!le_buffer_is_plain(buf, LE_BUFFER_LOCKED | LE_BUFFER_OWNED | LE_BUFFER_SLOW_BEHIND))
		return lock_and_add(buf, data, datlen);
	if (!has_room(buf, datlen))
		return add(buf, data, datlen);
	append_there(buf, data, datlen);
	return 0;
}

/* ---------------------------------------------------------------- vectors */

static size_t append_vec(struct evbuffer *buf, const struct evbuffer_iovec *vec, int num)
{
	struct le_chunk *c;
	size_t sum = 0;
	int i;

	if (le_buffer_is_back_frozen(buf)) {
		errno = EPERM;
		return 0;
	}
	for (i = 0; i < num; i++) {
		if (__builtin_add_overflow(sum, vec[i].iov_len, &sum)) {
			errno = ENOMEM;
			return 0;
		}
	}
	if (sum == 0)
		return 0;
	c = le_buffer_room(buf, sum);
	if (c == NULL)
		return 0;
	for (i = 0; i < num; i++) {
		if (vec[i].iov_len == 0)
			continue;
		le_copy(le_chunk_tail(c), vec[i].iov_base, vec[i].iov_len);
		le_buffer_fill(buf, c, vec[i].iov_len);
	}
	return sum;
}

size_t evbuffer_add_iovec(struct evbuffer *buf, struct evbuffer_iovec *vec, int n_vec)
{
	size_t sum;

	le_buffer_lock(buf);
	sum = append_vec(buf, vec, n_vec);
	le_buffer_leave(buf, sum, 0);
	return sum;
}

/* ---------------------------------------------------------------- printing */

enum { PRINT_GUESS = 64 };

/* Print into the free room of `c`. Returns the length of the whole text, or -1. */
static int print_into(struct le_chunk *c, const char *fmt, va_list ap)
{
	va_list copy;
	int len;

	va_copy(copy, ap);
	len = vsnprintf((char *)le_chunk_tail(c), le_chunk_room(c), fmt, copy);
	va_end(copy);
	return len;
}

/* vsnprintf ends its output with a NUL. The NUL needs room but is not added. */
static int print(struct evbuffer *buf, const char *fmt, va_list ap)
{
	struct le_chunk *c = buf->last;
	int len;

	if (le_buffer_is_back_frozen(buf))
		return le_buffer_refuse(EPERM);
	if (c == NULL || le_chunk_room(c) < PRINT_GUESS) {
		c = le_buffer_room(buf, PRINT_GUESS);
		if (c == NULL)
			return -1;
	}
	len = print_into(c, fmt, ap);
	if (len < 0)
		return -1;
	if ((size_t)len >= le_chunk_room(c)) {
		c = le_buffer_room(buf, (size_t)len + 1);
		if (c == NULL || print_into(c, fmt, ap) != len)
			return -1;
	}
	le_buffer_fill(buf, c, (size_t)len);
	return len;
}

int evbuffer_add_vprintf(struct evbuffer *buf, const char *fmt, va_list ap)
{
	int len;

	le_buffer_lock(buf);
	len = print(buf, fmt, ap);
	le_buffer_leave(buf, len > 0 ? (size_t)len : 0, 0);
	return len;
}

int evbuffer_add_printf(struct evbuffer *buf, const char *fmt, ...)
{
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = evbuffer_add_vprintf(buf, fmt, ap);
	va_end(ap);
	return len;
}

/* ---------------------------------------------------------------- prepending */

/* How many bytes before those of `c` may be written. */
static size_t front_room(const struct le_chunk *c)
{
	return c->is_fixed ? 0 : c->start;
}

/*
 * Puts `data` right before the buffer's bytes. The part that does not fit there goes to the end of
 * a new chunk.
 */
static int prepend(struct evbuffer *buf, const unsigned char *data, size_t len)
{
	struct le_chunk *first = buf->first, *c = NULL;
	size_t near = front_room(first);

	if (near > len)
		near = len;
	if (near < len) {
		c = le_chunk_new(len - near);
		if (c == NULL)
			return -1;
		c->start = c->cap - (len - near);
		c->len = len - near;
		le_copy(le_chunk_bytes(c), data, c->len);
		c->next = first;
		buf->first = c;
	}
	if (near > 0) {
		first->start -= near;
		first->len += near;
		le_copy(le_chunk_bytes(first), data + (len - near), near);
	}
	buf->total += len;
	return 0;
}

int evbuffer_prepend(struct evbuffer *buf, const void *data, size_t size)
{
	int r;

	le_buffer_lock(buf);
	if (size == 0)
		r = 0; /* even if the front is frozen */
	else if (le_buffer_is_front_frozen(buf))
		r = le_buffer_refuse(EPERM);
	else if (size > LE_BUFFER_MAX - buf->total)
		r = le_buffer_refuse(ENOMEM);
	else if (buf->last == NULL)
		r = append_slowly(buf, data, size);
	else
		r = prepend(buf, data, size);
	le_buffer_leave(buf, r == 0 ? size : 0, 0);
	return r;
}
