/*
 * Removing bytes: drain, copy out, make contiguous, peek.
 */
#include "buffer.h"

#include <limits.h>
#include <string.h>

/* Unlink the chunks of the first `len` bytes; the caller owns them. */
static struct le_chunk *cut_front(struct evbuffer *buf, size_t len)
{
	struct le_chunk *gone = buf->first, **end = &gone, *c;

	buf->total -= len;
	if (buf->total == 0) {
		buf->first = NULL;
		buf->last = NULL;
		return gone;
	}
	for (c = gone; len >= c->len; c = c->next) {
		len -= c->len;
		end = &c->next;
	}
	*end = NULL;
	buf->first = c;
	c->start += len;
	c->len -= len;
	return gone;
}

void le_buffer_discard_chunks(struct evbuffer *buf, size_t len)
{
	if (len > 0)
		le_chunk_put_list(cut_front(buf, len));
}

/* The caller holds the lock, if there is one. This function releases it. */
static __attribute__((noinline)) int drain(struct evbuffer *buf, size_t len)
{
	int r = 0;

	if (len > buf->total)
		len = buf->total;
	/* As in libevent, an empty buffer may be drained even if its front is frozen. */
	if (buf->total > 0 && le_buffer_is_front_frozen(buf)) {
		r = le_buffer_refuse(EPERM);
		len = 0;
	}
	le_buffer_discard(buf, len);
	le_buffer_leave(buf, 0, len);
	return r;
}

/* The buffer has a lock or another LE_BUFFER_… property. */
static __attribute__((noinline)) int lock_and_drain(struct evbuffer *buf, size_t len)
{
	le_buffer_lock(buf);
	if (!le_buffer_is_plain(buf, LE_BUFFER_SLOW_IN_FRONT) || !le_buffer_discard_within(buf, len))
		return drain(buf, len);
	le_buffer_unlock(buf);
	return 0;
}

int evbuffer_drain(struct evbuffer *buf, size_t len)
{
	if (!le_buffer_is_plain(buf, LE_BUFFER_LOCKED | LE_BUFFER_SLOW_IN_FRONT))
		return lock_and_drain(buf, len);
	return le_buffer_discard_within(buf, len) ? 0 : drain(buf, len);
}

/* ---------------------------------------------------------------- copies */

/*
 * Few bytes of one chunk in memory, in a buffer whose front is not frozen. False: nothing was done.
 */
static inline bool copy_quickly(const struct evbuffer *buf, const struct le_chunk *c, size_t skip,
				void *out, size_t len)
{
	if (c == NULL || len > c->len - skip || len - 1 >= LE_COPY_PIECE || c->data == NULL ||
	    le_buffer_is_front_frozen(buf))
		return false;
	memcpy(out, le_chunk_bytes(c) + skip, len);
	return true;
}

static inline __attribute__((always_inline)) ssize_t copy_chunks(struct le_chunk *c, size_t skip, unsigned char *to,
								 size_t len)
{
	unsigned char *out = to, *end = to + len;
	const unsigned char *from;
	size_t num;

	for (; c != NULL; c = c->next) {
		if (!le_chunk_has_bytes(c))
			return -1;
		from = le_chunk_bytes(c) + skip;
		num = c->len - skip;
		if (num >= (size_t)(end - out)) {
			le_copy(out, from, (size_t)(end - out));
			return end - to;
		}
		le_copy(out, from, num);
		out += num;
		skip = 0;
	}
	return out - to;
}

ssize_t le_chunk_copy(struct le_chunk *c, size_t skip, void *to, size_t len)
{
	return copy_chunks(c, skip, to, len);
}

/* `len` bytes from offset `skip` of `c` on. */
static __attribute__((noinline)) ssize_t copy_out(struct evbuffer *buf, struct le_chunk *c, size_t skip, void *out,
						  size_t len)
{
	if (len == 0)
		return 0; /* even if the front is frozen */
	if (le_buffer_is_front_frozen(buf))
		return le_buffer_refuse(EPERM);
	return copy_chunks(c, skip, out, len);
}

static inline ssize_t copy_front(struct evbuffer *buf, void *out, size_t len)
{
	return copy_out(buf, buf->first, 0, out, len < buf->total ? len : buf->total);
}

static inline ssize_t copy_from(struct evbuffer *buf, const struct evbuffer_ptr *pos, void *out, size_t len)
{
	size_t at = (size_t)pos->pos, left = buf->total - at;	/* a negative position is far behind the end */

	if (at > buf->total || (len > left && len > LE_BUFFER_MAX - at))
		return le_buffer_refuse(EINVAL);
	return copy_out(buf, pos->internal_.chain, pos->internal_.pos_in_chain, out, len < left ? len : left);
}

static __attribute__((noinline)) ssize_t lock_and_copy(struct evbuffer *buf, const struct evbuffer_ptr *pos,
						       void *out, size_t len)
{
	ssize_t num;

	le_buffer_lock(buf);
	num = pos != NULL ? copy_from(buf, pos, out, len) : copy_front(buf, out, len);
	le_buffer_unlock(buf);
	return num;
}

ev_ssize_t evbuffer_copyout_from(struct evbuffer *buf, const struct evbuffer_ptr *pos,
				 void *data_out, size_t datlen)
{
	if (pos == NULL)
		return evbuffer_copyout(buf, data_out, datlen);
	if (!le_buffer_is_plain(buf, LE_BUFFER_LOCKED))
		return lock_and_copy(buf, pos, data_out, datlen);
	if ((size_t)pos->pos <= buf->total &&
	    copy_quickly(buf, pos->internal_.chain, pos->internal_.pos_in_chain, data_out, datlen))
		return (ev_ssize_t)datlen;
	return copy_from(buf, pos, data_out, datlen);
}

ev_ssize_t evbuffer_copyout(struct evbuffer *buf, void *data_out, size_t datlen)
{
	if (!le_buffer_is_plain(buf, LE_BUFFER_LOCKED))
		return lock_and_copy(buf, NULL, data_out, datlen);
	if (copy_quickly(buf, buf->first, 0, data_out, datlen))
		return (ev_ssize_t)datlen;
	return copy_front(buf, data_out, datlen);
}

static __attribute__((noinline)) int remove_slowly(struct evbuffer *buf, void *data, size_t datlen)
{
	ssize_t num;

	if (datlen > INT_MAX)
		datlen = INT_MAX;	/* as many as the return value can express */
	le_buffer_lock(buf);
	num = copy_front(buf, data, datlen);
	if (num > 0)
		le_buffer_discard(buf, (size_t)num);
	le_buffer_leave(buf, 0, num > 0 ? (size_t)num : 0);
	return (int)num;
}

int evbuffer_remove(struct evbuffer *buf, void *data, size_t datlen)
{
	if (!le_buffer_is_plain(buf, LE_BUFFER_LOCKED | LE_BUFFER_SLOW_IN_FRONT) ||
	    !copy_quickly(buf, buf->first, 0, data, datlen))
		return remove_slowly(buf, data, datlen);
	le_buffer_discard(buf, datlen);
	return (int)datlen;
}

/* ---------------------------------------------------------------- contiguous */

static void push_front(struct evbuffer *buf, struct le_chunk *c)
{
	c->next = buf->first;
	buf->first = c;
	if (buf->last == NULL)
		buf->last = c;
	buf->total += c->len;
}

/* The first chunk has room for `more` bytes of the next chunks. */
static struct le_chunk *extend_first(struct evbuffer *buf, size_t more)
{
	struct le_chunk *first = buf->first, *gone;

	if (le_chunk_copy(first->next, 0, le_chunk_tail(first), more) != (ssize_t)more)
		return NULL;
	buf->first = first->next;
	buf->total -= first->len;
	gone = cut_front(buf, more);
	first->len += more;
	push_front(buf, first);
	le_chunk_put_list(gone);
	return first;
}

/* Replace the first `len` bytes by a new chunk. */
static struct le_chunk *replace_front(struct evbuffer *buf, size_t len)
{
	struct le_chunk *c = le_chunk_new(len), *gone;

	if (c == NULL)
		return NULL;
	if (le_chunk_copy(buf->first, 0, c->data, len) != (ssize_t)len) {
		le_chunk_put(c);
		return NULL;
	}
	c->len = len;
	gone = cut_front(buf, len);
	push_front(buf, c);
	le_chunk_put_list(gone);
	return c;
}

static unsigned char *pull_up(struct evbuffer *buf, size_t len)
{
	struct le_chunk *c = buf->first;
	size_t more;

	if (len == 0)
		return NULL;
	if (c->len < len) {
		more = len - c->len;
		c = !c->is_fixed && le_chunk_room(c) >= more ? extend_first(buf, more) :
							       replace_front(buf, len);
	}
	return c != NULL && le_chunk_has_bytes(c) ? le_chunk_bytes(c) : NULL;
}

static __attribute__((noinline)) unsigned char *lock_and_pull_up(struct evbuffer *buf, ev_ssize_t size)
{
	unsigned char *bytes;
	size_t len;

	le_buffer_lock(buf);
	len = size < 0 ? buf->total : (size_t)size;
	bytes = len <= buf->total ? pull_up(buf, len) : NULL;
	le_buffer_unlock(buf);
	return bytes;
}

unsigned char *evbuffer_pullup(struct evbuffer *buf, ev_ssize_t size)
{
	const struct le_chunk *c = buf->first;

	if (le_buffer_is_plain(buf, LE_BUFFER_LOCKED) && c != NULL && c->data != NULL &&
	    (size_t)size - 1 < c->len)		/* neither 0 nor negative */
		return le_chunk_bytes(c);
	return lock_and_pull_up(buf, size);
}

/* ---------------------------------------------------------------- in place */

static inline void show(struct evbuffer_iovec *vec, const struct le_chunk *c, size_t skip)
{
	vec->iov_base = le_chunk_bytes(c) + skip;
	vec->iov_len = c->len - skip;
}

/*
 * Fill `vec` with at most `num` extents from offset `skip` of `c` on. An extent that is needed for
 * `len` bytes but does not fit is only counted. Returns the number of extents.
 */
static int extents(struct le_chunk *c, size_t skip, size_t len, struct evbuffer_iovec *vec, int num)
{
	size_t piece, left = len;
	int n;

	for (n = 0; left > 0 && c != NULL && c->len > 0; c = c->next, n++) {
		if (n < num) {
			if (!le_chunk_has_bytes(c))
				break;
			show(&vec[n], c, skip);
		}
		piece = c->len - skip;
		left -= piece < left ? piece : left;
		skip = 0;
	}
	return n;
}

/* As many extents as fit; num > 0. Returns their number. */
static int all_extents(struct le_chunk *c, size_t skip, struct evbuffer_iovec *vec, int num)
{
	struct evbuffer_iovec *at = vec, *end = vec + num;

	for (; c != NULL && c->len > 0 && at < end; c = c->next) {
		if (!le_chunk_has_bytes(c))
			break;
		show(at++, c, skip);
		skip = 0;
	}
	return (int)(at - vec);
}

static __attribute__((noinline)) int peek_slowly(struct evbuffer *buf, ev_ssize_t len,
						 const struct evbuffer_ptr *start,
						 struct evbuffer_iovec *vec, int num)
{
	struct le_chunk *c;
	size_t skip = 0;
	int n;

	le_buffer_lock(buf);
	c = buf->first;
	if (start != NULL) {
		c = start->pos >= 0 ? start->internal_.chain : NULL;
		skip = start->internal_.pos_in_chain;
		if (len == 0)
			len = 1;	/* as in libevent, the extent at `start` counts in any case */
	}
	if (len < 0 && num > 0)
		n = all_extents(c, skip, vec, num);
	else
		n = extents(c, skip, len < 0 ? SIZE_MAX : (size_t)len, vec, num);
	le_buffer_unlock(buf);
	return n;
}

/*
 * As all_extents, from `c` on, which has bytes. Any call would cost more than the loop: bytes that
 * are not in memory are left to the slow function, which begins anew (-1).
 */
static inline int peek_quickly(const struct le_chunk *c, size_t skip, struct evbuffer_iovec *vec, int num)
{
	struct evbuffer_iovec *at = vec + 1, *end = vec + num;

	show(vec, c, skip);
	for (c = c->next; c != NULL && at < end && c->len > 0; c = c->next) {
		if (__builtin_expect(c->data == NULL, 0))
			return -1;
		show(at++, c, 0);
	}
	return (int)(at - vec);
}

int evbuffer_peek(struct evbuffer *buf, ev_ssize_t len, struct evbuffer_ptr *start_at,
		  struct evbuffer_iovec *vec_out, int n_vec)
{
	const struct le_chunk *c = buf->first;
	size_t skip = 0;
	int n = -1;

	if (vec_out == NULL)
		n_vec = 0;
	if (start_at != NULL) {
		c = start_at->pos >= 0 ? start_at->internal_.chain : NULL;
		skip = start_at->internal_.pos_in_chain;
	}
	if (!le_buffer_is_plain(buf, LE_BUFFER_LOCKED) || n_vec <= 0 || c == NULL || c->data == NULL)
		return peek_slowly(buf, len, start_at, vec_out, n_vec);
	if (__builtin_expect((size_t)len - 1 < c->len - skip, 1)) {		/* neither 0 nor negative */
		show(vec_out, c, skip);
		return 1;
	}
	if (len < 0 && c->len > 0)
		n = peek_quickly(c, skip, vec_out, n_vec);
	return n >= 0 ? n : peek_slowly(buf, len, start_at, vec_out, n_vec);
}
